"""Tables that the structure of a tagged PDF describes: its tags name the cells, and objects on the page are in them.

Programs also tag what only looks like a table, or tag it wrongly. A structure that does not agree with the page is not
used, and the table is found by its looks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage

from a2c_documents.parsers.pdf.geometry import Box, Matrix, around, box_in
from a2c_documents.parsers.pdf.layout import rows_of, words_of
from a2c_documents.parsers.pdf.strings import Strings
from a2c_documents.parsers.pdf.table_heads import TableRow, header_count, table_with
from a2c_documents.parsers.pdf.table_rows import stacked
from a2c_documents.parsers.pdf.tables import MAX_COLUMNS, Found
from a2c_documents.parsers.pdf.words import Item, parted

_MAX_NODES, _MAX_DEPTH, _MAX_OBJECTS = 20_000, 40, 20_000
_LINES = frozenset(("P", "H", "H1", "H2", "H3", "H4", "H5", "H6", "Span", "Link", "Lbl", "Formula"))
"""Tags of texts, which have no table inside, and most of the nodes of a page."""
_GROUPS = ("THead", "TBody", "TFoot")
_LONG = 250
"""The mean number of characters in a cell, above which a table only arranges the page."""
_MOST = 0.8
"""The share of the rows whose cells are where the structure says."""


@dataclass(slots=True)
class _Cell:
    header: bool
    columns: int
    rows: int
    marks: list[int] = field(default_factory=list[int])
    """The ids of the objects in it."""


@dataclass(slots=True)
class _Grid:
    rows: list[TableRow]
    boxes: list[list[Box]]
    heads: int
    items: list[Item]
    words: int
    columns: list[tuple[float, float]]
    """The ranges of the columns; empty if no row is complete."""
    title: list[Box]
    """The place of a single cell above the rows."""


def tagged_tables(page: PdfPage, frame: Matrix, items: Sequence[Item], sideways: Sequence[Item]) -> list[Found]:
    """The tables of a page that its structure describes."""
    if not pdfium.FPDFCatalog_IsTagged(page.pdf.raw):
        return []
    tree = pdfium.FPDF_StructTree_GetForPage(page.raw)
    if not tree:
        return []
    try:
        told = list(_Structure().tables(tree))
    finally:
        pdfium.FPDF_StructTree_Close(tree)
    if not told:
        return []
    boxes = _boxes(page, frame)
    words = [(word, item) for item in (*items, *sideways) if item.block is None for word in parted(item)]
    grids = [_grid(rows, boxes, words) for rows in told]
    for grid in grids:
        if grid is not None:
            _add_turned(grid, sideways, words)
    return [table for grid in grids if (table := _found(grid)) is not None]


class _Structure:
    """Reads the nodes of a structure, within a bound: a damaged one may be endless."""

    def __init__(self) -> None:
        self._strings = Strings()
        self._left = _MAX_NODES

    def tables(self, tree: Any) -> Iterator[list[list[_Cell]]]:
        """The rows of each table that has no table in it."""
        count = pdfium.FPDF_StructTree_CountChildren(tree)
        todo = [(pdfium.FPDF_StructTree_GetChildAtIndex(tree, at), 0) for at in range(min(count, _MAX_NODES))]
        while todo:
            node, depth = todo.pop()
            if not node or depth > _MAX_DEPTH or self._left <= 0:
                continue
            self._left -= 1
            kind = self._kind(node)
            if kind == "Table":
                rows = list(self._rows(node))
                if rows:
                    yield rows
            elif kind not in _LINES:
                todo += [(child, depth + 1) for child in self._children(node)]

    def _kind(self, node: Any) -> str:
        return self._strings.ask(pdfium.FPDF_StructElement_GetType, node)

    def _children(self, node: Any) -> list[Any]:
        count = min(pdfium.FPDF_StructElement_CountChildren(node), self._left)
        return [child for at in range(count) if (child := pdfium.FPDF_StructElement_GetChildAtIndex(node, at))]

    def _rows(self, node: Any, depth: int = 0) -> Iterator[list[_Cell]]:
        for child in self._children(node):
            self._left -= 1
            kind = self._kind(child)
            if kind == "TR":
                yield [
                    self._cell(cell, name)
                    for cell in self._children(child)
                    if (name := self._kind(cell)) in ("TH", "TD")
                ]
            elif kind in _GROUPS and depth == 0:
                yield from self._rows(child, 1)

    def _cell(self, node: Any, kind: str) -> _Cell:
        cell = _Cell(kind == "TH", self._span(node, b"ColSpan"), self._span(node, b"RowSpan"))
        todo = [node]
        while todo and self._left > 0:
            self._left -= 1
            one = todo.pop()
            count = max(pdfium.FPDF_StructElement_GetMarkedContentIdCount(one), 0)
            cell.marks += [pdfium.FPDF_StructElement_GetMarkedContentIdAtIndex(one, at) for at in range(count)]
            todo += self._children(one)
        return cell

    def _span(self, node: Any, name: bytes) -> int:
        value = ctypes.c_float()
        for at in range(max(pdfium.FPDF_StructElement_GetAttributeCount(node), 0)):
            attributes = pdfium.FPDF_StructElement_GetAttributeAtIndex(node, at)
            held = pdfium.FPDF_StructElement_Attr_GetValue(attributes, name)
            if held and pdfium.FPDF_StructElement_Attr_GetNumberValue(held, value):
                return max(1, min(int(value.value), MAX_COLUMNS))
        return 1


def _boxes(page: PdfPage, frame: Matrix) -> dict[int, list[Box]]:
    """Where the objects of each id are."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    found: dict[int, list[Box]] = {}
    for number in range(min(pdfium.FPDFPage_CountObjects(page.raw), _MAX_OBJECTS)):
        handle = pdfium.FPDFPage_GetObject(page.raw, number)
        mark = pdfium.FPDFPageObj_GetMarkedContentID(handle)
        if mark >= 0 and pdfium.FPDFPageObj_GetBounds(handle, left, bottom, right, top):
            found.setdefault(mark, []).append(box_in(frame, left.value, bottom.value, right.value, top.value))
    return found


