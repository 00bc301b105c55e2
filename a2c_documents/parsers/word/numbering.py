"""Lists of a Word document: the number of each paragraph."""

from __future__ import annotations

from dataclasses import dataclass

from a2c_documents.parsers.office.lists import CONTENTS, DEEPEST, Mark, numeral
from a2c_documents.parsers.office.ooxml import child, children, is_on, value
from a2c_documents.parsers.office.xml import Node, attribute, whole
from a2c_documents.parsers.word.styles import Look, WordStyles


@dataclass(frozen=True, slots=True)
class Level:
    """The numbering of one level of a list."""

    style: str = "decimal"
    pattern: str = ""
    start: int = 1
    paragraph_style: str = ""
    restarts: bool = True
    plain_numbers: bool = False


class WordNumbering:
    """The lists of a document. Counting follows the order of its paragraphs."""

    def __init__(self, root: Node | None, styles: WordStyles) -> None:
        self._abstract = {attribute(node, "abstractNumId"): node for node in children(root, "w:abstractNum")}
        self._lists = {attribute(node, "numId"): node for node in children(root, "w:num")}
        self._styles = styles
        self._levels: dict[str, tuple[str, dict[int, Level], dict[int, int]]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()

    def level_of(self, list_id: str, style_id: str) -> int:
        """The level that belongs to a style; 0 if the list does not name one."""
        _, levels, _ = self._read(list_id)
        return next((depth for depth, level in levels.items() if level.paragraph_style == style_id), 0)

    def mark(self, properties: Node | None, look: Look, style_id: str) -> tuple[Mark | None, int]:
        """The mark and the depth of a paragraph that is a list item; it is counted."""
        if look.kind == "contents":
            return CONTENTS, look.level
        numbered = child(properties, "w:numPr")
        list_id = value(numbered, "w:numId") or look.list_id
        # Number 0 takes a paragraph out of the list that its style belongs to.
        if not list_id or list_id == "0":
            return None, 0
        depth = value(numbered, "w:ilvl")
        if depth:
            level = whole(depth)
        else:
            level = look.list_level if look.list_level is not None else self.level_of(list_id, style_id)
        level = max(0, min(level, DEEPEST))
        return self.step(list_id, level), level

    def step(self, list_id: str, depth: int) -> Mark | None:
        """Count the next paragraph of a list and return its mark; None if the list is missing."""
        if list_id not in self._lists:
            return None
        shared, levels, starts = self._read(list_id)
        level = levels.get(depth, Level())
        # Several lists can share one abstract numbering, and then count on together. Only a start override makes a list
        # begin again, once.
        counts = self._counts.setdefault(shared, {})
        if depth in starts and (list_id, depth) not in self._begun:
            counts[depth] = starts[depth]
        else:
            counts[depth] = counts[depth] + 1 if depth in counts else level.start
        self._begun.add((list_id, depth))
        # A new item restarts the numbering below it, unless the list says otherwise.
        for deeper in [number for number in counts if number > depth and levels.get(number, Level()).restarts]:
            del counts[deeper]
        # Such a level is counted, but shows nothing: the paragraph is text, often a heading.
        if level.style == "none" and not level.pattern.strip():
            return None
        ordered = level.style not in ("bullet", "none")
        label = self._label(level, levels, counts) if ordered else ""
        # Lists that count on together are one list. Bullets and numbers of the same numbering are two, because a list
        # element is either ordered or not.
        return Mark(label, counts[depth], ordered, f"{shared}/{ordered}")

    def _label(self, level: Level, levels: dict[int, Level], counts: dict[int, int]) -> str:
        label = level.pattern
        for depth in range(DEEPEST + 1):
            if f"%{depth + 1}" in label:
                above = levels.get(depth, Level())
                # A level in "legal" style shows the numbers of all levels above it as digits: II becomes 2 in "2.1".
                style = "decimal" if level.plain_numbers else above.style
                label = label.replace(f"%{depth + 1}", numeral(counts.get(depth, above.start), style))
        return label.strip()

    def _read(self, list_id: str) -> tuple[str, dict[int, Level], dict[int, int]]:
        if list_id not in self._levels:
            self._levels[list_id] = self._read_levels(list_id)
        return self._levels[list_id]

    def _read_levels(self, list_id: str) -> tuple[str, dict[int, Level], dict[int, int]]:
        entry = self._lists.get(list_id)
        shared = value(entry, "w:abstractNumId")
        abstract = self._abstract.get(shared)
        # A numbering can refer to a list style, which refers to a numbering again. The bound ends circular references.
        for _ in range(5):
            linked = self._styles.list_of(value(abstract, "w:numStyleLink"))
            if not linked:
                break
            shared = value(self._lists.get(linked), "w:abstractNumId")
            abstract = self._abstract.get(shared)
        levels = {whole(attribute(node, "ilvl")): _level(node) for node in children(abstract, "w:lvl")}
        starts: dict[int, int] = {}
        for override in children(entry, "w:lvlOverride"):
            depth = whole(attribute(override, "ilvl"))
            if (changed := child(override, "w:lvl")) is not None:
                levels[depth] = _level(changed)
            if begin := value(override, "w:startOverride"):
                starts[depth] = whole(begin, 1)
        return shared, levels, starts


def _level(node: Node) -> Level:
    return Level(
        value(node, "w:numFmt") or "decimal",
        value(node, "w:lvlText"),
        whole(value(node, "w:start") or 1, 1),
        value(node, "w:pStyle"),
        value(node, "w:lvlRestart") != "0",
        is_on(node, "w:isLgl"),
    )
