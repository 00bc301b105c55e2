"""Tables without rules: names of several rows, and tables side by side.

A name is beside the first or the middle one of its rows.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from a2c_documents.parsers.pdf.geometry import Box
from a2c_documents.parsers.pdf.layout import Segment
from a2c_documents.parsers.pdf.table_rows import is_number
from a2c_documents.parsers.pdf.tables import gaps_of

_LEAST_ROWS = 4
_LEAST_GROUPS = 2
"""Groups of several rows, below which an empty cell more likely means that there is no name."""
_NEAR = 0.2
"""The distance of a name from the middle of its rows, in distances between rows."""

Lines = list[list[Segment]]
Places = list[list[int]]


@dataclass(slots=True)
class Named:
    """The lines of a table without the names of groups, and the name of each line, empty if its own is in it."""

    lines: Lines
    places: Places
    names: list[str]


def without_names(lines: Lines, places: Places) -> Named | None:
    """The rows of a table whose first column has names of groups of rows; None if it has not."""
    rows = [number for number, at in enumerate(places) if any(at)]
    labels = [(number, line[0]) for number, (line, at) in enumerate(zip(lines, places, strict=True)) if at[0] == 0]
    if len(rows) < _LEAST_ROWS or not 1 < len(labels) < len(rows) or not _is_full(lines, places, rows):
        return None
    bases = [_base(lines[number][-1]) for number in rows]
    centres = [_centre(_base(label), bases) for _, label in labels]
    for start in (0, 1):
        sizes = _around(centres, start, len(rows)) or _below(lines, rows, labels, centres, start)
        if sizes:
            return _named(lines, places, rows, [label for _, label in labels], sizes, start)
    return None


def _is_full(lines: Lines, places: Places, rows: Sequence[int]) -> bool:
    """Whether all rows have the same cells besides the name, the first of which are names themselves."""
    held = [[column for column in places[number] if column] for number in rows]
    seconds = [lines[number][places[number].index(1)].words for number in rows if 1 in places[number]]
    return (
        all(columns == held[0] for columns in held)
        and len(held[0]) > 1
        and len(seconds) == len(rows)
        and sum(map(is_number, seconds)) * 2 < len(seconds)
    )


def _base(segment: Segment) -> float:
    return segment.items[0].base


def _centre(base: float, bases: Sequence[float]) -> float | None:
    """A height in numbers of rows: 1.5 is between the second and the third row."""
    if len(bases) < 2:
        return None
    at = max(0, min(bisect(bases, base + 0.5) - 1, len(bases) - 2))
    place = at + (base - bases[at]) / max(bases[at + 1] - bases[at], 1.0)
    nearest = round(place * 2) / 2
    return nearest if abs(place - nearest) < _NEAR else None


def _around(centres: Sequence[float | None], start: int, count: int) -> list[int]:
    """The numbers of rows of groups whose names are beside their middle; none if these do not make up the table."""
    sizes: list[int] = []
    row = start
    for centre in centres:
        size = round(2 * (centre - row)) + 1 if centre is not None else 0
        if size < 1:
            return []
        sizes.append(size)
        row += size
    return sizes if row == count else []


def _below(
    lines: Lines,
    rows: Sequence[int],
    labels: Sequence[tuple[int, Segment]],
    centres: Sequence[float | None],
    start: int,
) -> list[int]:
    """The same for groups whose names are beside their first row."""
    words = [label.words for _, label in labels]
    # Marks of single rows, such as "new", are repeated.
    if len(set(words)) < len(words) or centres[0] != start or any(number not in rows for number, _ in labels):
        return []
    begins = [rows.index(number) for number, _ in labels]
    sizes = [after - before for before, after in zip(begins, [*begins[1:], len(rows)], strict=True)]
    return sizes if sum(size > 1 for size in sizes) >= _LEAST_GROUPS else []


def _named(
    lines: Lines, places: Places, rows: Sequence[int], labels: Sequence[Segment], sizes: Sequence[int], start: int
) -> Named:
    named = [""] * start
    for label, size in zip(labels, sizes, strict=True):
        named += [label.words if size > 1 else ""] * size
    made = Named([], [], [])
    for number, name in zip(rows, named, strict=True):
        cut = bool(name) and places[number][0] == 0
        made.lines.append(lines[number][1:] if cut else lines[number])
        made.places.append(places[number][1:] if cut else places[number])
        made.names.append(name)
    return made


# --------------------------------------------------------------------------------------------------------- side by side


_GUTTER = 2.0
"""The least gap between two tables, in letter sizes."""
_RULES = 2
"""Rules of a table."""
_TWICE, _WIDER = 2.0, 1.25
"""How much wider it is than the gaps inside of the tables: by itself, and if one of the tables is longer."""
_NAMES = 0.7
"""The share of names in the first column of a table."""


def gutter_of(lines: Sequence[list[Segment]], size: float, across: Sequence[Box]) -> float | None:
    """The middle of the gap between two tables that are side by side; None if the lines are one table.

    `across` are the horizontal rules between the lines.
    """
    gaps = gaps_of([segment for line in lines for segment in line])
    if len(gaps) < 3:
        return None
    for start, end in gaps[1:-1]:
        if end - start >= _GUTTER * size and _is_open(start, end, size, across):
            return (start + end) / 2
    start, end = max(gaps[1:-1], key=lambda gap: gap[1] - gap[0])
    width, others = end - start, max(other[1] - other[0] for other in gaps if other != (start, end))
    if width < _GUTTER * size or width < _WIDER * others:
        return None
    last = lines[-1]
    is_longer = all(segment.x0 < end for segment in last) or all(segment.x0 >= end for segment in last)
    if width < _TWICE * others and not is_longer:
        return None
    right = min(stop for start, stop in gaps if start > end)
    return (start + end) / 2 if _are_names(lines, end, right) and _are_names(lines, -1e9, gaps[0][1]) else None


def _is_open(start: float, end: float, size: float, across: Sequence[Box]) -> bool:
    """Whether there are rules on both sides of a gap that end there, and none that goes on through it."""
    left = {round(line[1]) for line in across if line[0] < start}
    right = {round(line[1]) for line in across if line[2] > end}
    if min(len(left), len(right)) < _RULES:
        return False
    reached = max((line[2] for line in across if line[0] < start), default=start)
    begun = min((line[0] for line in across if line[2] > end), default=end)
    return begun - reached >= size


def _are_names(lines: Sequence[list[Segment]], start: float, end: float) -> bool:
    """Whether the texts of a column are names, most of which begin at its left edge."""
    held = [segment for line in lines for segment in line if start - 1 <= segment.x0 < end - 1]
    left = min((segment.x0 for segment in held), default=0.0)
    names = [segment for segment in held if not is_number(segment.words) and len(segment.words) > 1]
    begun = sum(segment.x0 - left < 3 for segment in names)
    return len(names) > 1 and len(names) >= _NAMES * len(held) and begun * 2 > len(names)
