"""Workbooks before 2007 (xls) and binary workbooks (xlsb): calamine reads values, merged cells and hidden sheets."""

from __future__ import annotations

import datetime
import io
from pathlib import Path

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, PasswordError, WorksheetNotFound

from a2c_documents.model import Facts, UnreadableFileError
from a2c_documents.parsers.office.compound import streams_of
from a2c_documents.parsers.office.facts import SUMMARY_STREAM, summary_facts
from a2c_documents.parsers.office.number_formats import shown
from a2c_documents.parsers.office.xml import DamagedPartError
from a2c_documents.parsers.sheets.biff import Records, SheetRecords
from a2c_documents.parsers.sheets.grid import (
    BOOLEAN,
    DATE,
    ERROR,
    MAX_COLUMNS,
    MAX_ROWS,
    NUMBER,
    Area,
    Cell,
    Region,
    SheetInfo,
    details_of,
    pages_of,
)

_Value = int | float | str | bool | datetime.time | datetime.date | datetime.datetime | datetime.timedelta
_Rows = dict[int, list[tuple[int, _Value]]]
"""Column and value of the cells of each row that is not empty."""
_KEPT_ROWS = 200_000
_HIDDEN = {"Hidden": "hidden", "VeryHidden": "very hidden"}
_ERRORS = frozenset(("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#DATA!", "#GETTING_DATA"))


class CalamineBook:
    """An open workbook. A sheet is loaded as a whole and kept, within a limit for the rows of all sheets."""

    def __init__(self, path: Path, facts: Facts | None = None) -> None:
        raw = path.read_bytes()
        self._records: Records | None = None
        if not raw.startswith(b"PK"):
            stream, facts = _streams(raw)
            self._records = Records(stream)
        try:
            # From bytes: given a path, calamine trusts the suffix of the name.
            self._book = CalamineWorkbook.from_filelike(io.BytesIO(raw))
        except PasswordError:
            raise UnreadableFileError("this workbook is protected by a password") from None
        except (CalamineError, OSError, ValueError) as error:
            raise UnreadableFileError(_reason(error)) from None
        except BaseException as error:
            raise _if_panic(error) from None
        self._loaded: dict[int, tuple[_Rows, list[Area]]] = {}
        self._told: tuple[int, SheetRecords] | None = None
        self._broken: dict[int, str] = {}
        self.sheets: list[SheetInfo] = []
        for number, sheet in enumerate(self._book.sheets_metadata):
            info = SheetInfo(sheet.name, _HIDDEN.get(str(sheet.visible).rpartition(".")[2], ""))
            info.pages = self._pages(number)
            self.sheets.append(info)
        if not self.sheets:
            raise UnreadableFileError("this workbook has no sheets")
        self.facts = facts or Facts()
        self.facts.details |= details_of(self.sheets)

    def close(self) -> None:
        """Close the workbook."""
        self._loaded.clear()
        self._book.close()

    def region(self, sheet: int, first: int, last: int) -> Region:
        """The rows from `first` to `last`, with everything known about them."""
        rows, merged = self._load(sheet)
        told = self._records_of(sheet)
        if (first, last) == self.sheets[sheet].pages[-1]:
            # Comments and errors can be below the last value.
            last = MAX_ROWS
        region = Region(problems=[self._broken[sheet]] if sheet in self._broken and first == 0 else [])
        # Iterate over the rows that exist or the rows that are requested, whichever are fewer.
        numbers = [row for row in rows if first <= row <= last] if len(rows) < last - first else range(first, last + 1)
        for number in numbers:
            for column, value in rows.get(number, ()):
                # calamine turns dates into objects and drops all other formats. The records still have them: 0.25 is
                # shown as 25%.
                region.cells[number, column] = _cell(value, told.formats.get((number, column), ""))
        for place, words in told.errors.items():
            if first <= place[0] <= last:
                region.cells[place] = Cell(words, ERROR)
        region.merged = [area for area in merged if area.top <= last and area.bottom >= first]
        region.hidden_rows = [row for row in told.hidden_rows if first <= row <= last]
        region.hidden_columns = told.hidden_columns
        region.links = {place: url for place, url in told.links.items() if place in region.cells}
        region.comments = [one for one in told.comments() if first <= one[0] <= last]
        region.edges = told.edges if first == 0 else []
        return region

    def _records_of(self, sheet: int) -> SheetRecords:
        if self._records is None:
            # The records of an xlsb have another layout, which only calamine reads.
            return SheetRecords((), is_modern=True)
        if self._told is None or self._told[0] != sheet:
            self._told = (sheet, self._records.sheet(self.sheets[sheet].name))
        return self._told[1]

    def _pages(self, number: int) -> list[tuple[int, int]]:
        # Opening loads every sheet: binary formats state no size that can be trusted, and the number of pages depends
        # on the rows.
        rows, _ = self._load(number)
        return pages_of((row, len(cells)) for row, cells in rows.items())

    def _load(self, number: int) -> tuple[_Rows, list[Area]]:
        if number not in self._loaded:
            rows: _Rows = {}
            merged: list[Area] = []
            try:
                sheet = self._book.get_sheet_by_index(number)
                rows = _filled(sheet)
                merged = [Area(*start, *end) for start, end in sheet.merged_cell_ranges or ()]
            except UnreadableFileError as error:
                self._broken[number] = f"This sheet cannot be read: {error}."
            except WorksheetNotFound:
                # A sheet of charts or macros has no cells.
                pass
            except (CalamineError, OSError, ValueError) as error:
                self._broken[number] = f"This sheet cannot be read: {_reason(error)}."
            except BaseException as error:
                self._broken[number] = f"This sheet cannot be read: {_if_panic(error)}."
            # All sheets are dropped at once: a record of which was used last is not worth its code, as clients read
            # sheet by sheet.
            if sum(len(rows) for rows, _ in self._loaded.values()) > _KEPT_ROWS:
                self._loaded.clear()
            self._loaded[number] = (rows, merged)
        return self._loaded[number]


