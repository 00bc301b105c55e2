"""Ruled tables on a PDF page, by their lines, and the cells of any table.

This uses the words and lines that pdfium has given. No second library reads the page.
"""

from __future__ import annotations

import re
from bisect import bisect, bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from a2c_documents.model import Element
from a2c_documents.parsers.pdf.geometry import Box
from a2c_documents.parsers.pdf.layout import CELL_GAP, GUTTER, Row, Segment, join, rows_of, segments_of
from a2c_documents.parsers.pdf.table_heads import TableRow, table_of
from a2c_documents.parsers.pdf.table_rows import grouped, has_rows, is_number, is_one_row, pairs_of, stacked
from a2c_documents.parsers.pdf.words import Item

MAX_COLUMNS = 60
_FEW, _MOST = 3, 0.6
"""The number of bands, and the share of them with a single row, above which all bands are rows."""
_LEADER = re.compile(r"\s*(?:\.\s?){2,}$")


@dataclass(slots=True)
class Found:
    """A table, and the words that are in it."""

    element: Element
    box: Box
    items: list[Item]


def fits(segments: list[Segment], columns: Sequence[float]) -> bool:
    """Whether each segment is in a column of its own."""
    inner = columns[1:-1]
    places = [bisect(inner, segment.x0 + 1) for segment in segments]
    if any(at < len(inner) and inner[at] < segment.x1 - 1 for at, segment in zip(places, segments, strict=True)):
        return False
    return len(set(places)) == len(places)


def gaps_of(segments: list[Segment]) -> list[tuple[float, float]]:
    """The horizontal gaps between segments that none of them covers."""
    gaps: list[tuple[float, float]] = []
    reached: float | None = None
    for segment in sorted(segments, key=lambda segment: segment.x0):
        if reached is not None and segment.x0 > reached + 2:
            gaps.append((reached, segment.x0))
        reached = segment.x1 if reached is None else max(reached, segment.x1)
    return gaps


def place_of(segment: Segment, columns: list[float]) -> int:
    """The column of a cell. A title over several columns belongs to the first of them."""
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
    """The text of each column, given the column of each segment."""
    cells = [""] * width
    for segment, at in zip(segments, places, strict=True):
        cells[at] = join(cells[at], segment.words)
    return [_LEADER.sub("", cell) if "." in cell[-2:] else cell for cell in cells]


def parts_of(row: Row, gap: float, cuts: Sequence[float] = ()) -> list[Segment]:
    """The cells of a row, without the dots between them."""
    words = [item for item in row.items if not is_leader(item.text)]
    return segments_of(words, gap, cuts)


def is_leader(words: str) -> bool:
    """Whether a text consists of dots that lead to the next column."""
    return not words.strip("._·…")


# --------------------------------------------------------------------------------------------------------- ruled tables


def ruled_tables(
    items: Sequence[Item], sideways: Sequence[Item], across: Sequence[Box], upright: Sequence[Box]
) -> list[Found]:
    """Tables with lines between their columns. Lines between rows are optional: many tables have only a few."""
    if not upright:
        return []
    found = (_ruled(items, sideways, bands) for bands in grouped_bands(across, upright))
    return [table for table in found if table is not None]


