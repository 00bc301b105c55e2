"""Other hosts' configuration, brought over: where it lies, and what it becomes. Nothing is written here.

A secret that stands in clear becomes an input, so that the new file can be shared.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from a2c_smcp.computer.inputs.render import map_strings
from a2c_smcp.computer.inputs.secrets import replace_secrets
from a2c_smcp.computer.mcp_clients.config_file import LoadedConfig, Problem
from a2c_smcp.computer.mcp_clients.model import MCPServerPromptStringInput

HOSTS = ("claude", "cursor", "vscode")


@dataclass
class Imported:
    """What a new file would hold, and where it came from."""

    source: Path
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    secrets: list[str] = field(default_factory=list[str])
    """The inputs that stand where a secret stood in clear."""
    warnings: list[Problem] = field(default_factory=list[Problem])


def candidates(host: str, home: Path | None = None, folder: Path | None = None) -> list[Path]:
    """Where a host keeps its configuration, the most specific place first."""
    home, folder = home or Path.home(), folder or Path.cwd()
    if sys.platform == "darwin":
        settings = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        settings = Path(os.environ.get("APPDATA", home / "AppData" / "Roaming"))
    else:
        settings = Path(os.environ.get("XDG_CONFIG_HOME", home / ".config"))
    return {
        "claude": [
            folder / ".mcp.json",
            settings / "Claude" / "claude_desktop_config.json",
            home / ".claude.json",
        ],
        "cursor": [folder / ".cursor" / "mcp.json", home / ".cursor" / "mcp.json"],
        "vscode": [folder / ".vscode" / "mcp.json", settings / "Code" / "User" / "mcp.json"],
    }[host]


def convert(source: Path, loaded: LoadedConfig) -> Imported:
    """A configuration in this project's shape, with only the fields that say something."""
    imported = Imported(source, warnings=loaded.warnings)
    inputs: dict[str, dict[str, Any]] = {wanted.id: wanted.shown() for wanted in loaded.inputs}
    known: dict[str, str] = {}
    servers: dict[str, Any] = {}
    for config in loaded.servers:

        def to_input(name: str, value: str, server: str = config.name) -> str:
            input_id = known.get(value)
            if input_id is None:
                input_id = known[value] = _free_id(name, server, inputs)
                wanted = MCPServerPromptStringInput(
                    id=input_id, description=f"{name.lstrip('-')} of {server}", password=True
                )
                inputs[input_id] = wanted.model_dump(mode="json", exclude_none=True)
                imported.secrets.append(input_id)
            return f"${{input:{input_id}}}"

        written = config.model_dump(mode="json", exclude_unset=True, exclude={"name", "type"})
        if config.name in loaded.env_files:
            written["envFile"] = str(loaded.env_files[config.name])
        here = map_strings(written["server_parameters"], partial(_in_place, str(loaded.folder)))
        written["server_parameters"] = replace_secrets(here, to_input)
        servers[config.name] = {"type": config.type, **written}
    imported.data = {"servers": servers}
    if inputs:
        imported.data = {"inputs": list(inputs.values()), "servers": servers}
    return imported


def merge(old: dict[str, Any], new: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A file's content with what is new added to it; the names that were there already stay as they were."""
    kept = [name for name in new["servers"] if name in old.get("servers", {})]
    servers = {**old.get("servers", {}), **{name: new["servers"][name] for name in new["servers"] if name not in kept}}
    had: list[dict[str, Any]] = old.get("inputs") or []
    ids = {wanted["id"] for wanted in had}
    inputs = [*had, *(wanted for wanted in new.get("inputs", []) if wanted["id"] not in ids)]
    return {**({"inputs": inputs} if inputs else {}), "servers": servers}, kept


def _in_place(folder: str, text: str) -> str:
    """The new file may lie elsewhere: what was relative to the old one is not any more."""
    return text.replace("${workspaceFolder}", folder)


def _free_id(name: str, server: str, taken: dict[str, Any]) -> str:
    """A readable id for an input that nobody uses yet."""
    base = re.sub(r"[^a-z0-9]+", "-", f"{server} {name}".lower()).strip("-")
    number = 1
    while (found := base if number == 1 else f"{base}-{number}") in taken:
        number += 1
    return found
