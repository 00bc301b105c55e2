"""How fresh search results are: when a document was indexed, whether it has changed since, and how many are indexed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from a2c_documents.folder.files import Stamp
from a2c_documents.library.documents import Document
from a2c_documents.library.search import Hit
from a2c_documents.store.words import Indexed


def freshness(hit: Hit, stamp: Stamp, indexed: Indexed | None) -> dict[str, Any]:
    """The content of a found document, and how fresh it is; `stamp` is that of its file now.

    Its `state` is `current`, `changed` since it was indexed, or `partial`: some pages are not indexed yet.
    """
    found: dict[str, Any] = {"digest": hit.match.digest.partition("-")[0]}
    if indexed is not None and (at := written_time(indexed.at)) is not None:
        found["indexed_at"] = at
    if stamp != hit.documents[0].read_at:
        changed_at = written_time(stamp.modified_ns / 1e9)
        return {**found, "state": "changed", **({"changed_at": changed_at} if changed_at is not None else {})}
    return {**found, "state": "current" if indexed is not None and indexed.is_complete else "partial"}


def coverage(documents: Iterable[Document], indexed: Mapping[str, Indexed]) -> dict[str, int]:
    """How many documents there are and how many are indexed. Of the others, `pending` have still to be read, and
    `unreadable` cannot be; `changed` is how many have changed since they were indexed."""
    counts = {"documents": 0, "indexed": 0, "changed": 0, "pending": 0, "unreadable": 0}
    for document in documents:
        counts["documents"] += 1
        if document.digest in indexed and document.is_good:
            counts["indexed"] += 1
            counts["changed"] += document.is_outdated
        else:
            is_read = document.facts is not None and document.waits_for is None  # and has a problem
            counts["unreadable" if is_read and not document.is_good else "pending"] += 1
    return counts


def written_time(seconds: float) -> str | None:
    """A time as ISO 8601; None if it is out of the range of a date, as times of files may be."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return None
