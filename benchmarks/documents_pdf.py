"""What opening a PDF and reading a page of it costs, beside what its library takes for the same file."""

from __future__ import annotations

import ctypes
import importlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from a2c_documents.parsers.pdf.pdf_file import open_pdf
from benchmarks.documents_pdf_files import (
    FORM_COLUMNS,
    FORM_ROWS,
    TABLE_COLUMNS,
    TABLE_ROWS,
    make_forms,
    make_report,
    make_tables,
)
from benchmarks.support import Row

PAGES, PAGE = 300, 250
PAGE_TARGET = 3.0
OPEN_TARGET = 2.0


def measure(place: Path, rounds: int) -> list[Row]:
    """Levels 1 and 2, of a report, of dense tables and of forms."""
    report = make_report(place / "report.pdf", PAGES)
    plain = make_report(place / "plain.pdf", PAGES, outline=False)
    return [
        *_measure_opening(report, plain, rounds),
        *_measure_report(report, rounds),
        *_measure_tables(make_tables(place / "tables.pdf", PAGES), rounds),
        _measure_forms(make_forms(place / "forms.pdf", PAGES), rounds),
    ]


def best(rounds: int, ways: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """The shortest seconds of each, in turns: whatever else the machine does only ever adds."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in sorted(ways, reverse=number % 2 == 0):
            began = time.perf_counter()
            ways[name]()
            found[name].append(time.perf_counter() - began)
    return {name: min(times) for name, times in found.items()}


def row_of(what: str, floor: float, ours: float, target: float | None) -> Row:
    """A row of milliseconds."""
    return Row(what, f"{floor * 1e3:,.2f} ms", f"{ours * 1e3:,.2f} ms", ours / floor, target)


# -------------------------------------------------------------------------------------------------------------- level 1


def _measure_opening(report: Path, plain: Path, rounds: int) -> list[Row]:
    opened = best(
        rounds,
        {
            "floor": lambda: _open_plainly(plain),
            "ours": lambda: _open_ours(plain),
            "outlined floor": lambda: _open_plainly(report),
            "outlined ours": lambda: _open_ours(report),
            "first floor": lambda: _open_and_read_plainly(report),
            "first ours": lambda: _open_and_read_ours(report),
        },
    )
    what = f"PDF of {PAGES} pages"
    return [
        row_of(f"{what}, level 1", opened["floor"], opened["ours"], OPEN_TARGET),
        row_of(f"{what} with an outline, level 1", opened["outlined floor"], opened["outlined ours"], OPEN_TARGET),
        row_of(
            f"{what} with an outline, opened for page {PAGE}", opened["first floor"], opened["first ours"], PAGE_TARGET
        ),
    ]


def _open_plainly(path: Path) -> None:
    pdfium: Any = importlib.import_module("pypdfium2")
    document = pdfium.PdfDocument(path)
    if len(document) != PAGES:
        raise RuntimeError("the PDF was not opened")
    document.get_metadata_dict()
    document.close()


def _open_ours(path: Path) -> None:
    source = open_pdf(path)
    if len(source.page_titles) != PAGES or not source.facts.title:
        raise RuntimeError("the PDF was not opened")
    source.close()


def _open_and_read_plainly(path: Path) -> None:
    """The outline is in both: a page is called by its title there."""
    pdfium: Any = importlib.import_module("pypdfium2")
    document = pdfium.PdfDocument(path)
    for bookmark in document.get_toc():
        bookmark.get_title()
        bookmark.get_dest().get_index()
    _read_barely(document)
    document.close()


def _open_and_read_ours(path: Path) -> None:
    source = open_pdf(path)
    if source.page(PAGE).title != "Section 51":
        raise RuntimeError("the outline was not read")
    source.close()


# -------------------------------------------------------------------------------------------------------------- level 2


def _measure_report(path: Path, rounds: int) -> list[Row]:
    pages = _measure_page(path, rounds, {"plainly": read_plainly, "barely": _read_barely})
    what = f"PDF of {PAGES} pages, level 2 of page {PAGE}"
    return [
        row_of(what, pages["plainly"], pages["ours"], PAGE_TARGET),
        row_of(f"{what}, places in ours only", pages["barely"], pages["ours"], None),
    ]


def _measure_tables(path: Path, rounds: int) -> list[Row]:
    pages = _measure_page(path, rounds, {"barely": _read_barely})
    plumber: Any = importlib.import_module("pdfplumber")
    with plumber.open(path, pages=[PAGE + 1]) as document:
        (page,) = document.pages

        def extract() -> None:
            page.flush_cache()
            (table,) = page.extract_tables()
            if len(table) != TABLE_ROWS:
                raise RuntimeError("the table was not read")

        slow = best(2, {"floor": extract})["floor"]
    what = f"PDF, {TABLE_ROWS} × {TABLE_COLUMNS} cells on a page, level 2"
    return [
        row_of(f"{what}, places in ours only", pages["barely"], pages["ours"], PAGE_TARGET),
        row_of(f"{what}, table in both", slow, pages["ours"], PAGE_TARGET),
    ]


def _measure_forms(path: Path, rounds: int) -> Row:
    pages = _measure_page(path, rounds, {"fields": _read_fields})
    return row_of(
        f"PDF, {FORM_ROWS * FORM_COLUMNS} fields on a page, level 2", pages["fields"], pages["ours"], PAGE_TARGET
    )


def _measure_page(path: Path, rounds: int, floors: Mapping[str, Callable[[Any], None]]) -> dict[str, float]:
    """Page 250 of a file that is open in both."""
    pdfium: Any = importlib.import_module("pypdfium2")
    document, source = pdfium.PdfDocument(path), open_pdf(path)
    document.init_forms()
    if not {element.category for element in source.page(PAGE).elements} & {"table", "form"}:
        raise RuntimeError("the page was not read")
    ways: dict[str, Callable[[], object]] = {name: _with(floor, document) for name, floor in floors.items()}
    times = best(rounds, ways | {"ours": lambda: source.page(PAGE)})
    source.close()
    document.close()
    return times


def _with(floor: Callable[[Any], None], document: Any) -> Callable[[], object]:
    return lambda: floor(document)


def _read_barely(document: Any) -> None:
    """The text of a page in one piece, without any places, and the place of whatever else is on it."""
    page = document[PAGE]
    text = page.get_textpage()
    text.get_text_range()
    for item in page.get_objects():
        item.get_bounds()
    text.close()
    page.close()


def read_plainly(document: Any) -> None:
    """The text of a page with its place, line by line, and the place of whatever else is on it."""
    page = document[PAGE]
    text = page.get_textpage()
    for number in range(text.count_rects()):
        text.get_text_bounded(*text.get_rect(number))
    for item in page.get_objects():
        item.get_bounds()
    text.close()
    page.close()


def _read_fields(document: Any) -> None:
    """What `_read_barely` reads, and the type, name, value and label of each field."""
    _read_barely(document)
    raw: Any = importlib.import_module("pypdfium2.raw")
    page, form = document[PAGE], document.formenv.raw
    asked = (raw.FPDFAnnot_GetFormFieldName, raw.FPDFAnnot_GetFormFieldValue, raw.FPDFAnnot_GetFormFieldAlternateName)
    for number in range(raw.FPDFPage_GetAnnotCount(page.raw)):
        field = raw.FPDFPage_GetAnnot(page.raw, number)
        raw.FPDFAnnot_GetFormFieldType(form, field)
        for ask in asked:
            size = ask(form, field, None, 0)
            room = (ctypes.c_ushort * (size // 2))()
            ask(form, field, room, size)
            bytes(room).decode("utf-16-le")
        raw.FPDFPage_CloseAnnot(field)
    page.close()
