"""Words that are written from right to left, and words in another direction than the page: pieces become words.

pdfium gives such words letter by letter, in the order of the page instead of the order of reading, or both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from a2c_documents.parsers.pdf.words import TOUCHING, Item, is_rtl, turn

_SPACE = 0.6
"""The greatest gap between two words of one phrase, in letter sizes."""
_CLOSING = {")": "(", "]": "[", "}": "{", "»": "«"}
_MIRRORED = str.maketrans({**_CLOSING, **{opening: closing for closing, opening in _CLOSING.items()}})
_MARKS = frozenset("()[]{}")
_FOREIGN = re.compile("[A-Za-z]")
_BRACKET, _OTHERS = re.compile(r"[()\[\]{}«»]"), re.compile(r"[^()\[\]{}«»]")


def phrases(words: Iterable[tuple[Item, int]]) -> list[Item]:
    """Words in other directions than the page, each with its direction, as phrases with their place on the page."""
    made: list[Item] = []
    for direction, group in groupby(words, key=lambda word: word[1]):
        last: tuple[Item, tuple[float, float, float, float]] | None = None
        for item, _ in group:
            box = turn(item.box, direction)
            gap = box[0] - last[1][2] if last is not None else 0.0
            on_line = last is not None and min(box[3], last[1][3]) - max(box[1], last[1][1]) > 0.5 * item.size
            if last is None or not on_line or not -0.3 * item.size < gap < _SPACE * item.size:
                last = replace(item), box
                made.append(last[0])
                continue
            before = last[0]
            before.text += item.text if gap < TOUCHING * item.size else f" {item.text}"
            before.x0, before.top = min(before.x0, item.x0), min(before.top, item.top)
            before.x1, before.bottom = max(before.x1, item.x1), max(before.bottom, item.bottom)
            last = before, (last[1][0], min(box[1], last[1][1]), box[2], max(box[3], last[1][3]))
    return made


def joined_rtl(items: list[Item]) -> list[Item]:
    """The items of a page; those from right to left that touch each other become one word."""
    written: list[Item] = []
    others: list[Item] = []
    for item in items:
        (written if is_rtl(item.text) else others).append(item)
    if any(item.text in _MARKS for item in others):
        lines = {round(item.base) for item in written}
        marks = [item for item in others if item.text in _MARKS and round(item.base) in lines]
        known = {id(item) for item in marks}
        written += marks
        others = [item for item in others if id(item) not in known]
    made: list[Item] = []
    is_own = False
    # From right to left on each line, so that the pieces of a word follow each other.
    for item in sorted(written, key=lambda item: (round(item.base), -item.x1)):
        last = made[-1] if made else None
        if (
            last is not None
            and abs(last.base - item.base) < 0.2 * item.size
            and abs(last.size - item.size) < 0.1 * item.size
            and -0.2 * item.size < last.x0 - item.x1 < TOUCHING * item.size
        ):
            # The pieces stay as they are for comparisons with other pages.
            if not is_own:
                last = made[-1] = replace(last)
                is_own = True
            last.text += item.text
            last.x0, last.order = item.x0, min(last.order, item.order)
        else:
            made.append(item)
            is_own = False
    return sorted([*others, *made], key=lambda item: item.order)


def in_reading_order(items: Sequence[Item]) -> list[Item]:
    """The words of a line that is read from right to left. Numbers and foreign words keep their own order."""
    ordered: list[Item] = []
    for foreign, group in groupby(sorted(items, key=lambda item: -item.x1), key=lambda item: not is_rtl(item.text)):
        words = list(group)
        ordered += reversed(words) if foreign else words
    return ordered


def unmirrored(words: Sequence[str]) -> list[str]:
    """The words of a line from right to left, whose brackets open before they close.

    Some programs write the bracket that is seen, others the one that is meant, and pdfium turns both round. Brackets
    of foreign words stay as they are. Numbers are read with the words around them.
    """
    if _BRACKET.search("".join(words)) is None:
        return list(words)
    brackets = _OTHERS.sub("", "".join([word for word in words if _FOREIGN.search(word) is None]))
    if not brackets or _is_balanced(brackets) or not _is_balanced(brackets.translate(_MIRRORED)):
        return list(words)
    return [word if _FOREIGN.search(word) else word.translate(_MIRRORED) for word in words]


def _is_balanced(brackets: str) -> bool:
    waiting: list[str] = []
    for bracket in brackets:
        opening = _CLOSING.get(bracket)
        if opening is None:
            waiting.append(bracket)
        elif not waiting or waiting.pop() != opening:
            return False
    return not waiting
