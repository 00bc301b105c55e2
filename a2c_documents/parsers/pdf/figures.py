"""Vector drawings on a PDF page: plots and diagrams, which consist of many shapes and few words.

A drawing is rendered as a picture, and its labels are left out of the text, where they would be scattered between the
lines. Frames, rules, icons and coloured areas consist of shapes too. A wrong guess would hide text, so shapes in doubt
are not treated as a drawing.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from a2c_documents.parsers.pdf.geometry import Box, area, around, common
from a2c_documents.parsers.pdf.layout import GUTTER, bounds, rows_of, segments_of, words_of
from a2c_documents.parsers.pdf.objects import Drawn, Shape
from a2c_documents.parsers.pdf.tables import Found
from a2c_documents.parsers.pdf.words import RIGHT, Item, Words

PAGE_WIDE = 0.7
"""The share of the page above which a picture is its background."""
_MIN_WIDTH, _MIN_HEIGHT, _MIN_AREA = 60.0, 40.0, 4_500.0
"""Points. Smaller drawings are logos, icons or buttons."""
_BACKGROUND, _RULE, _THIN = 0.6, 0.5, 3.3
"""Shares of the page: a shape that covers more, or a thin one that is longer, is not part of a drawing. Points."""
_MANY = 8
"""The least number of bent shapes. A page may have a few for other reasons."""
_CURVE, _AXES = 16, 6
"""The least number of bends and of straight shapes of a plot, which may have a single curve."""
_SPREAD, _SCATTERED = 0.25, 0.4
"""Shares of the drawing: the least area of its bent shapes, or of the box around many of them."""
_TILES = 16
_PICTURED, _TABLED = 0.1, 0.5
"""Shares of the drawing that pictures, which are shown themselves, and tables may cover."""
_MAX_FIGURES = 100
"""Of one page."""
_GROWN = 2.5
"""Times that a drawing may grow by its labels. If it grows more, it is a text with arrows in it."""


@dataclass(slots=True)
class Figure:
    """A drawing, and the words in it and right beside it."""

    box: Box
    labels: list[Item]
    """The words in the drawing. Empty if it covers the whole page: then the text is read as well."""
    description: str


def figures_of(
    drawn: Drawn,
    words: Words,
    items: tuple[Sequence[Item], Sequence[Item]],
    tables: Sequence[Found],
    size: tuple[float, float],
) -> list[Figure]:
    """The drawings of a page of this size, with these tables on it. `items` are its words, and its turned phrases."""
    # Most pages end here, because bends are counted already. On a turned page, the positions of words and of shapes are
    # in different frames and cannot be compared.
    if words.direction != RIGHT or sum(shape.bends for shape in drawn.shapes) < _MANY:
        return []
    drawings = [
        (box, is_sure) for box, is_sure in _drawings(drawn.shapes, size)
        if _covered(box, [picture.box for picture in drawn.pictures]) <= _PICTURED
        and (is_sure or _covered(box, [table.box for table in tables]) <= _TABLED)
    ]  # fmt: skip
    phrases = phrases_of(*items) if drawings else []
    found: list[Figure] = []
    for box, is_sure in drawings[:_MAX_FIGURES]:
        inside = [phrase for phrase in phrases if phrase.is_inside(box)]
        if not are_labels(inside, box):
            continue
        # A drawing over the whole page, such as a map, is shown, and its words are read as text as well.
        if area(box) > PAGE_WIDE * size[0] * size[1]:
            if is_sure:
                found.append(Figure((0.0, 0.0, *size), [], "The page as it looks"))
            continue
        labels = labels_of(box, inside, phrases)
        whole = around([box, *(label.box for label in labels)])
        if area(whole) <= _GROWN * area(box):
            found.append(_figure(_clipped(whole, size), [item for label in labels for item in label.items]))
    return found


def _figure(box: Box, labels: list[Item]) -> Figure:
    said = " ".join(words_of(row.items) for row in rows_of(labels))
    return Figure(box, labels, f"Drawing with the words: {said}" if said else "Drawing")


def _drawings(shapes: list[Shape], size: tuple[float, float]) -> list[tuple[Box, bool]]:
    """Clusters of shapes that are more than boxes and icons, and whether they are certainly not a table."""
    shapes = [Shape(_clipped(shape.box, size), shape.bends) for shape in shapes]
    shapes = [shape for shape in shapes if _may_be_drawn(shape, size)]
    drawings: list[tuple[Box, bool]] = []
    for numbers in clusters_of([shape.box for shape in shapes], size):
        part = [shapes[number] for number in numbers]
        box = around(shape.box for shape in part)
        if _has_enough(part, box):
            bent = [shape.box for shape in part if shape.bends]
            is_spread = _is_spread(bent, box)
            if is_spread or (len(bent) >= _MANY and area(around(bent)) > _SCATTERED * area(box)):
                drawings.append((box, is_spread))
    return drawings


def _clipped(box: Box, size: tuple[float, float]) -> Box:
    return max(box[0], 0.0), max(box[1], 0.0), min(box[2], size[0]), min(box[3], size[1])


def _covered(box: Box, others: Sequence[Box]) -> float:
    return sum(common(box, other) for other in others) / area(box)


def _may_be_drawn(shape: Shape, size: tuple[float, float]) -> bool:
    """Whether a shape is on the page, and neither its background nor a rule along it."""
    width, height = shape.box[2] - shape.box[0], shape.box[3] - shape.box[1]
    if not (width >= 0 <= height) or area(shape.box) > _BACKGROUND * size[0] * size[1]:
        return False
    is_rule = (height < _THIN and width > _RULE * size[0]) or (width < _THIN and height > _RULE * size[1])
    return shape.bends > 0 or not is_rule


def _has_enough(part: list[Shape], box: Box) -> bool:
    """Whether there are enough shapes, and enough of them are bent."""
    if box[2] - box[0] < _MIN_WIDTH or box[3] - box[1] < _MIN_HEIGHT or area(box) < _MIN_AREA:
        return False
    bent = sum(1 for shape in part if shape.bends)
    return bent >= _MANY or (sum(shape.bends for shape in part) >= _CURVE and len(part) - bent >= _AXES)


def _is_spread(boxes: list[Box], whole: Box) -> bool:
    """Whether the boxes cover enough tiles of the whole."""
    # Shapes overlap, so the sum of their areas proves nothing. Covered tiles are counted instead.
    width, height = whole[2] - whole[0], whole[3] - whole[1]
    tiles: set[tuple[int, int]] = set()
    for x0, y0, x1, y1 in boxes:
        columns = range(int((x0 - whole[0]) / width * _TILES), min(int((x1 - whole[0]) / width * _TILES) + 1, _TILES))
        rows = range(int((y0 - whole[1]) / height * _TILES), min(int((y1 - whole[1]) / height * _TILES) + 1, _TILES))
        tiles.update((column, row) for column in columns for row in rows)
    return len(tiles) > _SPREAD * _TILES * _TILES


# --------------------------------------------------------------------------------------------------------------- labels


_WORDY, _PROSE = 0.15, 0.12
"""The share of the drawing that words may cover, and the share of the words that may be sentences."""
_MAX_LETTERS = 800
"""Characters of the words in a drawing. If there are more, they are the content."""
_SENTENCE, _LABEL = 7, 4
"""The least number of words in a line of text, and the greatest in a label beside a drawing."""
_CODE = 15
"""The least number of monospaced letters in a line of code."""
_NEAR = 8.0
"""Points from a drawing to the labels beside it."""
_ROUNDS = 3
"""Rounds in which labels are added: numbers are beside an axis, and the title of the axis is beside the numbers."""
_LARGE, _BOLD = 1.15, 6
"""The size of a label in usual sizes, and its number of bold letters. A heading has more."""
_PITCH = 1.6
"""The greatest distance between lines of one text, in letter sizes."""
_CAPTION = re.compile(r"(?:fig|tab|abb|chart|diagram|图|圖|図|表)", re.IGNORECASE)
_EAST = re.compile("[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff]")


class Phrase:
    """Words of a line without a wide gap."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.box = bounds(items)
        # Scripts without spaces have no pieces to count. Two of their characters are about a word.
        self.words = sum((len(item.pieces) or 1) + len(_EAST.findall(item.text)) // 2 for item in items)

    @property
    def letters(self) -> int:
        """The number of characters."""
        return sum(len(item.text) for item in self.items)

    def is_inside(self, box: Box) -> bool:
        """Whether its centre is inside a box."""
        x, y = (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2
        return box[0] < x < box[2] and box[1] < y < box[3]

    def is_beside(self, box: Box) -> bool:
        """Whether it is directly at a side of the box, and not beyond a corner."""
        x, y = (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2
        near = box[0] - _NEAR, box[1] - _NEAR, box[2] + _NEAR, box[3] + _NEAR
        return common(self.box, near) > 0 and (near[0] < x < near[2] or near[1] < y < near[3])

    def goes_on(self, other: Phrase) -> bool:
        """Whether it continues the line of a text that `other` is."""
        step = self.items[0].base - other.items[0].base
        above = other.box[0] < self.box[2] and self.box[0] < other.box[2]
        return other.words > _LABEL and 0 < step < _PITCH * self.items[0].size and above


def phrases_of(items: Sequence[Item], sideways: Iterable[Item]) -> list[Phrase]:
    """The phrases of a page. Each word in another direction is a phrase of its own."""
    lines = [Phrase(part.items) for row in rows_of(items) for part in segments_of(row.items, GUTTER)]
    return lines + [Phrase([item]) for item in sideways]


def are_labels(phrases: Iterable[Phrase], box: Box) -> bool:
    """Whether the words in a box are few and scattered, and are neither text nor code."""
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
    """The phrases inside, the short ones directly beside the drawing, and those beside them, but no lines of text."""
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


# ------------------------------------------------------------------------------------------------------------- clusters


_CELL = 4.0
"""Points: the least size of a cell. Shapes with at most two cells between them belong together."""
_MAX_CELLS = 400
"""Along a page."""

Run = tuple[int, int]
"""Cells of a row that are covered: the first, and the one after the last."""


def clusters_of(boxes: Sequence[Box], size: tuple[float, float]) -> list[list[int]]:
    """Groups of boxes that are close to each other, by their numbers.

    A map has tens of thousands of shapes, too many to compare each with each. The page is a grid instead: a row of
    cells is one integer, so that a shape is drawn into it with one `|=`. Runs of set bits that touch runs of the row
    above are joined with a union-find, as in the labelling of connected components of an image.
    """
    cell = max(_CELL, max(size) / _MAX_CELLS)
    cells = [tuple(int(side / cell) + 1 for side in box) for box in boxes]
    rows = [0] * (int(size[1] / cell) + 3)
    for left, top, right, bottom in cells:
        # Each shape is drawn one cell larger on every side, so that shapes with up to two cells between them touch.
        covered = ((1 << (right - left + 3)) - 1) << (left - 1)
        for row in range(top - 1, bottom + 2):
            rows[row] |= covered
    runs = [_runs(row) for row in rows]
    clusters = _joined(runs)
    found: dict[int, list[int]] = {}
    for number, (left, top, _, _) in enumerate(cells):
        # A shape is part of exactly one run in its own row: the last one that begins at its left edge or before.
        at = bisect(runs[top], left, key=_start) - 1
        found.setdefault(clusters[top][at], []).append(number)
    return list(found.values())


def _start(run: Run) -> int:
    return run[0]


def _runs(row: int) -> list[Run]:
    """The runs of a row whose bits are its cells."""
    runs: list[Run] = []
    start = 0
    while row:
        # `row & -row` has only the lowest set bit, `~row & (row + 1)` only the lowest clear one.
        gap = (row & -row).bit_length() - 1
        row >>= gap
        length = (~row & (row + 1)).bit_length() - 1
        runs.append((start + gap, start + gap + length))
        row >>= length
        start += gap + length
    return runs


def _joined(rows: list[list[Run]]) -> list[list[int]]:
    """The cluster of each run. Runs that touch a run of the row above belong to the same cluster."""
    leads: list[int] = []

    def first(number: int) -> int:
        while leads[number] != number:
            # Path halving keeps the chains short.
            leads[number] = leads[leads[number]]
            number = leads[number]
        return number

    numbers: list[list[int]] = []
    above: list[tuple[int, Run]] = []
    for row in rows:
        own = list(range(len(leads), len(leads) + len(row)))
        leads += own
        here = list(zip(own, row, strict=True))
        i = j = 0
        while i < len(here) and j < len(above):
            (number, (start, end)), (other, (from_, to)) = here[i], above[j]
            if from_ < end and start < to:
                leads[first(number)] = first(other)
            # The run that ends first cannot touch any further run.
            i, j = (i + 1, j) if end < to else (i, j + 1)
        numbers.append(own)
        above = here
    return [[first(number) for number in row] for row in numbers]
