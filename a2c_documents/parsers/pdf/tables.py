"""Ruled tables on a PDF page, by their lines.

No second library reads the page for this: pdfium has given the words and the lines already.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from itertools import pairwise

from a2c_documents.parsers.pdf.bands import NEAR, Band, grouped_bands, is_near
from a2c_documents.parsers.pdf.cells import (
    MAX_COLUMNS,
    TITLES,
    Found,
    cells_of,
    fits,
    gaps_of,
    parts_of,
    place_of,
    table_of,
    texts_in,
)
from a2c_documents.parsers.pdf.frame import Box
from a2c_documents.parsers.pdf.layout import CELL_GAP, GUTTER, Segment, rows_of
from a2c_documents.parsers.pdf.words import Item


def ruled_tables(items: Sequence[Item], across: Sequence[Box], upright: Sequence[Box]) -> list[Found]:
    """Tables with lines between their columns. Lines between rows are not needed: many have them but here and there."""
    if not upright:
        return []
    found = (_ruled(items, bands) for bands in grouped_bands(across, upright))
    return [table for table in found if table is not None]


def _ruled(items: Sequence[Item], bands: list[Band]) -> Found | None:
    left, right = min(band.left for band in bands), max(band.right for band in bands)
    inside = [item for item in items if item.block is None and left - 2 <= (item.x0 + item.x1) / 2 <= right + 2]
    held = _held(inside, bands)
    lines = [[parts for row in rows_of(words) if (parts := parts_of(row, CELL_GAP, band.cuts))]
             for band, words in zip(bands, held, strict=True)]  # fmt: skip
    columns = _columns([row for band in lines for row in band], bands, left, right)
    if not 2 <= len(columns) - 1 <= MAX_COLUMNS:
        return None
    rows: list[list[str]] = []
    spans: list[list[int]] = []
    words = [item for band in held for item in band]
    above = _titles_above(inside, bands[0].top, columns)
    if above is not None:
        rows.append(cells_of(above, columns))
        spans.append(list(range(len(columns) - 1)))
        words += [item for segment in above for item in segment.items]
    for band, content in zip(bands, lines, strict=True):
        made = _rows(content, columns)
        rows += made
        if len(spans) < TITLES:
            spans += [_spans(band, columns)] * len(made)
    filled = sum(1 for row in rows for cell in row if cell)
    # A form has lines everywhere and little in its cells: that reads better line by line.
    sparse = len(columns) > 8 and filled * 4 < len(rows) * (len(columns) - 1)
    if sparse or len(rows) < 2 or filled < 4 or sum(1 for row in rows if sum(map(bool, row)) > 1) < 2:
        return None
    box = left, min([bands[0].top, *(item.top for item in words)]), right, bands[-1].bottom
    return Found(table_of(rows, spans), box, words)


def _held(items: Sequence[Item], bands: list[Band]) -> list[list[Item]]:
    """What is in each band; they lie below each other without a gap."""
    held: list[list[Item]] = [[] for _ in bands]
    tops = [band.top for band in bands]
    end = bands[-1].bottom
    for item in items:
        y = (item.top + item.bottom) / 2
        if tops[0] <= y <= end:
            held[bisect(tops, y) - 1].append(item)
    return held


def _titles_above(items: Sequence[Item], top: float, columns: list[float]) -> list[Segment] | None:
    """The columns' titles, where they stand above the first line."""
    near = [item for item in items if top - 2.2 * item.size < (item.top + item.bottom) / 2 < top]
    rows = rows_of(near)
    parts = parts_of(rows[-1], GUTTER) if rows else []
    return parts if len(parts) > 1 and fits(parts, columns) else None


def _columns(rows: list[list[Segment]], bands: list[Band], left: float, right: float) -> list[float]:
    """The borders of the columns: the lines, and gaps that go through all rows with something on either side."""
    borders = [left, right]
    for cut in sorted({cut for band in bands for cut in band.cuts}):
        if min(abs(cut - other) for other in borders) > NEAR:
            borders.append(cut)
    drawn = sorted(borders)
    narrow = [[segment for segment in row if not _is_crossed(segment, drawn)] for row in rows]
    for start, end in gaps_of([segment for row in narrow for segment in row]):
        if any(start - 2 <= border <= end + 2 for border in drawn):
            continue
        # Numbers to the right under a title to the left are one column: no row has both.
        low = max(border for border in drawn if border <= start)
        high = min((border for border in drawn if border >= end), default=end)
        both = sum(
            1 for row in narrow
            if any(low <= part.x0 < start for part in row) and any(start < part.x0 < high for part in row)
        )  # fmt: skip
        if both > 1:
            borders.append((start + end) / 2)
    return sorted(borders)


def _is_crossed(segment: Segment, lines: list[float]) -> bool:
    """Whether one of these lines goes through it, and not only along its edge."""
    at = bisect(lines, segment.x0 + 2)
    return at < len(lines) and lines[at] < segment.x1 - 2


def _rows(lines: list[list[Segment]], columns: list[float]) -> list[list[str]]:
    """The rows between two lines across: one, unless most of its lines of text have something in most columns."""
    if not lines:
        return []
    width = len(columns) - 1
    places = [[place_of(segment, columns) for segment in segments] for segments in lines]
    cells = [texts_in(segments, at, width) for segments, at in zip(lines, places, strict=True)]
    if len(cells) == 1:
        return cells
    filled = [sum(map(bool, row)) for row in cells]
    several = sum(1 for count in filled if count >= max(2, 0.4 * width))
    loose = several < len(cells) * 0.6 and sum(filled) < 0.5 * width * len(cells)
    if several < 2 or loose or _is_wrapped(lines, places, columns):
        return [_stacked(cells)]
    rows: list[list[str]] = []
    left = min(segments[0].x0 for segments in lines)
    for row, count, segments in zip(cells, filled, lines, strict=True):
        # One cell alone goes on with the row above it, except where it is a row's own title.
        titled = segments[0].x0 < left + 3 and not row[0][:1].islower()
        if rows and count == 1 and width > 2 and not titled and rows[-1][next(i for i, cell in enumerate(row) if cell)]:
            rows[-1] = _stacked([rows[-1], row])
        else:
            rows.append(row)
    return rows


def _is_wrapped(lines: list[list[Segment]], places: list[list[int]], columns: list[float]) -> bool:
    """Whether the lines of a cell go on in the next line because the column is full."""
    full = together = 0
    for (above, above_at), (below, below_at) in pairwise(zip(lines, places, strict=True)):
        if len(below) < 2:
            continue
        under = dict(zip(below_at, below, strict=True))
        for segment, at in zip(above, above_at, strict=True):
            if at in under:
                together += 1
                # A number that fills a column does not go on below.
                if " " in segment.words:
                    room = columns[at + 1] - columns[at] - (segment.x1 - segment.x0)
                    full += room < under[at].items[0].first + 0.8 * segment.items[0].size
    return full * 2 > together


def _stacked(rows: list[list[str]]) -> list[str]:
    return [" ".join(filter(None, cells)) for cells in zip(*rows, strict=True)]


def _spans(band: Band, columns: list[float]) -> list[int]:
    """For each column, the first column of the cell it belongs to."""
    spans: list[int] = []
    for index, border in enumerate(columns[:-1]):
        divided = index == 0 or is_near(border, band.cuts)
        spans.append(index if divided else spans[-1])
    return spans
