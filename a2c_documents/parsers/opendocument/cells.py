"""What is written in the cells of OpenDocument tables, as text: lists and further tables in them become lines."""

from __future__ import annotations

from typing import Any

from a2c_documents.model import Element
from a2c_documents.parsers.office.story import Said, is_formula
from a2c_documents.parsers.office.tables import Lines, turns
from a2c_documents.parsers.office.xml import local
from a2c_documents.parsers.opendocument.lists import Numbering, Place
from a2c_documents.parsers.opendocument.tables import inner_cells
from a2c_documents.parsers.opendocument.text import Reader


class Cells:
    """Reads the cells of one table. What is no text is kept, to be shown behind the table."""

    def __init__(self, reader: Reader, numbering: Numbering) -> None:
        self._reader = reader
        self._numbering = numbering
        self.others: list[Element] = []
        self.notes: list[Element] = []
        self.fields: list[dict[str, Any]] = []

    def words(self, cell: Any) -> str:
        """The words of a cell, walked without recursion."""
        lines = Lines()
        stack: list[tuple[Any, Place]] = [(node, Place()) for node in reversed(cell)]
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
                stack.extend((step, Place()) for step in reversed(turns(inner_cells(node))))
            elif name:
                stack.extend((part, place) for part in reversed(node))
        return str(lines)

    def _line(self, said: Said, place: Place) -> str:
        self.others.extend(part for part in said.parts if isinstance(part, Element) and not is_formula(part))
        self.notes.extend(said.notes)
        self.fields.extend(said.fields)
        words = said.line().strip()
        entry = place.entry
        mark = self._numbering.begin(entry) if words and entry is not None and not entry.begun else None
        return mark.line(words, entry.depth) if mark is not None and entry is not None else words
