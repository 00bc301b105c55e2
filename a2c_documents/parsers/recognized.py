"""Elements from recognized lines: the page is turned upright, then laid out like a page of a PDF.

Recognition gives lines with four corners each, in the reading direction, and the ruling lines of tables. A scan is
usually a little askew, and may be upside down or on its side. The lines themselves show by how much.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from a2c_documents.model import Element, Page, note
from a2c_documents.parsers.pdf.geometry import Box
from a2c_documents.parsers.pdf.objects import Drawn
from a2c_documents.parsers.pdf.page import lay_out
from a2c_documents.parsers.pdf.words import RIGHT, Item, Words, rtl_letters
from a2c_documents.render import searched

LEAST_CONFIDENCE = 0.5
"""Lines below are mostly not text."""
MAX_LINES, MAX_CHARACTERS = 4_000, 120_000
MARK = "The following text was recognized in the picture. It may contain errors."
NOTHING = "No words were recognized in the picture."

_SIZE = 10.0
"""The size of most letters in the frame in which lines are laid out."""
_HEIGHT = 1.35
"""The height of the box around a line, in letter sizes. Recognition gives boxes with a margin."""
_SAME = (0.75, 1.27)
"""Heights of lines in the same type differ by this much, because some have no ascenders or descenders."""
_STEP = 1.25
"""The ratio between two sizes that are told apart."""
_MARGIN = 0.15
"""The margin at the ends of a line, in letter sizes."""
_MIDDLE = 0.3
"""The height of the middle of a line above its baseline, in letter sizes."""

Point = tuple[float, float]


@dataclass(slots=True)
class _Line:
    text: str
    confidence: float
    corners: list[Point]
    """From the top left one, clockwise, as the line is read."""
    words: list[tuple[float, float, str]]
    """Where each word begins and ends, as a part of the line's length."""

    @property
    def angle(self) -> float:
        """The direction in which it is read, in degrees; 90 is down."""
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = self.corners
        return math.degrees(math.atan2(by - ay + cy - dy, bx - ax + cx - dx))

    @property
    def height(self) -> float:
        """The distance between its upper and its lower edge."""
        a, b, c, d = self.corners
        return (math.dist(a, d) + math.dist(b, c)) / 2

    @property
    def centre(self) -> Point:
        return sum(x for x, _ in self.corners) / 4, sum(y for _, y in self.corners) / 4


class _Frame:
    """The turned picture, in which most lines run to the right and most letters have the same size."""

    def __init__(self, lines: Sequence[_Line], scale: float) -> None:
        votes: Counter[int] = Counter()
        for line in lines:
            votes[round(line.angle / 90) % 4] += len(line.text)
        self.direction = votes.most_common(1)[0][0]
        """The direction of most text, in quarter turns."""
        upright = [line for line in lines if round(line.angle / 90) % 4 == self.direction]
        angle = math.radians(_median([(_nearest(line.angle, 90 * self.direction), len(line.text)) for line in upright]))
        self._cos, self._sin = math.cos(angle), math.sin(angle)
        self._unit = _SIZE * _HEIGHT / max(_median([(line.height, len(line.text)) for line in upright]), 1.0)
        self._scale = scale
        self._left = self._top = 0.0

    def fit(self, corners: Sequence[Point]) -> tuple[float, float]:
        """Move the origin to the top left of these points; return the width and height of the box around them."""
        x0, y0, x1, y1 = self.box(corners)
        self._left, self._top = self._left + x0, self._top + y0
        return x1 - x0, y1 - y0

    def box(self, corners: Sequence[Point]) -> Box:
        """The box around points of the picture."""
        u, c, s = self._unit, self._cos, self._sin
        turned = [(u * (c * x + s * y) - self._left, u * (c * y - s * x) - self._top) for x, y in corners]
        return _around(turned)

    def height_of(self, line: _Line) -> float:
        """The height of a line. The box around a short line that is a little askew is higher."""
        return line.height * self._unit

    def shown(self, box: Sequence[float]) -> list[float]:
        """A box of the frame on the page, in its units."""
        x0, y0, x1, y1 = box
        u, c, s = self._unit * self._scale, self._cos, self._sin
        moved = [(x + self._left, y + self._top) for x in (x0, x1) for y in (y0, y1)]
        turned_back = [((c * x - s * y) / u, (c * y + s * x) / u) for x, y in moved]
        return [round(side, 1) + 0.0 for side in _around(turned_back)]


def with_recognized(page: Page, answers: Sequence[dict[str, Any]], size: tuple[int, int], scale: float) -> Page:
    """A page with the text that was recognized in the pieces of its picture, which has this size in pixels."""
    said = "".join(_plain(searched({"category": one.category, "content": one.content})) for one in page.elements
                   if one.category in ("text", "heading", "header", "footer"))  # fmt: skip
    # The picture of a page also shows the few words that it has besides, such as a stamp.
    lines = [line for line in _lines(answers) if not said or _plain(line.text) not in said]
    if not lines:
        return Page(page.title, [*page.elements, note("annotation", NOTHING)])
    elements = _laid_out(lines, list(_rules(answers)), size, scale)
    mark = note("annotation", MARK, confidence=_confidence(lines))
    return Page(page.title, [*page.elements, mark, *elements])


