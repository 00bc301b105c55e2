"""The folder that newcomers see first: every file is read, looks as promised, and tells the same story."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from a2c_documents.folder.files import Folder
from a2c_documents.library.library import Library
from a2c_documents.server.addresses import read
from a2c_documents.store.store import Store
from a2c_documents.workers.pool import Workers

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parent.parent / "examples" / "library"
MAX_BYTES = 400_000
TITLES = {
    "ABOUT.md": "About this folder",
    "analysis/roast-curve.ipynb": "Roast curve of Ridgeline Ethiopia",
    "contracts/supply-agreement.docx": "Supply Agreement SA-2026-03",
    "data/inventory.csv": "inventory.csv",
    "data/machines.json": "Roasting machines",
    "docs-zh/烘焙手册.md": "烘焙手册",
    "mail/supplier-delay.eml": "Shipment OP-117 is delayed by two weeks",
    "notes/ideas.txt": "Ideas for the winter",
    "notes/standup.md": "Stand-up notes, week 41",
    "pictures/label.svg": "Label of Ridgeline Ethiopia, 250 g",
    "pictures/storefront.png": "The shop of Fjellwick Coffee Roasters",
    "reports/q3-report.pdf": "Report for the third quarter of 2026",
    "sales-2026.xlsx": "Sales 2026",
    "slides/board-meeting.pptx": "Board meeting, October 2026",
    "tools/roast_planner.py": "roast_planner.py",
}
SHOWN = {
    "analysis/roast-curve.ipynb": {"heading", "text", "code", "image", "list"},
    "contracts/supply-agreement.docx": {"heading", "list", "table", "annotation", "header", "footer"},
    "mail/supplier-delay.eml": {"heading", "text", "table", "list", "link"},
    "notes/standup.md": {"heading", "text", "list", "table", "code"},
    "pictures/label.svg": {"image", "text"},
    "reports/q3-report.pdf": {"heading", "text", "list", "table", "image", "header", "footer"},
    "sales-2026.xlsx": {"table", "chart", "annotation"},
    "slides/board-meeting.pptx": {"heading", "list", "table", "chart", "image", "annotation"},
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Library]:
    store = Store(tmp_path_factory.mktemp("library") / "kept.db")
    library = Library(Folder(FOLDER), "lib", store, Workers(2, 30, 0))
    await library.look()
    await library.read_all()
    yield library
    await library.close()


def document_at(library: Library, name: str) -> str:
    """The address of a document."""
    (ref,) = [ref for ref, known in library.documents.items() if known.relative == name]
    return library.address(ref)


async def pages_of(library: Library, name: str) -> dict[str, list[dict[str, Any]]]:
    """The elements of each page, by its title."""
    index = (await read(library, f"{document_at(library, name)}?depth=pages")).body
    pages = [(await read(library, page["uri"])).body for page in index["pages"]]
    return {page["title"]: page["elements"] for page in pages}


def row_of(elements: list[dict[str, Any]], first: str) -> dict[str, str]:
    """The one row of a page's tables that begins with a word, by column."""
    tables = [element["content"] for element in elements if element["category"] == "table"]
    rows = [(table["headers"], row) for table in tables for row in table["rows"] if row[0] == first]
    assert len(rows) == 1
    return dict(zip(*rows[0], strict=True))


async def test_every_file_is_read(library: Library) -> None:
    assert {known.relative: known.problem for known in library.documents.values()} == dict.fromkeys(TITLES)
    for name in TITLES:
        assert all((await pages_of(library, name)).values()), f"{name} has an empty page"


async def test_the_catalogue_tells_them_apart(library: Library) -> None:
    catalogue = (await read(library, "dpe://lib")).body
    found = {library.documents[entry["doc_ref"]].relative: entry for entry in catalogue["documents"]}
    assert {name: entry["title"] for name, entry in found.items()} == TITLES
    assert all(entry["file_type"] == name.rpartition(".")[2] for name, entry in found.items())


@pytest.mark.parametrize("name", SHOWN)
async def test_a_file_shows_what_its_format_can(library: Library, name: str) -> None:
    pages = await pages_of(library, name)
    assert SHOWN[name] <= {element["category"] for elements in pages.values() for element in elements}


async def test_workbook_report_and_slides_have_the_same_figures(library: Library) -> None:
    workbook, report, slides = [
        await pages_of(library, name)
        for name in ("sales-2026.xlsx", "reports/q3-report.pdf", "slides/board-meeting.pptx")
    ]
    quarter = row_of(workbook["Summary"], "Q3")
    reported = row_of(report["Sales"], "Q3")
    assert {name: quarter[name] for name in ("Wholesale", "Online", "Shop", "Total")}.items() <= reported.items()
    assert quarter["Total"] == "€144,500"
    for elements in (workbook["Products"], report["Products"], slides["What we sold"]):
        assert row_of(elements, "Total")["Revenue"] == quarter["Total"], "the products are all that was sold"
        assert row_of(elements, "Harbour Blend")["Revenue"] == "€52,000"
    result = row_of(workbook["Costs"], "Result")["Q3"]
    assert row_of(report["Costs and result"], "Result")["Q3"] == result
    assert f"Result of {result}" in str(slides["The quarter in one minute"])


async def test_formulas_come_with_their_values(library: Library) -> None:
    uri = document_at(library, "sales-2026.xlsx")
    summary = (await read(library, f"{uri}/pages/0?categories=table")).body["elements"]
    (quarters,) = [element for element in summary if element["content"]["headers"][0] == "Quarter"]
    element = (await read(library, f"{uri}/elements/{quarters['element_id']}")).body
    assert element["metadata"]["formulas"]["E7"] == "=SUM(B7:D7)"
    assert row_of(summary, "Q3")["Total"] == "€144,500"


async def test_the_late_shipment_is_found_wherever_it_is_told_of(library: Library) -> None:
    hits = await library.search("OP-117", 50)
    assert {hit["title"] for hit in hits} == {
        TITLES[name]
        for name in (
            "contracts/supply-agreement.docx",
            "mail/supplier-delay.eml",
            "notes/standup.md",
            "reports/q3-report.pdf",
            "slides/board-meeting.pptx",
        )
    }


async def test_every_picture_can_be_seen(library: Library) -> None:
    seen: dict[str, str] = {}
    for name in TITLES:
        for elements in (await pages_of(library, name)).values():
            for element in elements:
                if element["category"] == "image":
                    answer = await read(library, element["content"]["url"])
                    assert base64.b64decode(answer.blob or "")
                    seen[name] = answer.mime_type
    assert seen == {
        "analysis/roast-curve.ipynb": "image/png",
        "pictures/label.svg": "image/svg+xml",
        "pictures/storefront.png": "image/png",
        "reports/q3-report.pdf": "image/png",
        "slides/board-meeting.pptx": "image/png",
    }


def test_the_planner_does_what_the_notes_say() -> None:
    command = [sys.executable, str(FOLDER / "tools" / "roast_planner.py"), "500", "--machine", "R2"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert outcome.stdout.startswith("20 batches of 29.4 kg on R2")


def test_the_folder_stays_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < MAX_BYTES
