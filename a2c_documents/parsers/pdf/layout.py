"""The reading order of a page, from positions only: rows of words, columns of rows.

A PDF has no columns, only words at positions, in any order. A page is split recursively at the best gutter (a vertical
gap that many rows share) into the parts above, left, right and below it, until no part has one.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter

from a2c_documents.parsers.pdf.geometry import Box
from a2c_documents.parsers.pdf.scripts import in_reading_order, unmirrored
from a2c_documents.parsers.pdf.words import Item, is_rtl

GUTTER = 0.7
"""The least gap between two columns, in letter sizes. Gaps between words are rarely as wide."""
CELL_GAP = 1.1
"""The least gap between two cells of a table without lines, in letter sizes."""
_SHORT, _PARTED = 0.6, 1.25
"""The width of a cell in widths of a column, and the distance of a table below the column in distances of its lines."""
_WIDE_GUTTER, _BROKEN = 1.4, 2.2
"""The least gap between columns of justified text, and the mean number of pieces of its lines."""
_SAMPLE = 8
_GAPPED = 1.15
"""The distance between the rows of a table, in distances between the lines of their cells."""
_MAX_DEPTH = 8
_MIN_ROWS = 3
_BASE, _LEFT = attrgetter("base", "x0"), attrgetter("x0")
_DIGIT = re.compile(r"\d")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_CJK = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")


@dataclass(slots=True)
class Row:
    """The words of one line, over the whole width of a part."""

    base: float
    size: float
    items: list[Item] = field(default_factory=list[Item])

    @property
    def block(self) -> Item | None:
        """The table or picture in this row, if any."""
        return self.items[0] if self.items[0].block is not None else None


@dataclass(slots=True)
class Segment:
    """Words of a row without a wide gap between them."""

    x0: float
    x1: float
    items: list[Item]
    _words: str | None = None

    @property
    def words(self) -> str:
        """Their text, cached because the search for table columns needs it many times."""
        if self._words is None:
            self._words = words_of(self.items)
        return self._words


def rows_of(items: Iterable[Item]) -> list[Row]:
    """Rows from top to bottom. Superscripts and subscripts belong to the row of their word."""
    rows: list[Row] = []
    row: Row | None = None
    for item in sorted(items, key=_BASE):
        if item.block is not None:
            rows.append(Row(item.base, item.size, [item]))
            row = None
            continue
        step = item.base - row.base if row is not None else 0.0
        if (
            row is not None
            and step <= 0.5 * (item.size if item.size > row.size else row.size)
            and (step < 0.2 * item.size or not _is_below(item, row))
        ):
            row.items.append(item)
            # Words are sorted by their baselines, so a superscript comes before the words of its line. The largest
            # letters define the baseline, not the first ones.
            if item.size > row.size:
                row.base, row.size = item.base, item.size
        else:
            row = Row(item.base, item.size, [item])
            rows.append(row)
    return rows


def _is_below(item: Item, row: Row) -> bool:
    """Whether a word that is a little lower begins a new line."""
    width = item.x1 - item.x0
    return any(min(item.x1, other.x1) - max(item.x0, other.x0) > 0.3 * width for other in row.items)


def segments_of(items: Sequence[Item], gap: float, cuts: Sequence[float] = ()) -> list[Segment]:
    """The parts of a row with more than `gap` letters' widths between them, or with a line between them.

    `cuts` are the positions of such lines, from left to right.
    """
    segments: list[Segment] = []
    last: Segment | None = None
    before: Item | None = None
    for item in sorted(items, key=_LEFT):
        if (
            last is not None
            and before is not None
            and item.x0 - last.x1 < gap * (item.size if item.size < before.size else before.size)
            and not (cuts and _is_between(cuts, before, item))
        ):
            last.items.append(item)
            if item.x1 > last.x1:
                last.x1 = item.x1
        else:
            last = Segment(item.x0, item.x1, [item])
            segments.append(last)
        before = item
    return segments


def _is_between(cuts: Sequence[float], first: Item, second: Item) -> bool:
    left, right = (first.x0 + first.x1) / 2, (second.x0 + second.x1) / 2
    return bisect_right(cuts, left) < bisect_left(cuts, right)


def words_of(items: Sequence[Item]) -> str:
    """The text of a line, from left to right or from right to left."""
    if len(items) == 1:
        return items[0].text
    rtl = any(is_rtl(item.text) for item in items)
    if rtl:
        ordered = unmirrored([item.text for item in in_reading_order(items)])
    else:
        ordered = [item.text for item in sorted(items, key=_LEFT)]
    text = ""
    for words in ordered:
        text = join(text, words)
    return text


def join(text: str, more: str) -> str:
    """Two words, with a space between them if their script has spaces."""
    if not text or not more:
        return text or more
    return text + more if _CJK.match(text[-1]) and _CJK.match(more[0]) else f"{text} {more}"


def bounds(items: Sequence[Item]) -> Box:
    """The box around all of them."""
    return (
        min(item.x0 for item in items),
        min(item.top for item in items),
        max(item.x1 for item in items),
        max(item.bottom for item in items),
    )


def columns_of(items: Sequence[Item], *, rtl: bool = False) -> list[list[Item]]:
    """The parts of the page in reading order, each with one column."""
    pieces: list[list[Item]] = []
    todo = [(list(items), 0)]
    while todo:
        part, depth = todo.pop()
        if not part:
            continue
        split = _split(part, rtl=rtl) if depth < _MAX_DEPTH else None
        if split is None:
            pieces.append(part)
        else:
            # Reversed, so that the stack gives the parts in reading order.
            todo += [(piece, depth + 1) for piece in reversed(split)]
    return pieces


# -------------------------------------------------------------------------------------------------------------- gutters


def _split(items: list[Item], *, rtl: bool) -> list[list[Item]] | None:
    """The parts above, left, right and below the best gutter; None without a gutter."""
    rows = rows_of(items)
    if len(rows) < _MIN_ROWS:
        return None
    parts = [segments_of(row.items, GUTTER) for row in rows]
    found = _split_at(rows, parts, rtl=rtl)
    # Narrow columns of justified text have gaps between their words that are as wide as a narrow gutter.
    if found is None and sum(map(len, parts)) > _BROKEN * len(rows) and not _are_numbers(parts):
        found = _split_at(rows, [segments_of(row.items, _WIDE_GUTTER) for row in rows], rtl=rtl)
    return found


def _split_at(rows: list[Row], parts: list[list[Segment]], *, rtl: bool) -> list[list[Item]] | None:
    sizes = sorted(row.size for row in rows if row.block is None) or [10.0]
    em = sizes[len(sizes) // 2]
    begins = [[segment.x0 for segment in row] for row in parts]
    best: tuple[int, float, int, int] | None = None
    for x in _edges(parts):
        # The number of segments left of the edge in each row. Segments are sorted and do not overlap, so bisect finds
        # it.
        lefts = [bisect_left(starts, x - 2) for starts in begins]
        begun = [bisect_right(starts, x + 3) - left for starts, left in zip(begins, lefts, strict=True)]
        for start, stop in _open_rows(parts, lefts, x - GUTTER * em + 0.5):
            if sum(lefts[start:stop]) < _MIN_ROWS or sum(begun[start:stop]) < _MIN_ROWS:
                continue
            score = _score(parts[start:stop], lefts[start:stop], begun[start:stop], em, len(rows))
            if score and _are_cells(rows[start:stop], parts[start:stop], x, em):
                score = 0
            if score and (best is None or score > best[0]):
                best = score, x, start, stop
    if best is None:
        return None
    _, x, start, stop = best
    stop = _above_cells(rows, parts, start, stop, x)
    middle = [item for row in rows[start:stop] for item in row.items]
    # Left edges of one column differ by a point or two: letters have different side bearings, and the edge was rounded.
    left = [item for item in middle if item.x0 < x - 2]
    right = [item for item in middle if item.x0 >= x - 2]
    above = [item for row in rows[:start] for item in row.items]
    below = [item for row in rows[stop:] for item in row.items]
    return [above, right, left, below] if rtl else [above, left, right, below]


def _above_cells(rows: list[Row], parts: list[list[Segment]], start: int, stop: int, x: float) -> int:
    """The end of columns of text: above the rows of a table below them, whose texts are short on both sides."""
    steps = [second.base - first.base for first, second in pairwise(rows[start:stop])]
    pitch = sorted(steps)[len(steps) // 2]
    full: list[float] = []
    for side in (True, False):
        widths = sorted(part.x1 - part.x0 for row in parts[start:stop] for part in row if (part.x0 < x - 2) is side)
        full.append(_SHORT * widths[(len(widths) - 1) * 9 // 10] if widths else 0.0)
    end = stop
    for number in range(stop - 1, start + _MIN_ROWS, -1):
        if any(part.x1 - part.x0 > full[part.x0 >= x - 2] for part in parts[number]):
            break
        is_apart = rows[number].base - rows[number - 1].base > _PARTED * pitch
        if is_apart and stop - number >= _MIN_ROWS and _have_numbers(parts[number:stop], x):
            end = number
    # The headers of the table can be nearer to the text.
    if end < stop and len(parts[end - 1]) == len(parts[end]) > 2:
        end -= all(part.x1 - part.x0 <= full[part.x0 >= x - 2] for part in parts[end - 1])
    return end


def _have_numbers(parts: list[list[Segment]], x: float) -> bool:
    """Whether most rows have texts on both sides, and a number."""
    both = sum(row[0].x0 < x - 2 <= row[-1].x0 for row in parts)
    numbers = sum(any(_DIGIT.search(part.words) for part in row) for row in parts)
    return min(both, numbers) >= 0.6 * len(parts)


def _edges(parts: list[list[Segment]]) -> list[float]:
    """Positions where segments of many rows begin: the left edges of columns."""
    counted = Counter(round(segment.x0) for row in parts for segment in row)
    edges: list[float] = []
    # A page of numbers has hundreds of left edges, while edges of text columns are among the most frequent.
    for x, count in counted.most_common(24):
        near = [other for other in (x - 1, x, x + 1) if counted[other]]
        if count + sum(counted[other] for other in near if other != x) >= _MIN_ROWS:
            edges.append(float(min(near)))
    return sorted(set(edges))


def _open_rows(parts: list[list[Segment]], lefts: list[int], gutter: float) -> list[tuple[int, int]]:
    """Ranges of rows in which nothing from the left reaches into the gutter."""
    stretches: list[tuple[int, int]] = []
    start = 0
    for index, (row, left) in enumerate(zip(parts, lefts, strict=True)):
        if left and row[left - 1].x1 > gutter:
            if index - start >= _MIN_ROWS:
                stretches.append((start, index))
            start = index + 1
    if len(parts) - start >= _MIN_ROWS:
        stretches.append((start, len(parts)))
    return stretches


def _score(parts: list[list[Segment]], lefts: list[int], begun: list[int], em: float, total: int) -> int:
    """The width of text that begins at the edge of the right column, if both sides are running text; else 0.

    The number of rows would be a bad score: a column of page numbers has as many rows as the text next to it.
    """
    rows = list(zip(parts, lefts, begun, strict=True))
    right = [segment for row, at, _ in rows for segment in row[at:]]
    if not _is_prose(right, em, 8) or not _has_words(right):
        return 0
    left = [segment for row, at, _ in rows for segment in row[:at]]
    if _is_prose(left, em, 8):
        return round(sum(segment.x1 - segment.x0 for row, at, count in rows for segment in row[at : at + count]))
    # A margin note: a few short lines, close together, next to text that fills the page.
    in_margin = len(left) >= 4 and len(left) * 2 <= sum(begun) and len(parts) * 10 >= total * 9
    return 1 if in_margin and _is_prose(left, em, 3.5) and _is_close(left, em) else 0


def _is_prose(segments: list[Segment], em: float, width: float) -> bool:
    """Whether most words are in lines that fill a column, unlike the cells of a table."""
    blocks = [segment for segment in segments if segment.items[0].block is not None]
    if blocks and len(blocks) == len(segments):
        return True
    widths = sorted(segment.x1 - segment.x0 for segment in segments if segment.items[0].block is None)
    # The 90th percentile is the width of a full line, whatever a few longer lines are. In running text, full lines have
    # most of the width; in a table, widths vary.
    full = widths[(len(widths) - 1) * 9 // 10]
    return full >= width * em and sum(value for value in widths if value >= 0.6 * full) >= 0.5 * sum(widths)


def _are_cells(rows: list[Row], parts: list[list[Segment]], x: float, em: float) -> bool:
    """Whether the texts left and right of an edge are cells of a table.

    Columns of text are broken independently of each other. In a table, all columns have a gap at the same heights,
    and go on below it together.
    """
    bands: list[list[int]] = []
    steps = [second.base - first.base for first, second in pairwise(rows)]
    if not steps or any(row.block is not None for row in rows):
        return False
    pitch = sorted(steps)[len(steps) // 4]
    # The lines of columns of text are at heights of their own.
    if pitch < 0.9 * em:
        return False
    for number in range(len(rows)):
        if number and steps[number - 1] <= _GAPPED * pitch:
            bands[-1].append(number)
        else:
            bands.append([number])
    both = sum(any(part.x0 < x - 2 for number in band for part in parts[number])
               and any(part.x0 >= x - 2 for number in band for part in parts[number]) for band in bands)  # fmt: skip
    level = sum(parts[band[0]][0].x0 < x - 2 <= parts[band[0]][-1].x0 for band in bands)
    several = sum(len(band) > 1 for band in bands)
    if len(bands) < 3 or max(map(len, bands)) > 8 or several < 0.4 * len(bands):
        return False
    return both >= 0.75 * len(bands) and level >= 0.75 * len(bands)


def _are_numbers(parts: list[list[Segment]]) -> bool:
    """Whether most pieces of some rows have digits, as in a table of numbers."""
    some = [part for row in parts[:: len(parts) // _SAMPLE + 1] for part in row if part.items[0].block is None]
    return sum(_DIGIT.search(part.items[0].text) is not None for part in some) * 2 > len(some)


def _has_words(segments: list[Segment]) -> bool:
    """Whether the lines have several words each, unlike a column of names or telephone numbers."""
    # Some of the lines show it, and each costs a search.
    lines = [segment for segment in segments if segment.items[0].block is None]
    some = [segment.words for segment in lines[:: len(lines) // _SAMPLE + 1]]
    count = sum(len(_WORDS.findall(line)) + len(_CJK.findall(line)) // 2 for line in some)
    return not some or count > 1.5 * len(some)


def _is_close(segments: list[Segment], em: float) -> bool:
    bases = [segment.items[0].base for segment in segments]
    return all(second - first < 1.8 * em for first, second in pairwise(bases))