def _laid_out(lines: list[_Line], rules: list[list[Point]], size: tuple[int, int], scale: float) -> list[Element]:
    frame = _Frame(lines, scale)
    width, height = size
    extent = frame.fit([(0, 0), (width, 0), (width, height), (0, height)])
    items: list[tuple[_Line, Item]] = []
    sideways: list[Item] = []
    for number, line in enumerate(lines):
        if round(line.angle / 90) % 4 == frame.direction:
            items.append((line, _item(line, frame, number)))
        else:
            x0, top, x1, bottom = frame.box(line.corners)
            sideways.append(Item(line.text, x0, top, x1, bottom, bottom, min(x1 - x0, bottom - top), order=number))
    drawn = Drawn()
    for corners in rules:
        box = frame.box(corners)
        (drawn.across if box[2] - box[0] > box[3] - box[1] else drawn.upright).append(box)
    read = [item for _, item in items]
    letters = sum(rtl_letters(item.text) for item in read)
    is_rtl = letters * 2 > sum(len(item.text) for item in read)
    words = Words(list(read), [], RIGHT, rtl=is_rtl, has_rtl=False, cut=False)
    elements = lay_out(words, sideways, drawn, extent)
    for element in elements:
        box = element.metadata.get("box")
        inside = [line for line, item in items if box is None or _holds(box, item)]
        element.metadata |= {"recognized": True, "confidence": _confidence(inside or lines)}
        if box is not None:
            element.metadata["box"] = frame.shown(box)
    return elements


def _item(line: _Line, frame: _Frame, number: int) -> Item:
    x0, top, x1, bottom = frame.box(line.corners)
    size = _size(frame.height_of(line) / _HEIGHT)
    base = (top + bottom) / 2 + _MIDDLE * size
    margin = min(_MARGIN * size, (x1 - x0) / 4)
    pieces: list[tuple[float, float, str]] = []
    if len(line.words) > 1 and _plain("".join(word for _, _, word in line.words)) == _plain(line.text):
        length = x1 - x0
        pieces = [(x0 + start * length, x0 + end * length, word) for start, end, word in line.words]
    return Item(line.text, x0 + margin, base - 0.8 * size, x1 - margin, base + 0.2 * size, base, size, pieces=pieces,
                order=number)  # fmt: skip


def _size(measured: float) -> float:
    """The size of the letters of a line: one of a few, because measured heights differ from line to line."""
    ratio = measured / _SIZE
    if _SAME[0] <= ratio <= _SAME[1]:
        return _SIZE
    step = round(math.log(max(ratio, 0.05), _STEP))
    return round(_SIZE * _STEP ** (max(step, 1) if ratio > 1 else min(step, -1)), 1)


# -------------------------------------------------------------------------------------------------------------- answers


def _lines(answers: Sequence[dict[str, Any]]) -> list[_Line]:
    """The lines of all pieces. A line in the overlap of two pieces belongs to the one in which its middle is."""
    found: list[_Line] = []
    room = MAX_CHARACTERS
    for answer in answers:
        left, top = answer["left"], answer["top"]
        x0, y0, x1, y1 = answer["owned"]
        for one in answer["lines"]:
            words = [(start, end, word) for start, end, word in one["words"]]
            line = _Line(one["text"].strip(), one["confidence"], _points(one["box"], left, top), words)
            x, y = line.centre
            if not line.text or line.confidence < LEAST_CONFIDENCE or not (x0 <= x <= x1 and y0 <= y <= y1):
                continue
            room -= len(line.text)
            if room < 0 or len(found) >= MAX_LINES:
                return found
            found.append(line)
    return found


def _rules(answers: Sequence[dict[str, Any]]) -> Iterator[list[Point]]:
    for answer in answers:
        for x0, y0, x1, y1 in answer["rules"]:
            yield [(x0 + answer["left"], y0 + answer["top"]), (x1 + answer["left"], y1 + answer["top"])]


def _points(box: Sequence[float], left: float, top: float) -> list[Point]:
    return [(x + left, y + top) for x, y in zip(box[::2], box[1::2], strict=True)]


def _confidence(lines: Sequence[_Line]) -> float:
    total = sum(len(line.text) for line in lines)
    return round(sum(line.confidence * len(line.text) for line in lines) / total, 3)


def _holds(box: Sequence[float], item: Item) -> bool:
    x, y = (item.x0 + item.x1) / 2, (item.top + item.bottom) / 2
    return box[0] - 1 <= x <= box[2] + 1 and box[1] - 1 <= y <= box[3] + 1


def _plain(words: str) -> str:
    return "".join(words.split())


def _around(points: Sequence[Point]) -> Box:
    return min(x for x, _ in points), min(y for _, y in points), max(x for x, _ in points), max(y for _, y in points)


def _nearest(angle: float, direction: float) -> float:
    """The same angle, within half a turn of a direction."""
    return direction + (angle - direction + 180) % 360 - 180


def _median(weighted: Sequence[tuple[float, int]]) -> float:
    """The value in the middle, where each value counts by its weight."""
    ordered = sorted(weighted)
    rest = sum(weight for _, weight in ordered) / 2
    for value, weight in ordered:
        rest -= weight
        if rest <= 0:
            return value
    return ordered[-1][0]
