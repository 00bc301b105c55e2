"""Tools to list, search and read documents, for hosts that do not support resources."""

from __future__ import annotations

from typing import Any

from a2c_documents.library.library import Library
from a2c_documents.server.addresses import Answer, read
from a2c_documents.wording import counted
from a2c_smcp.utils.dpe_uri import is_dpe_uri, parse_dpe_uri

MOST_LISTED = 100
_READ_ONLY = {"annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}}
_IN_FINDER = {"_meta": {"a2c_finder": True}}
"""Marks tools that duplicate the Finder, so that an Agent with the Finder can hide them."""

TOOLS: list[dict[str, Any]] = [
    {
        "name": "list_documents",
        "description": "The documents there are, newest first: title, type, pages, address.",
        "input_schema": {
            "type": "object",
            "properties": {
                "keyword": {"type": "string", "description": "Only those with this in title, keywords or summary."},
                "file_type": {"type": "string", "description": "Only this type, such as pdf."},
                "offset": {"type": "integer", "minimum": 0, "default": 0},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": 20},
            },
        },
        **_READ_ONLY,
        **_IN_FINDER,
    },
    {
        "name": "search_documents",
        "description": "Search the full text of all documents. Gives the best places: page and element addresses, with "
        "the words around.",
        "input_schema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words to look for."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": 10},
            },
            "required": ["query"],
        },
        **_READ_ONLY,
    },
    {
        "name": "read_document",
        "description": "Read a document. With its address or doc_ref alone: what it is and which pages it has. With "
        "page: that page as markdown. With element: that element in full; a picture is shown.",
        "input_schema": {
            "type": "object",
            "properties": {
                "document": {"type": "string", "description": "A dpe:// address, or a doc_ref."},
                "page": {"type": "integer", "minimum": 0, "description": "A page, counted from 0."},
                "element": {"type": "string", "description": "The id of an element."},
            },
            "required": ["document"],
        },
        **_READ_ONLY,
        **_IN_FINDER,
    },
]


async def call(library: Library, name: str, arguments: dict[str, Any]) -> list[Answer]:
    """Call a tool.

    Raises:
        ValueError: the tool is unknown, or an argument is invalid.
        SMCPError: the document, page or element does not exist.
    """
    match name:
        case "list_documents":
            return [Answer(await _list(library, arguments))]
        case "search_documents":
            query = _text(arguments, "query")
            found = await library.search(query, _number(arguments, "limit", 10, 1, MOST_LISTED))
            done, total = await library.recognized()
            left = counted(total - done, "scanned page")
            missing = f"Not searched: {left} whose text is not recognized yet." if done < total else ""
            if not found:
                return [Answer(f"Nothing is written about “{query}”. {missing}".strip())]
            return [Answer({"query": query, "hits": found, **({"missing": missing} if missing else {})})]
        case "read_document":
            return await _read(library, arguments)
        case _:
            raise ValueError(f"there is no tool {name}")


async def _list(library: Library, arguments: dict[str, Any]) -> dict[str, Any]:
    keyword, file_type = arguments.get("keyword"), arguments.get("file_type")
    offset = _number(arguments, "offset", 0, 0, 1 << 31)
    limit = _number(arguments, "limit", 20, 1, MOST_LISTED)
    documents: list[dict[str, Any]] = (await library.catalogue())["documents"]
    if isinstance(keyword, str) and keyword.strip():
        documents = [entry for entry in documents if _mentions(entry, keyword.strip().lower())]
    if isinstance(file_type, str) and file_type:
        documents = [entry for entry in documents if entry["file_type"] == file_type.lower().lstrip(".")]
    documents.sort(key=lambda entry: entry.get("last_modified", ""), reverse=True)
    return {"documents": documents[offset : offset + limit], "total_count": len(documents)}


def _mentions(entry: dict[str, Any], keyword: str) -> bool:
    return any(keyword in str(words).lower() for words in (entry["title"], entry["summary"], *entry["keywords"]))


async def _read(library: Library, arguments: dict[str, Any]) -> list[Answer]:
    uri = _text(arguments, "document")
    if not is_dpe_uri(uri):
        uri = library.address(uri)
    address = parse_dpe_uri(uri)
    if address.host.lower() != library.host.lower():
        return [await read(library, uri)]  # raises the error for a foreign host
    ref = address.doc_ref
    page, element = arguments.get("page"), arguments.get("element")
    if ref is not None and isinstance(element, str) and element:
        answer = await read(library, library.address(ref, f"elements/{element}"))
        # A model can only see a picture that is part of the result; an address would not help it.
        if answer.body["category"] == "image":
            _, shape = await library.element(ref, element)
            if url := library.blob_address(ref, shape):
                return [answer, await read(library, url)]
        return [answer]
    if ref is not None and page is not None:
        number = _number(arguments, "page", 0, 0, 1 << 31)
        body = (await read(library, library.address(ref, f"pages/{number}", format="markdown"))).body
        return [Answer(f"# {body['title']}\n\n{body['content_markdown']}")]
    # A document without further parameters is shown with its pages: a model needs their numbers next.
    if ref is not None and address.level == 1 and not address.query_params:
        return [await read(library, library.address(ref, depth="pages", limit=str(MOST_LISTED)))]
    return [await read(library, uri)]


def _text(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name}: a text is expected")
    return value


def _number(arguments: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = arguments.get(name, default)
    # `True` is an integer in Python.
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name}: a number from {least} to {most} is expected")
    return value
