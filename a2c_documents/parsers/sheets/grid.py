"""Cells and ranges: the model that all spreadsheet formats are turned into before tables are searched in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from a2c_documents.model import Element, Facts
from a2c_documents.parsers.office.tables import column_of, letters

CELLS_OF_A_PAGE = 4_000
"""At 50 bytes of JSON for a cell, a page stays under 200 kB."""
MAX_CELLS = 100_000
"""Limit for the cells of a page. The size that a file declares is not trusted."""
MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
# Pages with a round number of rows are easy to cite and to find again: rows 401 to 800.
_NICE = (1, 2, 5, 10, 20, 50, 100, 200, 250, 400, 500, 1_000, 2_000, 4_000)
_REF = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})$")

TEXT, NUMBER, DATE, BOOLEAN, ERROR = "text", "number", "date", "boolean", "error"
# Files without types, such as CSV, have numbers as people write them: with a currency, grouping, a percent sign, or
# negative in parentheses.
_NUMBER_LIKE = re.compile(r"[-+(]?\s?[$€£¥]?\s?[-+]?(?:[0-9][0-9.,'\u00a0]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\s?[%€$£)]?$")
_DATE_LIKE = re.compile(r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}(?:[ T][0-9:.+Z-]*)?$")
YEAR = re.compile(r"(?:18|19|20|21)[0-9][0-9](?:[-/][0-9]{2,4})?$")
# The longest number or date that is worth checking; the patterns then never run over a long text.
_LONGEST = 40


class Cell(NamedTuple):
    """A cell as shown."""

    text: str
    kind: str = TEXT
    formula: str = ""


def kind_of_text(words: str) -> str:
    """The kind of a text in a file without types: number, date or text."""
    words = words.strip()
    if not words or len(words) > _LONGEST:
        return TEXT
    if _DATE_LIKE.match(words):
        return DATE
    return NUMBER if _NUMBER_LIKE.match(words) else TEXT


class Area(NamedTuple):
    """A rectangle of cells, counted from 0, including its last row and column."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def ref(self) -> str:
        """ "A1:C5", or "A1" for one cell."""
        first, last = ref_of(self.top, self.left), ref_of(self.bottom, self.right)
        return first if first == last else f"{first}:{last}"

    def holds(self, place: tuple[int, int]) -> bool:
        """Whether a cell, given by row and column, is inside."""
        return self.top <= place[0] <= self.bottom and self.left <= place[1] <= self.right

    def meets(self, other: Area) -> bool:
        """Whether two areas share a cell."""
        down = self.top <= other.bottom and other.top <= self.bottom
        return down and self.left <= other.right and other.left <= self.right


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A range that its author made a table."""

    name: str
    area: Area
    headers: tuple[str, ...]
    header_rows: int = 1


@dataclass(slots=True)
class SheetInfo:
    """The name, visibility and pages of a sheet."""

    name: str
    hidden: str = ""
    """"hidden" or "very hidden"."""
    pages: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """First and last row of each page."""


@dataclass(slots=True)
class Region:
    """The cells of some rows of a sheet, and everything that belongs to them."""

    cells: dict[tuple[int, int], Cell] = field(default_factory=dict[tuple[int, int], Cell])
    merged: list[Area] = field(default_factory=list[Area])
    hidden_rows: list[int] = field(default_factory=list[int])
    hidden_columns: list[int] = field(default_factory=list[int])
    tables: list[NamedTable] = field(default_factory=list[NamedTable])
    links: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    floating: list[tuple[int, int, Element]] = field(default_factory=list[tuple[int, int, Element]])
    """Charts, pictures and pivot tables, with the row and column of their upper left corner."""
    comments: list[tuple[int, int, Element]] = field(default_factory=list[tuple[int, int, Element]])
    edges: list[Element] = field(default_factory=list[Element])
    """Headers and footers of the printed sheet."""
    problems: list[str] = field(default_factory=list[str])


class Book(Protocol):
    """An open workbook of any format."""

    facts: Facts
    sheets: list[SheetInfo]

    def region(self, sheet: int, first: int, last: int) -> Region:
        """The rows from `first` to `last`, with everything that belongs to them."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


