"""Paragraph styles of a Word document: headings, titles, captions, code, entries of a table of contents."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from a2c_documents.inline import BOLD, CODE, ITALIC
from a2c_documents.parsers.office.ooxml import child, children, is_on, tag, value
from a2c_documents.parsers.office.style_names import kind_of
from a2c_documents.parsers.office.xml import Node, attribute, whole


@dataclass(frozen=True, slots=True)
class Look:
    """The effect of a style on a paragraph."""

    name: str = ""
    kind: str = ""
    """heading, title, subtitle, caption, code, continued (a further paragraph of a list item), contents, or empty."""
    level: int = 0
    list_id: str = ""
    list_level: int | None = None
    breaks_before: bool = False


class WordStyles:
    """The paragraph styles of a document. A style inherits from the style that it is based on."""

    def __init__(self, root: Node | None) -> None:
        self._styles: dict[str, Node] = {}
        self._looks: dict[str, Look] = {}
        self._faces: dict[str, str] = {}
        self._default = ""
        for style in children(root, "w:style"):
            name = attribute(style, "styleId")
            self._styles[name] = style
            if attribute(style, "type") == "paragraph" and attribute(style, "default") in ("1", "true"):
                self._default = name

    def look(self, style_id: str) -> Look:
        """The effect of a style; of the default style if the id is unknown."""
        style_id = style_id if style_id in self._styles else self._default
        if style_id not in self._looks:
            self._looks[style_id] = self._read(style_id)
        return self._looks[style_id]

    def list_of(self, style_id: str) -> str:
        """The numbering that a list style refers to."""
        return value(self._styles.get(style_id), "w:pPr", "w:numPr", "w:numId")

    def face(self, style_id: str) -> str:
        """The formatting of a character style."""
        if style_id not in self._faces:
            self._faces[style_id] = self._face(style_id)
        return self._faces[style_id]

    def _face(self, style_id: str) -> str:
        style = self._styles.get(style_id)
        if attribute(style, "type") != "character":
            return ""
        marks = "".join(marks_of(child(one, "w:rPr")) for one in self._chain(style_id))
        if _CODE.fullmatch(value(style, "w:name").casefold().strip()):
            marks += CODE
        return "".join(sorted(set(marks)))

    def _chain(self, style_id: str) -> list[Node]:
        """A style, the one that it is based on, and so on."""
        chain: list[Node] = []
        seen: set[str] = set()
        # Styles of a damaged file can be based on each other in a circle.
        while style_id in self._styles and style_id not in seen:
            seen.add(style_id)
            chain.append(self._styles[style_id])
            style_id = value(chain[-1], "w:basedOn")
        return chain

    def _read(self, style_id: str) -> Look:
        chain = self._chain(style_id)
        names = [value(style, "w:name").casefold().strip() for style in chain]
        kind, level = next((found for found in map(kind_of, names) if found[0]), ("", 0))
        # Level 9 means body text. Documents in other languages can have heading styles under any name; the outline
        # level still marks them.
        outline = whole(_first(chain, "w:outlineLvl") or 9, 9)
        if not kind and 0 <= outline < 9:
            kind, level = "heading", outline + 1
        # Each property has its own nearest style: a style can set the level and inherit the list.
        list_id = _first(chain, "w:numPr", "w:numId")
        depth = _first(chain, "w:numPr", "w:ilvl")
        breaking = next((style for style in chain if child(style, "w:pPr", "w:pageBreakBefore") is not None), None)
        return Look(
            value(chain[0], "w:name") if chain else "",
            kind,
            level,
            list_id if list_id != "0" else "",
            whole(depth) if depth else None,
            is_on(breaking, "w:pPr", "w:pageBreakBefore"),
        )


def _first(chain: list[Node], *path: str) -> str:
    """The first value in a chain of styles."""
    return next((found for style in chain if (found := value(style, "w:pPr", *path))), "")


# ----------------------------------------------------------------------------------------------------------- characters


HIDDEN = "h"
"""A mark besides those of `inline.py`: the text is not shown."""
_SWITCHES = {"w:b": BOLD, "w:i": ITALIC, "w:vanish": HIDDEN}
_CODE = re.compile(r"(html )?(code|keyboard|sample|typewriter)|(inline |source )code|verbatim char|source text")
_MONOSPACED = ("courier", "consolas", "menlo", "monaco", "source code", "dejavu sans mono", "lucida console")


def _no_face(_: str) -> str:
    return ""


def marks_of(properties: Node | None, face: Callable[[str], str] = _no_face) -> str:
    """The formatting of a run: by its own properties, which win over those of its character style."""
    if properties is None:
        return ""
    marks = off = ""
    for node in properties:
        name = tag(node)
        if (mark := _SWITCHES.get(name)) is not None:
            if attribute(node, "val", "1").lower() in ("0", "false", "off"):
                off += mark
            else:
                marks += mark
        elif name == "w:rStyle":
            marks += face(attribute(node, "val"))
        elif name == "w:rFonts" and attribute(node, "ascii").lower().startswith(_MONOSPACED):
            marks += CODE
    if off:
        marks = "".join(mark for mark in marks if mark not in off)
    return marks if len(marks) < 2 else "".join(sorted(set(marks)))
