"""Lists: what number a paragraph has, and which paragraphs are one list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from a2c_smcp.documents.model import Element, list_of
from a2c_smcp.documents.parsers.office.xml import attribute, whole
from a2c_smcp.documents.parsers.word.styles import Look, Styles
from a2c_smcp.documents.parsers.word.xml import child, children, is_on, value

DEEPEST = 8
MAX_CHARACTERS = 50_000
"""Of one list. A longer one goes on as a further list, so that pages can break between them."""
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Level:
    """How one level of a list is numbered."""

    style: str = "decimal"
    pattern: str = ""
    start: int = 1
    paragraph_style: str = ""
    restarts: bool = True
    plain_numbers: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands before an item: `label` as a person sees it, the number behind it, and the list it belongs to."""

    label: str
    number: int
    ordered: bool
    list_id: str


CONTENTS = Mark("", 0, False, "contents")
"""The mark of a line in a table of contents."""


class Numbering:
    """The lists of a document, counted on as its paragraphs come by."""

    def __init__(self, root: Any | None, styles: Styles) -> None:
        self._abstract = {attribute(node, "abstractNumId"): node for node in children(root, "w:abstractNum")}
        self._lists = {attribute(node, "numId"): node for node in children(root, "w:num")}
        self._styles = styles
        self._levels: dict[str, tuple[str, dict[int, Level], dict[int, int]]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()

    def level_of(self, list_id: str, style_id: str) -> int:
        """The level that belongs to a style; 0 where the list does not say."""
        _, levels, _ = self._read(list_id)
        return next((depth for depth, level in levels.items() if level.paragraph_style == style_id), 0)

    def mark(self, properties: Any | None, look: Look, style_id: str) -> tuple[Mark | None, int]:
        """What stands before a paragraph if it is an item of a list, and how deep it is in there. It is counted."""
        if look.kind == "contents":
            return CONTENTS, look.level
        numbered = child(properties, "w:numPr")
        list_id = value(numbered, "w:numId") or look.list_id
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
        """Count on: the mark of the next paragraph of a list. None, if there is no such list."""
        if list_id not in self._lists:
            return None
        shared, levels, starts = self._read(list_id)
        level = levels.get(depth, Level())
        counts = self._counts.setdefault(shared, {})
        if depth in starts and (list_id, depth) not in self._begun:
            counts[depth] = starts[depth]
        else:
            counts[depth] = counts[depth] + 1 if depth in counts else level.start
        self._begun.add((list_id, depth))
        for deeper in [number for number in counts if number > depth and levels.get(number, Level()).restarts]:
            del counts[deeper]
        if level.style == "none" and not level.pattern.strip():
            return None
        ordered = level.style not in ("bullet", "none")
        label = self._label(level, levels, counts) if ordered else ""
        return Mark(label, counts[depth], ordered, f"{shared}/{ordered}")

    def _label(self, level: Level, levels: dict[int, Level], counts: dict[int, int]) -> str:
        label = level.pattern
        for depth in range(DEEPEST + 1):
            if f"%{depth + 1}" in label:
                above = levels.get(depth, Level())
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


def _level(node: Any) -> Level:
    return Level(
        value(node, "w:numFmt") or "decimal",
        value(node, "w:lvlText"),
        whole(value(node, "w:start") or 1, 1),
        value(node, "w:pStyle"),
        value(node, "w:lvlRestart") != "0",
        is_on(node, "w:isLgl"),
    )


def numeral(number: int, style: str) -> str:
    """A number as a list shows it."""
    if style in ("lowerLetter", "upperLetter") and 0 < number < 10_000:
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter[:50] if style == "lowerLetter" else letter[:50].upper()
    if style in ("lowerRoman", "upperRoman") and 0 < number < 5_000:
        roman = ""
        for worth, sign in _ROMAN:
            roman += sign * (number // worth)
            number %= worth
        return roman if style == "lowerRoman" else roman.upper()
    if style == "decimalZero":
        return f"{number:02d}"
    return "" if style == "none" else str(number)


# ---------------------------------------------------------------------------------------------------------------- items


@dataclass(slots=True)
class Items:
    """Items that follow each other and are one list, and what they brought along."""

    rows: list[tuple[int, str, Mark]] = field(default_factory=list[tuple[int, str, Mark]])
    links: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    after: list[Any] = field(default_factory=list[Any])
    _size: int = 0
    _top: int = DEEPEST
    _last: Mark | None = None
    """The last item on the top level."""

    def takes(self, depth: int, mark: Mark) -> bool:
        """Whether an item continues this list: on its top level it must be of the same list, and count on."""
        if self._size > MAX_CHARACTERS:
            return False
        if depth > self._top or self._last is None:
            return True
        counts_on = not mark.ordered or depth < self._top or mark.number > self._last.number
        return self._last.list_id == mark.list_id and counts_on

    def add(self, depth: int, words: str, mark: Mark) -> None:
        """A further item."""
        self.rows.append((depth, words, mark))
        self._size += len(words) + 20
        if depth <= self._top:
            self._top, self._last = depth, mark

    def extend(self, words: str) -> None:
        """More words of the last item."""
        depth, before, mark = self.rows[-1]
        self.rows[-1] = (depth, f"{before}\n{words}", mark)

    def element(self) -> Element:
        """The list, nested."""
        lists: list[tuple[int, list[Any]]] = [(self.rows[0][0], [])]
        for depth, words, mark in self.rows:
            while len(lists) > 1 and depth < lists[-1][0]:
                lists.pop()
            top, items = lists[-1]
            if depth > top and items:
                owner: Any = items[-1]
                if isinstance(owner, str):
                    items[-1] = owner = dict[str, Any](text=owner, items=[], ordered=mark.ordered)
                lists.append((depth, owner["items"]))
            lists[-1][1].append(words)
        first = self.rows[0][2]
        result = list_of(lists[0][1], ordered=first.ordered)
        if first.ordered and first.number != 1:
            result.metadata["start"] = first.number
        ordered = [mark for _, _, mark in self.rows if mark.ordered]
        if any(mark.label.rstrip(".") != str(mark.number) for mark in ordered):
            result.metadata["labels"] = [mark.label for mark in ordered]
        if self.links:
            result.metadata["links"] = self.links
        return result
