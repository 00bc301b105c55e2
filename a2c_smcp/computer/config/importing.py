"""Imports the configuration of other MCP hosts: where each host keeps it, and what it becomes. It writes no file.

A secret in plain text becomes an input, so that the new file can be shared.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from a2c_smcp.computer.config.files import LoadedConfig, Problem, place_of_servers
from a2c_smcp.computer.config.model import MCPServerConfig, MCPServerPromptStringInput
from a2c_smcp.computer.config.placeholders import fill, input_ids, map_strings
from a2c_smcp.computer.config.secrets import replace_secrets
from a2c_smcp.utils.system.paths import by_system, settings_folder

HOSTS = ("claude", "cursor", "vscode", "windsurf", "zed", "cline")
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
"""The editors that Cline may be installed in."""


@dataclass
class Imported:
    """The content of the new file, and what happened on the way."""

    source: Path
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    secrets: list[str] = field(default_factory=list[str])
    """The inputs that replace secrets in plain text."""
    values: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """These secrets, by their inputs."""
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    """Inputs whose id belongs to a different input in the target, and their new ids."""
    shared: list[str] = field(default_factory=list[str])
    """Inputs that the target defines in the same way."""
    allowed: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Tools that run without confirmation, by server; `*` is every tool."""
    kept: list[str] = field(default_factory=list[str])
    """Servers that the target has already; they are not imported."""
    warnings: list[Problem] = field(default_factory=list[Problem])


def candidates(host: str, home: Path | None = None, folder: Path | None = None) -> list[Path]:
    """The files in which a host keeps its configuration, the most specific first."""
    home, folder = home or Path.home(), folder or Path.cwd()
    settings = settings_folder(home)
    zed = by_system(linux=settings / "zed", macos=home / ".config" / "zed", windows=settings / "Zed")
    cline = Path("settings", "cline_mcp_settings.json")
    return {
        "claude": [
            folder / ".mcp.json",
            settings / "Claude" / "claude_desktop_config.json",
            home / ".claude.json",
        ],
        "cursor": [folder / ".cursor" / "mcp.json", home / ".cursor" / "mcp.json"],
        "vscode": [folder / ".vscode" / "mcp.json", settings / "Code" / "User" / "mcp.json"],
        "windsurf": [home / ".codeium" / "windsurf" / "mcp_config.json"],
        "zed": [folder / ".zed" / "settings.json", zed / "settings.json"],
        "cline": [
            *(settings / each / "User" / "globalStorage" / "saoudrizwan.claude-dev" / cline for each in _EDITORS),
            home / ".cline" / "data" / cline,
        ],
    }[host]


def convert(source: Path, loaded: LoadedConfig, target: LoadedConfig | None = None) -> Imported:
    """The configuration in the format of this project, without fields that have their default.

    The result can be added to `target`: servers that it has are left out, and inputs get ids that are free there.
    """
    target = target or LoadedConfig()
    there = {server.name for server in target.servers}
    imported = Imported(source, warnings=loaded.warnings)
    imported.kept = [config.name for config in loaded.servers if config.name in there]
    wanted_servers = [config for config in loaded.servers if config.name not in there]
    inputs = _bring_inputs(imported, wanted_servers, loaded, target)
    new_ids = {old: f"${{input:{new}}}" for old, new in imported.renamed.items()}
    taken = {wanted.id for wanted in (*loaded.inputs, *target.inputs)}
    known: dict[str, str] = {}
    servers: dict[str, Any] = {}
    for config in wanted_servers:
        # One input for each value: a token that two servers use is asked for once.
        def to_input(name: str, value: str, server: str = config.name) -> str:
            input_id = known.get(value)
            if input_id is None:
                input_id = known[value] = _free_id(_readable(f"{server} {name}"), taken | inputs.keys())
                wanted = MCPServerPromptStringInput(
                    id=input_id, description=f"{name.lstrip('-')} of {server}", password=True
                )
                inputs[input_id] = wanted.model_dump(mode="json", exclude_none=True)
                imported.secrets.append(input_id)
                imported.values[input_id] = value
            return f"${{input:{input_id}}}"

        written = config.model_dump(mode="json", exclude_unset=True, exclude={"name", "type"})
        if config.name in loaded.env_files:
            written["envFile"] = str(loaded.env_files[config.name])
        here = map_strings(written["server_parameters"], partial(_in_place, str(loaded.folder)))
        written["server_parameters"] = replace_secrets(fill(here, new_ids), to_input)
        servers[config.name] = {"type": config.type, **written}
        metas = {"*": config.default_tool_meta, **config.tool_meta}
        if allowed := [tool for tool, meta in metas.items() if meta is not None and meta.auto_apply is True]:
            imported.allowed[config.name] = allowed
    imported.data = {"servers": servers}
    if inputs:
        imported.data = {"inputs": list(inputs.values()), "servers": servers}
    return imported


def _bring_inputs(
    imported: Imported, servers: list[MCPServerConfig], loaded: LoadedConfig, target: LoadedConfig
) -> dict[str, dict[str, Any]]:
    """The inputs of these servers by their new ids, which differ where the target has another input of that id."""
    there = {wanted.id: wanted.shown() for wanted in target.inputs}
    defined = {wanted.id: wanted.shown() for wanted in loaded.inputs}
    brought: dict[str, dict[str, Any]] = {}
    for input_id in input_ids([config.server_parameters.model_dump() for config in servers]):
        new_id = input_id
        # The same id may stand for another question in the target. Without a new id, the imported server would get the
        # secret of another one.
        if input_id in there and there[input_id] != defined.get(input_id):
            new_id = imported.renamed[input_id] = _free_id(input_id, there.keys() | defined.keys())
        elif input_id in there:
            imported.shared.append(input_id)
        if input_id in defined:
            brought[new_id] = {**defined[input_id], "id": new_id}
    return brought


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The content of a file with new servers and inputs, in the format of the file. Existing entries do not change."""
    merged = copy.deepcopy(old)
    _, section, key = place_of_servers(merged)
    there: dict[str, Any] = section.get(key) or {}
    # New servers are written as the existing ones are: another program may read this file, too.
    is_flat = section is not merged or key != "servers" or any("server_parameters" not in s for s in there.values())
    section[key] = there | {name: _flat(server) if is_flat else server for name, server in new["servers"].items()}
    had: list[dict[str, Any]] = section.get("inputs") or []
    ids = {wanted["id"] for wanted in had}
    if inputs := [wanted for wanted in new.get("inputs", []) if wanted["id"] not in ids]:
        section["inputs"] = [*had, *inputs]
    return merged


def _flat(server: dict[str, Any]) -> dict[str, Any]:
    """A server in the format of other hosts."""
    kind = "http" if server["type"] == "streamable" else server["type"]
    rest = {key: value for key, value in server.items() if key not in ("type", "server_parameters")}
    return {"type": kind, **server["server_parameters"], **rest}


def _in_place(folder: str, text: str) -> str:
    """Replace the workspace folder by its path: the new file may be in another folder."""
    return text.replace("${workspaceFolder}", folder)


def _readable(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _free_id(base: str, taken: Collection[str]) -> str:
    """An id that no input has."""
    number = 1
    while (found := base if number == 1 else f"{base}-{number}") in taken:
        number += 1
    return found
