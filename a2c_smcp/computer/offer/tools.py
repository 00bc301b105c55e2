"""One list of tools from many MCP servers: names, metadata, forbidden tools, name clashes. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from mcp_types import Tool

from a2c_smcp.computer.config.model import A2C_TOOL_META, READ_ONLY, BaseServerConfig, ToolMeta
from a2c_smcp.errors import ToolDisabledError, ToolFailedError, ToolNotFoundError
from a2c_smcp.smcp import SMCPTool

MCP_TOOL_ANNOTATION = "MCP_TOOL_ANNOTATION"


@dataclass(frozen=True)
class Entry:
    """A tool that can be called."""

    server: str
    original_name: str
    meta: ToolMeta
    tool: SMCPTool


DescribedTools: TypeAlias = Mapping[str, Entry]
"""The tools of one server by their own names, in listing order."""


def describe_tools(config: BaseServerConfig, tools: Iterable[Tool]) -> DescribedTools:
    """Describe each tool as an Agent sees it."""
    described: dict[str, Entry] = {}
    for tool in tools:
        meta = _decided(merged_meta(config, tool.name), tool)
        described[tool.name] = Entry(config.name, tool.name, meta, _describe(tool, config, meta))
    return described


@dataclass(frozen=True)
class ServerTools:
    """The tools of one server: those it offers while it is ready, and the names of those it had last.

    The names are kept while a server is away, so that a call of its tool fails with the state of the server, not with
    `tool not found`, and so that no other server takes over the name for a few seconds.
    """

    config: BaseServerConfig
    offered: DescribedTools = field(default_factory=dict[str, Entry])
    known: frozenset[str] = frozenset()
    obstacle: str | None = None
    """Why its tools cannot be called now."""


@dataclass(frozen=True)
class ToolBook:
    """Every tool of a Computer by the name an Agent uses."""

    entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    refusals: Mapping[str, ToolDisabledError | ToolFailedError] = field(
        default_factory=dict[str, "ToolDisabledError | ToolFailedError"]
    )
    """Why a known name cannot be called."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Messages for the owner, by server."""
    owners: Mapping[str, str] = field(default_factory=dict[str, str])
    """The server of each tool, including tools that cannot be called now."""

    @property
    def tools(self) -> list[SMCPTool]:
        """The list that an Agent gets."""
        return [entry.tool for entry in self.entries.values()]

    def find(self, name: str) -> Entry:
        """The tool of this name.

        Raises:
            ToolNotFoundError: no server has it.
            ToolDisabledError: its owner forbids it, or disabled its server.
            ToolFailedError: its server is not ready.
        """
        entry = self.entries.get(name)
        if entry is not None:
            return entry
        # A new error for each call: an exception that is raised again and again collects the tracebacks of all of them.
        refusal = self.refusals.get(name)
        if refusal is not None:
            raise type(refusal)(refusal.message, details=refusal.details)
        raise ToolNotFoundError(f"there is no tool {name}")


def write_book(servers: Iterable[ServerTools]) -> ToolBook:
    """Combine the tools of all servers. The first server, in configuration order, keeps a name that several have."""
    entries: dict[str, Entry] = {}
    owners: dict[str, str] = {}
    refusals: dict[str, ToolDisabledError | ToolFailedError] = {}
    notes: dict[str, list[str]] = {}
    for server in servers:
        config = server.config
        noted = notes.setdefault(config.name, [])
        if config.default_tool_meta is not None and config.default_tool_meta.alias is not None:
            noted.append("the alias in default_tool_meta has no effect: it would name every tool the same")
        # First the tools that it offers, in its order, then those it had: both claim their names.
        for original in dict.fromkeys((*server.offered, *sorted(server.known))):
            entry = server.offered.get(original)
            name = (entry.meta if entry is not None else merged_meta(config, original)).alias or original
            if original in config.forbidden_tools or name in config.forbidden_tools:
                # A forbidden tool does not claim its name: another server may offer a tool of that name.
                refusals.setdefault(name, ToolDisabledError(f"the owner of this Computer forbids the tool {name}"))
            elif name in owners:
                noted.append(_clash(name, original, config.name, owners[name]))
            elif entry is not None:
                owners[name] = config.name
                entries[name] = entry
            else:
                owners[name] = config.name
                refusals[name] = _absence(name, server)
    return ToolBook(entries, refusals, {name: tuple(found) for name, found in notes.items() if found}, owners)


def _absence(name: str, server: ServerTools) -> ToolDisabledError | ToolFailedError:
    if server.config.disabled:
        return ToolDisabledError(f"the tool {name} is disabled: MCP server {server.config.name} is")
    return ToolFailedError(f"MCP server {server.config.name}, which has the tool {name}, {server.obstacle}")


def merged_meta(config: BaseServerConfig, original_name: str) -> ToolMeta:
    """What is configured for a tool: its own fields where they are not null, else the server's defaults."""
    own = config.tool_meta.get(original_name)
    default = config.default_tool_meta
    fields: dict[str, Any] = {}
    if default is not None:
        # An alias for all tools would give all of them the same name.
        fields |= default.model_dump() | {"alias": None}
    if own is not None:
        fields |= {key: value for key, value in own.model_dump().items() if value is not None or key not in fields}
    return ToolMeta.model_validate(fields)


def _decided(meta: ToolMeta, tool: Tool) -> ToolMeta:
    """The same with `auto_apply` as true or false for this tool."""
    if meta.auto_apply != READ_ONLY:
        return meta
    is_read_only = tool.annotations is not None and tool.annotations.read_only_hint is True
    return meta.model_copy(update={"auto_apply": is_read_only})


def _describe(tool: Tool, config: BaseServerConfig, meta: ToolMeta) -> SMCPTool:
    described = SMCPTool(
        name=meta.alias or tool.name,
        description=tool.description or tool.title or "",
        params_schema=tool.input_schema,
        return_schema=tool.output_schema,
    )
    attributes: dict[str, Any] = {key: _attribute(value) for key, value in (tool.meta or {}).items()}
    # These two keys are the Computer's own. A server must not be able to state that its owner allows a tool.
    attributes.pop(A2C_TOOL_META, None)
    attributes.pop(MCP_TOOL_ANNOTATION, None)
    if config.default_tool_meta is not None or tool.name in config.tool_meta:
        attributes[A2C_TOOL_META] = json.dumps(meta.model_dump(mode="json"), ensure_ascii=False)
    if tool.annotations is not None:
        annotations = tool.annotations.model_dump(mode="json", by_alias=True, exclude_none=True)
        attributes[MCP_TOOL_ANNOTATION] = json.dumps(annotations, ensure_ascii=False)
    if attributes:
        described["meta"] = attributes
    return described


def _attribute(value: Any) -> Any:
    """A scalar or a list of scalars as it is; anything else as a JSON string."""
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    if all(map(_is_scalar, items)):
        return cast("Any", value)
    return json.dumps(value, ensure_ascii=False)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _clash(name: str, original: str, server: str, owner: str) -> str:
    alias = json.dumps({original: {"alias": f"{server}_{name}"}}, ensure_ascii=False)
    return f'its tool {name} is hidden: {owner} has one of this name; "tool_meta": {alias} would show it'
