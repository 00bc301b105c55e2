"""The MCP hosts that `a2c mcp install` knows: where each keeps its configuration, and how an entry looks there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from a2c_smcp.utils.system.paths import settings_folder

KEY_VARIABLE = "A2C_API_KEY"
OF_COMMANDS = ("command", "args", "env")
URLS, HEADERS = ("url", "httpUrl"), ("headers", "http_headers")
OF_URLS = (*URLS, *HEADERS)
"""The fields of the two kinds of entries, which exclude each other."""


@dataclass(frozen=True)
class Command:
    """A command that the host starts."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True)
class Address:
    """A URL that the host connects to."""

    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Host:
    """One MCP host."""

    title: str
    file: Callable[[Path, str], Path]
    """Its configuration, in a home folder on a system (`sys.platform`)."""
    section: str = "mcpServers"
    """The key of its MCP servers."""
    types: tuple[str, str] | None = None
    """The values of `type` for commands and URLs; None for a host that needs none."""
    url: str = "url"
    headers: str = "headers"
    takes_urls: bool = True

    def entry(self, what: Command | Address) -> dict[str, Any]:
        """The entry for this host."""
        kind = {"type": self.types[isinstance(what, Address)]} if self.types is not None else {}
        if isinstance(what, Address):
            headers = {self.headers: dict(what.headers)} if what.headers else {}
            return {**kind, self.url: what.url, **headers}
        env = {"env": dict(what.env)} if what.env else {}
        return {**kind, "command": what.command, "args": list(what.args), **env}

    def location(self, home: Path | None = None, system: str = sys.platform) -> Path:
        """The file of this user's configuration."""
        return self.file(home or Path.home(), system)


def _in_settings(*parts: str) -> Callable[[Path, str], Path]:
    return lambda home, system: settings_folder(home, system).joinpath(*parts)


def _in_home(variable: str | None, folder: str, name: str) -> Callable[[Path, str], Path]:
    """A file in a folder of the home folder, or in the one that a variable of the host names."""

    def locate(home: Path, system: str) -> Path:
        chosen = os.environ.get(variable) if variable is not None else None
        return Path(chosen or home / folder) / name

    return locate


HOSTS = {
    "claude-desktop": Host(
        "Claude Desktop", _in_settings("Claude", "claude_desktop_config.json"), takes_urls=False
    ),
    "claude-code": Host("Claude Code", _in_home("CLAUDE_CONFIG_DIR", "", ".claude.json"), types=("stdio", "http")),
    "cursor": Host("Cursor", _in_home(None, ".cursor", "mcp.json")),
    "vscode": Host(
        "VS Code", _in_settings("Code", "User", "mcp.json"), section="servers", types=("stdio", "http")
    ),
    "gemini-cli": Host("Gemini CLI", _in_home(None, ".gemini", "settings.json"), url="httpUrl"),
    "codex": Host(
        "Codex", _in_home("CODEX_HOME", ".codex", "config.toml"), section="mcp_servers", headers="http_headers"
    ),
}  # fmt: skip


def merged(existing: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """An entry that has our fields, and what its owner added to it."""
    is_command, has_same_server = "command" in ours, server_of(existing) == server_of(ours)
    made = {name: value for name, value in existing.items() if name not in (OF_URLS if is_command else OF_COMMANDS)}
    for field in ("env", *HEADERS):
        kept: dict[str, Any] = dict(made.pop(field, None) or {})
        # A key stays if none is given. Another Server must not get it.
        if not has_same_server:
            kept = {name: value for name, value in kept.items() if field == "env" and name != KEY_VARIABLE}
        values = {**kept, **ours.get(field, {})}
        if values:
            made[field] = values
    made = {**made, **{name: value for name, value in ours.items() if name not in ("env", *HEADERS)}}
    return {name: made[name] for name in dict.fromkeys([*existing, *ours]) if name in made}


def server_of(entry: Mapping[str, Any]) -> str | None:
    """The URL of the Server that an entry of ours leads to."""
    if (args := _args(entry)) is not None and "--url" in args[:-1]:
        return args[args.index("--url") + 1]
    url = next((entry[name] for name in URLS if name in entry), "")
    server, found, _ = str(url).partition("/mcp/")
    return server if found else None


def is_ours(entry: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Whether an existing entry is one of `a2c mcp install`: another program may have the same name."""
    args = _args(entry)
    if args is not None and "mcp" in args and "--office" in args:
        return Path(str(entry.get("command"))).stem == "a2c" or "a2c_smcp.cli" in args
    # A URL does not say whose it is; one of the same Server is.
    return server_of(entry) is not None and server_of(entry) == server_of(ours)


def _args(entry: Mapping[str, Any]) -> list[str] | None:
    args: Any = entry.get("args")
    return [str(arg) for arg in cast("list[Any]", args)] if isinstance(args, list) else None