def _ruled(items: Sequence[Item], sideways: Sequence[Item], bands: list[Band]) -> Found | None:
    left, right = min(band.left for band in bands), max(band.right for band in bands)
    # By their centres: words may extend a little beyond the outer lines.
    inside = [item for item in items if item.block is None and left - 2 <= (item.x0 + item.x1) / 2 <= right + 2]
    held = _held(inside, bands)
    lines = [[parts for row in rows_of(words) if (parts := parts_of(row, CELL_GAP, band.cuts))]
             for band, words in zip(bands, held, strict=True)]  # fmt: skip
    columns = _columns([row for band in lines for row in band], bands, left, right)
    if not 2 <= len(columns) - 1 <= MAX_COLUMNS:
        return None
    rows = _rows_of_bands(bands, lines, columns)
    if not rows:
        return None
    words = [item for band in held for item in band]
    above = _titles_above(inside, bands[0].top, columns)
    if above is not None:
        rows.insert(0, TableRow(cells_of(above, columns), list(range(len(columns) - 1))))
        words += [item for segment in above for item in segment.items]
    turned = _turned(sideways, bands, columns, rows)
    words += turned
    filled = sum(1 for row in rows for cell in row.cells if cell)
    # A form has many lines and few words. It is easier to read line by line than as a table of empty cells.
    sparse = len(columns) > 8 and filled * 4 < len(rows) * (len(columns) - 1)
    if sparse or len(rows) < 2 or filled < 4 or sum(1 for row in rows if sum(map(bool, row.cells)) > 1) < 2:
        return None
    box = left, min([bands[0].top, *(item.top for item in words)]), right, bands[-1].bottom
    return Found(table_of(rows), box, words)


def _rows_of_bands(bands: list[Band], lines: list[list[list[Segment]]], columns: list[float]) -> list[TableRow]:
    """The rows of a table. A cell that no line divides from the one below is in both rows."""
    cuts = sorted(cut for band in bands for cut in band.cuts)
    drawn = [is_near(border, cuts) for border in columns]
    held = [
        (band, content, _spans(band, columns, drawn)) for band, content in zip(bands, lines, strict=True) if content
    ]
    places = [[_places(line, columns, spans) for line in content] for _, content, spans in held]
    widths = _widths(held, places, columns) if any(len(content) > 1 for _, content, _ in held) else []
    below = [pairs_of(content, at, widths) if len(content) > 1 else []
             for (_, content, _), at in zip(held, places, strict=True)]  # fmt: skip
    groups = [grouped(content, at, pairs) if len(content) > 1 else [[0]]
              for (_, content, _), at, pairs in zip(held, places, below, strict=True)]  # fmt: skip
    single = [len(group) == 1 or is_one_row(pairs) for group, pairs in zip(groups, below, strict=True)]
    # If most rows have lines around them, all have.
    is_ruled = len(held) > _FEW and sum(single) > _MOST * len(held)
    rows: list[TableRow] = []
    before: tuple[Band, TableRow] | None = None
    for (band, content, spans), at, group, one, pairs in zip(held, places, groups, single, below, strict=True):
        cells = [texts_in(line, on, len(columns) - 1) for line, on in zip(content, at, strict=True)]
        together = len(content) == 1 or (is_ruled and not has_rows(content, pairs))
        divided = [range(len(cells))] if together or (one and len(group) == len(cells)) else group
        made = [TableRow(stacked([cells[number] for number in part]), spans) for part in divided]
        if before is not None:
            _join_down(before[0], before[1].cells, band, made[0].cells, columns)
        rows += made
        before = band, made[-1]
    return rows


def _places(line: list[Segment], columns: list[float], spans: list[int]) -> list[int]:
    """The column of each text: the first one of its cell, unless the cell has several texts side by side."""
    own = [place_of(segment, columns) for segment in line]
    # In most rows, every column has a cell of its own.
    if spans[-1] == len(spans) - 1 and len(set(spans)) == len(spans):
        return own
    first = [spans[place] for place in own]
    return [at if first.count(at) == 1 else place for place, at in zip(own, first, strict=True)]


def _widths(
    held: list[tuple[Band, list[list[Segment]], list[int]]], places: list[list[list[int]]], columns: list[float]
) -> list[float]:
    """The room for text in each column: without the space that all texts leave to the lines on both sides."""
    left = [right - left for left, right in pairwise(columns)]
    right = list(left)
    for (_, content, spans), at in zip(held, places, strict=True):
        for line, on in zip(content, at, strict=True):
            for segment, column in zip(line, on, strict=True):
                if spans.count(column) == 1:
                    left[column] = min(left[column], max(segment.x0 - columns[column], 0.0))
                    right[column] = min(right[column], max(columns[column + 1] - segment.x1, 0.0))
    # A centred text leaves more space than needed on both sides, and then the smaller one counts.
    return [
        end - start - before - after for (start, end), before, after in zip(pairwise(columns), left, right, strict=True)
    ]


