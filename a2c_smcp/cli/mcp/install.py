"""`a2c mcp install`: writes or prints the configuration of an MCP host."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import typer

from a2c_smcp.cli.errors import did_you_mean, fail
from a2c_smcp.cli.mcp.files import (
    CannotEdit,
    json_entry,
    read_text,
    toml_entry,
    toml_table,
    with_json_entry,
    with_toml_entry,
    write_text,
)
from a2c_smcp.cli.mcp.options import DEFAULT_HEADER, Target
from a2c_smcp.gateway.host_entries import HOSTS, KEY_VARIABLE, Address, Command, Host, is_ours, merged
from a2c_smcp.utils.system.files import others_may_read
from a2c_smcp.utils.url import gateway_url

_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")


class _Done(NamedTuple):
    """What was done to a file."""

    changed: bool
    is_new: bool
    copy: Path | None


def install(host_id: str, target: Target, name: str, *, http: bool, only_print: bool, as_json: bool) -> None:
    """Write or print an entry for the office; ends the command if that fails."""
    host = HOSTS.get(host_id)
    if host is None:
        fail(f"{host_id}: unknown host; choose one of {', '.join(HOSTS)}{did_you_mean(host_id, HOSTS)}", 2)
    if not _NAME.fullmatch(name):
        fail(f"--name {name}: must have 1 to 32 letters, digits, - or _", 2)
    url = gateway_url(target.url or "", target.office or "", target.profile, target.query)
    if http and not host.takes_urls:
        fail(f"--http: {host.title} takes no URLs in its file; add {url} in its settings, under Connectors", 2)
    entry = host.entry(_address(target, url) if http else _command(target))
    file = host.location()
    facts: dict[str, Any] = {"host": host_id, "file": str(file), "name": name}
    if only_print:
        _show(facts, host, file, name, entry, as_json=as_json)
        return
    try:
        done = _write(host, file, name, entry)
    except CannotEdit as problem:
        _show({**facts, "problem": str(problem)}, host, file, name, entry, as_json=as_json)
        fail(f"{file} was not changed: {problem}")
    except OSError as error:
        fail(f"cannot write {file}: {error.strerror or error}")
    has_key = target.api_key is not None
    if as_json:
        copy = str(done.copy) if done.copy is not None else None
        typer.echo(json.dumps({**facts, "changed": done.changed, "backup": copy, "has_key": has_key}, indent=2))
        return
    _report(done, host, file, name, target, has_key=has_key)


def _write(host: Host, file: Path, name: str, entry: dict[str, Any]) -> _Done:
    find, put = (toml_entry, with_toml_entry) if file.suffix == ".toml" else (json_entry, with_json_entry)
    text = read_text(file)
    existing = find(text, host.section, name)
    if existing is not None:
        if not is_ours(existing, entry):
            fail(f"{file} has another MCP server {name!r}: choose another --name")
        entry = merged(existing, entry)
        if entry == existing:
            return _Done(changed=False, is_new=False, copy=None)
    copy = write_text(file, text, put(text, host.section, name, entry))
    return _Done(changed=True, is_new=text is None, copy=copy)


def _report(done: _Done, host: Host, file: Path, name: str, target: Target, *, has_key: bool) -> None:
    if not done.changed:
        typer.echo(f"{file} already has office {target.office} as {name}; nothing was changed")
    else:
        typer.echo(f"{'created' if done.is_new else 'changed'} {file}: office {target.office} is the MCP server {name}")
    if done.copy is not None:
        typer.echo(f"the file as it was is {done.copy}")
    if has_key:
        typer.echo(f"the API key is stored in {file}")
        if others_may_read(file):
            typer.echo(f"warning: other users of this machine can read it: chmod 600 {file}", err=True)
    if done.changed:
        typer.echo(f"restart {host.title} to use it")


def _show(facts: dict[str, Any], host: Host, file: Path, name: str, entry: dict[str, Any], *, as_json: bool) -> None:
    """Print the entry, and where to put it."""
    if as_json:
        typer.echo(json.dumps({**facts, "section": host.section, "entry": entry}, indent=2, ensure_ascii=False))
        return
    typer.echo(f"add this to {file}:", err=True)
    if file.suffix == ".toml":
        typer.echo(toml_table((host.section, name), entry), nl=False)
    else:
        typer.echo(json.dumps({host.section: {name: entry}}, indent=2, ensure_ascii=False))


def _address(target: Target, url: str) -> Address:
    if target.api_key is None:
        return Address(url, {})
    header = target.api_key_header or DEFAULT_HEADER
    # Every Server accepts this form, and hosts know that it is a secret.
    if header == DEFAULT_HEADER:
        return Address(url, {"Authorization": f"Bearer {target.api_key}"})
    return Address(url, {header: target.api_key})


def _command(target: Target) -> Command:
    env = {KEY_VARIABLE: target.api_key} if target.api_key is not None else {}
    program, *first = this_program()
    return Command(program, (*first, "mcp", *target.arguments), env)


def this_program() -> list[str]:
    """The command that runs this installation from anywhere. Hosts with a window have another PATH than a shell."""
    suffix = ".exe" if sys.platform == "win32" else ""
    for candidate in (Path(sys.argv[0]), Path(sys.executable).parent / f"a2c{suffix}"):
        if candidate.stem == "a2c" and candidate.is_file():
            return [str(candidate.absolute())]
    return [sys.executable, "-m", "a2c_smcp.cli"]
