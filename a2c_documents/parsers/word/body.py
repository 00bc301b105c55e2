"""The body of a Word document, from its first paragraph to its last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from a2c_documents.model import MAX_SUMMARY, Element, formula, heading, link
from a2c_documents.parsers.office.equations import latex_of
from a2c_documents.parsers.office.lists import Mark
from a2c_documents.parsers.office.ooxml import child, chosen, tag, value
from a2c_documents.parsers.office.story import Aside, Box, PageBreak, Said, Story, in_words, is_formula
from a2c_documents.parsers.office.xml import attribute, whole
from a2c_documents.parsers.word.cells import PASSED_OVER, Cells
from a2c_documents.parsers.word.inline import Reader
from a2c_documents.parsers.word.notes import Notes
from a2c_documents.parsers.word.numbering import Numbering
from a2c_documents.parsers.word.styles import Look, Styles
from a2c_documents.parsers.word.tables import only_cell, read_table

_LONGEST_HEADING = 300
"""Characters of a paragraph that is a heading only because of its outline level."""


class Body:
    """Walks the blocks of a body, without recursion, and says what it meets."""

    def __init__(
        self, reader: Reader, styles: Styles, numbering: Numbering, notes: Notes, sections: Sequence[Any]
    ) -> None:
        self._reader = reader
        self._styles = styles
        self._numbering = numbering
        self._notes = notes
        self._sections = sections
        self._section = 0
        self._story = Story()

    def read(self, body: Any) -> Story:
        """Everything in the body, in order."""
        self._story.begin_section(0)
        stack: list[Any] = list(reversed(body))
        while stack:
            node = stack.pop()
            name = tag(node)
            if name == "w:p":
                stack.extend(part for box in reversed(self._paragraph(node)) for part in reversed(box.content))
            elif name == "w:tbl":
                frame = only_cell(node)
                if frame is not None:
                    stack.extend(reversed(frame))
                else:
                    self._table(node)
            elif name == "mc:AlternateContent":
                stack.extend(reversed(chosen(node)))
            elif name in ("m:oMath", "m:oMathPara"):
                self._story.put(formula(latex_of(node)))
            elif name == "w:altChunk":
                self._chunk(node)
            elif name not in PASSED_OVER:
                self._reader.passing(node)
                if name not in ("w:del", "w:moveFrom"):
                    stack.extend(reversed(node))
        self._story.end_list()
        return self._story

    # ------------------------------------------------------------------------------------------------------- paragraphs

    def _paragraph(self, element: Any) -> list[Box]:
        properties = child(element, "w:pPr")
        style_id = value(properties, "w:pStyle")
        look = self._styles.look(style_id)
        before = child(properties, "w:pageBreakBefore")
        if look.breaks_before if before is None else attribute(before, "val", "1") not in ("0", "false", "off"):
            self._story.break_page()
        said = self._reader.paragraph(element)
        self._say(said, self._look(look, properties, said), style_id, properties)
        if child(properties, "w:sectPr") is not None:
            self._next_section()
        return said.boxes

    def _look(self, look: Look, properties: Any, said: Said) -> Look:
        outline = value(properties, "w:outlineLvl")
        if look.kind or not outline or not 0 <= whole(outline, 9) < 9 or len(said.words()) > _LONGEST_HEADING:
            return look
        return Look(look.name, "heading", whole(outline) + 1, look.list_id, look.list_level)

    def _say(self, said: Said, look: Look, style_id: str, properties: Any) -> None:
        shown = said.words().strip()
        mark, depth = self._numbering.mark(properties, look, style_id) if shown else (None, 0)
        words: list[str] = []
        others: list[Element | Aside] = []
        for part in said.parts:
            if isinstance(part, str):
                words.append(part)
            elif isinstance(part, PageBreak):
                self._words("".join(words), said, look, mark, depth, others)
                self._story.break_page()
                words, others, mark = [], [], None
            elif is_formula(part):
                if mark is not None or look.kind:
                    words.append(in_words(part))
                    continue
                self._words("".join(words), said, look, mark, depth, others)
                self._story.put(part)
                words, others = [], []
            elif not isinstance(part, Box):
                others.append(part)
        self._words("".join(words), said, look, mark, depth, others)
        if not said.parts and child(properties, "w:pBdr") is not None:
            self._rule(child(properties, "w:pBdr"))

    def _words(
        self, words: str, said: Said, look: Look, mark: Mark | None, depth: int, others: list[Element | Aside]
    ) -> None:
        """A paragraph, or as much of one as stands together, and then what was anchored in it."""
        shown = words.strip()
        if shown and look.kind in ("heading", "title", "subtitle"):
            label = f"{mark.label} " if mark is not None and mark.label else ""
            style = {"style": look.kind} if look.kind != "heading" else {}
            self._story.put(heading(" ".join(f"{label}{shown}".split()), look.level, **style))
        elif shown and mark is not None:
            self._story.put_item(shown, said.links, mark, depth)
        elif shown and not (look.kind == "continued" and self._story.extends_item(shown)):
            own = next((one for one in others if isinstance(one, Element) and one.category == "image"), None)
            if not (look.kind == "caption" and self._story.is_caption(shown, own)):
                self._put_text(words, shown, said, look)
        if said.fields:
            fields, said.fields = said.fields, []
            self._story.put_form(shown, fields)
        for other in others:
            self._put_beside(other)

    def _put_text(self, words: str, shown: str, said: Said, look: Look) -> None:
        if look.kind == "code":
            self._story.put_code(words.rstrip())
        elif len(shown) > 2 and not shown.strip("-_*=—─ ") and len(set(shown)) == 1:
            self._story.put_rule()
        elif shown.startswith("$") and shown.endswith("$") and said.parts == [words] and shown.count("$") == 2:
            self._story.put(formula(shown.strip("$")))
        elif not (said.fields and len(shown) <= MAX_SUMMARY):
            self._story.put_text(shown, said.links)

    def _rule(self, borders: Any) -> None:
        if any(value(borders, side) not in ("", "none", "nil") for side in ("w:top", "w:bottom", "w:between")):
            self._story.put_rule()

    # ----------------------------------------------------------------------------------------------------------- others

    def _table(self, element: Any) -> None:
        cells = Cells(self._reader, self._styles, self._numbering)
        shown = read_table(element, cells.words, self._deleted)
        if shown is not None:
            self._story.put(shown)
        if cells.fields:
            self._story.put_form("", cells.fields)
        for other in cells.others:
            self._put_beside(other)

    def _deleted(self) -> None:
        self._reader.asides.deletions += 1

    def _put_beside(self, other: Element | Aside) -> None:
        for shown in self._notes.elements(other) if isinstance(other, Aside) else [other]:
            self._story.put_beside(shown, is_note=isinstance(other, Aside) and other.kind != "comment")

    def _next_section(self) -> None:
        """How a section begins is told by its own properties, which stand at its end."""
        self._section += 1
        following = self._sections[self._section] if self._section < len(self._sections) else None
        if value(following, "w:type") not in ("continuous", "nextColumn"):
            self._story.break_page()
        self._story.begin_section(self._section)

    def _chunk(self, node: Any) -> None:
        relation = self._reader.relations.get(attribute(node, "id"))
        target = relation.target if relation is not None else ""
        self._story.put(link(f"Inserted file {target.rpartition('/')[2]}", target))
