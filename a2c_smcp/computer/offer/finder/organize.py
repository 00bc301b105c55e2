"""The Finder's rules: which documents of all MCP servers an Agent gets, in which order. No input, no output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from a2c_smcp.computer.offer.finder.index import DocumentIndex, Filed, Search, file
from a2c_smcp.computer.offer.server_order import UsedServers, in_order_of_use
from a2c_smcp.errors import MalformedRequestError
from a2c_smcp.smcp import DPEDocumentSummary
from a2c_smcp.utils.dpe_uri import is_dpe_uri

DEFAULT_LIMIT = 20
MAX_LIMIT = 100


def browse(
    indexes: Mapping[str, DocumentIndex], search: Search, history: UsedServers | None, offset: int, limit: int
) -> tuple[list[DPEDocumentSummary], int]:
    """One page of what matches, and how many match in all.

    Raises:
        MalformedRequestError: `offset` or `limit` is negative.
    """
    if offset < 0 or limit < 0:
        raise MalformedRequestError("offset and limit must not be negative")
    limit = min(limit, MAX_LIMIT)
    page: list[DPEDocumentSummary] = []
    total = 0
    for server in in_order_of_use(indexes, history):
        found = indexes[server].matching(search)
        start = max(offset - total, 0)
        page += [filed.document for filed in found[start : start + limit - len(page)]]
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
    for place, document in enumerate(documents):
        if is_dpe_uri(document["uri"]) and (filed := file(document)) is not None:
            filed.place = place
            by_server.setdefault(document["server"], []).append(filed)
    indexes = {server: DocumentIndex(filed) for server, filed in by_server.items()}
    return browse(indexes, Search.of(keywords, file_type), history, offset, limit)
