"""What an MCP server lists: its tools as it wrote them, and its resources, sorted into windows, documents, others and
invalid ones. Pure."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, cast

import mcp_types as types
from pydantic import PrivateAttr

from a2c_smcp.utils.dpe_uri import parse_dpe_uri
from a2c_smcp.utils.window_uri import MAX_PRIORITY, WindowURI

MAX_PROBLEMS = 20
"""Problems of a list that are told one by one."""
MAX_SKILLS = 200
"""Skills of one server."""
MAX_SHOWN = 40
"""Characters of a name that are shown."""


class Problems:
    """What is wrong with a list of one server. `what` is what the list holds, such as "tool"."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._notes: list[str] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def notes(self) -> list[str]:
        """The first ones, in words for the owner of the server, and the number of the others."""
        more = self._count - len(self._notes)
        return [*self._notes, f"{more} more problems with its {self._what}s"] if more else list(self._notes)

    def add(self, note: str) -> None:
        """Something is wrong."""
        # A server decides how many there are.
        self._count += 1
        if self._count <= MAX_PROBLEMS:
            self._notes.append(note)

    def leave_out(self, data: Any, reason: str) -> None:
        """An item is left out."""
        given = cast("dict[str, Any]", data).get("name") if isinstance(data, dict) else None
        name = given if isinstance(given, str) and given else "(without a name)"
        shown = name if name.isprintable() and len(name) <= MAX_SHOWN else repr(name[:MAX_SHOWN])
        self.add(f"{self._what} {shown} is left out: {reason}")


class ListedTool(types.Tool):
    """A tool, with everything that its server wrote: MCP's type drops the fields that it does not know."""

    _written: dict[str, Any] = PrivateAttr(default_factory=dict[str, Any])

    @property
    def written(self) -> dict[str, Any]:
        """The tool as its server wrote it."""
        return self._written

    def as_written(self, data: dict[str, Any]) -> Self:
        """Remember what the tool was read from."""
        self._written = data
        return self


class WrittenList(NamedTuple):
    """A list of prompts or resource templates, as the server wrote them."""

    items: list[dict[str, Any]]
    problems: list[str]
    """What is wrong with those that are left out."""
    is_whole: bool = True
    """False when the time was up before the last page."""


class Placement(NamedTuple):
    """Where a window is shown."""

    priority: int
    fullscreen: bool


class ListedWindow(NamedTuple):
    """What the list says about a window."""

    name: str
    description: str | None
    placement: Placement


class ListedDocument(NamedTuple):
    """What the list says about a document. There may be hundreds of thousands, so nothing else is kept."""

    name: str
    description: str | None
    host: str
    """In lower case."""
    doc_ref: str


@dataclass(slots=True)
class Listing:
    """The resources of one server by their addresses, in the order in which it lists them."""

    windows: dict[str, ListedWindow] = field(default_factory=dict[str, ListedWindow])
    documents: dict[str, ListedDocument] = field(default_factory=dict[str, ListedDocument])
    others: set[str] = field(default_factory=set[str])
    """Resources that can be read and are not shown. Pages and elements are found through their document."""
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    """Windows and documents with an invalid address, and what is wrong with it."""
    hosts: set[str] = field(default_factory=set[str])
    """The hosts of all `dpe://` addresses, in lower case."""
    skills: dict[str, None] = field(default_factory=dict[str, None])
    """The addresses of the first skills: each is that of a `SKILL.md`."""

    def add(self, resource: types.Resource) -> None:
        """Sort in a resource. If two have the same address, the first one counts."""
        try:
            self._add(resource)
        except ValueError as error:
            self.skipped[resource.uri] = str(error)
            # A window with an invalid address is not shown, and can still be read by exactly this address.
            self.others.add(resource.uri)

    def _add(self, resource: types.Resource) -> None:
        uri, name, description = resource.uri, resource.name, resource.description
        if uri.startswith("window://"):
            self.windows.setdefault(uri, ListedWindow(name, description, placement_of(resource)))
            return
        if uri.startswith("dpe://"):
            address = parse_dpe_uri(uri)
            # Interned: hundreds of thousands of documents share a few hosts.
            host = sys.intern(address.host.lower())
            self.hosts.add(host)
            if address.level == 1:
                self.documents.setdefault(uri, ListedDocument(name, description, host, address.doc_ref or ""))
                return
        if uri.startswith("skill://") and uri.endswith("/SKILL.md") and len(self.skills) < MAX_SKILLS:
            self.skills.setdefault(uri)
        self.others.add(uri)


def placement_of(resource: types.Resource) -> Placement:
    """The place of a window: as its address says, else as its annotations do.

    Raises:
        ValueError: the address is invalid.
    """
    address = WindowURI(resource.uri)
    priority, fullscreen = address.priority, address.fullscreen
    if priority is None and resource.annotations is not None:
        priority = round(MAX_PRIORITY * (resource.annotations.priority or 0))
    if fullscreen is None:
        fullscreen = (resource.meta or {}).get("fullscreen") is True
    return Placement(priority or 0, fullscreen)


def with_valid_priority(data: Any) -> Any:
    """A resource as its server wrote it, without a priority that is no number from 0 to 1: it counts as 0, and does not
    cost the server its resource."""
    written = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    annotations = written.get("annotations")
    if not isinstance(annotations, dict) or "priority" not in annotations:
        return cast("Any", data)
    given = cast("dict[str, Any]", annotations)
    priority = given["priority"]
    if type(priority) in (int, float) and 0 <= priority <= 1:
        return cast("Any", data)
    return {**written, "annotations": {key: value for key, value in given.items() if key != "priority"}}


def is_on_show(uri: str) -> bool:
    """Whether a resource is a window or a document."""
    listing = Listing()
    listing.add(types.Resource(uri=uri, name=""))
    return bool(listing.windows or listing.documents)
