"""Drawings on a PDF page that are no pictures: plots and diagrams, of many shapes and few words.

Frames, rules, icons and coloured areas are shapes, too. So what is not surely a drawing is none: its words are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from a2c_documents.parsers.pdf.cells import Found
from a2c_documents.parsers.pdf.frame import Box, area, around, common
from a2c_documents.parsers.pdf.grid import clusters_of
from a2c_documents.parsers.pdf.labels import are_labels, labels_of, phrases_of
from a2c_documents.parsers.pdf.layout import rows_of, words_of
from a2c_documents.parsers.pdf.objects import Drawn, Shape
from a2c_documents.parsers.pdf.words import RIGHT, Item, Words

PAGE_WIDE = 0.7
"""Of the page: a picture that covers more is its background."""
_MIN_WIDTH, _MIN_HEIGHT, _MIN_AREA = 60.0, 40.0, 4_500.0
"""Points: what is smaller is a logo, an icon, a button."""
_BACKGROUND, _RULE, _THIN = 0.6, 0.5, 3.3
"""Of the page: a shape that covers more, or a thin one that is longer, is no part of a drawing."""
_MANY = 8
"""Bent shapes; a page may have a few for other reasons."""
_CURVE, _AXES = 16, 6
"""Bends, and straight shapes with them: a plot has at least so many, though it may be of one curve only."""
_SPREAD, _SCATTERED = 0.25, 0.4
"""Of the drawing: what its bent shapes cover, or what lies between the outermost of many."""
_TILES = 16
_PICTURED, _TABLED = 0.1, 0.5
"""Of the drawing: what pictures, which are shown themselves, and tables may cover."""
_MAX_FIGURES = 100
"""Of one page."""
_GROWN = 2.5
"""Times a drawing may grow by its labels; what grows more is a text with arrows in it."""


@dataclass(slots=True)
class Figure:
    """A drawing, and the words in it and right beside it."""

    box: Box
    labels: list[Item]
    """They are read as part of it, unless it is the whole page: then there are none."""
    description: str


def figures_of(
    drawn: Drawn, words: Words, items: Sequence[Item], tables: Sequence[Found], size: tuple[float, float]
) -> list[Figure]:
    """The drawings of a page of this size, with these words and these tables on it."""
    if words.direction != RIGHT or sum(shape.bends for shape in drawn.shapes) < _MANY:
        return []
    drawings = [
        (box, is_sure) for box, is_sure in _drawings(drawn.shapes, size)
        if _covered(box, [picture.box for picture in drawn.pictures]) <= _PICTURED
        and (is_sure or _covered(box, [table.box for table in tables]) <= _TABLED)
    ]  # fmt: skip
    phrases = phrases_of(items, words.sideways) if drawings else []
    found: list[Figure] = []
    for box, is_sure in drawings[:_MAX_FIGURES]:
        inside = [phrase for phrase in phrases if phrase.is_inside(box)]
        if not are_labels(inside, box):
            continue
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
    """Where shapes hang together that are more than boxes and icons, and whether they are surely no table."""
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
    """Whether they are all over it."""
    width, height = whole[2] - whole[0], whole[3] - whole[1]
    tiles: set[tuple[int, int]] = set()
    for x0, y0, x1, y1 in boxes:
        columns = range(int((x0 - whole[0]) / width * _TILES), min(int((x1 - whole[0]) / width * _TILES) + 1, _TILES))
        rows = range(int((y0 - whole[1]) / height * _TILES), min(int((y1 - whole[1]) / height * _TILES) + 1, _TILES))
        tiles.update((column, row) for column in columns for row in rows)
    return len(tiles) > _SPREAD * _TILES * _TILES
