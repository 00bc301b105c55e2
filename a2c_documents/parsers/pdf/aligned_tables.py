"""Tables without lines: rows with gaps at the same positions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from a2c_documents.parsers.pdf.layout import CELL_GAP, GUTTER, Row, Segment, bounds, segments_of
from a2c_documents.parsers.pdf.tables import (
    MAX_COLUMNS,
    Found,
    cells_of,
    fits,
    gaps_of,
    parts_of,
    place_of,
    table_of,
    texts_in,
)

_MIN_ROWS = 3
_MAX_ROWS = 300
_MAX_TRIES = 4
_LOOKED_AT = 40
_GAP = 0.8
"""The least gap through all rows, in letter sizes."""
_PITCH = 2.2
"""The greatest distance between two rows of a table, in letter sizes."""


class AlignedTables:
    """Finds tables in the rows of a column. Cells of rows are cached, because the search visits a row many times."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._parts: dict[int, list[Segment]] = {}

    def at(self, start: int) -> tuple[int, Found] | None:
        """The number of rows of the table that begins with this row, and the table; None if there is none.

        A table has at least three consecutive rows with gaps at the same positions.
        """
        row = self._rows[start]
        # A row without a gap cannot begin a table. Most rows have none, and this test is all that they cost.
        if len(row.items) < 2 or len(segments_of(row.items, CELL_GAP)) < 2:
            return None
        taken = self._with_gaps(start)
        for _ in range(_MAX_TRIES):
            if len(taken) < _MIN_ROWS:
                break
            borders = _borders(_body(taken), row.size)
            cells = _cells(taken, borders) if 2 <= len(borders) - 1 <= MAX_COLUMNS else None
            if cells is not None and _is_short(cells):
                # The columns are known, so the rest of a long table only has to fit them.
                more = self._going_on(start + len(taken) - 1, start + _MAX_ROWS, borders)
                cells += [cells_of(line, borders) for line in more]
                items = [item for row in self._rows[start : start + len(cells)] for item in row.items]
                return len(cells), Found(table_of(cells), bounds(items), items)
            # The last row may be text below the table, which covers the gaps. Try again without it.
            taken.pop()
        return None

    def _with_gaps(self, start: int) -> list[list[Segment]]:
        """The rows from here on that share a gap. The first row that covers all of the gaps is not part of them."""
        taken: list[list[Segment]] = []
        covered: list[Segment] = []
        above: Row | None = None
        # Enough rows to know the columns; rows that fit them are added later. Without a bound a page full of dots takes
        # minutes, because the search begins at each of its rows.
        for index in range(start, min(start + _LOOKED_AT, len(self._rows))):
            row = self._rows[index]
            parts = self._parts_of(index)
            if not 2 <= len(parts) <= MAX_COLUMNS or (above is not None and row.base - above.base > _PITCH * row.size):
                break
            if above is not None:
                covered = _merged([*covered, *parts])
                if not any(second.x0 - first.x1 >= _GAP * row.size for first, second in pairwise(covered)):
                    break
            taken.append(parts)
            above = row
        return taken

    def _going_on(self, start: int, stop: int, borders: Sequence[float]) -> list[list[Segment]]:
        """The rows below this one that fit the columns, even if the gaps between their cells are narrow."""
        more: list[list[Segment]] = []
        for above, row in pairwise(self._rows[start:stop]):
            parts = [] if row.block is not None else parts_of(row, GUTTER)
            if len(parts) < 2 or row.base - above.base > _PITCH * row.size or not fits(parts, borders):
                break
            more.append(parts)
        return more

    def _parts_of(self, index: int) -> list[Segment]:
        parts = self._parts.get(index)
        if parts is None:
            row = self._rows[index]
            parts = self._parts[index] = [] if row.block is not None else parts_of(row, CELL_GAP)
        return parts


def _merged(segments: list[Segment]) -> list[Segment]:
    """The ranges that the segments cover."""
    merged: list[Segment] = []
    for segment in sorted(segments, key=lambda segment: segment.x0):
        if merged and segment.x0 <= merged[-1].x1:
            merged[-1].x1 = max(merged[-1].x1, segment.x1)
        else:
            merged.append(Segment(segment.x0, segment.x1, []))
    return merged


def _body(taken: list[list[Segment]]) -> list[list[Segment]]:
    """The rows that show the columns. Titles may cover several of them, so the first row is left out if possible."""
    return taken[1:] if len(taken) > _MIN_ROWS else taken


def _borders(lines: list[list[Segment]], size: float) -> list[float]:
    """The borders of the columns: the middle of each gap that goes through all lines."""
    gaps = gaps_of([segment for line in lines for segment in line])
    return [-1e6, *((start + end) / 2 for start, end in gaps if end - start >= _GAP * size), 1e6]


def _cells(lines: list[list[Segment]], borders: list[float]) -> list[list[str]] | None:
    """The texts of all lines; None if one of them has text in a single column only."""
    places: list[list[int]] = []
    for line in lines:
        places.append([place_of(segment, borders) for segment in line])
        if len(set(places[-1])) < 2:
            return None
    cells = [texts_in(line, at, len(borders) - 1) for line, at in zip(lines, places, strict=True)]
    return cells if all(sum(map(bool, row)) > 1 for row in cells) else None


def _is_short(cells: list[list[str]]) -> bool:
    """Whether the texts are short enough for cells, and are neither columns of text nor a numbered list."""
    lengths = sorted(len(cell) for row in cells for cell in row if cell)
    marks = all(len(row[0]) <= 3 for row in cells) and len(cells[0]) == 2
    return lengths[len(lengths) * 3 // 4] <= 45 and not marks
