"""HTML tables: cells, including those that span rows or columns, become headers and rows of equal width.

A few bytes can declare a span of billions of cells, so the cells that spans may fill are limited.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from a2c_documents.inline import joined
from a2c_documents.model import Element, table

MAX_SPAN = 1_000
MAX_CELLS = 1_000_000
MAX_SPANNED = 100_000
"""Places that one table's cells may fill besides their own."""
_REPEATED = 200
"""Characters of a cell that is shown in every place it spans; a longer one is shown once."""
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s?\d[\d\s.,:/%-]*\)?")


@dataclass(slots=True)
class Cell:
    """The text of a cell and its spans."""

    words: str = ""
    columns: int = 1
    rows: int = 1
    header: bool = False
    bold: bool = False


@dataclass(slots=True)
class Row:
    """Cells, and whether they are in the table's head."""

    cells: list[Cell] = field(default_factory=list[Cell])
    head: bool = False


def table_element(rows: list[Row], caption: str = "") -> Element | None:
    """The table; None if all cells are empty."""
    rows = [row for row in rows if row.cells]
    grid = _grid(rows)
    width = max((len(line) for line in grid), default=0)
    if not any(words for line in grid for words in line):
        return None
    # Every row is filled up to the widest one, so a single long row could multiply the size of the table.
    width = min(width, max(1, MAX_CELLS // len(grid)))
    lines = [line[:width] + [""] * (width - len(line)) for line in grid]
    heads = _heads(rows, lines)
    shown = table(_headers(lines[:heads], width), lines[heads:])
    shown.summary = caption
    if caption:
        shown.metadata["caption"] = caption
    return shown


def _grid(rows: list[Row]) -> list[list[str]]:
    grid: list[list[str]] = []
    reaching: dict[int, tuple[int, str]] = {}  # column → rows that are still to be filled, and with what
    # Counts down the places that spans may still fill. At 0, further spans are ignored.
    left = MAX_SPANNED
    for row in rows:
        line: list[str] = []
        for cell in row.cells:
            left -= _fill(line, reaching)
            columns = max(1, min(cell.columns, MAX_SPAN - len(line))) if left > 0 else 1
            # A cell that spans several places is repeated in each of them: a reader of a single row needs its words,
            # too.
            again = cell.words if len(cell.words) <= _REPEATED else ""
            for number in range(columns):
                if cell.rows > 1 and left > 0:
                    reaching[len(line)] = (cell.rows - 1, again)
                line.append(cell.words if number == 0 else again)
            left -= columns - 1
        left -= _fill(line, reaching)
        if left <= 0:
            reaching.clear()
        grid.append(line)
    return grid


def _fill(line: list[str], reaching: dict[int, tuple[int, str]]) -> int:
    """Fill in the cells that span down from the rows above. Returns their number."""
    before = len(line)
    while len(line) in reaching:
        rows, words = reaching.pop(len(line))
        if rows > 1:
            reaching[len(line)] = (rows - 1, words)
        line.append(words)
    return len(line) - before


def _heads(rows: list[Row], lines: list[list[str]]) -> int:
    """How many rows are the header."""
    heads = 0
    for row in rows:
        if not (row.head or all(cell.header for cell in row.cells)):
            break
        heads += 1
    # A table that consists of `th` cells only is not all header, unless a `thead` says so.
    if heads and (heads < len(rows) or rows[0].head):
        return heads
    if len(rows) < 2 or not all(lines[0]):
        return 0
    if all(cell.bold for cell in rows[0].cells) and not all(cell.bold for cell in rows[1].cells):
        return 1
    # Without markup, a row of words above a row with numbers is a header.
    return int(not any(map(_is_number, lines[0])) and any(_is_number(words) for words in lines[1]))


def _headers(lines: list[list[str]], width: int) -> list[str]:
    # A header that spans two rows occurs twice in its column.
    return [joined(dict.fromkeys(line[column] for line in lines if line[column]), " / ") for column in range(width)]


def _is_number(words: str) -> bool:
    return len(words) < 40 and _NUMBER.fullmatch(words) is not None
