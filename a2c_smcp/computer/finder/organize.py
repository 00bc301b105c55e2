"""The Finder's rules: which documents match, in which order, and which page of them is given. Pure.

A `Shelf` holds one server's documents in their order, with what searching needs made once; a catalogue keeps its
shelves, so that a request costs a look at each document and no sorting.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from a2c_smcp.computer.order import UsedServers, in_order_of_use
from a2c_smcp.errors import InvalidDPEUriError, MalformedRequestError
from a2c_smcp.smcp import DPEDocumentSummary
from a2c_smcp.utils.dpe_uri import parse_dpe_uri

DEFAULT_LIMIT = 20
MAX_LIMIT = 100

_BETWEEN_FIELDS = "\0"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Filed:
    """A document and what finding it needs."""

    document: DPEDocumentSummary
    words: str
    """Title, keywords and summary in lower case. Between two of them is a character that no keyword has."""
    age: float
    """Negative seconds since 1970; infinite when unknown. The smallest comes first."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """One server's documents, in their order. What is searched lies side by side: thousands are looked at each time."""

    documents: Sequence[DPEDocumentSummary] = ()
    types: Sequence[str] = ()
    words: Sequence[str] = ()

    def matching(self, wanted: Sequence[str], file_type: str | None) -> Sequence[int]:
        """Where the documents are that match, in order."""
        found: Sequence[int] = range(len(self.documents))
        if file_type:
            found = [at for at, kind in enumerate(self.types) if kind == file_type]
        if wanted:
            matches = {at for word in wanted for at, text in enumerate(self.words) if word in text}
            found = [at for at in found if at in matches]
        return found


def file(document: DPEDocumentSummary) -> Filed | None:
    """Make a document ready to be found; None when its URI is not valid."""
    try:
        parse_dpe_uri(document["uri"])
    except InvalidDPEUriError:
        return None
    fields = (document["title"], *document.get("keywords", ()), document.get("summary", ""))
    words = _BETWEEN_FIELDS.join(text.replace(_BETWEEN_FIELDS, " ").lower() for text in fields)
    return Filed(document, words, _age(document.get("last_modified")))


def shelve(filed: Iterable[Filed]) -> Shelf:
    """Put one server's documents, given in listing order, into their order: the newest first."""
    ordered = sorted(filed, key=lambda entry: entry.age)
    return Shelf(
        [entry.document for entry in ordered],
        [sys.intern(entry.document["file_type"]) for entry in ordered],
        [entry.words for entry in ordered],
    )


def browse(
    shelves: dict[str, Shelf],
    keywords: Iterable[str] | None = None,
    file_type: str | None = None,
    history: UsedServers | None = None,
    offset: int = 0,
    limit: int = DEFAULT_LIMIT,
) -> tuple[list[DPEDocumentSummary], int]:
    """One page of what matches, and how many match in all.

    Raises:
        MalformedRequestError: `offset` or `limit` is negative.
    """
    if offset < 0 or limit < 0:
        raise MalformedRequestError("offset and limit must not be negative")
    limit = min(limit, MAX_LIMIT)
    ordered = [shelves[server] for server in in_order_of_use(shelves, history)]
    wanted = [word.replace(_BETWEEN_FIELDS, " ").lower() for word in keywords or () if word.strip()]
    page: list[DPEDocumentSummary] = []
    total = 0
    for shelf in ordered:
        found = shelf.matching(wanted, file_type)
        start = max(offset - total, 0)
        page += [shelf.documents[at] for at in found[start : start + limit - len(page)]]
        total += len(found)
    return page, total


def organize_finder(
    documents: Iterable[DPEDocumentSummary],
    keywords: Iterable[str] | None = None,
    file_type: str | None = None,
    history: UsedServers | None = None,
    offset: int = 0,
    limit: int = DEFAULT_LIMIT,
) -> tuple[list[DPEDocumentSummary], int]:
    """Filter, order and slice documents; `documents` are in listing order, `history` in order of time.

    Raises:
        MalformedRequestError: `offset` or `limit` is negative.
    """
    by_server: dict[str, list[Filed]] = {}
    for document in documents:
        if (filed := file(document)) is not None:
            by_server.setdefault(document["server"], []).append(filed)
    shelves = {server: shelve(filed) for server, filed in by_server.items()}
    return browse(shelves, keywords, file_type, history, offset, limit)


def _age(last_modified: str | None) -> float:
    """As an instant: a time without a zone is UTC, one that cannot be read is none."""
    if not last_modified:
        return float("inf")
    try:
        moment = datetime.fromisoformat(last_modified)
        return -((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return float("inf")