def _grid(told: list[list[_Cell]], boxes: dict[int, list[Box]], words: list[tuple[Item, Item]]) -> _Grid | None:
    """The texts of the cells. Rows without any object on this page are on another one."""
    grid = _Grid([], [], 0, [], 0, [], [])
    reaching: dict[int, tuple[int, str]] = {}
    width = max(sum(cell.columns for cell in row) for row in told)
    if not 2 <= width <= MAX_COLUMNS:
        return None
    held = [(row, [[box for mark in cell.marks for box in boxes.get(mark, ())] for cell in row]) for row in told]
    held = [(row, places) for row, places in held if any(places)]
    # A single cell above the others is a title, which stays a text.
    while held and len(held[0][0]) == 1 and held[0][0][0].columns == 1:
        grid.title = held.pop(0)[1][0]
    columns = _columns(held, width)
    grid.columns = columns or []
    for row, places in held:
        spanning = sum(rows > 0 for rows, _ in reaching.values())
        # Some programs leave out empty cells. Then the place on the page tells the column.
        if sum(cell.columns for cell in row) + spanning < width:
            padded = _padded(row, places, columns) if columns is not None else None
            if padded is None:
                return None
            row, places = padded
        line, cover = [""] * width, list(range(width))
        column = 0
        for cell, place in zip(row, places, strict=True):
            while column < width and reaching.get(column, (0, ""))[0] > 0:
                rows, text = reaching[column]
                line[column], reaching[column] = text, (rows - 1, text)
                column += 1
            if column >= width:
                break
            line[column] = _text(place, words, grid)
            for at in range(column, min(column + cell.columns, width)):
                cover[at] = column
                if cell.rows > 1:
                    reaching[at] = cell.rows - 1, line[column] if at == column else ""
            column += cell.columns
        for at in range(column, width):
            rows, text = reaching.get(at, (0, ""))
            if rows > 0:
                line[at], reaching[at] = text, (rows - 1, text)
        if all(cell.header for cell in row) and grid.heads == len(grid.rows):
            grid.heads += 1
        grid.rows.append(TableRow(line, cover))
        grid.boxes.append([around(place) for place in places if place])
    return grid


def _add_turned(grid: _Grid, sideways: Sequence[Item], words: Sequence[tuple[Item, Item]]) -> None:
    """Put turned headings above their columns: some programs leave these out of the structure."""
    known = {id(item) for item in grid.items}
    near = [item for item in sideways if id(item) not in known and _is_above(item, grid)]
    if len(near) < 2:
        return
    width = len(grid.columns)
    places: list[list[Item]] = [[] for _ in range(width)]
    for item in near:
        middle = (item.x0 + item.x1) / 2
        places[min(range(width), key=lambda at: abs(middle - sum(grid.columns[at]) / 2))].append(item)
    if any(len(held) > 1 for held in places):
        return
    cells = [held[0].text if held else "" for held in places]
    boxes = [held[0].box for held in places if held]
    if not cells[0] and grid.title:
        cells[0] = _text(grid.title, list(words), grid)
        boxes.insert(0, around(grid.title))
    grid.items += near
    if grid.heads and grid.heads == 1 and not any(a and b for a, b in zip(grid.rows[0].cells, cells, strict=True)):
        grid.rows[0].cells = [a or b for a, b in zip(grid.rows[0].cells, cells, strict=True)]
        return
    grid.rows.insert(0, TableRow(cells, list(range(width))))
    grid.boxes.insert(0, boxes)
    grid.heads += 1


