"""Addresses of documents, pages and elements for requests, and the bodies of their answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from a2c_smcp import smcp
from a2c_smcp.errors import InvalidAnswerError
from a2c_smcp.utils.dpe_uri import extend_dpe_uri, is_dpe_uri, parse_dpe_uri, without_query


def pages_uri(uri: str, offset: int, limit: int) -> str:
    """The address of a document with its page index."""
    return extend_dpe_uri(uri, None, {"depth": "pages", "offset": str(offset), "limit": str(limit)})


def page_uri(uri: str, page_index: int, format: str, categories: Sequence[str] | None) -> str:
    """The address of a page."""
    params = {"format": format} if format != "json" else {}
    if categories is not None:
        params["categories"] = ",".join([categories] if isinstance(categories, str) else categories)
    return extend_dpe_uri(uri, f"pages/{page_index}", params)


def element_uri(uri: str, element_id: str, format: str) -> str:
    """The address of an element."""
    return extend_dpe_uri(uri, f"elements/{element_id}", {"format": format} if format != "json" else None)


def page_count(document: Mapping[str, Any]) -> int:
    """The number of pages that a document declares.

    Raises:
        InvalidAnswerError: it declares none.
    """
    count = document.get("page_count")
    if type(count) is not int or count < 0:
        raise InvalidAnswerError("page_count: a number is expected")
    return count


def read_body(uri: str, answer: smcp.ReadResourceRet) -> dict[str, Any]:
    """The body of a `dpe://` resource, as an object; for any other resource, the answer as it came.

    Plain markdown or text is put into the envelope of the protocol.
    """
    contents = answer["contents"]
    text = contents[0].get("text") if len(contents) == 1 else None
    if text is None or not is_dpe_uri(uri):
        return cast("dict[str, Any]", answer)
    # Text that is not JSON is no error: it is the markdown of a simple MCP server. Neither is JSON that is not an
    # object, such as a page that consists of a number.
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        return cast("dict[str, Any]", body)
    return _envelope(uri, text, str(contents[0].get("mimeType")))


def _envelope(uri: str, text: str, mime_type: str) -> dict[str, Any]:
    address = parse_dpe_uri(uri)
    envelope: dict[str, Any] = {"uri": without_query(uri), "title": address.doc_ref or address.host}
    if address.doc_ref is not None:
        envelope["doc_ref"] = address.doc_ref
    if address.page_index is not None:
        envelope["page_index"] = address.page_index
    if address.element_id is not None:
        envelope["element_id"] = address.element_id
    is_markdown = address.query_params.get("format") == "markdown" or mime_type.startswith("text/markdown")
    envelope["content_markdown" if is_markdown else "content_text"] = text
    return envelope
