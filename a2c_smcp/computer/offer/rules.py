"""The rules that decide about each tool, where each one comes from, and how the owner changes them.

A change applies at once, and is written into the file that the MCP server came from. The rest of the file stays as it
is, with its comments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from a2c_smcp.computer.config.model import READ_ONLY, MCPServerConfig
from a2c_smcp.computer.offer.grants import Grants
from a2c_smcp.computer.offer.manager import MCPServerManager
from a2c_smcp.computer.offer.tools import Entry
from a2c_smcp.errors import NotFoundError
from a2c_smcp.utils import jsonc

_FORBIDDEN = ("forbidden_tools", "disabledTools")
"""The keys of the list of forbidden tools: ours, and that of other hosts."""


class Rule(StrEnum):
    """What happens with a call of a tool."""

    RUN = "run"
    ASK = "ask"
    FORBID = "forbid"


Source: TypeAlias = Literal["forbidden_tools", "tool_meta", "default_tool_meta", "grant", "default"]


@dataclass(frozen=True, slots=True)
class ToolRule:
    """A tool, and the rule that decides about it."""

    entry: Entry
    rule: Rule
    source: Source
    """What says so: a field of the configuration, a grant of the owner, or nothing."""
    detail: str | None = None
    """More about the source, such as who gave a grant."""


@dataclass(frozen=True, slots=True)
class Saved:
    """Where a change was written; otherwise why it lasts only until the Computer stops."""

    path: Path | None
    problem: str | None = None


class Rules:
    """The rules of one Computer."""

    def __init__(self, manager: MCPServerManager, grants: Grants) -> None:
        self._manager = manager
        self._grants = grants
        self._turn = asyncio.Lock()
        """One change at a time: each writes a file that it has compared before."""

    def all(self) -> list[ToolRule]:
        """Every tool that some MCP server offers now, with its rule."""
        return [self._of(config, entry) for config, tools in self._manager.described() for entry in tools.values()]

    def of(self, server: str, tool: str) -> ToolRule:
        """The rule for a tool, by the name that its server uses.

        Raises:
            NotFoundError: there is no such MCP server, or it does not offer such a tool now.
        """
        return self._of(*self._find(server, tool))

    async def set(self, server: str, tool: str, rule: Rule) -> Saved:
        """Change the rule for a tool, by the name that its server uses.

        Raises:
            NotFoundError: there is no such MCP server, or it does not offer such a tool now.
        """
        async with self._turn:
            config, entry = self._find(server, tool)
            names = (tool, entry.tool["name"])
            auto_apply = None if rule is Rule.FORBID else rule is Rule.RUN
            saved = await self._save(config, partial(_edited, names, rule))
            if rule is not Rule.RUN:
                self._grants.end(server, tool)
            # Found again: the configuration may have changed while the file was written.
            config = self._config(server)
            forbidden = [name for name in config.forbidden_tools if name not in names]
            if rule is Rule.FORBID:
                forbidden.append(tool)
            await self._manager.aadd_or_aupdate_server(config.ruled(tool, auto_apply, forbidden))
            return saved

    async def switch(self, server: str, *, disabled: bool) -> Saved:
        """Disable an MCP server, or enable it; and wait until it has stopped, or has started or failed.

        Raises:
            NotFoundError: there is no such MCP server.
        """
        async with self._turn:
            config = self._config(server)

            def edit(place: jsonc.Path, text: str) -> str:
                return jsonc.with_value(text, (*place, "disabled"), disabled)

            saved = await self._save(config, edit)
            config = self._config(server)
        await self._manager.aadd_or_aupdate_server(config.switched(disabled=disabled))
        return saved

    def _of(self, config: MCPServerConfig, entry: Entry) -> ToolRule:
        if {entry.original_name, entry.tool["name"]} & set(config.forbidden_tools):
            return ToolRule(entry, Rule.FORBID, "forbidden_tools")
        own, default = config.tool_meta.get(entry.original_name), config.default_tool_meta
        source: Source = "default"
        value = None
        if own is not None and own.auto_apply is not None:
            source, value = "tool_meta", own.auto_apply
        elif default is not None and default.auto_apply is not None:
            source, value = "default_tool_meta", default.auto_apply
        detail = READ_ONLY if value == READ_ONLY else None
        if entry.meta.auto_apply:
            return ToolRule(entry, Rule.RUN, source, detail)
        grant = self._grants.of(entry.server, entry.original_name)
        if grant is not None:
            seconds = grant.remaining()
            until = "until the Computer stops" if seconds is None else f"for {seconds / 60:.0f} min"
            return ToolRule(entry, Rule.RUN, "grant", f"{until}, by {grant.by}")
        return ToolRule(entry, Rule.ASK, source, detail)

    def _config(self, server: str) -> MCPServerConfig:
        config = self._manager.config(server)
        if config is None:
            raise NotFoundError(f"there is no MCP server {server}")
        return config

    def _find(self, server: str, tool: str) -> tuple[MCPServerConfig, Entry]:
        self._config(server)
        for config, tools in self._manager.described():
            if config.name == server and tool in tools:
                return config, tools[tool]
        raise NotFoundError(f"MCP server {server} offers no tool {tool}")

    async def _save(self, config: MCPServerConfig, edit: Callable[[jsonc.Path, str], str]) -> Saved:
        """Change the file of a server; `edit` gets the place of the server in the text, and the text."""
        if config.origin is None:
            return Saved(None, f"MCP server {config.name} is not in a configuration file")
        source = config.origin.source
        try:
            await asyncio.to_thread(source.edit, partial(edit, config.origin.place))
        except (OSError, jsonc.JSONCError) as error:
            return Saved(None, f"{getattr(error, 'strerror', None) or error} ({source.path})")
        return Saved(source.path)


def _edited(names: tuple[str, str], rule: Rule, place: jsonc.Path, text: str) -> str:
    """The text of a file with another rule for a tool, whose server's name and alias are given."""
    if rule is not Rule.FORBID:
        text = jsonc.with_value(text, (*place, "tool_meta", names[0], "auto_apply"), rule is Rule.RUN)
    listed = False
    for key in _FORBIDDEN:
        found = _list_at(text, (*place, key))
        listed |= any(name in names for name in found)
        if rule is not Rule.FORBID:
            for index in reversed(range(len(found))):
                if found[index] in names:
                    text = jsonc.without_item(text, (*place, key, index))
    if rule is Rule.FORBID and not listed:
        found = _list_at(text, (*place, _FORBIDDEN[0]))
        where, value = ((len(found),), names[0]) if found else ((), [names[0]])
        text = jsonc.with_value(text, (*place, _FORBIDDEN[0], *where), value)
    return text


def _list_at(text: str, place: jsonc.Path) -> list[Any]:
    found: Any = jsonc.parse(text)[0]
    for step in place:
        found = cast("dict[str | int, Any]", found).get(step) if isinstance(found, dict) else None
    return cast("list[Any]", found) if isinstance(found, list) else []
