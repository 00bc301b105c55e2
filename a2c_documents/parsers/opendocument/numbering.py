"""Lists of an OpenDocument text: the number of each item and heading, and the place of a node in the document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from a2c_documents.parsers.office.lists import DEEPEST, Mark
from a2c_documents.parsers.office.xml import attribute, local, whole
from a2c_documents.parsers.opendocument.styles import OUTLINE, OdfStyles


@dataclass(slots=True)
class _Count:
    """One list through the document, which may be interrupted: the last number on each level."""

    list_id: str
    numbers: dict[int, int] = field(default_factory=dict[int, int])


@dataclass(slots=True)
class Entry:
    """An item of a list. Its first paragraph begins it; one that holds only a further list is never begun."""

    count: _Count
    style: str
    depth: int
    start: str = ""
    is_numbered: bool = True
    begun: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the document a node is: in which item, or in the contents."""

    entry: Entry | None = None
    contents: bool = False


class OdfNumbering:
    """The lists of a document, counted on as their items come by."""

    def __init__(self, styles: OdfStyles, *, joined: bool = False) -> None:
        """`joined` lists count on: on slides every level begins a list of its own, and yet all are one."""
        self._styles = styles
        self._joined = joined
        self._made = 0
        self._by_style: dict[str, _Count] = {}
        self._by_id: dict[str, _Count] = {}
        self._outline = _Count("outline")

    def entries(self, node: Any, place: Place) -> list[tuple[Any, Place]]:
        """The items of a list, which is one of its own or inside an item of another."""
        outer = place.entry
        style = attribute(node, "style-name") or (outer.style if outer is not None else "")
        depth = min(outer.depth + 1, DEEPEST) if outer is not None else 0
        count = outer.count if outer is not None else self._count(node, style)
        return [
            (item, Place(Entry(count, style, depth, attribute(item, "start-value"), local(item) == "list-item")))
            for item in node
            if local(item) in ("list-item", "list-header")
        ]

    def begin(self, entry: Entry) -> Mark | None:
        """What stands before an item, which is counted; None if it is only a line above the others."""
        entry.begun = True
        if not entry.is_numbered:
            return None
        ordered = self._styles.ordered(entry.style, entry.depth)
        number = self._step(entry.count, entry.style, entry.depth, entry.start)
        label = self._styles.label(entry.style, entry.depth, entry.count.numbers) if ordered else ""
        return Mark(label, number, ordered, f"{entry.count.list_id}/{ordered}")

    def heading_label(self, node: Any, level: int, entry: Entry | None) -> str:
        """The number of a heading: as an item of a list, else as the chapters of the document are numbered."""
        if entry is not None:
            mark = self.begin(entry) if not entry.begun else None
            return mark.label if mark is not None else ""
        depth = level - 1
        if attribute(node, "is-list-header") == "true" or not self._styles.ordered(OUTLINE, depth):
            return ""
        self._step(self._outline, OUTLINE, depth, attribute(node, "start-value"))
        return self._styles.label(OUTLINE, depth, self._outline.numbers)

    def _count(self, node: Any, style: str) -> _Count:
        if self._joined:
            return self._by_style.setdefault("", _Count("joined"))
        count = self._by_id.get(attribute(node, "continue-list", "none"))
        if count is None and attribute(node, "continue-numbering") == "true":
            count = self._by_style.get(style)
        if count is None:
            self._made += 1
            count = _Count(str(self._made))
        self._by_style[style] = self._by_id[attribute(node, "id", str(self._made))] = count
        return count

    def _step(self, count: _Count, style: str, depth: int, start: str) -> int:
        usual = count.numbers[depth] + 1 if depth in count.numbers else self._styles.start(style, depth)
        count.numbers[depth] = whole(start or usual, usual)
        for deeper in [known for known in count.numbers if known > depth]:
            del count.numbers[deeper]
        return count.numbers[depth]
