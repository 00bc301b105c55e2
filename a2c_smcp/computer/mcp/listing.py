"""What an MCP server lists: its tools as it wrote them, and its resources, sorted into windows, documents, others and
invalid ones. Pure."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, cast

import mcp_types as types
from pydantic import PrivateAttr

from a2c_smcp.utils.dpe_uri import parse_dpe_uri
from a2c_smcp.utils.window_uri import WindowURI

MAX_PROBLEMS = 20
"""Problems of a list that are told one by one."""
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


class ListedWindow(NamedTuple):
    """What the list says about a window."""

    name: str
    description: str | None
    priority: int
    fullscreen: bool


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

    def add(self, resource: types.Resource) -> None:
        """Sort in a resource. If two have the same address, the first one counts."""
        try:
            self._add(resource.uri, resource.name, resource.description)
        except ValueError as error:
            self.skipped[resource.uri] = str(error)
            # A window with an invalid address is not shown, and can still be read by exactly this address.
            self.others.add(resource.uri)

    def _add(self, uri: str, name: str, description: str | None) -> None:
        if uri.startswith("window://"):
            window = WindowURI(uri)
            self.windows.setdefault(uri, ListedWindow(name, description, window.priority or 0, bool(window.fullscreen)))
            return
        if uri.startswith("dpe://"):
            address = parse_dpe_uri(uri)
            # Interned: hundreds of thousands of documents share a few hosts.
            host = sys.intern(address.host.lower())
            self.hosts.add(host)
            if address.level == 1:
                self.documents.setdefault(uri, ListedDocument(name, description, host, address.doc_ref or ""))
                return
        self.others.add(uri)


def is_on_show(uri: str) -> bool:
    """Whether a resource is a window or a document."""
    listing = Listing()
    listing.add(types.Resource(uri=uri, name=""))
    return bool(listing.windows or listing.documents)
