"""Lists: the mark before an item, and the items that form one list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from a2c_documents.inline import joined
from a2c_documents.model import Element, list_of
from a2c_documents.parsers.office.pages import Step

DEEPEST = 8
SHORT = 5_000
"""Characters of a list that pages do not divide."""
MAX_CHARACTERS = 50_000
"""Limit for the characters of one list. A longer list continues as a second one, so that pages can break between
them."""
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark before an item: `label` as shown, the number in it, and the list that the item belongs to."""

    label: str
    number: int
    ordered: bool
    list_id: str

    def line(self, words: str, depth: int) -> str:
        """An item as a line of text, for places that cannot hold a list."""
        return joined((f"{'  ' * depth}{self.label or '•'} ", words))


CONTENTS = Mark("", 0, False, "contents")
"""The mark of an entry in a table of contents."""


def numeral(number: int, style: str) -> str:
    """A number in a numbering style."""
    if style in ("lowerLetter", "upperLetter") and 0 < number < 10_000:
        # After z comes aa, and then bb: lists repeat the letter, unlike the columns of a sheet.
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        # A number from an untrusted file must not become a label of hundreds of letters.
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
    """Consecutive items of one list, and the elements anchored in them."""

    rows: list[tuple[int, str, Mark]] = field(default_factory=list[tuple[int, str, Mark]])
    links: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    after: list[Step] = field(default_factory=list[Step])
    _size: int = 0
    _top: int = DEEPEST
    _last: Mark | None = None
    """The mark of the last item on the top level."""

    @property
    def is_short(self) -> bool:
        """Whether the list fits on a page with other text."""
        return self._size < SHORT

    def takes(self, depth: int, mark: Mark) -> bool:
        """Whether an item continues this list: on the top level, it must belong to the same list and have a higher
        number."""
        if self._size > MAX_CHARACTERS:
            return False
        # A document can interleave lists, for example bullets inside numbered items. Only the top level decides whether
        # an item starts a new list; deeper items always belong to the item above them.
        if depth > self._top or self._last is None:
            return True
        # A lower number on the top level is a list that starts again with the same numbering, as "1." after "3.".
        counts_on = not mark.ordered or depth < self._top or mark.number > self._last.number
        return self._last.list_id == mark.list_id and counts_on

    def add(self, depth: int, words: str, mark: Mark) -> None:
        """Add an item."""
        self.rows.append((depth, words, mark))
        self._size += len(words) + 20
        if depth <= self._top:
            self._top, self._last = depth, mark

    def extend(self, words: str) -> None:
        """Add a line to the last item."""
        depth, before, mark = self.rows[-1]
        self.rows[-1] = (depth, joined((before, words), "\n"), mark)

    def element(self) -> Element:
        """The nested list. Labels that plain counting does not produce become part of the text."""
        rows = [(depth, words, mark.ordered) for depth, words, mark in self.rows]
        for number, places in enumerate(_lists_of(depth for depth, _, _ in rows)):
            marks = [self.rows[place][2] for place in places]
            # Readers of the result number an ordered list by counting. A list whose labels differ from that ("a)",
            # "1.2", a gap) would show wrong numbers, so its labels move into the text and the list becomes unordered.
            if not _is_counted(marks, marks[0].number if number == 0 else 1):
                for place, mark in zip(places, marks, strict=True):
                    depth, words, _ = rows[place]
                    rows[place] = depth, joined((f"{mark.label} ", words)) if mark.label else words, False
        first = self.rows[0][2]
        result = list_of(nested(rows), ordered=rows[0][2])
        if rows[0][2] and first.number != 1:
            result.metadata["start"] = first.number
        ordered = [mark for _, _, mark in self.rows if mark.ordered]
        if any(mark.label.rstrip(".") != str(mark.number) for mark in ordered):
            result.metadata["labels"] = [mark.label for mark in ordered]
        if self.links:
            result.metadata["links"] = self.links
        return result


def _is_counted(marks: list[Mark], start: int) -> bool:
    """Whether plain counting (1., 2., 3.) produces the labels of a list."""
    return all(not mark.ordered or mark.label.rstrip(".)") == str(number) for number, mark in enumerate(marks, start))


def _lists_of(depths: Iterable[int]) -> list[list[int]]:
    """The positions of the items of each nested list; the outermost list is the first."""
    found: list[list[int]] = []
    open_lists: list[tuple[int, list[int]]] = []
    for place, depth in enumerate(depths):
        while len(open_lists) > 1 and depth < open_lists[-1][0]:
            open_lists.pop()
        if not open_lists or depth > open_lists[-1][0]:
            open_lists.append((depth, []))
            found.append(open_lists[-1][1])
        open_lists[-1][1].append(place)
    return found


def nested(rows: Iterable[tuple[int, str, bool]]) -> list[Any]:
    """Nested items, from the depth, the text and the kind of each item: a text, or a text with items of its own."""
    lists: list[tuple[int, list[Any]]] = []
    for depth, words, ordered in rows:
        while len(lists) > 1 and depth < lists[-1][0]:
            lists.pop()
        if not lists:
            lists.append((depth, []))
        top, items = lists[-1]
        # A list that starts on a deeper level has no item to belong to, and is the top level itself.
        if depth > top and items:
            owner: Any = items[-1]
            if isinstance(owner, str):
                items[-1] = owner = dict[str, Any](text=owner, items=[], ordered=ordered)
            lists.append((depth, owner["items"]))
        lists[-1][1].append(words)
    return lists[0][1] if lists else []
