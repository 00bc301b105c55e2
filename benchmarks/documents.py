"""What reading documents costs: a page of a long PDF and a long sheet beside their libraries, and a folder of files."""

from __future__ import annotations

import asyncio
import importlib
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from a2c_documents.folder.files import Folder
from a2c_documents.library.library import Library
from a2c_documents.parsers.sheets.document import open_sheets
from a2c_documents.store.store import Store
from a2c_documents.workers.pool import Workers
from benchmarks import documents_folder, documents_pdf
from benchmarks.documents_files import make_sheet
from benchmarks.documents_pdf import PAGE, PAGES, best, read_plainly, row_of
from benchmarks.documents_pdf_files import make_report
from benchmarks.support import Row

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
        rows = [*documents_pdf.measure(Path(place), plan.opens), *await _measure_library(Path(place), plan.opens)]
        rows += _measure_sheet(Path(place), plan)
        rows += await documents_folder.measure(Path(place), plan.files)
    return rows


# -------------------------------------------------------------------------------------------------------------- library


async def _measure_library(place: Path, rounds: int) -> list[Row]:
    """The whole way to the same page: processes, what is kept on disk, addresses."""
    folder = place / "pdf"
    folder.mkdir()
    make_report(folder / "report.pdf", PAGES)
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
    floor = (await asyncio.to_thread(best, rounds, {"floor": lambda: read_plainly(document)}))["floor"]
    document.close()
    what = "the same through a library"
    return [
        row_of(f"{what}, nothing known yet", floor, min(first), None),
        row_of(f"{what}, cold page", floor, min(cold), None),
        row_of(f"{what}, warm page", floor, min(warm), None),
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

    taken = best(plan.loads, {"floor": load, "ours": open_ours})
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
        row_of(f"{what}, level 1", taken["floor"], taken["ours"], SHEET_TARGET),
        row_of(f"{what}, first page", taken["floor"], min(pages), FIRST_PAGE_TARGET),
    ]
