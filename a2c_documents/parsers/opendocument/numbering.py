"""Lists of an OpenDocument text: the number of each item and heading, and the place of a node in the document."""

from __future__ import annotations

from dataclasses import dataclass, field

from a2c_documents.parsers.office.lists import DEEPEST, Mark
from a2c_documents.parsers.office.xml import Node, attribute, local, whole
from a2c_documents.parsers.opendocument.styles import OUTLINE, OdfStyles


@dataclass(slots=True)
class _Count:
    """The counters of one list, which can be interrupted: the last number on each level."""

    list_id: str
    numbers: dict[int, int] = field(default_factory=dict[int, int])


@dataclass(slots=True)
class Entry:
    """A list item. Its first paragraph starts it; an item that holds only another list is never started."""

    count: _Count
    style: str
    depth: int
    start: str = ""
    is_numbered: bool = True
    begun: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a node: in a list item, or in a table of contents."""

    entry: Entry | None = None
    contents: bool = False


class OdfNumbering:
    """The lists of a document. Counting follows the order of their items."""

    def __init__(self, styles: OdfStyles, *, joined: bool = False) -> None:
        """`joined` lists share their counters: on slides, every level is a list of its own in the file."""
        self._styles = styles
        self._joined = joined
        self._made = 0
        self._by_style: dict[str, _Count] = {}
        self._by_id: dict[str, _Count] = {}
        self._outline = _Count("outline")

    def entries(self, node: Node, place: Place) -> list[tuple[Node, Place]]:
        """The items of a list, which may be inside an item of another list."""
        outer = place.entry
        style = attribute(node, "style-name") or (outer.style if outer is not None else "")
        # An inner list without a style has the style of the outer one, on the next level.
        depth = min(outer.depth + 1, DEEPEST) if outer is not None else 0
        count = outer.count if outer is not None else self._count(node, style)
        return [
            (item, Place(Entry(count, style, depth, attribute(item, "start-value"), local(item) == "list-item")))
            for item in node
            if local(item) in ("list-item", "list-header")
        ]

    def begin(self, entry: Entry) -> Mark | None:
        """Count an item and return its mark; None for a list header, which has no number."""
        entry.begun = True
        if not entry.is_numbered:
            return None
        ordered = self._styles.ordered(entry.style, entry.depth)
        number = self._step(entry.count, entry.style, entry.depth, entry.start)
        label = self._styles.label(entry.style, entry.depth, entry.count.numbers) if ordered else ""
        return Mark(label, number, ordered, f"{entry.count.list_id}/{ordered}")

    def heading_label(self, node: Node, level: int, entry: Entry | None) -> str:
        """The number of a heading: as a list item, or else by the outline numbering of the document."""
        if entry is not None:
            mark = self.begin(entry) if not entry.begun else None
            return mark.label if mark is not None else ""
        depth = level - 1
        if attribute(node, "is-list-header") == "true" or not self._styles.ordered(OUTLINE, depth):
            return ""
        self._step(self._outline, OUTLINE, depth, attribute(node, "start-value"))
        return self._styles.label(OUTLINE, depth, self._outline.numbers)

    def _count(self, node: Node, style: str) -> _Count:
        if self._joined:
            # Impress writes an item on the third level as three lists around it, and the next item as three others.
            return self._by_style.setdefault("", _Count("joined"))
        # A list continues another one by its id, or the last list with the same style. Otherwise it starts again.
        count = self._by_id.get(attribute(node, "continue-list", "none"))
        if count is None and attribute(node, "continue-numbering") == "true":
            count = self._by_style.get(style)
        if count is None:
            self._made += 1
            count = _Count(str(self._made))
        # Other lists can continue this one by either name, also after it has continued another.
        self._by_style[style] = self._by_id[attribute(node, "id", str(self._made))] = count
        return count

    def _step(self, count: _Count, style: str, depth: int, start: str) -> int:
        usual = count.numbers[depth] + 1 if depth in count.numbers else self._styles.start(style, depth)
        count.numbers[depth] = whole(start or usual, usual)
        # A new item starts the levels below it again.
        for deeper in [known for known in count.numbers if known > depth]:
            del count.numbers[deeper]
        return count.numbers[depth]
