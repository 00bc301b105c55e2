"""Reads document summaries from the answers of MCP servers at levels 0 (catalogue) and 1 (document). Pure."""

from __future__ import annotations

from typing import Any, cast

import orjson

from a2c_smcp.computer.offer.finder.index import Filed, file
from a2c_smcp.smcp import DPEDocumentSummary
from a2c_smcp.utils.dpe_uri import parse_dpe_uri


def read_catalogue(text: str) -> dict[str, dict[str, Any]]:
    """The documents of a level-0 answer, by `doc_ref`.

    Raises:
        ValueError: the text is no catalogue.
    """
    listed = _object(text).get("documents")
    if not isinstance(listed, list):
        raise ValueError("it lists no documents")
    documents = [cast("dict[str, Any]", entry) for entry in cast("list[Any]", listed) if isinstance(entry, dict)]
    return {entry["doc_ref"]: entry for entry in documents if isinstance(entry.get("doc_ref"), str)}


def is_complete(entry: dict[str, Any]) -> bool:
    """Whether a catalogue entry has all fields that searching and ordering need; otherwise level 1 may have them."""
    keywords, summary, modified = (entry.get(key) for key in ("keywords", "summary", "last_modified"))
    return isinstance(keywords, list) and isinstance(summary, str) and isinstance(modified, str)


def read_document(server: str, uri: str, name: str, description: str | None, data: str | dict[str, Any]) -> Filed:
    """The summary of a document from its level-1 answer, completed from the resource that lists it.

    Raises:
        ValueError: a required field is missing or invalid.
    """
    said = _object(data) if isinstance(data, str) else data
    page_count = said.get("page_count")
    # Not `isinstance`, which accepts `true` as an integer.
    if type(page_count) is not int or page_count <= 0:
        raise ValueError("it has no positive page_count")
    summary = DPEDocumentSummary(
        doc_ref=_text(said, "doc_ref") or parse_dpe_uri(uri).doc_ref or "",
        uri=uri,
        file_uri=_text(said, "file_uri") or "",
        file_type=_text(said, "file_type") or "",
        title=_text(said, "title") or name,
        page_count=page_count,
        server=server,
    )
    keywords = said.get("keywords")
    if isinstance(keywords, list):
        summary["keywords"] = [word for word in cast("list[Any]", keywords) if isinstance(word, str)]
    if words := _text(said, "summary") or description:
        summary["summary"] = words
    if changed := _text(said, "last_modified"):
        summary["last_modified"] = changed
    filed = file(summary)
    if filed is None:
        raise ValueError("it cannot be written as JSON")
    return filed


def _object(text: str) -> dict[str, Any]:
    data = orjson.loads(text)
    if not isinstance(data, dict):
        raise ValueError("it is no JSON object")
    return cast("dict[str, Any]", data)


def _text(data: dict[str, Any], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None
