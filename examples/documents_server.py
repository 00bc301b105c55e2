"""An MCP server with documents: each table of a SQLite database is one, in pages of 50 rows, for the Finder.

To a Computer it is a server like any other. At its prompt:

    a2c computer --name my-laptop
    my-laptop> add tables python examples/documents_server.py shop.db
    my-laptop> finder
    my-laptop> read dpe://tables.example/orders/pages/0

A document is a resource at `dpe://host/document`. Four kinds of address are read, and answered with JSON:

    dpe://tables.example                           the catalogue: all documents
    dpe://tables.example/orders                    a document; with ?depth=pages also which pages it has
    dpe://tables.example/orders/pages/0            a page with its elements
    dpe://tables.example/orders/elements/rows-0    one element

With ?format=markdown a page or an element has markdown in place of its content.
The Computer wants `resources.subscribe`, so this is written with the low-level `Server`: see windows_server.py. For a
folder of files there is nothing to write: `a2c documents FOLDER`.
"""

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server import ServerRequestContext as Context
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from a2c_smcp.utils.dpe_uri import ParsedDPEUri, build_dpe_uri, parse_dpe_uri

HOST, PAGE_ROWS = "tables.example", 50
FILE = Path(sys.argv[1]).resolve()
if not FILE.is_file():
    sys.exit(f"{FILE}: there is no such file")
database = sqlite3.connect(f"{FILE.as_uri()}?mode=ro", uri=True)
viewers: dict[str, ServerSession] = {}


def read(uri: str) -> dict[str, Any]:
    """What is at an address: the catalogue, a document, or something in a document."""
    address = parse_dpe_uri(uri)
    tables = list_tables()
    if address.doc_ref is None:
        return {"documents": [describe(table) for table in tables], "total_count": len(tables)}
    if address.doc_ref not in tables:
        raise MCPError(4201, f"there is no table {address.doc_ref}")
    document = describe(address.doc_ref)
    if address.level > 1:
        return read_inside(document, address, uri)
    if address.query_params.get("depth") == "pages":
        return document | list_pages(document, address.query_params)
    return document


def describe(table: str) -> dict[str, Any]:
    [rows] = database.execute(f"SELECT count(*) FROM {quoted(table)}").fetchone()
    return {
        "doc_ref": table,
        "uri": build_dpe_uri(HOST, table),
        "file_uri": FILE.as_uri(),
        "file_type": "sqlite",
        "title": table,
        "summary": f"{rows} rows",
        "page_count": max(1, -(-rows // PAGE_ROWS)),
    }


def list_pages(document: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
    offset, limit, total = int(query.get("offset", 0)), int(query.get("limit", 20)), document["page_count"]
    pages = [
        {"page_index": page, "title": f"Page {page}", "uri": f"{document['uri']}/pages/{page}", "element_count": 1}
        for page in range(total)[offset : offset + limit]
    ]
    return {"pages": pages, "page_offset": offset, "page_limit": limit, "page_total": total}


def read_inside(document: dict[str, Any], address: ParsedDPEUri, uri: str) -> dict[str, Any]:
    """A page, or its only element: a table."""
    pages = range(document["page_count"])
    elements = {f"rows-{number}": number for number in pages}
    number = address.page_index if address.level == 2 else elements.get(address.element_id or "")
    if number is None or number not in pages:
        raise MCPError(4202 if address.level == 2 else 4203, f"the table {document['title']} does not have that")
    rows = read_rows(document["doc_ref"], number)
    content = {"content": {"headers": rows[0], "rows": rows[1:]}}
    markdown = {"content_markdown": to_markdown(rows)} if address.query_params.get("format") == "markdown" else None
    place = {"doc_ref": document["doc_ref"], "page_index": number, "uri": uri}
    element = {"element_id": f"rows-{number}", "category": "table"}
    if address.level == 3:
        return element | place | (markdown or content)
    return place | {"title": f"Page {number}"} | (markdown or {"elements": [element | content], "element_count": 1})


def list_tables() -> list[str]:
    return [name for [name] in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]


def read_rows(table: str, page: int) -> list[list[Any]]:
    """The names of the columns, and the rows of a page."""
    query = f"SELECT * FROM {quoted(table)} LIMIT ? OFFSET ?"
    found = database.execute(query, (PAGE_ROWS, page * PAGE_ROWS))
    return [[column[0] for column in found.description], *map(list, found)]


def quoted(table: str) -> str:
    return '"' + table.replace('"', '""') + '"'


def to_markdown(rows: list[list[Any]]) -> str:
    lines = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines)


async def list_resources(context: Context, params: object) -> types.ListResourcesResult:
    documents = [types.Resource(uri=build_dpe_uri(HOST, table), name=table) for table in list_tables()]
    return types.ListResourcesResult(resources=documents)


async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    text = json.dumps(read(params.uri), default=str)
    contents = types.TextResourceContents(uri=params.uri, text=text, mime_type="application/json")
    return types.ReadResourceResult(contents=[contents])


async def subscribe(context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    viewers[params.uri] = context.session
    return types.EmptyResult()


async def unsubscribe(context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    viewers.pop(params.uri, None)
    return types.EmptyResult()


async def watch() -> None:
    """Say it when somebody has written to the database."""
    seen = None
    while True:
        [version] = database.execute("PRAGMA data_version").fetchone()
        if version != seen:
            seen = version
            for uri, viewer in list(viewers.items()):
                await viewer.send_resource_updated(uri)
        await anyio.sleep(1)


async def main() -> None:
    server = Server(
        "tables",
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
    )
    async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
