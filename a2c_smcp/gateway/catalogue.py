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
from a2c_smcp.gateway.described import Described, Offers
from a2c_smcp.gateway.naming import NameBook, Names, fitted, is_valid
from a2c_smcp.gateway.paging import PAGE_BYTES
from a2c_smcp.gateway.profile import Profile
from a2c_smcp.gateway.search import NAME, PARAMETER, TEXT, TITLE, Index

SEARCH_FROM = 40
"""Distinct tools from which the mode `auto` is *search*."""

Form: TypeAlias = Literal["merged", "search", "direct"]
"""A mode without `auto`."""


@dataclass(frozen=True, slots=True, eq=False)
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
    names_headers: bool
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


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list of tools."""

    tools: list[dict[str, Any]]
    text: bytes
    """The part as JSON: to write hundreds of tools takes milliseconds."""


class Catalogue:
    """The tools of an office for one profile, at one moment."""

    def __init__(self, profile: Profile, offers: Offers, names: NameBook) -> None:
        self.computers = tuple(sorted(computer for computer in offers if profile.allows_computer(computer)))
        groups = _groups(profile, offers, self.computers)
        self.form: Form = _form(profile, len(groups))
        if self.form == "direct":
            tools = _apart(groups, names.direct)
            names.direct.trim({_key(computer, tool) for where in groups for computer, tool in where.items()})
        else:
            tools = [_merged(where, names.merged) for where in groups]
            names.merged.trim({_first(where).fingerprint for where in groups})
        self._tools = {tool.name: tool for tool in tools}
        self.listed: list[dict[str, Any]] = builtin.listed(self.form, self.computers)
        if self.form != "search":
            self.listed += [tool.listed for tool in tools]
        self.pages = _pages(self.listed)
        """The list, written as JSON."""
        self.old_pages = self.pages
        """The same for hosts before 2026-07-28, for which every result of a tool is an object."""
        if not all(map(_gives_object, self.listed)):
            self.old_pages = _pages([_without_output(tool) for tool in self.listed])
        self.digest = sha256(b"".join(page.text for page in self.pages)).hexdigest()
        """Two catalogues with the same digest look the same to a host."""

    def __len__(self) -> int:
        return len(self._tools)

    def find(self, name: str) -> OfferedTool | None:
        """The tool of this name."""
        return self._tools.get(name)

    def search(self, query: str, most: int) -> list[OfferedTool]:
        """The tools that match best; without words in the query, the first ones."""
        tools = list(self._tools.values())
        if not query.strip():
            return tools[:most]
        return [tools[number] for number in self.index.search(query, most)]

    @cached_property
    def index(self) -> Index:
        """The words of all tools."""
        return Index([tool.texts() for tool in self._tools.values()])


_Group: TypeAlias = dict[str, Described]
"""The same tool on several Computers, by their names."""


def _form(profile: Profile, distinct: int) -> Form:
    if profile.mode == "auto":
        return "merged" if distinct < SEARCH_FROM else "search"
    return profile.mode


def _groups(profile: Profile, offers: Offers, computers: Sequence[str]) -> list[_Group]:
    """The distinct tools, by name; of different ones with one name, that of the alphabetically first Computer first."""
    groups: dict[str, _Group] = {}
    for computer in computers:
        for tool in offers[computer]:
            # The document server marks its own tools that do what `find_documents` and `read_document` do. With both, a
            # model would have to choose between two ways to the same documents.
            if profile.allows(tool) and (profile.mode == "direct" or not tool.is_in_finder):
                groups.setdefault(tool.fingerprint, {})[computer] = tool
    return sorted(groups.values(), key=lambda where: (_first(where).name, next(iter(where)), _first(where).fingerprint))


def _key(computer: str, tool: Described) -> str:
    return f"{computer}\0{tool.name}"


def _first(where: _Group) -> Described:
    return next(iter(where.values()))


def _merged(where: _Group, names: Names) -> OfferedTool:
    computers, tool = tuple(where), _first(where)
    given = names.give(tool.fingerprint, (fitted(tool.name),))
    schema, key = tool.listed["inputSchema"], None
    if len(computers) > 1:
        schema, key = with_choice(object_schema(schema), computers)
    description = str(tool.listed.get("description") or "").rstrip()
    place = f"Runs on {next(iter(where))}." if key is None else f"Runs on the {key} you choose."
    shown = {**tool.listed, "name": given, "description": f"{description}\n\n{place}".strip(), "inputSchema": schema}
    return _offered(given, where, key, shown)


def _apart(groups: Sequence[_Group], names: Names) -> list[OfferedTool]:
    """Each tool of each Computer by itself."""
    counted: dict[str, int] = {}
    for where in groups:
        name = _first(where).name
        counted[name] = counted.get(name, 0) + len(where)
    tools: list[OfferedTool] = []
    for where in groups:
        for computer, tool in where.items():
            name = tool.name
            # A name that several Computers have would lead to one of them by chance, so each gets another one.
            wishes = [name] if is_valid(name) and counted[name] == 1 else []
            wishes.append(fitted(f"{name}_{computer}") if counted[name] > 1 else fitted(name))
            given = names.give(_key(computer, tool), tuple(wishes))
            tools.append(_offered(given, {computer: tool}, None, {**tool.listed, "name": given}))
    return tools


def _offered(name: str, where: _Group, choice: str | None, listed: dict[str, Any]) -> OfferedTool:
    tool = _first(where)
    servers = tuple(dict.fromkeys(each.server for each in where.values() if each.server is not None))
    return OfferedTool(
        name, tool.name, tuple(where), choice, tool.is_read_only, tool.tags, servers, tool.names_headers, listed
    )


def _pages(listed: Sequence[dict[str, Any]]) -> list[Page]:
    """A list of tools in pages; at least one."""
    pages: list[Page] = []
    tools: list[dict[str, Any]] = []
    texts: list[bytes] = []
    size = 0
    for tool in listed:
        text = orjson.dumps(tool)
        if tools and size + len(text) > PAGE_BYTES:
            pages.append(Page(tools, b"[%b]" % b",".join(texts)))
            tools, texts, size = [], [], 0
        tools.append(tool)
        texts.append(text)
        size += len(text) + 1
    return [*pages, Page(tools, b"[%b]" % b",".join(texts))]


def _gives_object(tool: Mapping[str, Any]) -> bool:
    schema: Any = tool.get("outputSchema")
    return schema is None or (isinstance(schema, Mapping) and cast("Mapping[str, Any]", schema).get("type") == "object")


def _without_output(tool: dict[str, Any]) -> dict[str, Any]:
    return tool if _gives_object(tool) else {key: value for key, value in tool.items() if key != "outputSchema"}
