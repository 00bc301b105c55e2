"""The configuration of a Computer: mistakes in the file, inputs without a value, secrets in plain text."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from a2c_smcp.cli.doctor.findings import Report, count
from a2c_smcp.cli.doctor.mcp_servers import check_servers
from a2c_smcp.cli.doctor.options import Options
from a2c_smcp.computer.config.files import ConfigError, LoadedConfig, load_config
from a2c_smcp.computer.config.input_sources import Keyring, environment_names, from_environment
from a2c_smcp.computer.config.inputs import ENVIRONMENT_PREFIX, InputResolver
from a2c_smcp.computer.config.model import MCPServerCommandInput, MCPServerInput
from a2c_smcp.computer.config.placeholders import input_ids
from a2c_smcp.computer.config.secrets import replace_secrets
from a2c_smcp.utils import jsonc
from a2c_smcp.utils.system.files import others_may_read
from a2c_smcp.utils.system.terminals import split_words


async def check_configuration(options: Options, report: Report) -> None:
    """Check the file; if it is valid, also its inputs and its MCP servers."""
    file = options.config or Path()
    config = await asyncio.to_thread(_read, file, report)
    if config is None:
        return
    await asyncio.to_thread(_look_for_secrets, file, config, report)
    keyring = Keyring(str(file.resolve())) if options.keyring else None
    resolver = InputResolver(config.inputs, keyring=keyring, secrets=options.secrets)
    try:
        lacking = await _check_inputs(config, resolver, report)
        await check_servers(options, config, resolver, lacking, report.under("MCP servers"))
    finally:
        await resolver.aclose()


def _read(file: Path, report: Report) -> LoadedConfig | None:
    try:
        config = load_config(file)
    except OSError as error:
        report.fail(f"cannot read {file}: {error.strerror or error}", "check the path in --config")
        return None
    except ConfigError as error:
        for problem in error.problems:
            report.fail(f"{file}: {problem}")
        for warning in error.warnings:
            report.warn(f"{file}: {warning}")
        report.note(
            "the MCP servers are not checked until these mistakes are fixed",
            f"`a2c config check {file}` checks the file again",
        )
        return None
    for warning in config.warnings:
        report.warn(f"{file}: {warning}")
    report.ok(f"{file} is valid: {count(len(config.servers), 'MCP server')}, {count(len(config.inputs), 'input')}")
    return config


# --------------------------------------------------------------------------------------------------------------- inputs


async def _check_inputs(config: LoadedConfig, resolver: InputResolver, report: Report) -> dict[str, list[str]]:
    """Find the inputs that have no value; returns them by the server that needs them."""
    needed: defaultdict[str, list[str]] = defaultdict(list)
    for server in config.servers:
        for input_id in input_ids(server.parameters()) if not server.disabled else ():
            needed[input_id].append(server.name)
    lacking: defaultdict[str, list[str]] = defaultdict(list)
    for input_id, servers in needed.items():
        wanted = resolver.get(input_id)
        if wanted is None:  # undefined: loading the file has already given a warning
            continue
        # A variable may be set for one server only, so an input can have a value for some of its servers.
        without = [name for name in servers if from_environment(ENVIRONMENT_PREFIX, input_id, name) is None]
        if not without:
            report.ok(f"input {input_id} comes from the environment")
        elif isinstance(wanted, MCPServerCommandInput):
            if not _check_command(wanted, report):
                _note_lack(lacking, input_id, without)
        elif not await _has_other_source(wanted, resolver, report):
            _note_lack(lacking, input_id, without)
            report.warn(
                f"input {input_id} has no value: a service cannot start {', '.join(without)}",
                f"set {_variable(input_id)} in its environment; at a terminal, `a2c computer` asks for the value",
            )
    return lacking


def _variable(input_id: str) -> str:
    """The environment variable of an input, in the form that a shell can set."""
    # The last name is the one in upper case with underscores: POSIX shells reject `-` in the name of a variable.
    return list(environment_names(ENVIRONMENT_PREFIX, input_id))[-1]


def _note_lack(lacking: defaultdict[str, list[str]], input_id: str, servers: list[str]) -> None:
    for name in servers:
        lacking[name].append(input_id)


def _check_command(wanted: MCPServerCommandInput, report: Report) -> bool:
    """Whether the command of an input exists. It runs only when its server starts."""
    # A shell line cannot be checked without running it. Otherwise `command` is either the path of a program, possibly
    # with spaces, or a program with arguments.
    if wanted.shell or shutil.which(wanted.command):
        return True
    words = _words(wanted.command)
    if words and shutil.which(words[0]):
        return True
    report.fail(
        f"input {wanted.id}: command not found: {words[0] if words else wanted.command}",
        "install it, or give its full path",
    )
    return False


def _words(command: str) -> list[str]:
    try:
        return split_words(command)
    except ValueError:
        return []


async def _has_other_source(wanted: MCPServerInput, resolver: InputResolver, report: Report) -> bool:
    if resolver.keyring is not None and await resolver.keyring.get(wanted.id) is not None:
        report.ok(f"input {wanted.id} comes from the keyring")
        return True
    if getattr(wanted, "default", None) is not None:
        report.ok(f"input {wanted.id} has a default, which a service uses")
        return True
    return False


# -------------------------------------------------------------------------------------------------------------- secrets


def _look_for_secrets(file: Path, config: LoadedConfig, report: Report) -> None:
    """Warn about values in the file that look like secrets, without repeating them."""
    lines = jsonc.parse(file.read_text("utf-8-sig"))[1]
    found: list[tuple[str, str]] = []
    # `server_parameters` are the values as they are written in the file. A value that is taken from a variable or an
    # input is a placeholder there, and no warning.
    for server in config.servers:

        def remember(name: str, value: str, server: str = server.name) -> str:
            found.append((server, name.lstrip("-")))
            return value

        replace_secrets(server.server_parameters.model_dump(), remember)
    for server, name in dict.fromkeys(found):
        line = _line(lines, server, name)
        input_id = re.sub(r"[^a-z0-9]+", "-", f"{server} {name}".lower()).strip("-")
        definition = json.dumps({"id": input_id, "type": "promptString", "password": True})
        report.warn(
            f"{file}:{f' line {line}:' if line else ''} {server}: {name or 'a token'} is in plain text",
            f'replace it with "${{input:{input_id}}}" and add {definition} to `inputs`; the Computer then reads the '
            f"value from {_variable(input_id)}, or asks for it at the prompt",
        )
    if found and others_may_read(file):
        report.warn(f"{file} contains secrets, and other users can read it", f"chmod 600 {file}")


def _line(lines: Mapping[jsonc.Path, int], server: str, name: str) -> int | None:
    """The line of a field of a server, or of the server if the field has none."""
    # Only names are known, not the path to the field. The shortest path wins: a deeper field may have the same name.
    of_server = [path for path in lines if server in path]
    named = [path for path in of_server if path[-1] == name]
    best = min(named or of_server, key=len, default=None)
    return lines[best] if best is not None else None
