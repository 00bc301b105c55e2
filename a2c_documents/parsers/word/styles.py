"""What a paragraph is by its style: a heading, a title, a caption, code, a line of the contents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from a2c_documents.parsers.office.ooxml import child, children, is_on, value
from a2c_documents.parsers.office.style_names import kind_of
from a2c_documents.parsers.office.xml import attribute, whole


@dataclass(frozen=True, slots=True)
class Look:
    """What a style makes of a paragraph."""

    name: str = ""
    kind: str = ""
    """heading, title, subtitle, caption, code, continued (of a list's item), contents, or nothing special."""
    level: int = 0
    list_id: str = ""
    list_level: int | None = None
    breaks_before: bool = False


class WordStyles:
    """The paragraph styles of a document. What a style leaves open comes from the one that it is based on."""

    def __init__(self, root: Any | None) -> None:
        self._styles: dict[str, Any] = {}
        self._looks: dict[str, Look] = {}
        self._default = ""
        for style in children(root, "w:style"):
            name = attribute(style, "styleId")
            self._styles[name] = style
            if attribute(style, "type") == "paragraph" and attribute(style, "default") in ("1", "true"):
                self._default = name

    def look(self, style_id: str) -> Look:
        """What a style makes of a paragraph; the usual one, if it has none or nobody knows it."""
        style_id = style_id if style_id in self._styles else self._default
        if style_id not in self._looks:
            self._looks[style_id] = self._read(style_id)
        return self._looks[style_id]

    def list_of(self, style_id: str) -> str:
        """The numbering that a style of lists stands for."""
        return value(self._styles.get(style_id), "w:pPr", "w:numPr", "w:numId")

    def _read(self, style_id: str) -> Look:
        chain: list[Any] = []
        seen: set[str] = set()
        while style_id in self._styles and style_id not in seen:
            seen.add(style_id)
            chain.append(self._styles[style_id])
            style_id = value(chain[-1], "w:basedOn")
        names = [value(style, "w:name").casefold().strip() for style in chain]
        kind, level = next((found for found in map(kind_of, names) if found[0]), ("", 0))
        outline = whole(_first(chain, "w:outlineLvl") or 9, 9)
        if not kind and 0 <= outline < 9:
            kind, level = "heading", outline + 1
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


def _first(chain: list[Any], *path: str) -> str:
    """What the first style of a chain says that says anything."""
    return next((found for style in chain if (found := value(style, "w:pPr", *path))), "")
