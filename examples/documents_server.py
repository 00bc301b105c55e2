"""An MCP server with documents for the Finder: it serves each table of a SQLite database, in pages of 50 rows.

A Computer runs it like any other MCP server. At its prompt:

    a2c computer --name my-laptop
    my-laptop> add tables python examples/documents_server.py shop.db
    my-laptop> finder
    my-laptop> read dpe://tables.example/orders/pages/0

The addresses have four levels. The answers are JSON; at each level `?format=markdown` or `text` puts markdown or plain
text in place of the contents and keeps the other fields:

    dpe://tables.example                           0: the catalogue of all documents
    dpe://tables.example/orders                    1: a document; with `?depth=pages` its pages, by `offset` and `limit`
    dpe://tables.example/orders/pages/0            2: a page with its elements, or those of `?categories=table`
    dpe://tables.example/orders/elements/rows-0    3: one element

To serve other data, replace the first section. A folder of files needs no program: run `a2c documents FOLDER`.
windows_server.py explains why this is a low-level `Server`.
"""

import json
import sqlite3
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server import NotificationOptions, Server
from mcp.server import ServerRequestContext as Context
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from a2c_smcp.utils.dpe_uri import build_dpe_uri, parse_dpe_uri

Body = dict[str, Any]

HOST, PAGE_ROWS = "tables.example", 50
FILE = Path(sys.argv[1]).resolve()
if not FILE.is_file():
    sys.exit(f"{FILE}: file not found")
database = sqlite3.connect(f"{FILE.as_uri()}?mode=ro", uri=True)
subscriptions: set[str] = set()  # one set is enough: over stdio there is one client


# ------------------------------------------------------------------------------------------------------------- the data


def list_tables() -> list[str]:
    names = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    return [name for [name] in names if not name.startswith("sqlite_")]  # SQLite keeps those for itself


