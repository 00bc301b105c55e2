"""An MCP server with a tool, a window and a document. The tool adds a note, which changes the window and the document.

    a2c computer --name my-laptop --config examples/mcp.json
    my-laptop> call write_note text="Call Ann."
    my-laptop> desktop
    my-laptop> read dpe://notes.example/notes/pages/0

windows_server.py and documents_server.py show windows and documents separately, and explain more. The list of resources
never changes here; documents_server.py shows how to report added and removed documents.
"""

import json
import re
from datetime import UTC, datetime
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server import ServerRequestContext as Context
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from a2c_smcp.utils.dpe_uri import ParsedDPEUri, build_dpe_uri, parse_dpe_uri

Body = dict[str, Any]

HOST, WINDOW = "notes.example", "window://notes.example/latest?priority=50"
DOCUMENT = build_dpe_uri(HOST, "notes")
WRITE_NOTE = types.Tool(
    name="write_note",
    description="Write a note down.",
    input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
notes = [(text, datetime.now(UTC)) for text in ("Milk is out.", "The report is due on Friday.")]
subscriptions: set[str] = set()  # one set is enough: over stdio there is one client


def answer(uri: str) -> Body:
    """Answer an address: the catalogue, the document, one of its pages (one note each), or the element on a page."""
    address = parse_dpe_uri(uri)
    if address.host.lower() != HOST or address.doc_ref not in (None, "notes"):
        raise MCPError(4201, f"document not found: {uri}", {"doc_ref": address.doc_ref})
    if address.level == 0 and "search" in address.query_params:
        return search(address.query_params["search"])
    if address.level == 0:
        body = {"documents": [describe()], "total_count": 1}
    else:
        body = answer_document(address.query_params) if address.level == 1 else answer_note(address)
    form = address.query_params.get("format", "json")
    return body if form == "json" else convert(body, form)


def describe() -> Body:
    text, written = notes[-1]
    return {
        "doc_ref": "notes",
        "uri": DOCUMENT,
        "file_uri": "file:///notes.txt",
        "file_type": "txt",
        "title": "Notes",
        "page_count": len(notes),
        "keywords": ["notes", "reminders"],
        "summary": f"{len(notes)} notes, the latest: {shorten(text)}",
        "last_modified": written.isoformat(),
    }


def search(query: str) -> Body:
    """Find the notes that have all words, which are marked with brackets."""
    words = re.findall(r"\w+", query)
    hits: list[Body] = []
    for page, (text, _) in enumerate(notes):
        if words and all(re.search(re.escape(word), text, re.IGNORECASE) for word in words):
            marked = re.sub("|".join(map(re.escape, words)), r"[\g<0>]", text, flags=re.IGNORECASE)
            place = {"page_uri": f"{DOCUMENT}/pages/{page}", "element_uri": f"{DOCUMENT}/elements/text-{page}"}
            hits.append({"title": "Notes", "page_index": page, "snippet": marked} | place)
    return {"hits": hits, "documents": [describe()], "coverage": {"documents": 1, "indexed": 1}}


def answer_document(query: dict[str, str]) -> Body:
    if query.get("depth") != "pages":
        return describe()
    offset, limit = int(query.get("offset", 0)), int(query.get("limit", 20))
    selected = range(len(notes))[offset : offset + limit]
    pages = [describe_page(page) | {"element_count": 1} for page in selected]
    return describe() | {"pages": pages, "page_offset": offset, "page_limit": limit, "page_total": len(notes)}


def describe_page(page: int) -> Body:
    return {"page_index": page, "title": f"Note {page}", "doc_ref": "notes", "uri": f"{DOCUMENT}/pages/{page}"}


def answer_note(address: ParsedDPEUri) -> Body:
    element_id, pages = address.element_id, {f"text-{page}": page for page in range(len(notes))}
    page = address.page_index if element_id is None else pages.get(element_id)
    if page is None:
        raise MCPError(4203, f"notes has no element {element_id}", {"doc_ref": "notes", "element_id": element_id})
    if page >= len(notes):
        raise MCPError(4202, f"notes has no page {page}", {"page_index": page, "page_count": len(notes)})
    text, written = notes[page]
    element = {"element_id": f"text-{page}", "category": "text", "summary": shorten(text), "content": {"text": text}}
    if element_id is not None:
        place = {"doc_ref": "notes", "page_index": page, "uri": f"{DOCUMENT}/elements/{element_id}"}
        return element | place | {"metadata": {"written": written.isoformat()}}
    categories = address.query_params.get("categories", "text").split(",")
    elements = [element] if "text" in categories else []
    return describe_page(page) | {"elements": elements, "element_count": len(elements)}


def convert(body: Body, form: str) -> Body:
    """The same answer, with markdown or text in place of its documents, pages, elements or content."""
    items = next((body.pop(key) for key in ("documents", "pages", "elements") if key in body), [body])
    link = "[{title}]({uri})" if form == "markdown" else "{title}"
    texts = [item["content"]["text"] if "content" in item else link.format(**item) for item in items]
    return {key: value for key, value in body.items() if key != "content"} | {f"content_{form}": "\n\n".join(texts)}


def shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


async def list_tools(context: Context, params: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[WRITE_NOTE])


async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    notes.append(((params.arguments or {})["text"], datetime.now(UTC)))
    for uri in (WINDOW, DOCUMENT):
        if uri in subscriptions:
            await context.session.send_resource_updated(uri)
    return types.CallToolResult(content=[types.TextContent(text=f"note {len(notes) - 1}")])


async def list_resources(context: Context, params: object) -> types.ListResourcesResult:
    window = types.Resource(uri=WINDOW, name="The latest note", mime_type="text/plain")
    document = types.Resource(uri=DOCUMENT, name="Notes", mime_type="application/json")
    return types.ListResourcesResult(resources=[window, document])


async def list_templates(context: Context, params: object) -> types.ListResourceTemplatesResult:
    paths = {"page": "{doc_ref}/pages/{page_index}", "element": "{doc_ref}/elements/{element_id}"}
    templates = [types.ResourceTemplate(uri_template=f"dpe://{HOST}/{path}", name=name) for name, path in paths.items()]
    templates.append(types.ResourceTemplate(uri_template=f"dpe://{HOST}{{?search}}", name="search"))
    return types.ListResourceTemplatesResult(resource_templates=templates)


async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    if params.uri == WINDOW:
        contents = types.TextResourceContents(uri=WINDOW, text=notes[-1][0], mime_type="text/plain")
    else:
        text = json.dumps(answer(params.uri))
        contents = types.TextResourceContents(uri=params.uri, text=text, mime_type="application/json")
    return types.ReadResourceResult(contents=[contents])


async def complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    pages = [str(page) for page in range(len(notes))]
    chosen = (params.context and params.context.arguments) or {}
    choices = {"doc_ref": ["notes"]}
    if chosen.get("doc_ref") == "notes":
        elements = [f"text-{page}" for page in pages if chosen.get("page_index", page) == page]
        choices |= {"page_index": pages, "element_id": elements}
    values = [value for value in choices.get(params.argument.name, []) if value.startswith(params.argument.value)]
    completion = types.Completion(values=values[:100], total=len(values), has_more=len(values) > 100)  # MCP's limit
    return types.CompleteResult(completion=completion)


async def subscribe(context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    subscriptions.add(params.uri)
    return types.EmptyResult()


async def unsubscribe(context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    subscriptions.discard(params.uri)
    return types.EmptyResult()


async def main() -> None:
    server = Server(
        "notes",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_completion=complete,
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
