"""Tables without lines: cells that stand below each other, with gaps in the same places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from a2c_smcp.documents.parsers.pdf.cells import MAX_COLUMNS, Found, cells_of, fits, gaps_of, parts_of, table_of
from a2c_smcp.documents.parsers.pdf.layout import CELL_GAP, GUTTER, Row, Segment, bounds

_MIN_ROWS = 3
_MAX_TRIES = 4
_LOOKED_AT = 40
_GAP = 0.8
"""Of a letter's size: a gap that goes through all rows."""


def aligned_table(rows: Sequence[Row]) -> tuple[int, Found] | None:
    """A table without lines that begins with the first of these rows: how many rows it has, and what is in it.

    It takes three rows, one right below the other, with gaps in the same places.
    """
    # Enough rows to know the columns; what fits them is added below. Without a bound a page of dots would take minutes.
    taken = _rows_with_gaps(rows[:_LOOKED_AT])
    for _ in range(_MAX_TRIES):
        if len(taken) < _MIN_ROWS:
            break
        segments = [segment for line in _body(taken) for segment in line]
        gaps = [gap for gap in gaps_of(segments) if gap[1] - gap[0] >= _GAP * rows[0].size]
        borders = [-1e6, *((start + end) / 2 for start, end in gaps), 1e6]
        cells = [cells_of(line, borders) for line in taken]
        if 2 <= len(borders) - 1 <= MAX_COLUMNS and all(sum(map(bool, row)) > 1 for row in cells) and _short(cells):
            more = _going_on(rows[len(taken) - 1 :], borders)
            cells += [cells_of(line, borders) for line in more]
            count = len(cells)
            items = [item for row in rows[:count] for item in row.items]
            return count, Found(table_of(cells), bounds(items), items)
        taken.pop()
    return None


def _rows_with_gaps(rows: Sequence[Row]) -> list[list[Segment]]:
    """The rows from the first on that have a gap in common. It is given up with the first row that closes them all."""
    taken: list[list[Segment]] = []
    covered: list[Segment] = []
    for index, row in enumerate(rows):
        pitch = row.base - rows[index - 1].base if index else 0.0
        parts = [] if row.block is not None else parts_of(row, CELL_GAP)
        if not 2 <= len(parts) <= MAX_COLUMNS or pitch > 2.2 * row.size:
            break
        if index:
            covered = _merged([*covered, *parts])
            if not any(second.x0 - first.x1 >= _GAP * row.size for first, second in pairwise(covered)):
                break
        taken.append(parts)
    return taken


def _merged(segments: list[Segment]) -> list[Segment]:
    """What they cover."""
    merged: list[Segment] = []
    for segment in sorted(segments, key=lambda segment: segment.x0):
        if merged and segment.x0 <= merged[-1].x1:
            merged[-1].x1 = max(merged[-1].x1, segment.x1)
        else:
            merged.append(Segment(segment.x0, segment.x1, []))
    return merged


def _body(taken: list[list[Segment]]) -> list[list[Segment]]:
    """A title may stand over several columns: where the first row may be one of titles, the others show the columns."""
    return taken[1:] if len(taken) > _MIN_ROWS else taken


def _going_on(rows: Sequence[Row], borders: Sequence[float]) -> list[list[Segment]]:
    """Rows below the first of these that fit the columns, though their cells are nearly too close to each other."""
    more: list[list[Segment]] = []
    for above, row in pairwise(rows):
        parts = [] if row.block is not None else parts_of(row, GUTTER)
        if len(parts) < 2 or row.base - above.base > 2.2 * row.size or not fits(parts, borders):
            break
        more.append(parts)
    return more


def _short(cells: list[list[str]]) -> bool:
    """Cells, not lines of text beside each other; and not a list with its numbers."""
    lengths = sorted(len(cell) for row in cells for cell in row if cell)
    marks = all(len(row[0]) <= 3 for row in cells) and len(cells[0]) == 2
    return lengths[len(lengths) * 3 // 4] <= 45 and not marks
