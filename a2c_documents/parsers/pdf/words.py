"""Words of a PDF page, and where they stand. Nothing here knows columns or paragraphs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from a2c_documents.model import Element
from a2c_documents.parsers.pdf.frame import Box

RIGHT, DOWN, LEFT, UP = range(4)
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")


@dataclass(slots=True)
class Item:
    """Words that stand together, or a block such as a table that stands on the page like one."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    base: float
    """Where the letters stand."""
    size: float
    bold: bool = False
    mono: bool = False
    hyphen: bool = False
    """It ends in a hyphen that is there only because the line ends."""
    pieces: list[tuple[float, float, str]] = field(default_factory=list[tuple[float, float, str]])
    """Its words, where there are several: left, right, text."""
    block: Element | None = None
    order: int = 0
    """Its place in the file."""

    @property
    def first(self) -> float:
        """The width of its first word."""
        return self.pieces[0][1] - self.pieces[0][0] if len(self.pieces) > 1 else self.x1 - self.x0

    @property
    def box(self) -> Box:
        """Where it is."""
        return self.x0, self.top, self.x1, self.bottom


@dataclass(slots=True)
class Words:
    """The words of a page in the order of the file, in the frame in which they read from left to right."""

    items: list[Item]
    sideways: list[Item]
    """Words that run in another direction than most, as they lie on the page."""
    direction: int
    rtl: bool
    cut: bool
    """There are more on the page."""

    def shown(self, box: Box) -> list[float]:
        """A box in the frame of the words, as a box on the page."""
        x0, y0, x1, y1 = box
        turned = {RIGHT: (x0, y0, x1, y1), DOWN: (-y1, x0, -y0, x1), LEFT: (-x1, -y1, -x0, -y0), UP: (y0, -x1, y1, -x0)}
        return [round(value, 1) + 0.0 for value in turned[self.direction]]

    def framed(self, box: Box) -> Box:
        """A box on the page, in the frame of the words."""
        return turn(box, self.direction)


def turn(box: Box, direction: int) -> Box:
    """A box on the page, in the frame in which text of that direction runs to the right and lines go down."""
    x0, y0, x1, y1 = box
    if direction == DOWN:
        return y0, -x1, y1, -x0
    if direction == UP:
        return -y1, x0, -y0, x1
    if direction == LEFT:
        return -x1, -y1, -x0, -y0
    return box


def parted(item: Item) -> list[Item]:
    """Each word for itself."""
    if len(item.pieces) < 2:
        return [item]
    last = len(item.pieces) - 1
    return [
        replace(item, text=words, x0=x0, x1=x1, pieces=[], order=item.order + at, hyphen=item.hyphen and at == last)
        for at, (x0, x1, words) in enumerate(item.pieces)
    ]


def rtl_letters(words: str) -> int:
    """How many letters are in it that are written from right to left."""
    return 0 if words.isascii() else len(_RTL.findall(words))


def is_rtl(words: str) -> bool:
    """Whether there are letters in it that are written from right to left."""
    return not words.isascii() and _RTL.search(words) is not None
