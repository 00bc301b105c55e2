"""An MCP server with a window and a document: notes. A new note changes both, and whoever looks at them is told."""

import json

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from a2c_smcp.utils.dpe_uri import build_dpe_uri, parse_dpe_uri

HOST, WINDOW = "notes.example", "window://notes.example/latest?priority=50"
DOCUMENT = build_dpe_uri(HOST, "notes")
notes = ["Milk is out.", "The report is due on Friday."]

WRITE_NOTE = types.Tool(
    name="write_note",
    description="Write a note down.",
    input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


async def list_tools(context, params):
    return types.ListToolsResult(tools=[WRITE_NOTE])


async def call_tool(context, params):
    notes.append(params.arguments["text"])
    for uri in (WINDOW, DOCUMENT):
        await context.session.send_resource_updated(uri)
    return types.CallToolResult(content=[types.TextContent(text=f"note {len(notes) - 1}")])


async def list_resources(context, params):
    window = types.Resource(uri=WINDOW, name="The latest note")
    document = types.Resource(uri=DOCUMENT, name="Notes", mime_type="application/json")
    return types.ListResourcesResult(resources=[window, document])


async def read_resource(context, params):
    uri = str(params.uri)
    text = notes[-1] if uri == WINDOW else json.dumps(read(parse_dpe_uri(uri), uri))
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text)])


def read(address, uri):
    """The document, one of its pages (a note each), or the text on one."""
    if address.doc_ref != "notes":
        raise MCPError(4201, "there is one document: notes")
    page = address.page_index if address.level == 2 else (address.element_id or "").removeprefix("text-")
    if address.level == 1:
        pages = [
            {"page_index": n, "title": f"Note {n}", "element_count": 1, "uri": f"{DOCUMENT}/pages/{n}"}
            for n in range(len(notes))
        ]
        document = {
            "doc_ref": "notes",
            "uri": DOCUMENT,
            "file_uri": "file:///notes.txt",
            "file_type": "txt",
            "title": "Notes",
            "page_count": len(notes),
        }
        return document | ({"pages": pages} if address.query_params.get("depth") == "pages" else {})
    if not str(page).isdecimal() or int(page) >= len(notes):
        raise MCPError(4202 if address.level == 2 else 4203, "there is no such note")
    element = {"element_id": f"text-{page}", "category": "text", "content": {"text": notes[int(page)]}}
    if address.level == 3:
        return element | {"doc_ref": "notes", "page_index": int(page), "uri": uri}
    body = {"page_index": page, "title": f"Note {page}", "doc_ref": "notes", "uri": uri}
    if address.query_params.get("format") == "markdown":
        return body | {"content_markdown": notes[page]}
    return body | {"elements": [element], "element_count": 1}


async def subscribe(context, params):
    return types.EmptyResult()


async def main():
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
