"""Searches, as the search tool and an address with `?search=` answer them.

A search waits a moment for files that are not indexed, and then answers with what is: the first search of a large
folder must not wait for all of it. The answer says how much is missing.
"""

from __future__ import annotations

from typing import Any

from a2c_documents.library.library import Library
from a2c_documents.wording import counted
from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.utils.uri import parse_natural

WAIT_SECONDS = 0.5
"""How long a search waits for files that are not indexed. A file that was just saved is read in this time."""
MOST_SECONDS = 60.0
DEFAULT_HITS, MOST_HITS = 10, 100
SEARCH, LIMIT, WAIT = "search", "limit", "wait"
"""The parameters of an address that searches: the words, the number of places, and the seconds to wait."""


async def search_tool(library: Library, query: str, limit: int, seconds: float, *, is_detailed: bool) -> Any:
    """The answer of the tool: for a model the places only; with details, what an Agent needs to rank them."""
    if is_detailed:
        return await library.survey(query, limit, seconds)
    hits = await library.search(query, limit, seconds)
    covered = await library.coverage()
    missing = _missing(covered)
    if not hits:
        return f"Nothing is written about “{query}”{f' so far: {missing}' if missing else ''}."
    return {"query": query, "hits": hits, **({"incomplete": missing} if missing else {})}


async def search_address(library: Library, params: dict[str, str], form: str) -> dict[str, Any]:
    """The answer of an address with `?search=`.

    Raises:
        InvalidDPEUriError: a parameter is invalid.
    """
    query = params[SEARCH]
    if not query.strip():
        raise InvalidDPEUriError(f"{SEARCH}: words are expected")
    limit = parse_natural(params[LIMIT]) if LIMIT in params else DEFAULT_HITS
    body = await library.survey(query, limit or DEFAULT_HITS, _seconds(params.get(WAIT)))
    if form == "json":
        return body
    titles = {document["doc_ref"]: document["title"] for document in body["documents"]}
    places = [(titles[hit["doc_ref"]], hit["element_uri"], hit["snippet"]) for hit in body["hits"]]
    lines = [f"- [{title}]({uri}): {text}" if form == "markdown" else f"{title}: {text}" for title, uri, text in places]
    if missing := _missing(body["coverage"]):
        lines.append(f"Not everything is searched: {missing}")
    return {"query": query, "total_count": body["total_count"], f"content_{form}": "\n".join(lines)}


def _missing(covered: dict[str, int]) -> str:
    """What a search cannot find yet, in words; empty if it finds everything."""
    missing: list[str] = []
    if covered["pending"]:
        missing.append(f"{covered['indexed']:,} of {covered['documents']:,} files are indexed, the newest first")
    if covered["unrecognized_pages"]:
        missing.append(f"the text of {counted(covered['unrecognized_pages'], 'scanned page')} is not recognized yet")
    return f"{'; '.join(missing)}; search again later" if missing else ""


def _seconds(written: str | None) -> float:
    try:
        seconds = WAIT_SECONDS if written is None else float(written)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= MOST_SECONDS:
        raise InvalidDPEUriError(f"{WAIT}: a number of seconds from 0 to {MOST_SECONDS:.0f} is expected")
    return seconds