def _join_down(above: Band, upper: list[str], below: Band, lower: list[str], columns: list[float]) -> None:
    """Repeat the texts of cells that go on in the row below."""
    if below.top - above.bottom > 1 or not above.floor:
        return
    if any(start - 2 <= columns[0] and end + 2 >= columns[-1] for start, end in above.floor):
        return
    for column, (left, right) in enumerate(pairwise(columns)):
        middle = (left + right) / 2
        closed = any(start - 2 <= middle <= end + 2 for start, end in above.floor)
        if not closed and upper[column] and not lower[column] and not is_number(upper[column]):
            lower[column] = upper[column]
        elif not closed and lower[column] and not upper[column] and not is_number(lower[column]):
            upper[column] = lower[column]


def _turned(sideways: Sequence[Item], bands: list[Band], columns: list[float], rows: list[TableRow]) -> list[Item]:
    """Put turned headings into the row of the first band. Returns those that were taken."""
    first, taken = bands[0], list[Item]()
    for item in sideways:
        x, y = (item.x0 + item.x1) / 2, (item.top + item.bottom) / 2
        if first.top <= y <= first.bottom and columns[0] < x < columns[-1]:
            column = bisect(columns, x) - 1
            rows[0].cells[column] = join(rows[0].cells[column], item.text)
            taken.append(item)
    return taken


def _held(items: Sequence[Item], bands: list[Band]) -> list[list[Item]]:
    """The items of each band. The bands are consecutive."""
    held: list[list[Item]] = [[] for _ in bands]
    tops = [band.top for band in bands]
    end = bands[-1].bottom
    for item in items:
        y = (item.top + item.bottom) / 2
        if tops[0] <= y <= end:
            held[bisect(tops, y) - 1].append(item)
    return held


def _titles_above(items: Sequence[Item], top: float, columns: list[float]) -> list[Segment] | None:
    """The titles of the columns, if they are above the first line."""
    near = [item for item in items if top - 2.2 * item.size < (item.top + item.bottom) / 2 < top]
    rows = rows_of(near)
    parts = parts_of(rows[-1], GUTTER) if rows else []
    return parts if len(parts) > 1 and fits(parts, columns) else None


def _columns(rows: list[list[Segment]], bands: list[Band], left: float, right: float) -> list[float]:
    """The borders of the columns: lines, and gaps through all rows with text on both sides."""
    borders = [left, right]
    for cut in sorted({cut for band in bands for cut in band.cuts}):
        if min(abs(cut - other) for other in borders) > NEAR:
            borders.append(cut)
    drawn = sorted(borders)
    # A title over several columns crosses their lines, and would cover the gaps between them.
    narrow = [[segment for segment in row if not _is_crossed(segment, drawn)] for row in rows]
    for start, end in gaps_of([segment for row in narrow for segment in row]):
        if any(start - 2 <= border <= end + 2 for border in drawn):
            continue
        # A gap alone is not enough: a title on the left above numbers on the right leaves one in a single column. So
        # there must be rows with text on both sides of it.
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
    """Whether one of the lines crosses the segment, and does not only touch its edge."""
    at = bisect(lines, segment.x0 + 2)
    return at < len(lines) and lines[at] < segment.x1 - 2


def _spans(band: Band, columns: list[float], drawn: list[bool]) -> list[int]:
    """For each column, the first column of the cell it belongs to. `drawn` tells which borders have a line anywhere."""
    if len(band.cuts) == len(columns) - 2:
        return list(range(len(columns) - 1))
    spans: list[int] = []
    for index, border in enumerate(columns[:-1]):
        # A border without any line is a gap between texts, which divides the cells of each band.
        divided = index == 0 or not drawn[index] or is_near(border, band.cuts)
        spans.append(index if divided else spans[-1])
    return spans


