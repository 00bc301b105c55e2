"""Reads `dpe://` addresses at the four levels and in three formats, and completes them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from a2c_documents.library.library import BLOBS, Library
from a2c_documents.render import as_markdown, as_text, markdown, pages_of_elements, plain
from a2c_documents.server.searching import SEARCH, search_address
from a2c_documents.wording import counted
from a2c_smcp.errors import DocumentNotFoundError, SMCPError
from a2c_smcp.utils.dpe_uri import ParsedDPEUri, parse_dpe_uri, without_query
from a2c_smcp.utils.uri import parse_natural

logger = logging.getLogger(__name__)

DEFAULT_LIMIT = 20
ALL = 1_000_000
"""Formulas that an element shows at its own address."""
SUGGESTED = 100
"""Values in one completion: the limit of MCP."""
PAGES_READ = 50
"""Pages that are read for one completion."""
# The protocol's fields of an element on a page. `detail` and `metadata` are for level 3.
_PUBLIC = ("element_id", "category", "summary", "content")


@dataclass(frozen=True, slots=True)
class Answer:
    """A body, or a picture or file in base64, and its address."""

    body: Any = None
    blob: str | None = None
    mime_type: str = ""
    uri: str = ""


async def read(library: Library, uri: str) -> Answer:
    """The resource at an address.

    Raises:
        SMCPError: codes 4201 to 4204 of the protocol.
    """
    address = parse_dpe_uri(uri)
    # Hosts of URIs are case-insensitive.
    if address.host.lower() != library.host.lower():
        raise DocumentNotFoundError(f"{address.host} is not here", details={"host": address.host})
    form = address.query_params.get("format", "json")
    if address.doc_ref is None:
        if SEARCH in address.query_params:
            return Answer(await search_address(library, address.query_params, form))
        return Answer(_catalogue(await library.catalogue(), form))
    await library.look_into_archives(address.doc_ref)
    if address.page_index is not None:
        return Answer(await _page(library, address, address.doc_ref, address.page_index, form, uri))
    if address.element_id is not None:
        if (kind := address.query_params.get("as")) in BLOBS:
            mime_type, data = await library.blob(address.doc_ref, address.element_id, kind)
            return Answer(blob=data, mime_type=mime_type, uri=uri)
        return Answer(await _element(library, address.doc_ref, address.element_id, form, uri))
    return Answer(await _document(library, address, address.doc_ref, form))


def _catalogue(body: dict[str, Any], form: str) -> dict[str, Any]:
    if form == "json":
        return body
    lines = [
        f"{entry['title']} ({entry['file_type']}, {counted(entry['page_count'], 'page')})"
        for entry in body["documents"]
    ]
    if form == "markdown":
        uris = [entry["uri"] for entry in body["documents"]]
        lines = [f"- [{line}]({uri})" for line, uri in zip(lines, uris, strict=True)]
    return {"total_count": body["total_count"], _body_of(form): "\n".join(lines)}


async def _document(library: Library, address: ParsedDPEUri, ref: str, form: str) -> dict[str, Any]:
    params = address.query_params
    if params.get("depth") == "pages":
        body = await library.pages(ref, int(params.get("offset", "0")), int(params.get("limit", str(DEFAULT_LIMIT))))
    else:
        body = await library.document(ref)
    if form == "json":
        return body
    pages = body.pop("pages", [])
    lines = [f"{page['page_index']}. {page['title']} ({counted(page['element_count'], 'element')})" for page in pages]
    head = f"# {body['title']}" if form == "markdown" else body["title"]
    return {**body, _body_of(form): "\n\n".join(filter(None, (head, body["summary"], "\n".join(lines))))}


async def _page(library: Library, address: ParsedDPEUri, ref: str, number: int, form: str, uri: str) -> dict[str, Any]:
    page = await library.page(ref, number)
    wanted = address.query_params.get("categories")
    elements = page["elements"]
    if wanted is not None:
        elements = [element for element in elements if element["category"] in wanted.split(",")]
    body = {"page_index": number, "title": page["title"], "doc_ref": ref, "uri": without_query(uri)}
    if form == "json":
        shown = [{key: element[key] for key in _PUBLIC} | _recognized(element) for element in elements]
        return {**body, "elements": shown, "element_count": len(shown)}

    def where(element: dict[str, Any]) -> str:
        return library.address(ref, f"elements/{element['element_id']}", format=form)

    return {**body, _body_of(form): (markdown if form == "markdown" else plain)(elements, where)}


async def _element(library: Library, ref: str, element_id: str, form: str, uri: str) -> dict[str, Any]:
    number, element = await library.element(ref, element_id)
    body = {
        "element_id": element["element_id"],
        "category": element["category"],
        "doc_ref": ref,
        "page_index": number,
        "uri": without_query(uri),
        "summary": element["summary"],
    }
    # `detail` has the content that the page leaves out, such as all rows of a long table.
    full: dict[str, Any] = {**element, "content": {**element["content"], **(element.get("detail") or {})}}
    if form == "json":
        return {**body, "content": full["content"], "metadata": element["metadata"]}
    return {**body, _body_of(form): (as_markdown if form == "markdown" else as_text)(full, ALL)}


def _recognized(element: dict[str, Any]) -> dict[str, Any]:
    """On a page, only recognized text has metadata: a reader has to know that it may be wrong."""
    metadata = element["metadata"]
    known = {key: metadata[key] for key in ("recognized", "confidence") if key in metadata}
    return {"metadata": known} if metadata.get("recognized") else {}


def _body_of(form: str) -> str:
    return f"content_{form}"


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Values for a part of an address, and whether these are all."""

    values: list[str]
    is_all: bool = True


async def complete(library: Library, name: str, start: str, chosen: dict[str, str]) -> Suggestions:
    """Values for a part of an address (document, page or element), given the parts chosen before.

    Without a chosen page, elements of all pages are suggested, as many as a completion may have.
    """
    if name == "doc_ref":
        return _first(sorted(ref for ref in library.documents if ref.startswith(start)))
    ref = chosen.get("doc_ref", "")
    if ref not in library.documents:
        return Suggestions([])
    try:
        count = (await library.document(ref))["page_count"]
        if name == "page_index":
            return _first([number for number in map(str, range(count)) if number.startswith(start)])
        if name == "element_id":
            page = parse_natural(chosen["page_index"]) if "page_index" in chosen else None
            pages = pages_of_elements(start, count) if "page_index" not in chosen else [] if page is None else [page]
            return await _elements(library, ref, start, pages)
    # A completion is a suggestion. An error about an unfinished address would only disturb the person typing it.
    except SMCPError as error:
        logger.debug("no completion of %s in %s: %s", name, ref, error)
    return Suggestions([])


async def _elements(library: Library, ref: str, start: str, pages: Sequence[int]) -> Suggestions:
    found: list[str] = []
    for position, number in enumerate(pages):
        # Every page may have to be parsed, and a completion has to answer while a person types.
        if len(found) > SUGGESTED or position >= PAGES_READ:
            return Suggestions(found[:SUGGESTED], is_all=False)
        elements = (await library.page(ref, number, is_patient=False))["elements"]
        found += [each["element_id"] for each in elements if each["element_id"].startswith(start)]
    return _first(found)


def _first(values: list[str]) -> Suggestions:
    return Suggestions(values[:SUGGESTED], len(values) <= SUGGESTED)