def describe(table: str) -> Body:
    """A document, as levels 0 and 1 show it."""
    [row_count] = database.execute(f"SELECT count(*) FROM {quote(table)}").fetchone()
    headers = [column[0] for column in database.execute(f"SELECT * FROM {quote(table)} LIMIT 0").description]
    return {
        "doc_ref": table,
        "uri": build_dpe_uri(HOST, table),
        "file_uri": FILE.as_uri(),
        "file_type": "sqlite",
        "title": table,
        "page_count": max(1, -(-row_count // PAGE_ROWS)),  # Computers leave out documents without pages
        "keywords": headers,
        "summary": f"rows: {row_count}, columns: {len(headers)}",
        "last_modified": datetime.fromtimestamp(FILE.stat().st_mtime, UTC).isoformat(),
    }


def list_elements(page: int) -> list[str]:
    """The IDs on a page. They stay the same while rows are added, so that an Agent can keep them."""
    return ["schema", "rows-0"] if page == 0 else [f"rows-{page}"]


def read_element(table: str, page: int, element_id: str) -> Body:
    """An element, as level 2 shows it."""
    if element_id == "schema":
        [sql] = database.execute("SELECT sql FROM sqlite_schema WHERE name = ?", [table]).fetchone()
        category, summary, content = "code", "the definition of the table", {"code": sql, "language": "sql"}
    else:
        headers, rows = read_rows(table, page)
        category, summary = "table", f"rows: {len(rows)}, starting at {page * PAGE_ROWS}"
        content = {"headers": headers, "rows": rows}
    return {"element_id": element_id, "category": category, "summary": summary, "content": content}


def read_rows(table: str, page: int) -> tuple[list[str], list[list[Any]]]:
    found = database.execute(f"SELECT * FROM {quote(table)} LIMIT ? OFFSET ?", [PAGE_ROWS, page * PAGE_ROWS])
    return [column[0] for column in found.description], [list(row) for row in found]


def quote(table: str) -> str:
    return '"' + table.replace('"', '""') + '"'


# ------------------------------------------------------------------------------------------------------ the four levels


def answer(uri: str) -> Body:
    address = parse_dpe_uri(uri)
    tables, table, query = list_tables(), address.doc_ref, address.query_params
    if address.host.lower() != HOST or table not in [None, *tables]:
        raise MCPError(4201, f"document not found: {uri}", {"doc_ref": table})
    if table is None:
        body = {"documents": [describe(each) for each in tables], "total_count": len(tables)}
    elif address.page_index is not None:
        body = answer_page(table, address.page_index, query.get("categories"))
    elif address.element_id is not None:
        body = answer_element(table, address.element_id)
    else:
        body = answer_document(table, query)
    form = query.get("format", "json")
    return body if form == "json" else convert(body, form)


def answer_document(table: str, query: dict[str, str]) -> Body:
    document = describe(table)
    if query.get("depth") != "pages":
        return document
    offset, limit, total = int(query.get("offset", 0)), int(query.get("limit", 20)), document["page_count"]
    selected = range(total)[offset : offset + limit]
    pages = [describe_page(table, page) | {"element_count": len(list_elements(page))} for page in selected]
    return document | {"pages": pages, "page_offset": offset, "page_limit": limit, "page_total": total}


def answer_page(table: str, page: int, categories: str | None) -> Body:
    if page >= (count := describe(table)["page_count"]):
        raise MCPError(4202, f"{table} has no page {page}", {"page_index": page, "page_count": count})
    elements = [read_element(table, page, element_id) for element_id in list_elements(page)]
    if categories is not None:
        elements = [element for element in elements if element["category"] in categories.split(",")]
    return describe_page(table, page) | {"elements": elements, "element_count": len(elements)}


def describe_page(table: str, page: int) -> Body:
    uri = build_dpe_uri(HOST, table, f"pages/{page}")  # without the query, so that a client can append its own
    return {"page_index": page, "title": f"{table}, page {page}", "doc_ref": table, "uri": uri}


def answer_element(table: str, element_id: str) -> Body:
    document = describe(table)
    page = next((page for page in range(document["page_count"]) if element_id in list_elements(page)), None)
    if page is None:
        raise MCPError(4203, f"{table} has no element {element_id}", {"doc_ref": table, "element_id": element_id})
    element = read_element(table, page, element_id)
    content = element["content"]
    if element["category"] == "table":
        content |= {"total_rows": len(content["rows"]), "total_columns": len(content["headers"])}
    place = {"doc_ref": table, "page_index": page, "uri": build_dpe_uri(HOST, table, f"elements/{element_id}")}
    return element | place | {"metadata": {"table": document["summary"]}}


def convert(body: Body, form: str) -> Body:
    """The same answer, with markdown or text in place of its documents, pages, elements or content."""
    items = next((body.pop(key) for key in ("documents", "pages", "elements") if key in body), [body])
    text = "\n\n".join(render(item, is_markdown=form == "markdown") for item in items)
    return {key: value for key, value in body.items() if key != "content"} | {f"content_{form}": text}


def render(item: Body, *, is_markdown: bool) -> str:
    if "content" not in item:  # a document or a page
        title = f"[{item['title']}]({item['uri']})" if is_markdown else item["title"]
        return f"{title}: {item['summary']}" if "summary" in item else title
    content = item["content"]
    if item["category"] == "code":
        return f"```sql\n{content['code']}\n```" if is_markdown else content["code"]
    rows = [[flatten(cell) for cell in row] for row in [content["headers"], *content["rows"]]]
    if not is_markdown:
        return "\n".join("\t".join(row) for row in rows)
    lines = ["| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def flatten(cell: object) -> str:
    return "" if cell is None else " ".join(str(cell).split())  # a line break would end the row


# ------------------------------------------------------------------------------------------------------- the MCP server


async def list_resources(context: Context, params: object) -> types.ListResourcesResult:
    uris = {table: build_dpe_uri(HOST, table) for table in list_tables()}
    resources = [types.Resource(uri=uri, name=table, mime_type="application/json") for table, uri in uris.items()]
    return types.ListResourcesResult(resources=resources)


async def list_templates(context: Context, params: object) -> types.ListResourceTemplatesResult:
    paths = {"page": "{doc_ref}/pages/{page_index}", "element": "{doc_ref}/elements/{element_id}"}
    templates = [types.ResourceTemplate(uri_template=f"dpe://{HOST}/{path}", name=name) for name, path in paths.items()]
    return types.ListResourceTemplatesResult(resource_templates=templates)


async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    text = json.dumps(answer(params.uri), default=str)
    contents = types.TextResourceContents(uri=params.uri, text=text, mime_type="application/json")
    return types.ReadResourceResult(contents=[contents])


async def complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Suggest tables, then the pages of the chosen table, then the elements of the chosen page or of all pages."""
    chosen = (params.context and params.context.arguments) or {}
    choices = {"doc_ref": list_tables()}
    if (table := chosen.get("doc_ref")) in choices["doc_ref"]:
        pages = [str(page) for page in range(describe(table)["page_count"])]
        on_pages = [list_elements(int(page)) for page in pages if chosen.get("page_index", page) == page]
        choices |= {"page_index": pages, "element_id": [element for page in on_pages for element in page]}
    values = [value for value in choices.get(params.argument.name, []) if value.startswith(params.argument.value)]
    completion = types.Completion(values=values[:100], total=len(values), has_more=len(values) > 100)  # MCP's limit
    return types.CompleteResult(completion=completion)


async def subscribe(context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    subscriptions.add(params.uri)
    return types.EmptyResult()


async def unsubscribe(context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    subscriptions.discard(params.uri)
    return types.EmptyResult()


async def watch(context: Context, params: types.NotificationParams) -> None:
    """As long as the client is connected, notify it when another program writes to the database."""
    version, tables = None, list_tables()
    while True:
        [newest] = database.execute("PRAGMA data_version").fetchone()
        if newest != version:
            version, before, tables = newest, tables, list_tables()
            if tables != before:
                await context.session.send_resource_list_changed()
            for uri in sorted(subscriptions):  # SQLite does not say which table changed
                await context.session.send_resource_updated(uri)
        await anyio.sleep(1)


async def main() -> None:
    server = Server(
        "tables",
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_completion=complete,
    )
    # A handler runs beside the others. This one starts with the connection and is cancelled when it closes.
    server.add_notification_handler("notifications/initialized", types.NotificationParams, watch)
    options = server.create_initialization_options(NotificationOptions(resources_changed=True))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, options)


if __name__ == "__main__":
    anyio.run(main)
