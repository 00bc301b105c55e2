"""Excel workbooks as tests make them: with openpyxl; what it cannot make is put into the archive by hand."""

from __future__ import annotations

import importlib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from a2c_documents.model import Element, Page, Source
from a2c_documents.parsers.sheets.document import open_sheets

openpyxl: Any = importlib.import_module("openpyxl")

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
SHEET = "xl/worksheets/sheet1.xml"
Change = Callable[[dict[str, bytes]], None]
"""What is done to the parts of a workbook before it is opened."""
_opened: list[Source] = []


def close_opened() -> None:
    """Close every workbook that was opened here."""
    while _opened:
        _opened.pop().close()


def again(path: Path) -> Source:
    """A workbook, opened."""
    _opened.append(open_sheets(path))
    return _opened[-1]


def workbook(*rows: list[Any], name: str = "Sales") -> tuple[Any, Any]:
    """A workbook of one sheet, and the sheet."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = name
    for row in rows:
        sheet.append(row)
    return book, sheet


def opened(book: Any, tmp_path: Path, change: Change | None = None) -> Source:
    """The workbook, saved, changed and opened."""
    path = tmp_path / "book.xlsx"
    book.save(path)
    if change is not None:
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        change(parts)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, data in parts.items():
                archive.writestr(part, data)
    return again(path)


def related(parts: dict[str, bytes], part: str, *relations: tuple[str, str, str]) -> None:
    """Add to what a part relates to: id, type and target. A type without an address is one of Office's own."""
    folder, _, file = part.rpartition("/")
    name = f"{folder}/_rels/{file}.rels"
    made = "".join(
        f'<Relationship Id="{key}" Type="{kind if "://" in kind else f"{KINDS}/{kind}"}" Target="{target}"/>'
        for key, kind, target in relations
    )
    before = parts.get(name, f'<Relationships xmlns="{RELATIONS}"></Relationships>'.encode())
    parts[name] = before.replace(b"</Relationships>", f"{made}</Relationships>".encode())


def raw_sheet(tmp_path: Path, xml: str) -> Source:
    """A workbook whose only sheet is this XML."""
    book, _ = workbook(["x"])

    def change(parts: dict[str, bytes]) -> None:
        parts[SHEET] = xml.encode()

    return opened(book, tmp_path, change)


def with_rows(cells: str, behind: str = "") -> str:
    """A sheet of these rows."""
    return f'<worksheet xmlns="{MAIN}" xmlns:r="{KINDS}"><sheetData>{cells}</sheetData>{behind}</worksheet>'


def of(page: Page, category: str) -> list[Element]:
    """The elements of a category on a page."""
    return [element for element in page.elements if element.category == category]


def only_table(page: Page) -> Element:
    """The one table on a page."""
    (element,) = of(page, "table")
    return element
