"""Word tables: cells that span columns and rows, the text of the cells, nested tables, deleted rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from a2c_documents.model import Element
from a2c_documents.parsers.office.lists import CONTENTS
from a2c_documents.parsers.office.ooxml import child, children, chosen, is_on, tag, value
from a2c_documents.parsers.office.story import Aside, Said, is_formula
from a2c_documents.parsers.office.tables import Grid, Lines, turns
from a2c_documents.parsers.office.xml import Node, attribute, whole
from a2c_documents.parsers.word.numbering import WordNumbering
from a2c_documents.parsers.word.paragraphs import WordReader
from a2c_documents.parsers.word.styles import WordStyles

MAX_COLUMNS = 63
"""The limit of Word."""
_AROUND = ("w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:smartTag", "w:moveTo")


@dataclass(slots=True)
class _Span:
    """A cell that may continue in the rows below: its first and last row, and its width."""

    first: int
    last: int
    width: int


def read_table(element: Node, words: Callable[[Node], str], deleted: Callable[[], None]) -> Element | None:
    """Read a table; `words` returns the text of a cell, `deleted` is called for each row that is left out."""
    grid = Grid()
    spans: dict[int, _Span] = {}
    for row in _inside(element, "w:tr"):
        properties = child(row, "w:trPr")
        if child(properties, "w:del") is not None:
            deleted()
            continue
        # Only rows at the top can be headers; the switch on a later row has no effect in Word either.
        if is_on(properties, "w:tblHeader") and grid.header_rows == len(grid.rows):
            grid.header_rows += 1
        grid.rows.append(_row(row, properties, grid, spans, words))
    for column in list(spans):
        _close(grid, spans, column)
    return grid.element(first_is_header=_first_row_marked(element))


def _row(
    row: Node, properties: Node | None, grid: Grid, spans: dict[int, _Span], words: Callable[[Node], str]
) -> list[str]:
    index = len(grid.rows)
    # A row can begin further right than the others, without cells for the columns before it.
    cells = [""] * max(0, min(MAX_COLUMNS, whole(value(properties, "w:gridBefore"))))
    for cell in _inside(row, "w:tc"):
        shape = child(cell, "w:tcPr")
        column = len(cells)
        if column >= MAX_COLUMNS:
            break
        if child(shape, "w:cellDel") is not None:
            continue
        width = max(1, min(MAX_COLUMNS - column, whole(value(shape, "w:gridSpan") or 1, 1)))
        # Word has no row span: a cell that continues the one above is marked, and only counts if it starts in the same
        # column. The span ends with the first cell that is not marked.
        merge = child(shape, "w:vMerge")
        span = spans.get(column)
        if merge is not None and attribute(merge, "val", "continue") == "continue" and span and span.last == index - 1:
            span.last = index
            cells += [""] * width
            continue
        _close(grid, spans, column)
        spans[column] = _Span(index, index, width)
        # Only the first column has the text. `Grid` repeats it where it is a header.
        cells += [words(cell)] + [""] * (width - 1)
    return cells


def only_cell(element: Node) -> Node | None:
    """The cell of a table with a single cell: a frame around a text."""
    rows = list(_inside(element, "w:tr"))
    cells = list(_inside(rows[0], "w:tc")) if len(rows) == 1 else []
    return cells[0] if len(cells) == 1 else None


def cells_of(element: Node) -> Iterator[tuple[bool, Node]]:
    """The cells of a table inside a cell; the flag marks the first cell of a row."""
    for row in _inside(element, "w:tr"):
        for index, cell in enumerate(_inside(row, "w:tc")):
            yield index == 0, cell


def _inside(element: Node, name: str) -> Iterator[Node]:
    """The rows or cells of a table, also inside controls and tracked changes."""
    stack = list(reversed(element))
    while stack:
        node = stack.pop()
        kind = tag(node)
        if kind == name:
            yield node
        elif kind in _AROUND:
            stack.extend(reversed(node))


def _first_row_marked(element: Node) -> bool:
    look = next(children(child(element, "w:tblPr"), "w:tblLook"), None)
    if look is None:
        return True
    told = attribute(look, "firstRow")
    if told:
        return told in ("1", "true", "on")
    try:
        # Files before Word 2010 keep the same switches as bits of a hexadecimal number.
        return bool(int(attribute(look, "val") or "20", 16) & 0x20)
    except ValueError:
        return True


def _close(grid: Grid, spans: dict[int, _Span], column: int) -> None:
    span = spans.pop(column, None)
    if span is not None and (span.last > span.first or span.width > 1):
        grid.merged.append((span.first, column, span.last, column + span.width - 1))


# ---------------------------------------------------------------------------------------------------- the text of cells


PASSED_OVER = ("w:sectPr", "w:sdtPr", "w:sdtEndPr", "w:tcPr", "w:customXmlPr", "w:smartTagPr")
"""Nodes among paragraphs that have no content."""


class WordCells:
    """Reads the cells of one table. Elements other than text are collected and follow the table."""

    def __init__(self, reader: WordReader, styles: WordStyles, numbering: WordNumbering) -> None:
        self._reader = reader
        self._styles = styles
        self._numbering = numbering
        self.others: list[Element | Aside] = []
        self.fields: list[dict[str, Any]] = []
        self.is_turned = False
        """Whether a page begins inside the table."""

    def words(self, cell: Node) -> str:
        """The text of a cell, read without recursion."""
        lines = Lines()
        stack: list[Node | bool] = list(reversed(cell))
        while stack:
            node = stack.pop()
            if isinstance(node, bool):
                lines.turn(beside=node)
                continue
            name = tag(node)
            if name == "w:p":
                said = self._reader.paragraph(node)
                lines.say(self._line(node, said))
                stack.extend(part for box in reversed(said.boxes) for part in reversed(box.content))
            elif name == "w:tbl":
                stack.extend(reversed(turns(cells_of(node))))
            elif name == "mc:AlternateContent":
                stack.extend(reversed(chosen(node)))
            elif name not in PASSED_OVER:
                self._reader.passing(node)
                if name not in ("w:del", "w:moveFrom"):
                    stack.extend(reversed(node))
        return lines.words()

    def _line(self, element: Node, said: Said) -> str:
        others = [part for part in said.parts if isinstance(part, Element | Aside)]
        self.others.extend(part for part in others if not is_formula(part))
        self.fields.extend(said.fields)
        self.is_turned |= said.turned_before or said.turned_inside
        shown = said.styled(said.line().strip())
        properties = child(element, "w:pPr")
        style_id = value(properties, "w:pStyle")
        mark, depth = self._numbering.mark(properties, self._styles.look(style_id), style_id) if shown else (None, 0)
        return mark.line(shown, depth) if mark is not None and mark is not CONTENTS else shown