# ----------------------------------------------------------------------------------------------------------- references


def ref_of(row: int, column: int) -> str:
    """The name of a cell: 0, 0 is A1."""
    return f"{letters(column)}{row + 1}"


def cell_of(ref: str) -> tuple[int, int] | None:
    """Row and column of "B3"; None if it is not a cell."""
    match = _REF.match(ref.strip())
    if match is None:
        return None
    row, column = int(match[2]) - 1, column_of(match[1])
    return (row, column) if 0 <= row < MAX_ROWS and column < MAX_COLUMNS else None


def area_of(ref: str) -> Area | None:
    """The rectangle of "A1:C5"; None if it is not a range."""
    first, _, last = ref.rpartition("!")[2].partition(":")
    start, end = cell_of(first), cell_of(last or first)
    if start is None or end is None:
        return None
    return Area(min(start[0], end[0]), min(start[1], end[1]), max(start[0], end[0]), max(start[1], end[1]))


def columns_in(ranges: Iterable[tuple[int, int]]) -> list[int]:
    """The columns in half-open ranges, each once."""
    columns: list[int] = []
    # The ranges come from a file and can overlap. Remembering the last column bounds the result by the columns of a
    # sheet, however many ranges there are.
    done = 0
    for first, last in sorted(ranges):
        columns.extend(range(max(first, done), min(last, MAX_COLUMNS)))
        done = max(done, last)
    return columns


def spans(numbers: Iterable[int], name: str = "") -> list[str]:
    """Numbers counted from 0 as ranges: "5", "7-9"; as columns if `name` is "columns"."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])

    def shown(number: int) -> str:
        return letters(number) if name == "columns" else str(number + 1)

    # If every second row is hidden, each of them is a range of its own. The metadata must not outgrow the table.
    return [shown(a) if a == b else f"{shown(a)}-{shown(b)}" for a, b in found[:100]]


# ---------------------------------------------------------------------------------------------------------------- pages


def rows_of_a_page(columns: int) -> int:
    """The number of rows of a page: a round number, the same for all pages of the sheet."""
    room = max(1, CELLS_OF_A_PAGE // max(1, columns))
    return max(number for number in _NICE if number <= room)


def even_pages(rows: int, columns: int) -> list[tuple[int, int]]:
    """First and last row of each page of a sheet that is filled throughout. A few rows too many do not make a page."""
    step = rows_of_a_page(columns)
    # A last page of a few rows is not worth a request of its own.
    if rows <= step + step // 4:
        return [(0, max(0, rows - 1))]
    return [(start, min(start + step, rows) - 1) for start in range(0, rows, step)]


def pages_of(filled: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """First and last row of each page, from the number of cells in each row that is not empty.

    A sparse sheet has pages with about the same number of cells; a sheet that is filled has pages of equal rows.
    """
    starts, on_page, last, columns, total = [0], 0, -1, 0, 0
    for row, cells in filled:
        if on_page and on_page + cells > CELLS_OF_A_PAGE:
            starts.append(row)
            on_page = 0
        on_page += cells
        total += cells
        last, columns = max(last, row), max(columns, cells)
    # A sheet that is at least a quarter full gets round numbers of rows. In an emptier one, such pages would be mostly
    # empty, and there could be hundreds of them.
    if total * 4 >= (last + 1) * columns:
        return even_pages(last + 1, columns)
    return list(zip(starts, [start - 1 for start in starts[1:]] + [last], strict=True))


def details_of(sheets: Iterable[SheetInfo]) -> dict[str, list[str]]:
    """Facts about a workbook: the names of its sheets, and the hidden ones."""
    hidden = [sheet.name for sheet in sheets if sheet.hidden]
    return {"sheets": [sheet.name for sheet in sheets]} | ({"hidden_sheets": hidden} if hidden else {})


def title_of(sheet: SheetInfo, page: tuple[int, int]) -> str:
    """The name of the sheet, with the rows if it has several pages."""
    return sheet.name if len(sheet.pages) == 1 else f"{sheet.name} (rows {page[0] + 1}–{page[1] + 1})"
