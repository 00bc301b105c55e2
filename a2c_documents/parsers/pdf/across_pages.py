"""What the pages of a PDF have in common: running headers and footers, and tables that continue on the next page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from a2c_documents.model import Element
from a2c_documents.parsers.pdf.layout import Row, rows_of, words_of
from a2c_documents.parsers.pdf.table_heads import numeric_columns
from a2c_documents.parsers.pdf.words import Item

Lines = frozenset[tuple[str, int]]
"""Lines at the edges of a page: their words without numbers, and their places."""

_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")
_EDGE_ROWS = 3
_GRID = 3
"""Points within which lines of two pages are at the same place."""
_BEFORE, _AFTER = (-1, -2), (1, 2)
"""The pages on which a running header is looked for: two, because left and right pages often differ. Only the first
pages look ahead: pages that are read one after the other know those before them."""
_ZONE = 0.16
"""The share of the text's height, at the top and at the bottom, in which running lines are."""
_MOST_KNOWN = 400
_BACK = 30
"""Pages of one table that are looked through for its headers."""
_NEAR, _FAR = 3.0, 25.0
"""Points by which the sides of a table on two pages differ: with lines around it, and without."""
_SAMPLE = 16
_FOOT = 0.55
"""The share of the page's height above the end of a table that goes on."""


def edge_items(items: Sequence[Item]) -> list[Item]:
    """The items near the top and the bottom of a page."""
    bases = [item.base for item in items]
    if not bases:
        return []
    low, high = min(bases), max(bases)
    room = _ZONE * (high - low)
    top, bottom = low + room, high - room
    return [item for item, base in zip(items, bases, strict=True) if not top < base < bottom]


def _lines_of(items: Sequence[Item]) -> Lines:
    """The first and the last lines of a page."""
    rows = rows_of(items)
    return frozenset(line for row in (*rows[:_EDGE_ROWS], *rows[-_EDGE_ROWS:]) for line in places_of(row))


def places_of(row: Row) -> list[tuple[str, int]]:
    """A line as it is compared: two places, because lines differ by a fraction of a point."""
    words = _DIGITS.sub("#", words_of(row.items).casefold()).strip()
    if row.block is not None or sum(map(str.isalpha, words)) < 3:
        return []
    at = round(row.base / _GRID)
    return [(words, at), (words, at + 1)]


class Neighbours:
    """The lines at the edges of the pages around a page, each read once."""

    def __init__(self, count: int, read: Callable[[int], list[Item]]) -> None:
        self._count, self._read = count, read
        self._items: dict[int, list[Item]] = {}
        self._lines: dict[int, Lines] = {}

    def keep(self, index: int, items: Sequence[Item]) -> None:
        """Remember the edges of a page that was read. They become lines when another page is compared with it."""
        if len(self._lines) + len(self._items) > _MOST_KNOWN:
            self._items.clear()
            self._lines.clear()
        if index not in self._lines:
            self._items[index] = edge_items(items)

    def _lines_on(self, index: int) -> Lines:
        if index not in self._lines:
            items = self._items.pop(index, None)
            self._lines[index] = _lines_of(edge_items(self._read(index)) if items is None else items)
        return self._lines[index]

    def repeat(self, index: int, row: Row) -> bool:
        """Whether a line of a page is at the same place of a page near it."""
        places = places_of(row)
        for distance in (_BEFORE if index >= len(_BEFORE) else _AFTER) if places else ():
            other = index + distance
            if not 0 <= other < self._count:
                continue
            lines = self._lines_on(other)
            if any(place in lines for place in places):
                return True
        return False


# --------------------------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True, slots=True)
class End:
    """A table at the beginning or end of a page."""

    headers: tuple[str, ...]
    header_rows: int
    box: tuple[float, float, float, float]
    height: float
    """Of the page."""

    def goes_on_in(self, other: End) -> bool:
        """Whether a table at the beginning of the next page has the same columns."""
        if len(self.headers) != len(other.headers) or self.box[3] < _FOOT * self.height:
            return False
        away = max(abs(self.box[0] - other.box[0]), abs(self.box[2] - other.box[2]))
        # Only rules have exactly the same places on both pages. Without them, headers of its own decide.
        return away < _NEAR or (away < _FAR and other.header_rows == 0)


Ends = tuple[End | None, End | None]
"""The tables with which a page begins and ends."""


def ends_of(elements: Sequence[Element], height: float) -> Ends:
    """The tables at the beginning and the end of a page, besides its header and footer."""
    body = [element for element in elements if element.category not in ("header", "footer", "link", "annotation")]
    return (_end(body[0], height), _end(body[-1], height)) if body else (None, None)


def _end(element: Element, height: float) -> End | None:
    box: Any = element.metadata.get("box")
    if element.category != "table" or box is None:
        return None
    count = int(element.metadata.get("header_rows", 1))
    return End(tuple(element.content["headers"]), count, (box[0], box[1], box[2], box[3]), height)


def continue_table(elements: Sequence[Element], index: int, height: float, ends: Callable[[int], Ends]) -> None:
    """Give a table that began on a page before the headers that it has there."""
    first = ends_of(elements, height)[0]
    if first is None or index == 0:
        return
    table = next(element for element in elements if element.category == "table")
    headers, rows = table.content["headers"], table.content["rows"]
    # Names above columns of numbers are headers of its own, for which no other page has to be read.
    if first.header_rows and numeric_columns(rows[:_SAMPLE]):
        return
    found, start = first, index
    while start > 0 and index - start < _BACK:
        begins, above = ends(start - 1)
        if above is None or not above.goes_on_in(found):
            break
        found, start = above, start - 1
        # The table fills the whole page before, and may have begun even earlier.
        if begins is None or begins != above or above.header_rows:
            break
    if start == index or not found.header_rows:
        return
    if first.header_rows == 1 and tuple(headers) != found.headers:
        # Without numbers, the first row of data cannot be told from headers.
        rows = [headers, *rows]
    elif first.header_rows > 1:
        return
    table.content = {"headers": list(found.headers), "rows": rows}
    table.detail = table.content | {"total_rows": len(rows), "total_columns": len(headers)}
    table.metadata["header_rows"] = first.header_rows if tuple(headers) == found.headers else 0
    table.metadata["continued"] = True
