"""Ruled tables on a PDF page, by their lines.

No second library reads the page for this: pdfium has given the words and the lines already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from a2c_smcp.documents.parsers.pdf.cells import (
    MAX_COLUMNS,
    Found,
    cells_of,
    fits,
    gaps_of,
    parts_of,
    place_of,
    table_of,
)
from a2c_smcp.documents.parsers.pdf.layout import (
    CELL_GAP,
    GUTTER,
    Row,
    Segment,
    rows_of,
    words_of,
)
from a2c_smcp.documents.parsers.pdf.words import Box, Item

_NEAR = 4.0
"""Points by which lines that belong together may miss each other."""
_MAX_LINES = 600


@dataclass(slots=True)
class _Band:
    """What lies between two lines across, and the lines upright that divide it."""

    top: float
    bottom: float
    left: float
    right: float
    cuts: list[float]


def ruled_tables(items: Sequence[Item], across: Sequence[Box], upright: Sequence[Box]) -> list[Found]:
    """Tables with lines between their columns. Lines between rows are not needed: many have them but here and there."""
    if not upright:
        return []
    bands = _bands(_merged(across, 1)[:_MAX_LINES], _merged(upright, 0)[:_MAX_LINES])
    tables: list[Found] = []
    for group in _groups(bands):
        found = _ruled(items, group)
        if found is not None:
            tables.append(found)
    return tables


def _merged(lines: Sequence[Box], axis: int) -> list[Box]:
    """Lines in one direction; pieces of one line are put together. `axis` is 1 for lines across, 0 for upright ones."""
    along = 1 - axis
    merged: list[list[float]] = []
    middle = [((line[axis] + line[axis + 2]) / 2, line[along], line[along + 2]) for line in lines]
    for at, start, end in sorted(middle, key=lambda line: (round(line[0] / 2), line[1])):
        last = merged[-1] if merged else None
        if last is not None and abs(last[0] - at) < 2.5 and start <= last[2] + _NEAR:
            last[2] = max(last[2], end)
        else:
            merged.append([at, start, end])
    kept = sorted(line for line in merged if line[2] - line[1] > 8)
    return [(start, at, end, at) if axis else (at, start, at, end) for at, start, end in kept]


def _bands(across: list[Box], upright: list[Box]) -> list[_Band]:
    """Bands with at least two columns."""
    bands: list[_Band] = []
    ends = sorted({line[1] for line in across} | {line[1] for line in upright} | {line[3] for line in upright})
    levels: list[float] = []
    for level in ends:
        if not levels or level - levels[-1] > _NEAR:
            levels.append(level)
    for top, bottom in pairwise(levels):
        cuts = [line[0] for line in upright if line[1] <= top + _NEAR and line[3] >= bottom - _NEAR]
        edges = [line for line in across if min(abs(line[1] - top), abs(line[1] - bottom)) <= _NEAR]
        if not cuts:
            continue
        left = min([cuts[0], *(line[0] for line in edges if line[0] <= cuts[-1] and line[2] >= cuts[0])])
        right = max([cuts[-1], *(line[2] for line in edges if line[0] <= cuts[-1] and line[2] >= cuts[0])])
        inner = [cut for cut in cuts if left + _NEAR < cut < right - _NEAR]
        if inner:
            bands.append(_Band(top, bottom, left, right, inner))
    return bands


def _groups(bands: list[_Band]) -> list[list[_Band]]:
    """Bands that are one table: one right below the other, with the same sides or the same columns."""
    groups: list[list[_Band]] = []
    for band in bands:
        above = groups[-1][-1] if groups else None
        if above is not None and band.top - above.bottom < 1 and _alike(above, band):
            groups[-1].append(band)
        else:
            groups.append([band])
    return groups


def _alike(above: _Band, band: _Band) -> bool:
    shared = sum(1 for cut in band.cuts if any(abs(cut - other) < _NEAR for other in above.cuts))
    return shared > 0 and shared * 2 >= min(len(band.cuts), len(above.cuts))


def _ruled(items: Sequence[Item], bands: list[_Band]) -> Found | None:
    left, right = min(band.left for band in bands), max(band.right for band in bands)
    inside = [item for item in items if item.block is None and left - 2 <= (item.x0 + item.x1) / 2 <= right + 2]
    held = [[item for item in inside if band.top <= (item.top + item.bottom) / 2 <= band.bottom] for band in bands]
    lines = [[(row, parts) for row in rows_of(words) if (parts := parts_of(row, CELL_GAP, band.cuts))]
             for band, words in zip(bands, held, strict=True)]  # fmt: skip
    columns = _columns([row for band in lines for _, row in band], bands, left, right)
    if not 2 <= len(columns) - 1 <= MAX_COLUMNS:
        return None
    rows: list[list[str]] = []
    spans: list[list[int]] = []
    for band, content in zip(bands, lines, strict=True):
        made = _rows(content, columns)
        rows += made
        spans += [_spans(band, columns)] * len(made)
    words = [item for band in held for item in band]
    above = _titles_above(inside, bands[0].top, columns)
    if above is not None:
        rows.insert(0, cells_of(above, columns))
        spans.insert(0, list(range(len(columns) - 1)))
        words += [item for segment in above for item in segment.items]
    filled = sum(1 for row in rows for cell in row if cell)
    # A form has lines everywhere and little in its cells: that reads better line by line.
    sparse = len(columns) > 8 and filled * 4 < len(rows) * (len(columns) - 1)
    if sparse or len(rows) < 2 or filled < 4 or sum(1 for row in rows if sum(map(bool, row)) > 1) < 2:
        return None
    box = left, min([bands[0].top, *(item.top for item in words)]), right, bands[-1].bottom
    return Found(table_of(rows, spans), box, words)


def _titles_above(items: Sequence[Item], top: float, columns: list[float]) -> list[Segment] | None:
    """The columns' titles, where they stand above the first line."""
    near = [item for item in items if top - 2.2 * item.size < (item.top + item.bottom) / 2 < top]
    rows = rows_of(near)
    parts = parts_of(rows[-1], GUTTER) if rows else []
    return parts if len(parts) > 1 and fits(parts, columns) else None