def _streams(raw: bytes) -> tuple[bytes, Facts]:
    """The workbook stream of an older file, and the facts of the file. A file with broken sector chains never reaches
    calamine."""
    try:
        streams = streams_of(raw, "workbook", "book", "encryptedpackage", SUMMARY_STREAM)
    except DamagedPartError as error:
        raise UnreadableFileError(f"this workbook is damaged: {error}") from None
    if "encryptedpackage" in streams:
        raise UnreadableFileError("this workbook is protected by a password")
    found = streams.get("workbook") or streams.get("book")
    if not found:
        raise UnreadableFileError("this file is damaged or not a valid workbook")
    return found, summary_facts(streams.get(SUMMARY_STREAM, b""))


def _filled(sheet: CalamineSheet) -> _Rows:
    """The cells of a sheet that are not empty."""
    if sheet.start is None or sheet.end is None:
        return {}
    # `iter_rows` makes a row for each number up to the end, and a damaged file can state billions.
    if sheet.end[0] >= MAX_ROWS or sheet.end[1] >= MAX_COLUMNS:
        raise UnreadableFileError("it states an impossible size")
    # `iter_rows` begins with the first row of the sheet, even if it is empty, but with the first column that is used.
    left, found = sheet.start[1], _Rows()
    for number, row in enumerate(sheet.iter_rows()):
        cells = [(column, value) for column, value in enumerate(row, left) if value != ""]
        if cells:
            found[number] = cells
    return found


def _if_panic(error: BaseException) -> UnreadableFileError:
    """The error for a panic of the Rust library, which is not an `Exception`; other errors are raised again."""
    # PyO3 derives `PanicException` from `BaseException`, and has no public name for it.
    if type(error).__name__ != "PanicException":
        raise error
    return UnreadableFileError("this workbook is damaged")


def _reason(error: BaseException) -> str:
    words = str(error)
    if "password" in words.lower() or "encrypt" in words.lower():
        return "this workbook is protected by a password"
    return f"this file is damaged or not a valid workbook: {words[:200]}"


def _cell(value: _Value, code: str) -> Cell:
    if isinstance(value, bool):
        return Cell("TRUE" if value else "FALSE", BOOLEAN)
    if isinstance(value, int | float):
        words, dated = shown(float(value), code)
        return Cell(words, DATE if dated else NUMBER)
    if isinstance(value, datetime.datetime):
        return Cell(value.isoformat(" ", "seconds"), DATE)
    if isinstance(value, datetime.date):
        return Cell(value.isoformat(), DATE)
    if isinstance(value, datetime.time):
        return Cell(value.isoformat("seconds"), DATE)
    if isinstance(value, datetime.timedelta):
        seconds = round(value.total_seconds())
        return Cell(f"{seconds // 3_600}:{seconds // 60 % 60:02}:{seconds % 60:02}", DATE)
    return Cell(str(value), ERROR if value in _ERRORS else "text")