def _is_above(item: Item, grid: _Grid) -> bool:
    """Whether a turned text ends directly above the rows, or in the first of them."""
    if not grid.columns or not grid.boxes or not grid.boxes[0]:
        return False
    first = around(grid.boxes[0])
    inside = grid.columns[0][0] - 2 < (item.x0 + item.x1) / 2 < grid.columns[-1][1] + 2
    return inside and first[1] - 2 * item.size < item.bottom < first[3] + 2


_Row = tuple[list[_Cell], list[list[Box]]]


def _columns(rows: list[_Row], width: int) -> list[tuple[float, float]] | None:
    """The range of each column, from rows in which every cell is there; None if there are none."""
    full = [places for row, places in rows if len(row) == width and all(places)]
    if not full:
        return None
    return [(min(box[0] for places in full for box in places[at]), max(box[2] for places in full for box in places[at]))
            for at in range(width)]  # fmt: skip


def _padded(row: list[_Cell], places: list[list[Box]], columns: list[tuple[float, float]]) -> _Row | None:
    """A row with empty cells where some were left out; None if the others are not in columns of their own."""
    cells: list[_Cell] = []
    filled: list[list[Box]] = []
    for cell, place in zip(row, places, strict=True):
        if not place:
            continue
        box = around(place)
        middle = (box[0] + box[2]) / 2
        at = min(range(len(columns)), key=lambda column: abs(middle - sum(columns[column]) / 2))
        if cell.columns > 1 or cell.rows > 1 or at < len(cells) or box[0] > columns[at][1] or box[2] < columns[at][0]:
            return None
        missing = at - len(cells)
        cells += [_Cell(cell.header, 1, 1) for _ in range(missing)]
        filled += [[] for _ in range(missing)]
        cells.append(cell)
        filled.append(place)
    missing = len(columns) - len(cells)
    cells += [_Cell(all(cell.header for cell in row), 1, 1) for _ in range(missing)]
    return cells, [*filled, *([] for _ in range(missing))]


def _text(place: list[Box], words: list[tuple[Item, Item]], grid: _Grid) -> str:
    """The words in a cell."""
    if not place:
        return ""
    x0, top, x1, bottom = around(place)
    held = [
        (word, item)
        for word, item in words
        if x0 - 1 <= (word.x0 + word.x1) / 2 <= x1 + 1 and top - 1 <= (word.top + word.bottom) / 2 <= bottom + 1
    ]
    known = {id(item) for item in grid.items[-200:]}
    grid.items += [item for _, item in held if id(item) not in known and not known.add(id(item))]
    grid.words += len(held)
    lines = [[words_of(row.items)] for row in rows_of([word for word, _ in held])]
    return stacked(lines)[0] if lines else ""


def _found(grid: _Grid | None) -> Found | None:
    """The table, if its structure makes sense."""
    if grid is None or len(grid.rows) < 2 or grid.words < 4:
        return None
    cells = [cell for row in grid.rows for cell in row.cells if cell]
    if sum(map(len, cells)) > _LONG * len(cells) or sum(map(_is_in_order, grid.boxes)) < _MOST * len(grid.boxes):
        return None
    tops = [min(box[1] for box in row) for row in grid.boxes]
    if sum(below >= above - 2 for above, below in pairwise(tops)) < _MOST * (len(tops) - 1):
        return None
    count = min(grid.heads, len(grid.rows) - 1) or header_count(grid.rows)
    return Found(table_with(grid.rows, count), around(box for row in grid.boxes for box in row), grid.items)


def _is_in_order(row: Sequence[Box]) -> bool:
    """Whether the cells of a row are beside each other."""
    forwards = [below[0] >= above[2] - 3 for above, below in pairwise(row)]
    backwards = [below[2] <= above[0] + 3 for above, below in pairwise(row)]
    return all(forwards) or all(backwards)
