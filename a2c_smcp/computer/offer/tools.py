"""One list of tools from many MCP servers: names, metadata, digests, forbidden tools, name clashes. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, cast

import orjson
from mcp_types import Tool

from a2c_smcp.computer.config.model import READ_ONLY, BaseServerConfig, ToolMeta
from a2c_smcp.computer.mcp.listing import ListedTool
from a2c_smcp.computer.mcp.oauth.demand import Demand
from a2c_smcp.computer.offer.metadata import theirs
from a2c_smcp.errors import SMCPError, ToolDisabledError, ToolFailedError, ToolNotFoundError
from a2c_smcp.smcp import SMCPTool
from a2c_smcp.utils.tool_meta import (
    A2C_DIGEST,
    A2C_MCP_SERVER,
    A2C_MCP_TOOL,
    A2C_TOOL_META,
    MCP_TOOL_ANNOTATION,
    OURS,
)

MAX_TAGS = 50
"""Tags that a server may declare for a tool."""
MAX_TAG = 100
"""Characters of such a tag."""
_ELSEWHERE = frozenset(("name", "description", "inputSchema", "outputSchema", "annotations", "_meta"))
"""What MCP says about a tool and other fields hold."""


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
    bundle_id = config.identity
    for tool in tools:
        meta = _tagged(_decided(merged_meta(config, tool.name), tool), tool)
        described[tool.name] = Entry(config.name, tool.name, meta, _describe(tool, config, meta, bundle_id))
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
    demand: Demand | None = None
    """The login that it waits for."""
    is_listed: bool = True
    """Whether it has listed its tools. Before, `known` has only those that are configured."""


@dataclass(frozen=True)
class ToolBook:
    """Every tool of a Computer by the name an Agent uses."""

    entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    refusals: Mapping[str, SMCPError] = field(default_factory=dict[str, SMCPError])
    """Why a known name cannot be called."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Messages for the owner, by server."""
    owners: Mapping[str, str] = field(default_factory=dict[str, str])
    """The server of each tool, including tools that cannot be called now."""
    login: SMCPError | None = None
    """The error of a server that waits for a login and has not listed its tools yet: it may have any name."""

    # A book is never changed, so everything below is made once for each list, when it is first needed.

    @cached_property
    def _tools(self) -> list[SMCPTool]:
        return [entry.tool for entry in self.entries.values()]

    @cached_property
    def _text(self) -> bytes:
        return orjson.dumps(self._tools)

    @property
    def tools(self) -> list[SMCPTool]:
        """The list that an Agent gets."""
        return list(self._tools)

    @cached_property
    def _digest(self) -> str:
        return _digest_of(self._text)

    def written(self, tools: Any) -> tuple[bytes, str]:
        """A list of tools as JSON, and a short text that differs for each list.

        Raises:
            TypeError: it cannot be written.
        """
        # A program may answer with a list of its own. The comparison costs microseconds, because the entries are the
        # same objects; to write 400 tools costs a millisecond.
        if tools == self._tools:
            return self._text, self._digest
        text = orjson.dumps(tools)
        return text, _digest_of(text)

    def find(self, name: str) -> Entry:
        """The tool of this name.

        Raises:
            ToolNotFoundError: no server has it.
            ToolDisabledError: its owner forbids it, or disabled its server.
            LoginNeededError, LoginRefusedError: its server waits for a login.
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

    def explain(self, name: str, absence: SMCPError) -> SMCPError:
        """The error for a tool that cannot be found: that of a server which waits for a login and may have it, or the
        error itself."""
        if self.login is None or not isinstance(absence, ToolNotFoundError):
            return absence
        words = f"The tool {name} is unknown before a login. {self.login.message}"
        return type(self.login)(words, details=self.login.details)


def write_book(servers: Iterable[ServerTools]) -> ToolBook:
    """Combine the tools of all servers. The first server, in configuration order, keeps a name that several have."""
    entries: dict[str, Entry] = {}
    owners: dict[str, str] = {}
    refusals: dict[str, SMCPError] = {}
    notes: dict[str, list[str]] = {}
    identities: dict[str, str] = {}
    login: SMCPError | None = None
    for server in servers:
        config = server.config
        if login is None and server.demand is not None and not server.is_listed:
            login = server.demand.error(config.name)
        noted = notes.setdefault(config.name, [])
        identity = config.identity
        if (namesake := identities.setdefault(identity, config.name)) != config.name:
            noted.append(_same_identity(identity, namesake))
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
    return ToolBook(entries, refusals, {name: tuple(found) for name, found in notes.items() if found}, owners, login)


def _absence(name: str, server: ServerTools) -> SMCPError:
    if server.config.disabled:
        return ToolDisabledError(f"the tool {name} is disabled: MCP server {server.config.name} is")
    if server.demand is not None:
        return server.demand.error(server.config.name)
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


def _tagged(meta: ToolMeta, tool: Tool) -> ToolMeta:
    """The same with the tags that the server declares, unless its owner configured any."""
    # Nothing else is taken from there: a server must not decide that its tools need no confirmation, or how they are
    # called.
    declared = (tool.meta or {}).get(A2C_TOOL_META)
    tags = cast("dict[str, Any]", declared).get("tags") if isinstance(declared, dict) else None
    if meta.tags is not None or not isinstance(tags, list):
        return meta
    found = [tag for tag in cast("list[Any]", tags) if isinstance(tag, str) and 0 < len(tag) <= MAX_TAG]
    return meta.model_copy(update={"tags": found[:MAX_TAGS]}) if found else meta


def _describe(tool: Tool, config: BaseServerConfig, meta: ToolMeta, bundle_id: str) -> SMCPTool:
    described = SMCPTool(
        name=meta.alias or tool.name,
        bundle_id=bundle_id,
        description=tool.description or tool.title or "",
        params_schema=tool.input_schema,
        return_schema=tool.output_schema,
    )
    attributes: dict[str, Any] = {key: _attribute(value) for key, value in (theirs(tool.meta, OURS) or {}).items()}
    if config.default_tool_meta is not None or tool.name in config.tool_meta or meta.tags:
        attributes[A2C_TOOL_META] = json.dumps(meta.model_dump(mode="json"), ensure_ascii=False)
    written = _written(tool)
    if (annotations := written.get("annotations")) is not None:
        attributes[MCP_TOOL_ANNOTATION] = json.dumps(annotations, ensure_ascii=False)
    if further := _further(written, attributes):
        attributes[A2C_MCP_TOOL] = json.dumps(further, ensure_ascii=False)
    parts = described["name"], described["description"], tool.input_schema, tool.output_schema, annotations
    # With sorted keys: a server may write the same schema in another order after each start.
    attributes[A2C_DIGEST] = _digest_of(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS))
    attributes[A2C_MCP_SERVER] = config.name
    described["meta"] = attributes
    return described


def _written(tool: Tool) -> dict[str, Any]:
    """A tool as its server wrote it."""
    if isinstance(tool, ListedTool) and tool.written:
        return tool.written
    return tool.model_dump(mode="json", by_alias=True, exclude_none=True)


def _further(written: dict[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    """What a server says about a tool and an Agent could not restore from the other fields: title, icons and so on."""
    further = {key: value for key, value in written.items() if key not in _ELSEWHERE}
    meta = theirs(written.get("_meta"), OURS)
    if meta is not None and (not meta or meta != {key: attributes[key] for key in attributes if key not in OURS}):
        further["_meta"] = meta  # it has values that `meta` holds as texts
    if not isinstance(written.get("description"), str):
        further["description"] = None  # the description is the title, or empty
    return further


def _digest_of(text: bytes) -> str:
    # 128 bits: nobody can make up another tool with the same digest.
    return hashlib.sha256(text).hexdigest()[:32]


def _attribute(value: Any) -> Any:
    """A scalar or a list of scalars as it is; anything else as a JSON string."""
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    if all(map(_is_scalar, items)):
        return cast("Any", value)
    return json.dumps(value, ensure_ascii=False)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _same_identity(identity: str, owner: str) -> str:
    other = json.dumps(f"{identity}-2")
    return f'its bundle_id {identity} is that of {owner}, too; "bundle_id": {other} would tell Agents which is which'


def _clash(name: str, original: str, server: str, owner: str) -> str:
    alias = json.dumps({original: {"alias": f"{server}_{name}"}}, ensure_ascii=False)
    return f'its tool {name} is hidden: {owner} has one of this name; "tool_meta": {alias} would show it'
