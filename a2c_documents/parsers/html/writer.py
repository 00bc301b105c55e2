"""Collects the words of a web page, and puts them into paragraphs, list items or table cells."""

from __future__ import annotations

from a2c_documents.inline import Run, Styled, runs_of, styled
from a2c_documents.model import Element, heading
from a2c_documents.parsers.common.markup import MAX_LINKS, Flow, Link
from a2c_documents.parsers.html.parts import tidy
from a2c_documents.parsers.html.tables import Cell, Row, table_element


class _Table:
    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.caption = ""
        self.after: list[Element] = []
        """Pictures and other elements from its cells, which can hold only text."""


class Writer:
    """Collects words until a paragraph ends.

    In a cell of a table everything is text: blocks are lines, lists have dashes, a table has bars.
    """

    def __init__(self) -> None:
        self.flow = Flow()
        self.level = 0
        """The level of the heading that is being read; 0 for none."""
        self.anchor = ""
        self.quotes = 0
        self.ended = 0
        """The number of finished paragraphs. A saved position in the words is valid while it stays the same."""
        self._words: list[str] = []
        self._links: list[Link] = []
        self._waiting: list[Element] = []
        self._tables: list[_Table | None] = []
        self._cell: Cell | None = None
        self._is_styled = False
        """Whether any of the words have formatting."""
        self.faces: list[str] = []
        """The formatting of the elements around the words that are being read."""

    @property
    def in_cell(self) -> bool:
        """Whether a table cell is open, in which everything is text."""
        return self._cell is not None

    # ---------------------------------------------------------------------------------------------------------- words

    def say(self, words: str) -> None:
        """Add words to the paragraph."""
        if self.faces and not words.isspace():
            words = Styled.of([Run(words, "".join(sorted(set(self.faces))))])
            self._is_styled = True
        self._words.append(words)

    def mark(self) -> tuple[int, int]:
        """The current position among the words."""
        return self.ended, len(self._words)

    def since(self, mark: tuple[int, int], *, take: bool = False) -> str:
        """The words since a position; empty if the paragraph has ended. `take` removes them."""
        ended, start = mark
        if ended != self.ended:
            return ""
        words = tidy("".join(self._words[start:]))
        if take:
            del self._words[start:]
        return words

    def refer(self, mark: tuple[int, int], url: str) -> None:
        """Make the words since a position a link, unless their paragraph has ended."""
        if words := self.since(mark):
            self._links.append({"text": words, "url": url})
            start = mark[1]
            linked = ([run._replace(url=url) for run in runs_of(part)] for part in self._words[start:])
            self._words[start:] = map(Styled.of, linked)
            self._is_styled = True

    def _said(self) -> str:
        """The words of the paragraph or cell, with their formatting."""
        words = tidy("".join(self._words))
        if not self._is_styled:
            return words
        self._is_styled = False
        return styled(words, [run for part in self._words for run in runs_of(part)])

    def end(self) -> None:
        """End the paragraph."""
        if self._cell is not None:
            # No line break after a dash: a paragraph inside of an item belongs on the line of its dash.
            if self._words and not self._words[-1].endswith(("\n", "- ")):
                self._words.append("\n")
            return
        if not self._words and not self._waiting:
            return
        self.ended += 1
        words, links, waiting = self._said(), self._links, self._waiting
        self._words, self._links, self._waiting = [], [], []
        if words and self.level:
            metadata = {"anchor": self.anchor} if self.anchor else {}
            self.flow.emit(heading(styled(words.replace("\n", " "), runs_of(words)), self.level, **metadata))
        elif words:
            metadata = {"quote": True} if self.quotes else {}
            self.flow.paragraph(words, links, None, **metadata)
        for element in waiting:
            self.flow.emit(element)

    # ------------------------------------------------------------------------------------------------------- elements

    def put(self, element: Element) -> None:
        """Add an element, which ends the paragraph."""
        self.end()
        if self.in_cell:
            self._words.append(plain(element))
            self._behind_table(element)
        else:
            self.flow.emit(element)

    def inside(self, element: Element) -> None:
        """Add a picture inside a paragraph. It follows the paragraph, so that the text stays in one piece."""
        if self.in_cell:
            self._words.append(f" {element.content['alt']} ")
            self._behind_table(element)
        else:
            self._waiting.append(element)

    def _behind_table(self, element: Element) -> None:
        table = next((table for table in reversed(self._tables) if table is not None), None)
        # The words of these elements are in the cell already.
        if table is not None and element.category not in ("separator", "code", "formula", "link"):
            table.after.append(element)

    # --------------------------------------------------------------------------------------------------------- tables

    def open_table(self, *, layout: bool) -> None:
        """Begin a table. If it is for layout, or inside a cell, it does not become a table element."""
        self.end()
        self._tables.append(None if layout or self.in_cell else _Table())

    def close_table(self) -> None:
        """End the table."""
        self.end()
        table = self._tables.pop()
        if table is None:
            return
        # Inside a cell no paragraph ends, so the links of all cells have been collected.
        links, self._links = self._links, []
        if (found := table_element(table.rows, table.caption)) is not None:
            if links:
                found.metadata["links"] = links[:MAX_LINKS]
            self.flow.emit(found)
        for element in table.after:
            self.flow.emit(element)

    @property
    def table(self) -> _Table | None:
        """The table to which cells are added; None if there is none."""
        return self._tables[-1] if self._tables and not self.in_cell else None

    def open_row(self, *, head: bool) -> None:
        """Begin a row."""
        self.end()
        if (table := self.table) is not None:
            table.rows.append(Row(head=head))

    def open_cell(self, cell: Cell) -> bool:
        """Begin a cell. Returns whether it belongs to a table element."""
        if self.in_cell:
            # Cells of a table inside a cell are divided by bars, except the first one of a line.
            last = next((words for words in reversed(self._words) if words.strip(" ")), "\n")
            if not last.endswith("\n"):
                self._words.append(" | ")
            return False
        self.end()
        if (table := self.table) is None:
            return False
        if not table.rows:
            table.rows.append(Row())
        table.rows[-1].cells.append(cell)
        self._cell = cell
        return True

    def close_cell(self) -> None:
        """End the cell."""
        if self._cell is not None:
            self._cell.words = self._said()
            self._words, self._cell = [], None

    def close_caption(self) -> None:
        """Use the words as the caption of the table. They also stay as a paragraph above it."""
        if (table := self.table) is not None:
            table.caption = tidy("".join(self._words)).replace("\n", " ")
        self.end()

    def finished(self) -> list[Element]:
        """All elements."""
        self.end()
        self.flow.close()
        return self.flow.elements


def plain(element: Element) -> str:
    """The words of an element, without markup."""
    content = element.content
    if element.category == "list":
        return "\n".join(item if isinstance(item, str) else str(item.get("text", "")) for item in content["items"])
    return str(content.get("text") or content.get("code") or content.get("expression") or "")
