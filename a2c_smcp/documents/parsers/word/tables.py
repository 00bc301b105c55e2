"""Tables of Word: cells that reach over columns and rows, tables in cells, rows that were deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from a2c_smcp.documents.model import Element, table
from a2c_smcp.documents.parsers.office.xml import attribute, whole
from a2c_smcp.documents.parsers.word.xml import child, children, is_on, tag, value

MAX_COLUMNS = 63
"""Word has no more."""
MAX_HEADER_ROWS = 8
_AROUND = ("w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:smartTag", "w:moveTo")


@dataclass(slots=True)
class Grid:
    """A table as a grid of texts. What reaches over several cells stands in the first of them."""

    rows: list[list[str]] = field(default_factory=list[list[str]])
    merged: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    """First row, first column, last row, last column of cells that are one."""
    header_rows: int = 0

    def element(self, *, first_is_header: bool = False) -> Element | None:
        """The table; None if there is nothing in it."""
        width = max((len(row) for row in self.rows), default=0)
        rows = [row + [""] * (width - len(row)) for row in self.rows]
        if not any(any(row) for row in rows):
            return None
        count = self.header_rows or int(first_is_header or _look_like_headers(rows))
        # A table of headers alone would have nothing to say.
        count = min(count, len(rows) - 1, MAX_HEADER_ROWS)
        merged = [
            f"{letters(left)}{top + 1}:{letters(right)}{bottom + 1}" for top, left, bottom, right in sorted(self.merged)
        ]
        return table(self._headers(rows[:count], width), rows[count:], **({"merged": merged} if merged else {}))

    def _headers(self, rows: list[list[str]], width: int) -> list[str]:
        """One header for each column; of several rows, all that stand above it."""
        names: list[list[str]] = [[] for _ in range(width)]
        wide = [span for span in self.merged if span[0] < len(rows) and span[3] > span[1]]
        for index, row in enumerate(rows):
            words = ""
            for column, cell in enumerate(row):
                # A header that reaches over columns is the header of each of them.
                over = any(top <= index <= bottom and left < column <= right for top, left, bottom, right in wide)
                words = words if over else cell
                if words and words not in names[column]:
                    names[column].append(words)
        return [" / ".join(name) for name in names]


@dataclass(slots=True)
class _Span:
    """A cell on its way down: where it began, how far it came, how wide it is."""

    first: int
    last: int
    width: int


def read_table(element: Any, words: Callable[[Any], str], deleted: Callable[[], None]) -> Element | None:
    """A table; `words` gives the text of a cell, `deleted` hears of rows that are left out."""
    grid = Grid()
    spans: dict[int, _Span] = {}
    for row in _inside(element, "w:tr"):
        properties = child(row, "w:trPr")
        if child(properties, "w:del") is not None:
            deleted()
            continue
        if is_on(properties, "w:tblHeader") and grid.header_rows == len(grid.rows):
            grid.header_rows += 1
        grid.rows.append(_row(row, properties, grid, spans, words))
    for column in list(spans):
        _close(grid, spans, column)
    return grid.element(first_is_header=_first_row_marked(element))


def _row(row: Any, properties: Any, grid: Grid, spans: dict[int, _Span], words: Callable[[Any], str]) -> list[str]:
    index = len(grid.rows)
    cells = [""] * max(0, min(MAX_COLUMNS, whole(value(properties, "w:gridBefore"))))
    for cell in _inside(row, "w:tc"):
        shape = child(cell, "w:tcPr")
        column = len(cells)
        if column >= MAX_COLUMNS:
            break
        if child(shape, "w:cellDel") is not None:
            continue
        width = max(1, min(MAX_COLUMNS - column, whole(value(shape, "w:gridSpan") or 1, 1)))
        merge = child(shape, "w:vMerge")
        span = spans.get(column)
        if merge is not None and attribute(merge, "val", "continue") == "continue" and span and span.last == index - 1:
            span.last = index
            cells += [""] * width
            continue
        _close(grid, spans, column)
        spans[column] = _Span(index, index, width)
        cells += [words(cell)] + [""] * (width - 1)
    return cells


def only_cell(element: Any) -> Any | None:
    """The cell of a table that has just one: a frame around a text, and no table to anybody."""
    rows = list(_inside(element, "w:tr"))
    cells = list(_inside(rows[0], "w:tc")) if len(rows) == 1 else []
    return cells[0] if len(cells) == 1 else None


def cells_of(element: Any) -> Iterator[tuple[bool, Any]]:
    """The cells of a table inside a cell, each with whether it is the first of its row."""
    for row in _inside(element, "w:tr"):
        for index, cell in enumerate(_inside(row, "w:tc")):
            yield index == 0, cell


def _inside(element: Any, name: str) -> Iterator[Any]:
    """The rows or cells of a table, also those that controls or changes are drawn around."""
    stack = list(reversed(element))
    while stack:
        node = stack.pop()
        kind = tag(node)
        if kind == name:
            yield node
        elif kind in _AROUND:
            stack.extend(reversed(node))


def _first_row_marked(element: Any) -> bool:
    look = next(children(child(element, "w:tblPr"), "w:tblLook"), None)
    if look is None:
        return True
    told = attribute(look, "firstRow")
    if told:
        return told in ("1", "true", "on")
    try:
        return bool(int(attribute(look, "val") or "20", 16) & 0x20)
    except ValueError:
        return True


def _look_like_headers(rows: list[list[str]]) -> bool:
    """Whether the first row reads like names: all there, all different, none of them a number."""
    first = rows[0]
    different = all(first) and len(set(first)) == len(first)
    return len(rows) > 1 and different and not any(cell[0].isdigit() for cell in first)


def _close(grid: Grid, spans: dict[int, _Span], column: int) -> None:
    span = spans.pop(column, None)
    if span is not None and (span.last > span.first or span.width > 1):
        grid.merged.append((span.first, column, span.last, column + span.width - 1))


def letters(column: int) -> str:
    """The name of a column as in a sheet: A, B … AA."""
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(ord("A") + rest) + name
    return name
