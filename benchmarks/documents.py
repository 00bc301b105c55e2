"""What reading documents costs: a page of a long PDF and a long sheet beside their libraries, and a folder of files."""

from __future__ import annotations

import asyncio
import importlib
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from a2c_smcp.documents.folder import Folder
from a2c_smcp.documents.library import Library
from a2c_smcp.documents.parsers.pdf.document import open_pdf
from a2c_smcp.documents.parsers.sheets.document import open_sheets
from a2c_smcp.documents.store import Store
from a2c_smcp.documents.workers import Workers
from benchmarks import documents_folder
from benchmarks.documents_files import make_pdf, make_sheet
from benchmarks.support import Row

PAGES, PAGE = 300, 250
PAGE_TARGET = 3.0
OPEN_TARGET = 2.0
SHEET_TARGET = 1.2
FIRST_PAGE_TARGET = 0.1


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to read, and how often."""

    files: int
    rows: int
    opens: int
    loads: int
    """How often a PDF is opened, and a sheet loaded."""


FULL = Plan(files=10_000, rows=100_000, opens=60, loads=7)
QUICK = Plan(files=500, rows=40_000, opens=15, loads=2)


async def measure(plan: Plan) -> list[Row]:
    """The parsers in this process, then a library with its workers, and the server."""
    with tempfile.TemporaryDirectory() as place:
        rows = [*_measure_pdf(Path(place), plan.opens), *await _measure_library(Path(place), plan.opens)]
        rows += _measure_sheet(Path(place), plan)
        rows += await documents_folder.measure(Path(place), plan.files)
    return rows


def _best(rounds: int, ways: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """The shortest seconds of each, in turns: whatever else the machine does only ever adds."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in sorted(ways, reverse=number % 2 == 0):
            began = time.perf_counter()
            ways[name]()
            found[name].append(time.perf_counter() - began)
    return {name: min(times) for name, times in found.items()}


def _row(what: str, floor: float, ours: float, target: float | None) -> Row:
    return Row(what, f"{floor * 1e3:,.2f} ms", f"{ours * 1e3:,.2f} ms", ours / floor, target)


# ------------------------------------------------------------------------------------------------------------------ PDF


def _measure_pdf(place: Path, rounds: int) -> list[Row]:
    outlined = make_pdf(place / "outlined.pdf", PAGES)
    plain = make_pdf(place / "plain.pdf", PAGES, outline=False)
    opened = _best(
        rounds,
        {
            "floor": lambda: _open_plainly(plain, outline=False),
            "ours": lambda: _open_ours(plain),
            "outline floor": lambda: _open_plainly(outlined, outline=True),
            "outline ours": lambda: _open_ours(outlined),
            "outline bare": lambda: _open_plainly(outlined, outline=False),
        },
    )
    pdfium: Any = importlib.import_module("pypdfium2")
    document, source = pdfium.PdfDocument(outlined), open_pdf(outlined)
    if len(source.page(PAGE).elements) < 5:
        raise RuntimeError("the page was not read")
    pages = _best(rounds, {"floor": lambda: _read_plainly(document), "ours": lambda: source.page(PAGE)})
    source.close()
    document.close()
    what = f"PDF of {PAGES} pages"
    return [
        _row(f"{what}, level 1", opened["floor"], opened["ours"], OPEN_TARGET),
        _row(f"{what}, level 1, outline in both", opened["outline floor"], opened["outline ours"], OPEN_TARGET),
        _row(f"{what}, level 1, outline in ours only", opened["outline bare"], opened["outline ours"], None),
        _row(f"{what}, level 2 of page {PAGE}", pages["floor"], pages["ours"], PAGE_TARGET),
    ]


def _open_plainly(path: Path, *, outline: bool) -> None:
    pdfium: Any = importlib.import_module("pypdfium2")
    document = pdfium.PdfDocument(path)
    if len(document) != PAGES:
        raise RuntimeError("the PDF was not opened")
    document.get_metadata_dict()
    if outline:
        for bookmark in document.get_toc():
            bookmark.get_title()
            bookmark.get_dest().get_index()
    document.close()


def _open_ours(path: Path) -> None:
    source = open_pdf(path)
    if len(source.page_titles) != PAGES or not source.facts.title:
        raise RuntimeError("the PDF was not opened")
    source.close()


def _read_plainly(document: Any) -> None:
    """The text of a page with its place, line by line, and the place of whatever else is on it."""
    page = document[PAGE]
    text = page.get_textpage()
    for number in range(text.count_rects()):
        text.get_text_bounded(*text.get_rect(number))
    for item in page.get_objects():
        item.get_bounds()
    text.close()
    page.close()


async def _measure_library(place: Path, rounds: int) -> list[Row]:
    """The whole way to the same page: processes, what is kept on disk, addresses."""
    folder = place / "pdf"
    folder.mkdir()
    make_pdf(folder / "report.pdf", PAGES)
    first: list[float] = []
    cold: list[float] = []
    warm: list[float] = []
    for number in range(3):
        library = Library(Folder(folder), "lib", Store(place / f"pdf-{number}.db"), Workers())
        try:
            began = time.perf_counter()
            await library.look()
            (ref,) = library.documents
            await library.page(ref, PAGE)
            first.append(time.perf_counter() - began)
            for page in range(PAGE - rounds, PAGE):
                began = time.perf_counter()
                await library.page(ref, page)
                cold.append(time.perf_counter() - began)
                began = time.perf_counter()
                await library.page(ref, page)
                warm.append(time.perf_counter() - began)
        finally:
            await library.close()
    pdfium: Any = importlib.import_module("pypdfium2")
    document = pdfium.PdfDocument(folder / "report.pdf")
    floor = (await asyncio.to_thread(_best, rounds, {"floor": lambda: _read_plainly(document)}))["floor"]
    document.close()
    what = "the same through a library"
    return [
        _row(f"{what}, nothing known yet", floor, min(first), None),
        _row(f"{what}, cold page", floor, min(cold), None),
        _row(f"{what}, warm page", floor, min(warm), None),
    ]


# ---------------------------------------------------------------------------------------------------------------- sheet


def _measure_sheet(place: Path, plan: Plan) -> list[Row]:
    path = make_sheet(place / "sheet.xlsx", plan.rows)
    calamine: Any = importlib.import_module("python_calamine")

    def load() -> None:
        rows = calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
        if len(rows) != plan.rows:
            raise RuntimeError("the sheet was not loaded")

    def open_ours() -> None:
        source = open_sheets(path)
        if len(source.page_titles) < 10:
            raise RuntimeError("the sheet was not opened")
        source.close()

    taken = _best(plan.loads, {"floor": load, "ours": open_ours})
    pages: list[float] = []
    for _ in range(plan.loads):
        source = open_sheets(path)
        began = time.perf_counter()
        page = source.page(0)
        pages.append(time.perf_counter() - began)
        source.close()
        if page.elements[0].category != "table":
            raise RuntimeError("the page was not read")
    what = f"xlsx of {plan.rows:,} × 10 cells"
    return [
        _row(f"{what}, level 1", taken["floor"], taken["ours"], SHEET_TARGET),
        _row(f"{what}, first page", taken["floor"], min(pages), FIRST_PAGE_TARGET),
    ]
