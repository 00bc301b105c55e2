"""Cells of a table on a PDF page, whether it is ruled or not."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from a2c_documents.model import Element, table
from a2c_documents.parsers.pdf.frame import Box
from a2c_documents.parsers.pdf.layout import Row, Segment, join, segments_of
from a2c_documents.parsers.pdf.words import Item

MAX_COLUMNS = 60
TITLES = 2
"""Rows at the head of a table that may be titles."""
_LEADER = re.compile(r"\s*(?:\.\s?){2,}$")


@dataclass(slots=True)
class Found:
    """A table, and the words that are in it."""

    element: Element
    box: Box
    items: list[Item]


def fits(segments: list[Segment], columns: Sequence[float]) -> bool:
    """Whether each stands in a column of its own."""
    inner = columns[1:-1]
    places = [bisect(inner, segment.x0 + 1) for segment in segments]
    if any(at < len(inner) and inner[at] < segment.x1 - 1 for at, segment in zip(places, segments, strict=True)):
        return False
    return len(set(places)) == len(places)


def gaps_of(segments: list[Segment]) -> list[tuple[float, float]]:
    """The stretches of x between the first segment and the last on which nothing stands."""
    gaps: list[tuple[float, float]] = []
    reached: float | None = None
    for segment in sorted(segments, key=lambda segment: segment.x0):
        if reached is not None and segment.x0 > reached + 2:
            gaps.append((reached, segment.x0))
        reached = segment.x1 if reached is None else max(reached, segment.x1)
    return gaps


def place_of(segment: Segment, columns: list[float]) -> int:
    """The column that a cell is in; a title over several columns stands in the first of them."""
    last = len(columns) - 2
    first = max(0, bisect(columns, segment.x0 + 2) - 1)
    covered = bisect(columns, segment.x1 - 2) - 1
    if covered == first:
        return first if first < last else last
    if covered > first and columns[first + 1] - segment.x0 > 0.2 * (segment.x1 - segment.x0):
        return min(first, last)
    return max(0, min(bisect(columns, (segment.x0 + segment.x1) / 2) - 1, last))


def cells_of(segments: list[Segment], columns: list[float]) -> list[str]:
    """The text in each column of one row; `columns` are their borders."""
    return texts_in(segments, [place_of(segment, columns) for segment in segments], len(columns) - 1)


def texts_in(segments: list[Segment], places: list[int], width: int) -> list[str]:
    """The text in each of so many columns, by the column that each segment is in."""
    cells = [""] * width
    for segment, at in zip(segments, places, strict=True):
        cells[at] = join(cells[at], segment.words)
    return [_LEADER.sub("", cell) if "." in cell[-2:] else cell for cell in cells]


def parts_of(row: Row, gap: float, cuts: Sequence[float] = ()) -> list[Segment]:
    """The cells of a row, without the dots between them."""
    words = [item for item in row.items if not _is_leader(item.text)]
    return segments_of(words, gap, cuts)


def _is_leader(words: str) -> bool:
    """Dots that lead the eye to the next column."""
    return not words.strip("._·…")


def table_of(rows: list[list[str]], spans: list[list[int]] | None = None) -> Element:
    """A table of these rows; `spans` say for each of the first rows which columns are one cell."""
    headers, rest = rows[0], rows[1:]
    filled = sum(map(bool, headers))
    if spans is not None and len(rest) > 1 and filled < len(headers) and sum(map(bool, rest[0])) > filled:
        # Two rows of titles: the upper one groups the columns of the lower one.
        first, second = spans[0], spans[1]
        if first != second and any(not cell.replace(",", "").replace(".", "").isdigit() for cell in rest[0] if cell):
            groups = [next((headers[j] for j in range(len(headers)) if first[j] == start and headers[j]), "")
                      for start in first]  # fmt: skip
            headers = [f"{group} {cell}".strip() for group, cell in zip(groups, rest[0], strict=True)]
            rest = rest[1:]
    return table(headers, rest)
