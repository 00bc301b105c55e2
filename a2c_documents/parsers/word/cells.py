"""What is written in the cells of Word's tables, as text: lists and further tables in them become lines."""

from __future__ import annotations

from typing import Any

from a2c_documents.model import Element
from a2c_documents.parsers.office.lists import CONTENTS
from a2c_documents.parsers.office.ooxml import child, chosen, tag, value
from a2c_documents.parsers.office.story import Aside, Said, is_formula
from a2c_documents.parsers.office.tables import Lines, turns
from a2c_documents.parsers.word.inline import Reader
from a2c_documents.parsers.word.numbering import Numbering
from a2c_documents.parsers.word.styles import Styles
from a2c_documents.parsers.word.tables import cells_of

PASSED_OVER = ("w:sectPr", "w:sdtPr", "w:sdtEndPr", "w:tcPr", "w:customXmlPr", "w:smartTagPr")
"""What stands among paragraphs and says nothing."""


class Cells:
    """Reads the cells of one table. What is no text is kept, to be shown behind the table."""

    def __init__(self, reader: Reader, styles: Styles, numbering: Numbering) -> None:
        self._reader = reader
        self._styles = styles
        self._numbering = numbering
        self.others: list[Element | Aside] = []
        self.fields: list[dict[str, Any]] = []

    def words(self, cell: Any) -> str:
        """The words of a cell, walked without recursion."""
        lines = Lines()
        stack: list[Any] = list(reversed(cell))
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
        return str(lines)

    def _line(self, element: Any, said: Said) -> str:
        others = [part for part in said.parts if isinstance(part, Element | Aside)]
        self.others.extend(part for part in others if not is_formula(part))
        self.fields.extend(said.fields)
        shown = said.line().strip()
        properties = child(element, "w:pPr")
        style_id = value(properties, "w:pStyle")
        mark, depth = self._numbering.mark(properties, self._styles.look(style_id), style_id) if shown else (None, 0)
        return mark.line(shown, depth) if mark is not None and mark is not CONTENTS else shown
