"""Tables as grids of texts: header rows, merged cells, and the text of cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from a2c_documents.inline import joined, piece
from a2c_documents.model import Element, table
from a2c_documents.parsers.office.xml import Node

MAX_HEADER_ROWS = 8


@dataclass(slots=True)
class Grid:
    """A table as a grid of texts. The text of a merged cell is in the first cell that it covers."""

    rows: list[list[str]] = field(default_factory=list[list[str]])
    merged: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    """First row, first column, last row and last column of each merged cell."""
    header_rows: int = 0

    def element(self, *, first_is_header: bool = False) -> Element | None:
        """The table as an element; None if it is empty."""
        width = max((len(row) for row in self.rows), default=0)
        rows = [row + [""] * (width - len(row)) for row in self.rows]
        if not any(any(row) for row in rows):
            return None
        count = self.header_rows or int(first_is_header or _look_like_headers(rows))
        # A table needs at least one row below its headers.
        count = min(count, len(rows) - 1, MAX_HEADER_ROWS)
        merged = [
            f"{letters(left)}{top + 1}:{letters(right)}{bottom + 1}" for top, left, bottom, right in sorted(self.merged)
        ]
        return table(self._headers(rows[:count], width), rows[count:], **({"merged": merged} if merged else {}))

    def _headers(self, rows: list[list[str]], width: int) -> list[str]:
        """One header for each column; several header rows are joined."""
        names: list[list[str]] = [[] for _ in range(width)]
        wide = [span for span in self.merged if span[0] < len(rows) and span[3] > span[1]]
        for index, row in enumerate(rows):
            words = ""
            for column, cell in enumerate(row):
                # A header that spans columns belongs to each of them.
                over = any(top <= index <= bottom and left < column <= right for top, left, bottom, right in wide)
                # `words` still holds the text of the cell to the left, which is the merged one.
                words = words if over else cell
                if words and words not in names[column]:
                    names[column].append(words)
        return [joined(name, " / ") for name in names]


def _look_like_headers(rows: list[list[str]]) -> bool:
    """Whether the first row looks like headers: complete, distinct, and no numbers."""
    first = rows[0]
    # Few tables in texts mark their headers, so the first row is judged by its look.
    different = all(first) and len(set(first)) == len(first)
    return len(rows) > 1 and different and not any(cell[0].isdigit() for cell in first)


def letters(column: int) -> str:
    """The name of a column in a sheet: 0 is A."""
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


# Every cell of a sheet states its column by letters. The cache has room for all columns of Excel.
@lru_cache(maxsize=16_384)
def column_of(name: str) -> int:
    """The number of a column: A is 0."""
    number = 0
    for letter in name.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


# ---------------------------------------------------------------------------------------------------------------- cells


class Lines:
    """The text of a cell, line by line; a table inside the cell gives one line for each of its rows."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._beside = False
        self._begun = False
        """Whether the row of the inner table has a line."""

    def say(self, words: str) -> None:
        """Add a paragraph."""
        if words and self._beside:
            self._lines[-1] = joined((self._lines[-1], words))
            self._beside = False
        elif words:
            self._lines.append(words)
            self._begun = True

    def turn(self, *, beside: bool) -> None:
        """Start a cell of an inner table: `beside` the previous text in the same row, or on a new line."""
        self._beside = beside
        if not beside:
            self._begun = False
        elif self._begun:
            self._lines[-1] = joined((self._lines[-1], " | "))
        else:
            # The first cell of the row is empty. The line above belongs to something else.
            self._lines.append("| ")
            self._begun = True

    def words(self) -> str:
        """The text of the whole cell."""
        lengths = [len(line.rstrip(" |")) for line in self._lines]
        return joined((piece(line, 0, end) for line, end in zip(self._lines, lengths, strict=True) if end), "\n")


def turns(cells: Iterable[tuple[bool, Node]]) -> list[Node | bool]:
    """The steps through an inner table: before each cell, and after the last one, whether it is beside another cell.

    The flag of each cell marks the first cell of a row.
    """
    # The last step ends the row, so that text after the inner table starts on a line of its own.
    return [step for first, cell in cells for step in (not first, *cell)] + [False]