# ---------------------------------------------------------------------------------------------------------------- bands


NEAR = 4.0
"""The distance in points up to which two lines are taken for one."""
_MAX_LINES = 600


@dataclass(slots=True)
class Band:
    """The space between two horizontal lines, and the vertical lines that divide it."""

    top: float
    bottom: float
    left: float
    right: float
    cuts: list[float]
    floor: list[tuple[float, float]]
    """The ranges that the line at its bottom covers."""


def grouped_bands(across: Sequence[Box], upright: Sequence[Box]) -> list[list[Band]]:
    """Groups of consecutive bands with common columns, each of which may be a table."""
    groups: list[list[Band]] = []
    for band in _bands(_merged(across, 1)[:_MAX_LINES], _merged(upright, 0)[:_MAX_LINES]):
        above = groups[-1][-1] if groups else None
        if above is not None and band.top - above.bottom < 1 and _alike(above, band):
            groups[-1].append(band)
        else:
            groups.append([band])
    return groups


def is_near(place: float, lines: list[float]) -> bool:
    """Whether one of the lines, which are sorted, is at about this place."""
    at = bisect(lines, place - NEAR)
    return at < len(lines) and lines[at] < place + NEAR


def _merged(lines: Sequence[Box], axis: int) -> list[Box]:
    """Lines of one direction, each joined from its pieces. `axis` is 1 for horizontal lines, 0 for vertical ones."""
    along = 1 - axis
    merged: list[list[float]] = []
    middle = [((line[axis] + line[axis + 2]) / 2, line[along], line[along + 2]) for line in lines]
    # Programs draw the lines of a table cell by cell, at positions that differ by rounding. Coarse positions come first
    # in the order, so that the pieces of a line follow each other.
    for at, start, end in sorted(middle, key=lambda line: (round(line[0] / 2), line[1])):
        last = merged[-1] if merged else None
        if last is not None and abs(last[0] - at) < 2.5 and start <= last[2] + NEAR:
            last[2] = max(last[2], end)
        else:
            merged.append([at, start, end])
    kept = sorted(line for line in merged if line[2] - line[1] > 8)
    return [(start, at, end, at) if axis else (at, start, at, end) for at, start, end in kept]


def _bands(across: list[Box], upright: list[Box]) -> list[Band]:
    """Bands with at least two columns."""
    bands: list[Band] = []
    # A table without a horizontal line at its edge begins and ends where its vertical lines do.
    ends = sorted({line[1] for line in across} | {line[1] for line in upright} | {line[3] for line in upright})
    levels: list[float] = []
    for level in ends:
        if not levels or level - levels[-1] > NEAR:
            levels.append(level)
    heights = [line[1] for line in across]
    for top, bottom in pairwise(levels):
        low, high = top + NEAR, bottom - NEAR
        cuts = [x for x, start, _, end in upright if start <= low and end >= high]
        if not cuts:
            continue
        edges = [
            line for level in (top, bottom)
            for line in across[bisect_left(heights, level - NEAR) : bisect(heights, level + NEAR)]
        ]  # fmt: skip
        left = min([cuts[0], *(line[0] for line in edges if line[0] <= cuts[-1] and line[2] >= cuts[0])])
        right = max([cuts[-1], *(line[2] for line in edges if line[0] <= cuts[-1] and line[2] >= cuts[0])])
        inner = [cut for cut in cuts if left + NEAR < cut < right - NEAR]
        if inner:
            below = across[bisect_left(heights, bottom - NEAR) : bisect(heights, bottom + NEAR)]
            bands.append(Band(top, bottom, left, right, inner, [(line[0], line[2]) for line in below]))
    return bands


def _alike(above: Band, band: Band) -> bool:
    shared = sum(1 for cut in band.cuts if is_near(cut, above.cuts))
    return shared > 0 and shared * 2 >= min(len(band.cuts), len(above.cuts))
