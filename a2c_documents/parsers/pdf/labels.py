"""The words that belong to a drawing: what stands in it, and the short words right beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from a2c_documents.parsers.pdf.frame import Box, area, around, common
from a2c_documents.parsers.pdf.layout import GUTTER, bounds, rows_of, segments_of
from a2c_documents.parsers.pdf.words import Item

_WORDY, _PROSE = 0.15, 0.12
"""Of the drawing: what words may cover. Of its words: how many may be sentences."""
_MAX_LETTERS = 800
"""Of the words in a drawing: where there are more, they are what it is about."""
_SENTENCE, _LABEL = 7, 4
"""Words of a line of text, at least, and of a label beside a drawing, at most."""
_CODE = 15
"""Letters of a typewriter, at least, in a line of code."""
_NEAR = 8.0
"""Points from a drawing to the labels beside it."""
_ROUNDS = 3
"""The numbers along an axis stand beside it, the axis' title beside them."""
_LARGE, _BOLD = 1.15, 6
"""Times the usual size, and bold letters: a heading has more."""
_PITCH = 1.6
"""Of a letter's size: lines of one text are not farther apart."""
_CAPTION = re.compile(r"(?:fig|tab|abb|chart|diagram|图|圖|図|表)", re.IGNORECASE)
_EAST = re.compile("[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff]")


class Phrase:
    """Words that stand together in a line."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.box = bounds(items)
        # Two letters of a script without spaces are about a word.
        self.words = sum((len(item.pieces) or 1) + len(_EAST.findall(item.text)) // 2 for item in items)

    @property
    def letters(self) -> int:
        """How many."""
        return sum(len(item.text) for item in self.items)

    def is_inside(self, box: Box) -> bool:
        """Whether its middle is."""
        x, y = (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2
        return box[0] < x < box[2] and box[1] < y < box[3]

    def is_beside(self, box: Box) -> bool:
        """Whether it stands right at a side of the box, and not past its corner."""
        x, y = (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2
        near = box[0] - _NEAR, box[1] - _NEAR, box[2] + _NEAR, box[3] + _NEAR
        return common(self.box, near) > 0 and (near[0] < x < near[2] or near[1] < y < near[3])

    def goes_on(self, other: Phrase) -> bool:
        """Whether it is the next line of a text."""
        step = self.items[0].base - other.items[0].base
        above = other.box[0] < self.box[2] and self.box[0] < other.box[2]
        return other.words > _LABEL and 0 < step < _PITCH * self.items[0].size and above


def phrases_of(items: Sequence[Item], sideways: Iterable[Item]) -> list[Phrase]:
    """The words of a page; those that run in another direction each for itself."""
    lines = [Phrase(part.items) for row in rows_of(items) for part in segments_of(row.items, GUTTER)]
    return lines + [Phrase([item]) for item in sideways]


def are_labels(phrases: Iterable[Phrase], box: Box) -> bool:
    """Whether the words in a box stand here and there, and are neither text nor code."""
    letters = prose = 0
    covered = 0.0
    for phrase in phrases:
        count = phrase.letters
        letters += count
        is_code = phrase.items[0].mono and count > _CODE
        prose += count if is_code or phrase.words >= _SENTENCE else 0
        covered += area(phrase.box)
    return letters <= _MAX_LETTERS and prose <= _PROSE * letters and covered <= _WORDY * area(box)


def labels_of(box: Box, inside: list[Phrase], phrases: list[Phrase]) -> list[Phrase]:
    """What is inside, the short words right beside it, and those beside them, but no line of text."""
    labels = list(inside)
    known = {id(phrase) for phrase in inside}
    usual = sorted(phrase.items[0].size for phrase in phrases)[len(phrases) // 2] if phrases else 0.0
    for _ in range(_ROUNDS):
        box = around([box, *(label.box for label in labels)])
        beside = [phrase for phrase in phrases if id(phrase) not in known and phrase.is_beside(box)]
        more = [phrase for phrase in beside if _is_label(phrase, usual) and not any(map(phrase.goes_on, phrases))]
        known.update(id(phrase) for phrase in more)
        labels += more
    return labels


def _is_label(phrase: Phrase, usual: float) -> bool:
    """Whether words are few, and neither a heading nor code nor a caption."""
    first, letters = phrase.items[0], phrase.letters
    if first.size > _LARGE * usual or (first.bold and letters > _BOLD) or (first.mono and letters > _CODE):
        return False
    return phrase.words <= _LABEL and _CAPTION.match(first.text) is None
