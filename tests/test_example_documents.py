"""The examples of document servers answer every address of the protocol, and report every change."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from datetime import datetime
from pathlib import Path

import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient
from a2c_smcp.agent.client import Changes
from a2c_smcp.errors import DocumentNotFoundError, ElementNotFoundError, PageOutOfRangeError
from a2c_smcp.smcp import DPEDocumentSummary
from tests.support.mcp_servers import stdio, write_config
from tests.support.process import computer_process, server_process
from tests.support.shop import execute, make_shop
from tests.support.waiting import PATIENCE

EXAMPLES = Path(__file__).parent.parent / "examples"
ORDERS, NOTES = "dpe://tables.example/orders", "dpe://notes.example/notes"
# fmt: off
DOCUMENT_KEYS = {
    "doc_ref", "uri", "file_uri", "file_type", "title", "page_count", "keywords", "summary", "last_modified",
}
# fmt: on
INDEX_KEYS = DOCUMENT_KEYS | {"pages", "page_offset", "page_limit", "page_total"}
PAGE_KEYS = {"page_index", "title", "doc_ref", "uri", "elements", "element_count"}
ELEMENT_KEYS = {"element_id", "category", "summary", "content"}
DETAIL_KEYS = ELEMENT_KEYS | {"doc_ref", "page_index", "uri", "metadata"}

Finder = dict[str, DPEDocumentSummary]
"""Documents by their titles."""


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    """A Server; its address."""
    with server_process() as server:
        yield server.url


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("tables") / "shop.db")


@pytest.fixture(scope="module")
def documents(server: str, tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """A Computer `pc` in the office `documents` runs both document servers; the Server's address."""
    programs = {"tables": ["documents_server.py", str(tables)], "notes": ["notes_server.py"]}
    servers = {
        name: stdio([sys.executable, str(EXAMPLES / file), *arguments]) for name, [file, *arguments] in programs.items()
    }
    config = write_config(tmp_path_factory.mktemp("documents"), servers)
    flags = ("--config", str(config), "--office", "documents", "--name", "pc")
    with computer_process("--url", server, *flags) as computer:
        computer.wait_for("in office documents")
        computer.wait_for("2 of 2 MCP servers ready")
        yield server


@pytest.fixture
async def agent(documents: str) -> AsyncGenerator[AsyncSMCPAgentClient]:
    async with AsyncSMCPAgentClient.in_office(documents, "documents", "agent") as agent:
        yield agent


async def find(agent: AsyncSMCPAgentClient) -> Finder:
    return {document["title"]: document async for document in agent.iter_documents("pc")}


async def wait_until(agent: AsyncSMCPAgentClient, changes: Changes, is_so: Callable[[Finder], bool]) -> None:
    """Wait for the notice after which the Finder is as expected."""
    async with asyncio.timeout(PATIENCE):
        async for change in changes:
            if change.kind == "finder" and is_so(await find(agent)):
                return
    raise AssertionError("the Agent was disconnected")


async def read_all_formats(agent: AsyncSMCPAgentClient, uri: str, replaced: str) -> tuple[str, str]:
    """The markdown and the text at an address, in answers that otherwise are those in JSON."""
    mark = "&" if "?" in uri else "?"
    body, markdown, text = [
        await agent.read_resource("pc", f"{uri}{mark}format={form}") for form in ("json", "markdown", "text")
    ]
    assert body == await agent.read_resource("pc", uri)
    body.pop(replaced, None)
    assert markdown.keys() - body.keys() == {"content_markdown"}
    assert text.keys() - body.keys() == {"content_text"}
    assert body.items() <= markdown.items()
    assert body.items() <= text.items()
    return markdown["content_markdown"], text["content_text"]


@pytest.mark.anyio
async def test_tables_are_found_with_everything_that_a_finder_shows(agent: AsyncSMCPAgentClient) -> None:
    found = await find(agent)
    orders = found["orders"]
    assert orders.keys() == DOCUMENT_KEYS | {"server"}
    assert (orders["page_count"], orders.get("keywords")) == (3, ["id", "item"])
    assert found['gift "cards"']["page_count"] == 1
    assert [each["title"] async for each in agent.iter_documents("pc", keywords=["ITEM"])] == ["orders"]


@pytest.mark.anyio
@pytest.mark.parametrize("uri", [ORDERS, NOTES])
async def test_the_catalogue_makes_level_1_superfluous(uri: str, agent: AsyncSMCPAgentClient) -> None:
    catalogue = await agent.read_resource("pc", uri.rpartition("/")[0])
    assert catalogue["total_count"] == len(catalogue["documents"])
    [entry] = [each for each in catalogue["documents"] if each["uri"] == uri]
    assert entry.keys() == DOCUMENT_KEYS
    assert entry == await agent.read_document_metadata("pc", uri)
    assert datetime.fromisoformat(entry["last_modified"]).tzinfo is not None


