"""OpenDocument tables, and the text of their cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from a2c_documents.model import Element
from a2c_documents.parsers.office.story import Said, is_formula
from a2c_documents.parsers.office.tables import Grid, Lines, turns
from a2c_documents.parsers.office.xml import Node, attribute, local, whole
from a2c_documents.parsers.opendocument.numbering import OdfNumbering, Place
from a2c_documents.parsers.opendocument.paragraphs import OdfReader

MAX_COLUMNS = 256
# Counts are numbers in the file: without these limits, one row with one cell could become millions of cells.
MAX_REPEATED = 100
_AROUND = ("table-rows", "table-row-group")


def read_table(element: Node, words: Callable[[Node], str]) -> Element | None:
    """Read a table; `words` returns the text of a cell."""
    grid = Grid()
    for in_header, row in _rows(element):
        if in_header and grid.header_rows == len(grid.rows):
            grid.header_rows += 1
        cells = _cells(row, grid, words)
        # Equal rows are stored once with a count, and a table often ends with a million empty ones: empty rows are
        # taken once, others a limited number of times.
        repeated = whole(attribute(row, "number-rows-repeated") or 1, 1) if any(cells) else 1
        grid.rows.extend(list(cells) for _ in range(max(1, min(MAX_REPEATED, repeated))))
    return grid.element(first_is_header=True)


def only_cell(element: Node) -> Node | None:
    """The cell of a table with a single cell: a frame around a text."""
    rows = list(_rows(element))
    cells = [cell for cell in rows[0][1] if local(cell) == "table-cell"] if len(rows) == 1 else []
    return cells[0] if len(cells) == 1 else None


def inner_cells(element: Node) -> Iterator[tuple[bool, Node]]:
    """The cells of a table inside a cell; the flag marks the first cell of a row."""
    for _, row in _rows(element):
        for index, cell in enumerate(part for part in row if local(part) == "table-cell"):
            yield index == 0, cell


def _rows(element: Node) -> Iterator[tuple[bool, Node]]:
    stack: list[tuple[bool, Node]] = [(False, node) for node in reversed(element)]
    while stack:
        in_header, node = stack.pop()
        name = local(node)
        if name == "table-row":
            yield in_header, node
        elif name == "table-header-rows" or name in _AROUND:
            stack.extend((in_header or name == "table-header-rows", part) for part in reversed(node))


def _cells(row: Node, grid: Grid, words: Callable[[Node], str]) -> list[str]:
    cells: list[str] = []
    top = len(grid.rows)
    for cell in row:
        name = local(cell)
        if name not in ("table-cell", "covered-table-cell") or len(cells) >= MAX_COLUMNS:
            continue
        room = MAX_COLUMNS - len(cells)
        repeated = max(1, min(room, whole(attribute(cell, "number-columns-repeated") or 1, 1)))
        wide = max(1, min(room, whole(attribute(cell, "number-columns-spanned") or 1, 1)))
        high = max(1, whole(attribute(cell, "number-rows-spanned") or 1, 1))
        if wide > 1 or high > 1:
            # The cells that a merged cell covers are in the file as `covered-table-cell`, so the columns need no
            # correction.
            grid.merged.append((top, len(cells), top + high - 1, len(cells) + wide - 1))
        cells.extend([words(cell) if name == "table-cell" else ""] * repeated)
    # Programs fill a row with empty cells up to the width of the page. They must not widen the table.
    while cells and not cells[-1] and len(cells) > max((len(known) for known in grid.rows), default=len(cells)):
        cells.pop()
    return cells


# ---------------------------------------------------------------------------------------------------- the text of cells


class OdfCells:
    """Reads the cells of one table. Elements other than text are collected and follow the table."""

    def __init__(self, reader: OdfReader, numbering: OdfNumbering) -> None:
        self._reader = reader
        self._numbering = numbering
        self.others: list[Element] = []
        self.notes: list[Element] = []
        self.fields: list[dict[str, Any]] = []

    def words(self, cell: Node) -> str:
        """The text of a cell, read without recursion."""
        lines = Lines()
        stack: list[tuple[Node | bool, Place]] = [(node, Place()) for node in reversed(cell)]
        while stack:
            node, place = stack.pop()
            if isinstance(node, bool):
                lines.turn(beside=node)
                continue
            name = local(node)
            if name in ("p", "h"):
                said = self._reader.paragraph(node)
                lines.say(self._line(said, place))
                stack.extend((part, Place()) for box in reversed(said.boxes) for part in reversed(box.content))
            elif name == "list":
                stack.extend(reversed(self._numbering.entries(node, place)))
            elif name == "table":
                # An inner table inside a list item has a place of its own: its texts are not items.
                stack.extend((step, Place()) for step in reversed(turns(inner_cells(node))))
            elif name:
                stack.extend((part, place) for part in reversed(node))
        return lines.words()

    def _line(self, said: Said, place: Place) -> str:
        self.others.extend(part for part in said.parts if isinstance(part, Element) and not is_formula(part))
        self.notes.extend(said.notes)
        self.fields.extend(said.fields)
        words = said.styled(said.line().strip())
        entry = place.entry
        mark = self._numbering.begin(entry) if words and entry is not None and not entry.begun else None
        return mark.line(words, entry.depth) if mark is not None and entry is not None else words
