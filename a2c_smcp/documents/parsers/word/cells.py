"""What is written in the cells of Word's tables, as text: lists and further tables in them become lines."""

from __future__ import annotations

from typing import Any

from a2c_smcp.documents.model import Element
from a2c_smcp.documents.parsers.word.drawings import Box
from a2c_smcp.documents.parsers.word.inline import Aside, Part, Reader
from a2c_smcp.documents.parsers.word.lists import CONTENTS, Numbering
from a2c_smcp.documents.parsers.word.styles import Styles
from a2c_smcp.documents.parsers.word.tables import cells_of
from a2c_smcp.documents.parsers.word.xml import child, chosen, tag, value

PASSED_OVER = ("w:sectPr", "w:sdtPr", "w:sdtEndPr", "w:tcPr", "w:customXmlPr", "w:smartTagPr")
"""What stands among paragraphs and says nothing."""


class Cells:
    """Reads cells. What is no text is handed on, to be shown behind the table."""

    def __init__(self, reader: Reader, styles: Styles, numbering: Numbering) -> None:
        self._reader = reader
        self._styles = styles
        self._numbering = numbering

    def words(self, cell: Any, others: list[Part], fields: list[dict[str, Any]]) -> str:
        """The words of a cell, line by line; a table inside it is a line for each row. Walked without recursion."""
        lines: list[str] = []
        beside = False
        stack: list[Any] = list(reversed(cell))
        while stack:
            node = stack.pop()
            if isinstance(node, bool):
                # A cell of an inner table begins: beside the one before it, or in a row of its own.
                beside = node and bool(lines)
                if beside:
                    lines[-1] += " | "
                continue
            name = tag(node)
            if name == "w:p":
                words, boxes = self._line(node, others, fields)
                for box in reversed(boxes):
                    stack.extend(reversed(box.content))
                if words and beside:
                    lines[-1] += words
                    beside = False
                elif words:
                    lines.append(words)
            elif name == "w:tbl":
                inner: list[Any] = []
                for first, part in cells_of(node):
                    inner.extend((not first, *part))
                stack.append(False)
                stack.extend(reversed(inner))
            elif name == "mc:AlternateContent":
                stack.extend(reversed(chosen(node)))
            elif name not in PASSED_OVER:
                self._reader.passing(node)
                if name not in ("w:del", "w:moveFrom"):
                    stack.extend(reversed(node))
        return "\n".join(stripped for line in lines if (stripped := line.rstrip(" |")))

    def _line(self, element: Any, others: list[Part], fields: list[dict[str, Any]]) -> tuple[str, list[Box]]:
        properties = child(element, "w:pPr")
        style_id = value(properties, "w:pStyle")
        said = self._reader.paragraph(element)
        words: list[str] = []
        for part in said.parts:
            if isinstance(part, str):
                words.append(part)
            elif isinstance(part, Element) and part.category == "formula":
                words.append(f"${part.content['expression']}$")
            elif isinstance(part, Element | Aside):
                others.append(part)
        fields.extend(said.fields)
        shown = "".join(words).strip()
        mark, depth = self._numbering.mark(properties, self._styles.look(style_id), style_id) if shown else (None, 0)
        if mark is not None and mark is not CONTENTS:
            shown = f"{'  ' * depth}{mark.label or '•'} {shown}"
        return shown, [part for part in said.parts if isinstance(part, Box)]
