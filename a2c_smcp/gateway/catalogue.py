"""The tools of an office as hosts see them, in one of three modes. Made once for each change, not for each request.

- *merged*: one tool for each distinct tool, with a `computer` parameter where several Computers have it;
- *search*: a few tools that find and call the others, for offices with many;
- *direct*: every tool of every Computer, under its own name where that is unique.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, TypeAlias, cast

import orjson

from a2c_smcp.agent.schemas import object_schema, with_choice
from a2c_smcp.gateway import builtin
from a2c_smcp.gateway.naming import Names, fitted, is_valid
from a2c_smcp.gateway.profile import Profile, is_read_only, server_of, tags_of
from a2c_smcp.gateway.search import NAME, PARAMETER, TEXT, TITLE, Index
from a2c_smcp.smcp import SMCPTool
from a2c_smcp.utils.tool_meta import mcp_tool

SEARCH_FROM = 40
"""Distinct tools from which the mode `auto` is *search*."""

Form: TypeAlias = Literal["merged", "search", "direct"]
"""A mode without `auto`."""


@dataclass(frozen=True, eq=False)
class OfferedTool:
    """A tool under the name that hosts use, and the Computers that it can run on."""

    name: str
    tool: str
    """Its name at the Computers."""
    computers: tuple[str, ...]
    choice: str | None
    """The parameter that chooses the Computer; None where there is one Computer."""
    is_read_only: bool
    tags: frozenset[str]
    servers: tuple[str, ...]
    listed: dict[str, Any]
    """The tool as `tools/list` has it."""

    def texts(self) -> Iterable[tuple[str, float]]:
        """What a search looks at, with weights."""
        yield self.tool, NAME
        yield str(self.listed.get("title") or ""), TITLE
        yield str(self.listed.get("description") or ""), TEXT
        yield from ((tag, TITLE) for tag in self.tags)
        yield from ((server, TITLE) for server in self.servers)
        properties: Any = self.listed["inputSchema"].get("properties")
        if isinstance(properties, Mapping):
            for name, schema in cast("Mapping[str, Any]", properties).items():
                yield name, PARAMETER
                if isinstance(schema, Mapping):
                    yield str(cast("Mapping[str, Any]", schema).get("description") or ""), TEXT


class Catalogue:
    """The tools of an office for one profile, at one moment."""

    def __init__(self, profile: Profile, offered: Mapping[str, Sequence[SMCPTool]], names: Names) -> None:
        self.computers = tuple(sorted(computer for computer in offered if profile.allows_computer(computer)))
        groups = _groups(profile, offered, self.computers)
        self.form: Form = _form(profile, len({fingerprint for _, fingerprint in groups}))
        if self.form == "direct":
            tools = _apart(groups, names)
        else:
            tools = [_merged(name, fingerprint, where, names) for (name, fingerprint), where in _ordered(groups)]
        self._tools = {tool.name: tool for tool in tools}
        builtins = builtin.listed(self.form, self.computers)
        self.listed: list[dict[str, Any]] = builtins
        if self.form != "search":
            self.listed = [*builtins, *(tool.listed for tool in tools)]
        self.digest = sha256(orjson.dumps(self.listed)).hexdigest()
        """Two catalogues with the same digest look the same to a host."""

    def __len__(self) -> int:
        return len(self._tools)

    def find(self, name: str) -> OfferedTool | None:
        """The tool of this name."""
        return self._tools.get(name)

    def search(self, query: str, most: int, computer: str | None = None) -> list[OfferedTool]:
        """The tools that match best; without words in the query, the first ones."""
        tools = list(self._tools.values())
        if not query.strip():
            found = tools
        else:
            found = [tools[number] for number in self._index.search(query, len(tools) if computer else most)]
        return [tool for tool in found if computer is None or computer in tool.computers][:most]

    @cached_property
    def _index(self) -> Index:
        return Index([tool.texts() for tool in self._tools.values()])


_Groups: TypeAlias = dict[tuple[str, str], dict[str, SMCPTool]]


def _form(profile: Profile, distinct: int) -> Form:
    if profile.mode == "auto":
        return "merged" if distinct < SEARCH_FROM else "search"
    return profile.mode


def _groups(profile: Profile, offered: Mapping[str, Sequence[SMCPTool]], computers: Sequence[str]) -> _Groups:
    """The tools, each with the Computers that have it."""
    groups: _Groups = {}
    for computer in computers:
        for tool in offered[computer]:
            # The document server marks its own tools that do what `find_documents` and `read_document` do. With both, a
            # model would have to choose between two ways to the same documents.
            if profile.allows(tool) and (profile.mode == "direct" or not _is_in_finder(tool)):
                groups.setdefault((tool["name"], _fingerprint(tool)), {})[computer] = tool
    return groups


def _ordered(groups: _Groups) -> list[tuple[tuple[str, str], dict[str, SMCPTool]]]:
    """By name; of different tools with one name, that of the alphabetically first Computer first."""
    return sorted(groups.items(), key=lambda group: (group[0][0], next(iter(group[1])), group[0][1]))


def _merged(name: str, fingerprint: str, where: dict[str, SMCPTool], names: Names) -> OfferedTool:
    computers, tool = tuple(where), next(iter(where.values()))
    given = names.give(f"merged {fingerprint}", (fitted(name),))
    listed = mcp_tool(tool)
    schema, key = listed["inputSchema"], None
    if len(computers) > 1:
        schema, key = with_choice(object_schema(schema), computers)
    description = str(listed.get("description") or "").rstrip()
    place = f"Runs on {', '.join(computers)}." if key is None else f"Runs on the {key} you choose."
    shown = {**listed, "name": given, "inputSchema": schema, "description": f"{description}\n\n{place}".strip()}
    return _offered(given, where, key, shown)


def _apart(groups: _Groups, names: Names) -> list[OfferedTool]:
    """Each tool of each Computer by itself."""
    counted: dict[str, int] = {}
    for (name, _), where in groups.items():
        counted[name] = counted.get(name, 0) + len(where)
    tools: list[OfferedTool] = []
    for (name, _), where in _ordered(groups):
        for computer, tool in where.items():
            # A name that several Computers have would lead to one of them by chance, so each gets another one.
            wishes = [name] if is_valid(name) and counted[name] == 1 else []
            wishes.append(fitted(f"{name}_{computer}") if counted[name] > 1 else fitted(name))
            given = names.give(f"direct {computer} {name}", tuple(wishes))
            tools.append(_offered(given, {computer: tool}, None, {**mcp_tool(tool), "name": given}))
    return tools


def _offered(name: str, where: dict[str, SMCPTool], choice: str | None, listed: dict[str, Any]) -> OfferedTool:
    tool = next(iter(where.values()))
    servers = tuple(dict.fromkeys(server for each in where.values() if (server := server_of(each)) is not None))
    return OfferedTool(name, tool["name"], tuple(where), choice, is_read_only(tool), tags_of(tool), servers, listed)


def _fingerprint(tool: SMCPTool) -> str:
    """A hash of the name, the parameters and the results. It is the same on all Computers and in all processes."""
    # With sorted keys: MCP servers write the same schema in any order.
    parts = tool["name"], tool["params_schema"], tool["return_schema"], is_read_only(tool)
    return sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _is_in_finder(tool: SMCPTool) -> bool:
    meta = tool.get("meta")
    return isinstance(meta, Mapping) and meta.get("a2c_finder") is True
