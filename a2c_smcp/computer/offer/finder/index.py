"""The documents of one MCP server, in their order and ready to be searched. No input, no output.

Each document takes little room: its summary is kept as JSON. What a search found is kept until the index changes, so
that further pages of it cost only what they show.
"""

from __future__ import annotations

import asyncio
import sys
from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

from a2c_smcp.smcp import DPEDocumentSummary

FEW = 64
"""Up to this number of changes, each document is inserted in its place; for more, sorting everything is cheaper."""
SEARCHES = 8
"""Searches whose findings an index keeps."""
AT_ONCE = 10_000
"""Documents that are searched before the event loop does other work: one or two milliseconds."""

_BETWEEN_FIELDS = "\0"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OVERHEAD = 600
"""Bytes that a document needs besides its texts: objects, and its entries in lists and dictionaries."""


@dataclass(eq=False, slots=True)
class Filed:
    """A document in the index."""

    written: bytes
    """The summary as JSON: a quarter of the memory of its dictionary."""
    words: str
    """Title, keywords and summary in lower case, separated by a character that no keyword contains."""
    file_type: str
    age: float
    """Negative seconds since 1970; infinite when unknown. The smallest comes first."""
    place: int = 0
    """Its place in the server's list."""

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return len(self.written) + sys.getsizeof(self.words) + _OVERHEAD

    @property
    def document(self) -> DPEDocumentSummary:
        """The summary."""
        return orjson.loads(self.written)


def _rank(filed: Filed) -> tuple[float, int]:
    return filed.age, filed.place


class Search(NamedTuple):
    """A search: any of some words, and a file type."""

    words: frozenset[str]
    file_type: str | None

    @classmethod
    def of(cls, keywords: Iterable[str] | None, file_type: str | None) -> Search:
        """The search for a request; blank keywords are ignored."""
        words = frozenset(word.replace(_BETWEEN_FIELDS, " ").lower() for word in keywords or () if word.strip())
        return cls(words, file_type or None)

    @property
    def is_for_all(self) -> bool:
        """Whether every document matches."""
        return not self.words and self.file_type is None

    def among(self, filed: list[Filed]) -> list[Filed]:
        """The documents that match."""
        if self.file_type is not None:
            filed = [entry for entry in filed if entry.file_type == self.file_type]
        match [*self.words]:
            case []:
                return filed
            case [word]:
                return [entry for entry in filed if word in entry.words]
            case words:
                return [entry for entry in filed if any(word in entry.words for word in words)]


ALL = Search(frozenset(), None)


class DocumentIndex:
    """One server's documents, the newest first."""

    def __init__(self, filed: Iterable[Filed] = ()) -> None:
        self._filed = sorted(filed, key=_rank)
        self._added: dict[Filed, None] = {}
        self._removed: set[Filed] = set()
        self._found: OrderedDict[Search, list[Filed]] = OrderedDict()
        self.revision = 0
        """Grows with every change."""

    def put(self, filed: Filed) -> None:
        """Add a document."""
        self._added[filed] = None
        self._change()

    def remove(self, filed: Filed) -> None:
        """Remove a document."""
        if filed in self._added:
            del self._added[filed]
        else:
            self._removed.add(filed)
        self._change()

    def reorder(self) -> None:
        """The places of documents have changed."""
        # Sorted at once: `_settle` finds documents by bisection, which relies on the order.
        self._put_in_order(self._filed)
        self._change()

    async def search(self, search: Search) -> None:
        """Prepare a search. A large index is searched in pieces, so that the event loop is not blocked."""
        self._settle()
        if len(self._filed) <= AT_ONCE or search.is_for_all or search in self._found:
            return
        filed, revision, found = list(self._filed), self.revision, list[Filed]()
        for start in range(0, len(filed), AT_ONCE):
            found += search.among(filed[start : start + AT_ONCE])
            await asyncio.sleep(0)
        if self.revision == revision:  # else the index changed between two pieces, and `matching` searches it again
            self._keep(search, found)

    def matching(self, search: Search) -> Sequence[Filed]:
        """The documents that match, in order."""
        self._settle()
        if search.is_for_all:
            return self._filed
        if search not in self._found:
            self._keep(search, search.among(self._filed))
        self._found.move_to_end(search)
        return self._found[search]

    def _keep(self, search: Search, found: list[Filed]) -> None:
        self._found[search] = found
        if len(self._found) > SEARCHES:
            self._found.popitem(last=False)

    def _change(self) -> None:
        self.revision += 1
        self._found.clear()

    def _settle(self) -> None:
        """Carry out what changed since the last search."""
        # Changes are collected first: when a server starts, thousands of documents are filed one by one, and sorting
        # once before the next search is much cheaper than keeping the order after each.
        if not self._added and not self._removed:
            return
        if len(self._added) + len(self._removed) <= FEW:
            for filed in self._removed:
                at = bisect_left(self._filed, _rank(filed), key=_rank)
                while self._filed[at] is not filed:  # documents with the same rank are next to each other
                    at += 1
                del self._filed[at]
            for filed in self._added:
                insort(self._filed, filed, key=_rank)
        else:
            kept = [filed for filed in self._filed if filed not in self._removed] if self._removed else self._filed
            self._put_in_order([*kept, *self._added])
        self._added, self._removed = {}, set()

    def _put_in_order(self, filed: list[Filed]) -> None:
        self._filed = sorted(filed, key=_rank)


def file(document: DPEDocumentSummary) -> Filed | None:
    """Prepare a document for the index; None if it cannot be written as JSON."""
    try:
        written = bytes(memoryview(orjson.dumps(document)))  # a copy: what orjson gives holds on to a longer buffer
    except orjson.JSONEncodeError:
        return None
    # One text for all fields: a search is then one `in` for each word and document, which runs in C.
    fields = (document["title"], *document.get("keywords", ()), document.get("summary", ""))
    words = _BETWEEN_FIELDS.join(text.replace(_BETWEEN_FIELDS, " ").lower() for text in fields)
    age = _age(document.get("last_modified"))
    return Filed(written, words, sys.intern(document["file_type"]), age)


def _age(last_modified: str | None) -> float:
    """The time as a number. Without a zone it is UTC; an invalid one counts as unknown."""
    if not last_modified:
        return float("inf")
    try:
        moment = datetime.fromisoformat(last_modified)
        return -((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return float("inf")