@pytest.mark.anyio
async def test_the_pages_of_a_table_are_listed_by_offset_and_limit(agent: AsyncSMCPAgentClient) -> None:
    for offset, limit, expected in ((0, 20, [0, 1, 2]), (1, 1, [1]), (2, 20, [2]), (3, 20, [])):
        index = await agent.read_document_pages("pc", ORDERS, offset, limit)
        assert index.keys() == INDEX_KEYS
        assert (index["page_offset"], index["page_limit"], index["page_total"]) == (offset, limit, 3)
        assert [page["page_index"] for page in index["pages"]] == expected
    index = await agent.read_document_pages("pc", ORDERS)
    for page in index["pages"]:
        assert page["uri"] == f"{ORDERS}/pages/{page['page_index']}"
        assert page["element_count"] == (await agent.read_resource("pc", page["uri"]))["element_count"]
    assert len((await agent.read_resource("pc", f"{ORDERS}?depth=pages"))["pages"]) == 3


@pytest.mark.anyio
async def test_a_page_of_a_table_has_its_rows_and_the_first_page_its_definition(agent: AsyncSMCPAgentClient) -> None:
    page = await agent.read_page("pc", ORDERS, 2)
    assert page.keys() == PAGE_KEYS
    assert (page["page_index"], page["doc_ref"], page["uri"]) == (2, "orders", f"{ORDERS}/pages/2")
    [rows] = page["elements"]
    assert rows.keys() == ELEMENT_KEYS
    assert rows["content"] == {"headers": ["id", "item"], "rows": [[n, f"item|{n}"] for n in range(100, 120)]}
    [definition, _] = (await agent.read_page("pc", ORDERS, 0))["elements"]
    assert definition["content"] == {"code": "CREATE TABLE orders (id INTEGER, item TEXT)", "language": "sql"}
    empty = await agent.read_page("pc", "dpe://tables.example/gift%20%22cards%22", 0)
    assert empty["elements"][1]["content"] == {"headers": ["code"], "rows": []}


CATEGORIES: list[tuple[str, str, list[str]]] = [
    (f"{ORDERS}/pages/0", "table", ["rows-0"]),
    (f"{ORDERS}/pages/0", "code", ["schema"]),
    (f"{ORDERS}/pages/0", "code,table", ["schema", "rows-0"]),
    (f"{ORDERS}/pages/0", "chart,image", []),
    (f"{NOTES}/pages/1", "text", ["text-1"]),
    (f"{NOTES}/pages/1", "list,text", ["text-1"]),
    (f"{NOTES}/pages/1", "table", []),
]


@pytest.mark.anyio
async def test_categories_select_elements(agent: AsyncSMCPAgentClient) -> None:
    for page, categories, expected in CATEGORIES:
        body = await agent.read_resource("pc", f"{page}?categories={categories}")
        assert [element["element_id"] for element in body["elements"]] == expected
        assert (body["element_count"], body["uri"]) == (len(expected), page)
        markdown = await agent.read_resource("pc", f"{page}?categories={categories}&format=markdown")
        assert bool(markdown["content_markdown"]) == bool(expected)


@pytest.mark.anyio
async def test_an_element_of_a_table_has_its_place_and_its_size(agent: AsyncSMCPAgentClient) -> None:
    element = await agent.read_element("pc", ORDERS, "rows-2")
    assert element.keys() == DETAIL_KEYS
    assert (element["page_index"], element["uri"]) == (2, f"{ORDERS}/elements/rows-2")
    assert (element["content"]["total_rows"], element["content"]["total_columns"]) == (20, 2)
    [on_page] = (await agent.read_page("pc", ORDERS, 2))["elements"]
    assert on_page["content"].items() <= element["content"].items()
    assert (await agent.read_element("pc", ORDERS, "schema")).keys() == DETAIL_KEYS


@pytest.mark.anyio
async def test_tables_are_read_as_markdown_and_text_at_every_level(agent: AsyncSMCPAgentClient) -> None:
    markdown, text = await read_all_formats(agent, "dpe://tables.example", "documents")
    assert f"[orders]({ORDERS})" in markdown
    assert "orders" in text
    for uri in (ORDERS, f"{ORDERS}?depth=pages&limit=2"):
        markdown, text = await read_all_formats(agent, uri, "pages")
        assert f"({ORDERS}" in markdown
        assert "orders" in text
    markdown, text = await read_all_formats(agent, f"{ORDERS}/pages/0", "elements")
    definition = "CREATE TABLE orders (id INTEGER, item TEXT)"
    assert markdown.startswith(f"```sql\n{definition}\n```\n\n| id | item |\n| --- | --- |\n")
    assert text.startswith(f"{definition}\n\nid\titem\n0\titem|0\n")
    markdown, text = await read_all_formats(agent, f"{ORDERS}/elements/rows-2", "content")
    assert markdown.splitlines()[:3] == ["| id | item |", "| --- | --- |", "| 100 | item\\|100 |"]
    assert text.splitlines()[:2] == ["id\titem", "100\titem|100"]


