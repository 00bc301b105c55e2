"""The blocks of an OpenDocument text, in order; also the text of a box on a slide."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from a2c_documents.inline import joined
from a2c_documents.model import MAX_SUMMARY, Element, heading
from a2c_documents.parsers.office.lists import CONTENTS
from a2c_documents.parsers.office.story import Box, Said, Story, is_formula
from a2c_documents.parsers.office.xml import Node, attribute, local, whole
from a2c_documents.parsers.opendocument.numbering import Entry, OdfNumbering, Place
from a2c_documents.parsers.opendocument.objects import SHAPES
from a2c_documents.parsers.opendocument.paragraphs import OdfReader
from a2c_documents.parsers.opendocument.styles import OdfStyles
from a2c_documents.parsers.opendocument.tables import OdfCells, only_cell, read_table

_CONTENTS = ("table-of-content", "illustration-index", "table-index", "object-index", "user-index")
# The styles of a table of contents are named "Contents 1" and so on: the digit is the level.
_DEPTH = re.compile(r"([1-9])\Z")


class OdfBody:
    """Walks containers of paragraphs without recursion and adds their elements to a story."""

    def __init__(self, reader: OdfReader, styles: OdfStyles, *, joined: bool = False) -> None:
        self.story = Story()
        self.masters: list[str] = []
        """The page style of each section of the document."""
        self.deletions = 0
        self._reader = reader
        self._styles = styles
        self._numbering = OdfNumbering(styles, joined=joined)

    def read(self, container: Iterable[Node]) -> None:
        """Read a container."""
        stack: list[tuple[Node, Place]] = [(node, Place()) for node in reversed(list(container))]
        while stack:
            node, place = stack.pop()
            name = local(node)
            if name in ("p", "h"):
                boxes = self._paragraph(node, name, place)
                stack.extend((part, Place()) for box in reversed(boxes) for part in reversed(box.content))
            elif name == "list":
                stack.extend(reversed(self._numbering.entries(node, place)))
            elif name == "table":
                # A table with a single cell is a frame around a text: headings and lists in it stay what they are.
                frame = only_cell(node)
                if frame is not None:
                    stack.extend((part, place) for part in reversed(frame))
                else:
                    self._table(node)
            elif name in SHAPES or name == "annotation":
                boxes = self._shape(node)
                stack.extend((part, Place()) for box in reversed(boxes) for part in reversed(box.content))
            elif name == "tracked-changes":
                # Deleted text is kept here, in front of the body, and not at its former place.
                self.deletions += sum(1 for _ in node.iterfind(".//{*}deletion"))
            elif name == "forms":
                self._form(node)
            elif name and not name.endswith(("-source", "-decls")):
                # The entries of a table of contents are ordinary paragraphs; the element around them marks them as
                # entries. A `…-source` is skipped above: it holds templates that look like entries.
                inner = replace(place, contents=True) if name in _CONTENTS else place
                stack.extend((part, inner) for part in reversed(node))
        self.story.end_list()

    # ------------------------------------------------------------------------------------------------------- paragraphs

    def _paragraph(self, node: Node, name: str, place: Place) -> list[Box]:
        style = attribute(node, "style-name")
        before, after = self._styles.breaks(style)
        if before:
            self.story.break_page()
        # A page style that is set at a paragraph starts a section, with its own headers and footers.
        if master := self._styles.master(style):
            self.story.begin_section(len(self.masters))
            self.masters.append(master)
        said = self._reader.paragraph(node)
        if name == "h":
            level = max(1, whole(attribute(node, "outline-level") or 1, 1))
            label = self._numbering.heading_label(node, level, place.entry) if said.words().strip() else ""
            line = said.styled(" ".join(said.line().split()), links_only=True)
            self._heading(joined((label, line), " ") if label else line, level)
        else:
            self._say(said, style, place)
        for part in said.parts:
            if isinstance(part, Element) and not is_formula(part):
                self.story.put_beside(part)
        for shown in said.notes:
            self.story.put_beside(shown, is_note=True)
        if after:
            self.story.break_page()
        return said.boxes

    def _heading(self, words: str, level: int, **metadata: Any) -> None:
        if words:
            self.story.put(heading(words, level, **metadata))

    def _say(self, said: Said, style: str, place: Place) -> None:
        formulas = [part for part in said.parts if is_formula(part)]
        # A formula alone in its paragraph is displayed. Inside a sentence it stays part of the text.
        if formulas and not said.words().strip():
            for shown in formulas:
                self.story.put(shown)
            return
        words = said.line()
        shown, kind = words.strip(), self._styles.kind(style)
        if not shown:
            if not said.parts and self._styles.has_rule(style):
                self.story.put_rule()
        elif kind in ("title", "subtitle"):
            self._heading(" ".join(shown.split()), 1 if kind == "title" else 2, style=kind)
        elif place.contents and "heading" in self._styles.shown_name(style).casefold():
            self._heading(" ".join(shown.split()), 1)
        elif place.contents:
            found = _DEPTH.search(self._styles.shown_name(style))
            self.story.put_item(shown, said.links, CONTENTS, int(found[1]) - 1 if found else 0)
        elif not (place.entry is not None and self._is_in_list(shown, said, place.entry)):
            self._put_text(words, said, kind)
        if said.fields:
            self.story.put_form(shown, said.fields)

    def _is_in_list(self, words: str, said: Said, entry: Entry) -> bool:
        """Whether a paragraph starts or continues a list item."""
        if entry.begun:
            return entry.is_numbered and self.story.extends_item(said.styled(words))
        mark = self._numbering.begin(entry)
        if mark is not None:
            self.story.put_item(said.styled(words), said.links, mark, entry.depth)
        return mark is not None

    def _put_text(self, words: str, said: Said, kind: str) -> None:
        shown = words.strip()
        if kind == "code":
            self.story.put_code(words.rstrip())
        elif kind == "caption" and self.story.is_caption(shown, _own_picture(said)):
            return
        elif not (said.fields and len(shown) <= MAX_SUMMARY):
            self.story.put_text(said.styled(shown), said.links)

    # ----------------------------------------------------------------------------------------------------------- others

    def _table(self, node: Node) -> None:
        if self._styles.breaks(attribute(node, "style-name"))[0]:
            self.story.break_page()
        cells = OdfCells(self._reader, self._numbering)
        shown = read_table(node, cells.words)
        if shown is not None:
            self.story.put(shown)
        for other in cells.others:
            self.story.put_beside(other)
        for below in cells.notes:
            self.story.put_beside(below, is_note=True)
        if cells.fields:
            self.story.put_form("", cells.fields)

    def _shape(self, node: Node) -> list[Box]:
        """Read a shape outside paragraphs as if it were in one."""
        said = self._reader.shape(node)
        for part in said.parts:
            if isinstance(part, Element):
                self.story.put(part)
        return said.boxes

    def _form(self, node: Node) -> None:
        fields: list[dict[str, Any]] = []
        for control in node.iterfind(".//{*}form/{*}*"):
            kind = local(control)
            if kind in ("properties", "form", "hidden", "button", "generic-control", "event-listeners"):
                continue
            # `value` is the default of the form, `current-value` is the answer.
            shown = attribute(control, "current-state" if kind == "checkbox" else "current-value")
            value: Any = shown == "checked" if kind == "checkbox" else shown or attribute(control, "value")
            name = attribute(control, "label") or attribute(control, "name")
            options = [attribute(option, "label") for option in control if local(option) in ("option", "item")]
            fields.append({"name": name, "type": kind, "value": value} | ({"options": options} if options else {}))
        if fields:
            self.story.put_form("", fields)


def _own_picture(said: Said) -> Element | None:
    return next((part for part in said.parts if isinstance(part, Element) and part.category == "image"), None)