def _columns(rows: list[list[Segment]], bands: list[_Band], left: float, right: float) -> list[float]:
    """The borders of the columns: the lines, and gaps that go through all rows with something on either side."""
    borders = [left, right]
    for cut in sorted({cut for band in bands for cut in band.cuts}):
        if min(abs(cut - other) for other in borders) > _NEAR:
            borders.append(cut)
    drawn = sorted(borders)
    narrow = [
        [segment for segment in row if not any(segment.x0 < cut - 2 < segment.x1 - 4 for cut in drawn)] for row in rows
    ]
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


def _rows(lines: list[tuple[Row, list[Segment]]], columns: list[float]) -> list[list[str]]:
    """The rows between two lines across: one, unless most of its lines of text have something in most columns."""
    cells = [cells_of(segments, columns) for _, segments in lines]
    if not cells:
        return []
    width = len(columns) - 1
    filled = [sum(map(bool, row)) for row in cells]
    several = sum(1 for count in filled if count >= max(2, 0.4 * width))
    loose = several < len(cells) * 0.6 and sum(filled) < 0.5 * width * len(cells)
    if several < 2 or loose or _is_wrapped([segments for _, segments in lines], columns):
        return [_stacked(cells)]
    rows: list[list[str]] = []
    left = min(segments[0].x0 for _, segments in lines)
    for row, count, (_, segments) in zip(cells, filled, lines, strict=True):
        # One cell alone goes on with the row above it, except where it is a row's own title.
        titled = segments[0].x0 < left + 3 and not row[0][:1].islower()
        if rows and count == 1 and width > 2 and not titled and rows[-1][next(i for i, cell in enumerate(row) if cell)]:
            rows[-1] = _stacked([rows[-1], row])
        else:
            rows.append(row)
    return rows


def _is_wrapped(lines: list[list[Segment]], columns: list[float]) -> bool:
    """Whether the lines of a cell go on in the next line because the column is full."""
    full = together = 0
    for above, below in pairwise(lines):
        if len(below) < 2:
            continue
        under = {place_of(segment, columns): segment for segment in below}
        for segment in above:
            at = place_of(segment, columns)
            if at in under:
                room = columns[at + 1] - columns[at] - (segment.x1 - segment.x0)
                needed = under[at].items[0].first + 0.8 * segment.items[0].size
                together += 1
                # A number that fills a column does not go on below.
                full += room < needed and " " in words_of(segment.items)
    return full * 2 > together


def _stacked(rows: list[list[str]]) -> list[str]:
    return [" ".join(filter(None, cells)) for cells in zip(*rows, strict=True)]


def _spans(band: _Band, columns: list[float]) -> list[int]:
    """For each column, the first column of the cell it belongs to."""
    spans: list[int] = []
    for index, border in enumerate(columns[:-1]):
        divided = index == 0 or any(abs(border - cut) <= _NEAR for cut in band.cuts)
        spans.append(index if divided else spans[-1])
    return spans
