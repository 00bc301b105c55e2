"""Workbooks of older kinds (xls) and binary ones (xlsb): calamine gives values, merged cells and what is hidden."""

from __future__ import annotations

import datetime
import importlib
import io
from pathlib import Path
from typing import Any

from a2c_smcp.documents.model import Facts, UnreadableFileError
from a2c_smcp.documents.parsers.sheets.biff import Records
from a2c_smcp.documents.parsers.sheets.compound import workbook_stream
from a2c_smcp.documents.parsers.sheets.formats import shown
from a2c_smcp.documents.parsers.sheets.grid import (
    BOOLEAN,
    DATE,
    ERROR,
    MAX_COLUMNS,
    MAX_ROWS,
    Area,
    Cell,
    Region,
    SheetInfo,
    even_pages,
    uneven_pages,
)

_Rows = dict[int, list[tuple[int, Any]]]
"""The cells of each row that has any: column and value."""
_KEPT_ROWS = 200_000
_ERRORS = frozenset(("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#DATA!", "#GETTING_DATA"))


class CalamineBook:
    """An open workbook. A sheet is loaded as a whole, and kept unless there are very many rows."""

    def __init__(self, path: Path) -> None:
        self._calamine: Any = importlib.import_module("python_calamine")
        raw = path.read_bytes()
        self._records = None if raw.startswith(b"PK") else Records(workbook_stream(raw))
        try:
            # By its bytes: given a path, calamine believes the name.
            self._book: Any = self._calamine.CalamineWorkbook.from_filelike(io.BytesIO(raw))
        except self._calamine.PasswordError:
            raise UnreadableFileError("this workbook is protected by a password") from None
        except (self._calamine.CalamineError, OSError, ValueError) as error:
            raise UnreadableFileError(_reason(error)) from None
        except BaseException as error:
            raise _if_panic(error) from None
        self._metadata: list[Any] = list(self._book.sheets_metadata)
        self._loaded: dict[int, tuple[_Rows, list[Area]]] = {}
        self._formats: tuple[int, dict[tuple[int, int], str]] | None = None
        self._broken: dict[int, str] = {}
        self.sheets: list[SheetInfo] = []
        for number, sheet in enumerate(self._metadata):
            info = SheetInfo(str(sheet.name), _hidden(sheet))
            info.pages = self._pages(number)
            self.sheets.append(info)
        if not self.sheets:
            raise UnreadableFileError("this workbook has no sheets")
        hidden = [sheet.name for sheet in self.sheets if sheet.hidden]
        details: dict[str, Any] = {"sheets": [sheet.name for sheet in self.sheets]}
        self.facts = Facts(details=details | ({"hidden_sheets": hidden} if hidden else {}))

    def close(self) -> None:
        """Let go of the workbook."""
        self._loaded.clear()
        self._book.close()

    def region(self, sheet: int, first: int, last: int) -> Region:
        """The rows from `first` to `last`."""
        rows, merged = self._load(sheet)
        codes = self._codes(sheet)
        region = Region(problems=[self._broken[sheet]] if sheet in self._broken and first == 0 else [])
        # The rows there are, or the rows asked for: whichever are fewer.
        numbers = [row for row in rows if first <= row <= last] if len(rows) < last - first else range(first, last + 1)
        for number in numbers:
            for column, value in rows.get(number, ()):
                region.cells[number, column] = _cell(value, codes.get((number, column), ""))
        region.merged = [area for area in merged if area.top <= last and area.bottom >= first]
        return region

    def _codes(self, sheet: int) -> dict[tuple[int, int], str]:
        if self._formats is None or self._formats[0] != sheet:
            name = self.sheets[sheet].name
            self._formats = (sheet, self._records.formats(name) if self._records is not None else {})
        return self._formats[1]

    def _pages(self, number: int) -> list[tuple[int, int]]:
        rows, _ = self._load(number)
        filled = [(row, len(cells)) for row, cells in rows.items()]
        if not filled:
            return [(0, 0)]
        height, width = filled[-1][0] + 1, max(count for _, count in filled)
        dense = sum(count for _, count in filled) * 4 >= height * width
        return even_pages(height, width) if dense else uneven_pages(filled)

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
            except (self._calamine.CalamineError, OSError, ValueError) as error:
                if "WorksheetNotFound" not in type(error).__name__:
                    self._broken[number] = f"This sheet cannot be read: {_reason(error)}."
            except BaseException as error:
                self._broken[number] = f"This sheet cannot be read: {_if_panic(error)}."
            if sum(len(rows) for rows, _ in self._loaded.values()) > _KEPT_ROWS:
                self._loaded.clear()
            self._loaded[number] = (rows, merged)
        return self._loaded[number]


def _filled(sheet: Any) -> _Rows:
    """The cells of a sheet that have something in them."""
    if sheet.start is None or sheet.end is None:
        return {}
    if sheet.end[0] >= MAX_ROWS or sheet.end[1] >= MAX_COLUMNS:
        raise UnreadableFileError("it says a size that no sheet can have")
    left, found = sheet.start[1], _Rows()
    for number, row in enumerate(sheet.iter_rows()):
        cells = [(column, value) for column, value in enumerate(row, left) if value != "" and value is not None]
        if cells:
            found[number] = cells
    return found


def _if_panic(error: BaseException) -> UnreadableFileError:
    """What a damaged file does to a library in Rust is no ordinary exception; anything else is none of ours."""
    if type(error).__name__ != "PanicException":
        raise error
    return UnreadableFileError("this workbook is damaged")


def _reason(error: BaseException) -> str:
    words = str(error)
    if "password" in words.lower() or "encrypt" in words.lower():
        return "this workbook is protected by a password"
    return f"this is no workbook, or a damaged one: {words[:200]}"


def _hidden(sheet: Any) -> str:
    visible = str(getattr(sheet, "visible", "")).rpartition(".")[2]
    return {"Hidden": "hidden", "VeryHidden": "very hidden"}.get(visible, "")


def _cell(value: Any, code: str) -> Cell:
    if isinstance(value, bool):
        return Cell("TRUE" if value else "FALSE", BOOLEAN)
    if isinstance(value, int | float):
        return Cell(*shown(float(value), code))
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