@pytest.mark.anyio
async def test_a_table_appears_grows_and_disappears(agent: AsyncSMCPAgentClient, tables: Path) -> None:
    assert "re|turns" not in await find(agent)
    changes = agent.changes()
    await asyncio.to_thread(execute, tables, 'CREATE TABLE "re|turns" (id INTEGER PRIMARY KEY AUTOINCREMENT, why)')
    await wait_until(agent, changes, lambda found: "re|turns" in found)
    uri = (await find(agent))["re|turns"]["uri"]

    insert = 'INSERT INTO "re|turns" (why) VALUES (?)'
    await asyncio.to_thread(execute, tables, insert, [["too\nlarge"], [None], *[["broken \\|"]] * 49])
    await wait_until(agent, changes, lambda found: found["re|turns"]["page_count"] == 2)
    rows = (await agent.read_page("pc", uri, 0, format="markdown"))["content_markdown"].splitlines()[-50:]
    assert rows[:3] == ["| 1 | too large |", "| 2 |  |", "| 3 | broken \\\\\\| |"]
    catalogue = await agent.read_resource("pc", "dpe://tables.example")
    assert "sqlite_sequence" not in {document["title"] for document in catalogue["documents"]}

    await asyncio.to_thread(execute, tables, 'DROP TABLE "re|turns"')
    await wait_until(agent, changes, lambda found: "re|turns" not in found)
    with pytest.raises(DocumentNotFoundError):
        await agent.read_page("pc", uri, 0)


@pytest.mark.anyio
async def test_notes_are_read_at_every_level(agent: AsyncSMCPAgentClient) -> None:
    index = await agent.read_document_pages("pc", NOTES, offset=1, limit=1)
    assert index.keys() == INDEX_KEYS
    [note] = index["pages"]
    assert (index["page_offset"], index["page_limit"], index["page_total"]) == (1, 1, index["page_count"])
    assert (note["page_index"], note["uri"], note["element_count"]) == (1, f"{NOTES}/pages/1", 1)

    page = await agent.read_resource("pc", note["uri"])
    assert page.keys() == PAGE_KEYS
    [element] = page["elements"]
    assert element.keys() == ELEMENT_KEYS
    assert element["content"] == {"text": "The report is due on Friday."}
    whole = await agent.read_element("pc", NOTES, element["element_id"])
    assert whole.keys() == DETAIL_KEYS
    assert element.items() <= whole.items()
    assert (whole["page_index"], whole["uri"]) == (1, f"{NOTES}/elements/text-1")


@pytest.mark.anyio
async def test_notes_are_read_as_markdown_and_text_at_every_level(agent: AsyncSMCPAgentClient) -> None:
    link, title = f"[Notes]({NOTES})", "Notes"
    assert await read_all_formats(agent, "dpe://notes.example", "documents") == (link, title)
    assert await read_all_formats(agent, NOTES, "pages") == (link, title)
    page = f"{NOTES}/pages/0"
    assert await read_all_formats(agent, f"{NOTES}?depth=pages&limit=1", "pages") == (f"[Note 0]({page})", "Note 0")
    assert await read_all_formats(agent, page, "elements") == ("Milk is out.", "Milk is out.")
    assert await read_all_formats(agent, f"{NOTES}/elements/text-0", "content") == ("Milk is out.", "Milk is out.")


@pytest.mark.anyio
async def test_a_new_note_changes_the_window_and_the_document(agent: AsyncSMCPAgentClient) -> None:
    before = (await find(agent))["Notes"]
    changes = agent.changes()
    await agent.emit_tool_call("pc", "write_note", {"text": "Call Ann." * 10}, timeout=10)
    await wait_until(agent, changes, lambda found: found["Notes"]["page_count"] == before["page_count"] + 1)
    after = (await find(agent))["Notes"]
    assert after.get("last_modified", "") > before.get("last_modified", "")
    assert len(after.get("summary", "")) < 100
    [window] = (await agent.get_desktop_from_computer("pc"))["desktops"]
    assert window == f"window://notes.example/latest?priority=50\n\n{'Call Ann.' * 10}"


