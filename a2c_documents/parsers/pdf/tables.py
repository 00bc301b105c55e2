"""Ruled tables on a PDF page, by their lines, and the cells of any table.

This uses the words and lines that pdfium has given. No second library reads the page.
"""

from __future__ import annotations

import re
from bisect import bisect, bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from a2c_documents.model import Element, table
from a2c_documents.parsers.pdf.geometry import Box
from a2c_documents.parsers.pdf.layout import CELL_GAP, GUTTER, Row, Segment, join, rows_of, segments_of
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
    words = [item for item in row.items if not _is_leader(item.text)]
    return segments_of(words, gap, cuts)


def _is_leader(words: str) -> bool:
    """Whether a text consists of dots that lead to the next column."""
    return not words.strip("._·…")


def table_of(rows: list[list[str]], spans: list[list[int]] | None = None) -> Element:
    """A table of these rows. `spans` gives, for the first rows, the first column of the cell that a column is in."""
    headers, rest = rows[0], rows[1:]
    filled = sum(map(bool, headers))
    if spans is not None and len(rest) > 1 and filled < len(headers) and sum(map(bool, rest[0])) > filled:
        # Two rows of titles: the upper one groups the columns of the lower one. The lower one must not be data, so at
        # least one of its cells is not a number.
        first, second = spans[0], spans[1]
        if first != second and any(not cell.replace(",", "").replace(".", "").isdigit() for cell in rest[0] if cell):
            groups = [next((headers[j] for j in range(len(headers)) if first[j] == start and headers[j]), "")
                      for start in first]  # fmt: skip
            headers = [f"{group} {cell}".strip() for group, cell in zip(groups, rest[0], strict=True)]
            rest = rest[1:]
    return table(headers, rest)


# --------------------------------------------------------------------------------------------------------- ruled tables


def ruled_tables(items: Sequence[Item], across: Sequence[Box], upright: Sequence[Box]) -> list[Found]:
    """Tables with lines between their columns. Lines between rows are optional: many tables have only a few."""
    if not upright:
        return []
    found = (_ruled(items, bands) for bands in grouped_bands(across, upright))
    return [table for table in found if table is not None]


def _ruled(items: Sequence[Item], bands: list[Band]) -> Found | None:
    left, right = min(band.left for band in bands), max(band.right for band in bands)
    # By their centres: words may extend a little beyond the outer lines.
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
        # Only the first rows can be titles, and only for them spans are needed.
        if len(spans) < TITLES:
            spans += [_spans(band, columns)] * len(made)
    filled = sum(1 for row in rows for cell in row if cell)
    # A form has many lines and few words. It is easier to read line by line than as a table of empty cells.
    sparse = len(columns) > 8 and filled * 4 < len(rows) * (len(columns) - 1)
    if sparse or len(rows) < 2 or filled < 4 or sum(1 for row in rows if sum(map(bool, row)) > 1) < 2:
        return None
    box = left, min([bands[0].top, *(item.top for item in words)]), right, bands[-1].bottom
    return Found(table_of(rows, spans), box, words)


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


def _rows(lines: list[list[Segment]], columns: list[float]) -> list[list[str]]:
    """The rows between two horizontal lines: a single one, unless most of its lines of text fill most columns."""
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
        # A line with a single cell continues the row above, unless it is the title of a row: at the left, and not in
        # lower case.
        titled = segments[0].x0 < left + 3 and not row[0][:1].islower()
        if rows and count == 1 and width > 2 and not titled and rows[-1][next(i for i, cell in enumerate(row) if cell)]:
            rows[-1] = _stacked([rows[-1], row])
        else:
            rows.append(row)
    return rows


def _is_wrapped(lines: list[list[Segment]], places: list[list[int]], columns: list[float]) -> bool:
    """Whether most texts continue in the line below because their column is full."""
    full = together = 0
    for (above, above_at), (below, below_at) in pairwise(zip(lines, places, strict=True)):
        if len(below) < 2:
            continue
        under = dict(zip(below_at, below, strict=True))
        for segment, at in zip(above, above_at, strict=True):
            if at in under:
                together += 1
                # A single word or number that fills its column is not a wrapped text.
                if " " in segment.words:
                    # A text is wrapped where the first word of the next line has no room left.
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
            bands.append(Band(top, bottom, left, right, inner))
    return bands


def _alike(above: Band, band: Band) -> bool:
    shared = sum(1 for cut in band.cuts if is_near(cut, above.cuts))
    return shared > 0 and shared * 2 >= min(len(band.cuts), len(above.cuts))
