"""An MCP server with a tool, a window and a document: notes. A new note changes both, and whoever looks is told.

    a2c computer --name my-laptop --config examples/mcp.json
    my-laptop> call write_note text="Call Ann."
    my-laptop> desktop
    my-laptop> read dpe://notes.example/notes/pages/0

windows_server.py and documents_server.py show one of these each, and say why this is a low-level `Server`.
"""

import json
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server import ServerRequestContext as Context
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from a2c_smcp.utils.dpe_uri import ParsedDPEUri, build_dpe_uri, parse_dpe_uri

HOST, WINDOW = "notes.example", "window://notes.example/latest?priority=50"
DOCUMENT = build_dpe_uri(HOST, "notes")
notes = ["Milk is out.", "The report is due on Friday."]

WRITE_NOTE = types.Tool(
    name="write_note",
    description="Write a note down.",
    input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


async def list_tools(context: Context, params: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[WRITE_NOTE])


async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    notes.append((params.arguments or {})["text"])
    for uri in (WINDOW, DOCUMENT):
        await context.session.send_resource_updated(uri)
    return types.CallToolResult(content=[types.TextContent(text=f"note {len(notes) - 1}")])


async def list_resources(context: Context, params: object) -> types.ListResourcesResult:
    window = types.Resource(uri=WINDOW, name="The latest note")
    document = types.Resource(uri=DOCUMENT, name="Notes", mime_type="application/json")
    return types.ListResourcesResult(resources=[window, document])


async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = params.uri
    text = notes[-1] if uri == WINDOW else json.dumps(read(parse_dpe_uri(uri), uri))
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text)])


def read(address: ParsedDPEUri, uri: str) -> dict[str, Any]:
    """The document, one of its pages (a note each), or the text on one."""
    if address.doc_ref != "notes":
        raise MCPError(4201, "there is one document: notes")
    if address.level == 1:
        return describe(with_pages=address.query_params.get("depth") == "pages")
    elements = {f"text-{number}": number for number in range(len(notes))}
    number = address.page_index if address.level == 2 else elements.get(address.element_id or "")
    if number is None or number >= len(notes):
        raise MCPError(4202 if address.level == 2 else 4203, "there is no such note")
    element = {"element_id": f"text-{number}", "category": "text", "content": {"text": notes[number]}}
    place = {"doc_ref": "notes", "page_index": number, "uri": uri}
    if address.level == 3:
        return element | place
    page = place | {"title": f"Note {number}"}
    if address.query_params.get("format") == "markdown":
        return page | {"content_markdown": notes[number]}
    return page | {"elements": [element], "element_count": 1}


def describe(*, with_pages: bool) -> dict[str, Any]:
    document = {
        "doc_ref": "notes",
        "uri": DOCUMENT,
        "file_uri": "file:///notes.txt",
        "file_type": "txt",
        "title": "Notes",
        "page_count": len(notes),
    }
    pages = [
        {"page_index": number, "title": f"Note {number}", "element_count": 1, "uri": f"{DOCUMENT}/pages/{number}"}
        for number in range(len(notes))
    ]
    return document | ({"pages": pages} if with_pages else {})


async def subscribe(context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def main() -> None:
    server = Server(
        "notes",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