@pytest.mark.anyio
@pytest.mark.parametrize(("document", "element"), [(ORDERS, "rows-9"), (NOTES, "text-99"), (NOTES, "0")])
async def test_what_a_document_server_does_not_have_is_named_in_its_error(
    document: str, element: str, agent: AsyncSMCPAgentClient
) -> None:
    host, _, doc_ref = document.rpartition("/")
    page_count = (await agent.read_document_metadata("pc", document))["page_count"]
    await find(agent)
    with pytest.raises(DocumentNotFoundError) as no_document:
        await agent.read_page("pc", f"{host}/nothing", 0)
    assert no_document.value.details == {"doc_ref": "nothing"}
    with pytest.raises(PageOutOfRangeError) as no_page:
        await agent.read_page("pc", document, page_count)
    assert no_page.value.details == {"page_index": page_count, "page_count": page_count}
    with pytest.raises(ElementNotFoundError) as no_element:
        await agent.read_element("pc", document, element)
    assert {"element_id": element}.items() <= (no_element.value.details or {}).items()
    assert doc_ref in no_element.value.message


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("mcp_server", "host", "more"),
    [("tables", "tables.example", []), ("notes", "notes.example", ["dpe://notes.example{?search}"])],
)
async def test_document_servers_have_templates(
    mcp_server: str, host: str, more: list[str], agent: AsyncSMCPAgentClient
) -> None:
    found = await agent.list_resource_templates("pc", mcp_server=mcp_server)
    assert {(each["uriTemplate"], each["mcp_server"]) for each in found["templates"]} == {
        (f"dpe://{host}/{{doc_ref}}/pages/{{page_index}}", mcp_server),
        (f"dpe://{host}/{{doc_ref}}/elements/{{element_id}}", mcp_server),
        *((template, mcp_server) for template in more),
    }


@pytest.mark.anyio
async def test_notes_are_searched(agent: AsyncSMCPAgentClient) -> None:
    found = await agent.search_documents("milk OUT")
    (document,) = found.documents
    assert (document.uri, found.document_count) == (NOTES, 1)
    assert [passage.text for passage in document.passages] == ["[Milk] is [out]."]
    assert (await agent.search_documents("milk due")).documents == ()


PAGES, ELEMENTS = "{doc_ref}/pages/{page_index}", "{doc_ref}/elements/{element_id}"
ON_PAGE_0 = {"doc_ref": "orders", "page_index": "0"}
SUGGESTIONS: list[tuple[str, str, str, dict[str, str], list[str]]] = [
    (f"tables.example/{PAGES}", "doc_ref", "", {}, ['gift "cards"', "orders"]),
    (f"tables.example/{PAGES}", "doc_ref", "or", {}, ["orders"]),
    (f"tables.example/{PAGES}", "page_index", "", {"doc_ref": "orders"}, ["0", "1", "2"]),
    (f"tables.example/{PAGES}", "page_index", "1", {"doc_ref": "orders"}, ["1"]),
    (f"tables.example/{PAGES}", "page_index", "", {"doc_ref": "nothing"}, []),
    (f"tables.example/{PAGES}", "page_index", "", {}, []),
    (f"tables.example/{ELEMENTS}", "element_id", "", {"doc_ref": "orders"}, ["schema", "rows-0", "rows-1", "rows-2"]),
    (f"tables.example/{ELEMENTS}", "element_id", "", ON_PAGE_0, ["schema", "rows-0"]),
    (f"tables.example/{ELEMENTS}", "element_id", "r", ON_PAGE_0, ["rows-0"]),
    (f"tables.example/{ELEMENTS}", "element_id", "", ON_PAGE_0 | {"page_index": "9"}, []),
    (f"notes.example/{PAGES}", "doc_ref", "", {}, ["notes"]),
    (f"notes.example/{PAGES}", "page_index", "1", {"doc_ref": "notes"}, ["1"]),
    (f"notes.example/{ELEMENTS}", "element_id", "text-0", {"doc_ref": "notes"}, ["text-0"]),
    (f"notes.example/{ELEMENTS}", "element_id", "", {"doc_ref": "notes", "page_index": "1"}, ["text-1"]),
    (f"notes.example/{ELEMENTS}", "element_id", "", {}, []),
]


@pytest.mark.anyio
async def test_documents_pages_and_elements_are_suggested_one_after_the_other(agent: AsyncSMCPAgentClient) -> None:
    for template, variable, start, chosen, expected in SUGGESTIONS:
        reference = {"type": "ref/resource", "uri": f"dpe://{template}"}
        found = await agent.complete("pc", reference, {"name": variable, "value": start}, context=chosen)
        assert found["completion"]["values"] == expected, (template, variable, start, chosen)
