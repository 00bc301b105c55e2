"""The order in which a person reads the shapes of a slide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

_SAME_ROW = 18
"""Points by which the upper edges of two shapes in one row can differ."""
Extent = tuple[float, float, float, float]
"""Left, upper, right and lower edge, in points."""
NOWHERE: Extent = (1e9, 1e9, 1e9, 1e9)
Thing = TypeVar("Thing")


def in_reading_order(
    filled: Sequence[tuple[Extent, Thing]], free: Sequence[tuple[Extent, Thing]]
) -> list[tuple[Extent, Thing]]:
    """The shapes that fill placeholders, with the other shapes inserted by their position.

    The order of placeholders is intended: heading and text of one column, then of the next. The order of other shapes
    only states which of them was added last.
    """
    # Only the order of the other shapes is judged by position. Sorting the placeholders as well would read two columns
    # line by line: both headings first, then both texts.
    merged: list[tuple[Extent, Thing]] = []
    waiting = list(reversed(_by_place(free)))
    for one in filled:
        while waiting and _is_before(waiting[-1][0], one[0]):
            merged.append(waiting.pop())
        merged.append(one)
    return merged + waiting[::-1]


def around(extents: Sequence[Extent]) -> Extent:
    """The area that several shapes cover together."""
    if not extents:
        return NOWHERE
    lefts, tops, rights, bottoms = zip(*extents, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _by_place(things: Sequence[tuple[Extent, Thing]]) -> list[tuple[Extent, Thing]]:
    """Row by row, and from left to right in a row."""
    rows: list[list[tuple[Extent, Thing]]] = []
    # A row is measured from its first shape. Compared with its neighbour, each shape of a staircase would be in the
    # same row as the next, and the whole staircase one row.
    for one in sorted(things, key=lambda one: (one[0][1], one[0][0])):
        if not rows or one[0][1] - rows[-1][0][0][1] > _SAME_ROW:
            rows.append([])
        rows[-1].append(one)
    return [one for row in rows for one in sorted(row, key=lambda one: one[0][0])]


def _is_before(one: Extent, other: Extent) -> bool:
    """Whether a shape is read before another: it is higher, or it is to the left in the same row."""
    # Shapes are side by side if they do not overlap horizontally and share more than half of the smaller height. The
    # point of tolerance is for edges that touch after rounding.
    overlap = min(one[3], other[3]) - max(one[1], other[1])
    beside = one[2] <= other[0] + 1 or other[2] <= one[0] + 1
    if abs(one[1] - other[1]) <= _SAME_ROW or (beside and overlap * 2 > min(one[3] - one[1], other[3] - other[1])):
        return one[0] < other[0]
    return one[1] < other[1]
