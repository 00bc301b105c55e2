"""Tables of many kinds in PDFs that a browser prints: cells keep the names of their rows and columns."""

from __future__ import annotations

import base64
import re
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

pytest.importorskip("pypdfium2")

from a2c_documents.model import Element, Source
from a2c_documents.parsers.pdf.pdf_file import open_pdf
from tests.support.browser import wait_until
from tests.support.documents.table_pages import Data, Fact, document, kinds

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver


KINDS = kinds()


@pytest.fixture(params=[False, True], ids=["plain", "tagged"])
def printed(request: pytest.FixtureRequest, browser: WebDriver, tmp_path: Path) -> Generator[Source]:
    """The pages, printed without and with tags."""
    page = tmp_path / "tables.html"
    page.write_text(document(KINDS), "utf-8")
    browser.get(page.as_uri())
    # On a busy machine, the driver may not wait for all of a large page, and the beginning would be printed.
    wait_until(browser, "document.readyState === 'complete'")
    execute = cast("Any", browser).execute_cdp_cmd
    made = execute("Page.printToPDF", {"generateTaggedPDF": request.param, "preferCSSPageSize": True})
    path = tmp_path / "tables.pdf"
    path.write_bytes(base64.b64decode(made["data"]))
    with closing(open_pdf(path)) as source:
        yield source


def test_nearly_all_cells_of_many_kinds_of_tables_keep_their_meaning(printed: Source) -> None:
    right = {True: 0, False: 0}
    total = {True: 0, False: 0}
    for index, kind in enumerate(KINDS):
        tables = [element for element in printed.page(index).elements if element.category == "table"]
        for data in kind.tables:
            facts = data.facts()
            total[kind.ruled] += len(facts)
            right[kind.ruled] += max((len(facts & facts_of(table, data)) for table in tables), default=0)
    assert len(printed.page_titles) == len(KINDS)
    assert right[True] >= 0.99 * total[True]
    assert right[False] >= 0.96 * total[False]


def facts_of(table: Element, data: Data) -> set[Fact]:
    """What a table that was found says, with one space between the levels of its headers."""
    headers, rows = table.content["headers"], table.content["rows"]
    if not data.headers:
        headers, rows = [""] * len(headers), [headers, *rows]
    names = [re.sub(r"\s+", " ", header.replace(" / ", " ")) for header in headers]
    found: set[Fact] = set()
    for row in rows:
        label = next((cell for cell in row if cell), "")
        found |= {(label, names[at], cell) for at, cell in enumerate(row) if cell}
    return found
