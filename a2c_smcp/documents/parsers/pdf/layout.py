"""The reading order of a page: rows of words, columns of rows. It knows positions only, neither headings nor lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from a2c_smcp.documents.parsers.pdf.words import Box, Item, is_rtl

GUTTER = 0.7
"""Of a letter's size: a gap between two columns is at least as wide; between two words it is rarely so."""
CELL_GAP = 1.1
"""Of a letter's size: a gap between two cells of a table that has no lines."""
_MAX_DEPTH = 8
_MIN_ROWS = 3
_CJK = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")


@dataclass(slots=True)
class Row:
    """Words that stand on one line, over the whole width that was asked about."""

    base: float
    size: float
    items: list[Item] = field(default_factory=list[Item])

    @property
    def block(self) -> Item | None:
        """The block that stands here instead of words."""
        return self.items[0] if self.items[0].block is not None else None


@dataclass(slots=True)
class Segment:
    """Words of a row without a wide gap between them."""

    x0: float
    x1: float
    items: list[Item]


def rows_of(items: Sequence[Item]) -> list[Row]:
    """Rows from top to bottom; raised and lowered letters are in the row of their word."""
    rows: list[Row] = []
    for item in sorted(items, key=lambda item: (item.base, item.x0)):
        row = rows[-1] if rows else None
        near = row is not None and row.block is None and item.block is None
        close = row is not None and item.base - row.base <= 0.5 * max(item.size, row.size)
        if row is not None and near and close and not _collides(item, row):
            row.items.append(item)
            if item.size > row.size:
                row.base, row.size = item.base, item.size
        else:
            rows.append(Row(item.base, item.size, [item]))
    return rows


def _collides(item: Item, row: Row) -> bool:
    """Whether a word that stands a little lower is below another, and so in a line of its own."""
    if item.base - row.base < 0.2 * item.size:
        return False
    width = item.x1 - item.x0
    return any(min(item.x1, other.x1) - max(item.x0, other.x0) > 0.3 * width for other in row.items)


def segments_of(row: Row, gap: float, cuts: Sequence[float] = ()) -> list[Segment]:
    """The parts of a row with more than `gap` letters' widths between them, or with a line (`cuts`) between them."""
    segments: list[Segment] = []
    for item in sorted(row.items, key=lambda item: item.x0):
        last = segments[-1] if segments else None
        size = min(item.size, last.items[-1].size) if last is not None else item.size
        if last is not None and item.x0 - last.x1 < gap * size and not _between(cuts, last.items[-1], item):
            last.items.append(item)
            last.x1 = max(last.x1, item.x1)
        else:
            segments.append(Segment(item.x0, item.x1, [item]))
    return segments


def words_of(items: Sequence[Item]) -> str:
    """The text of a line. Words from right to left come in the order of the file, as that is the order of reading."""
    rtl = any(is_rtl(item.text) for item in items)
    ordered = sorted(items, key=lambda item: item.order if rtl else item.x0)
    text = ""
    for item in ordered:
        text = join(text, item.text)
    return text


def join(text: str, more: str) -> str:
    """Two words, with a space where their script has one."""
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
    """The page in pieces that are read one after the other, each of one column."""
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
            todo += [(piece, depth + 1) for piece in reversed(split)]
    return pieces


# -------------------------------------------------------------------------------------------------------------- gutters


def _split(items: list[Item], *, rtl: bool) -> list[list[Item]] | None:
    """Above, left, right, below: around the gutter that most rows have; None where there is none."""
    rows = rows_of(items)
    if len(rows) < _MIN_ROWS:
        return None
    parts = [segments_of(row, GUTTER) for row in rows]
    sizes = sorted(row.size for row in rows if row.block is None) or [10.0]
    em = sizes[len(sizes) // 2]
    best: tuple[int, float, int, int] | None = None
    for x in _edges(parts):
        for start, stop in _open_rows(parts, x, em):
            score = _score(parts[start:stop], x, em, len(rows))
            if score and (best is None or score > best[0]):
                best = score, x, start, stop
    if best is None:
        return None
    _, x, start, stop = best
    middle = [item for row in rows[start:stop] for item in row.items]
    left = [item for item in middle if item.x0 < x - 2]
    right = [item for item in middle if item.x0 >= x - 2]
    above = [item for row in rows[:start] for item in row.items]
    below = [item for row in rows[stop:] for item in row.items]
    return [above, right, left, below] if rtl else [above, left, right, below]


def _edges(parts: list[list[Segment]]) -> list[float]:
    """Where many rows begin again after a gap: the left edges of columns."""
    counted = Counter(round(segment.x0) for row in parts for segment in row)
    edges: list[float] = []
    for x, count in counted.most_common(24):
        near = [other for other in (x - 1, x, x + 1) if counted[other]]
        if count + sum(counted[other] for other in near if other != x) >= _MIN_ROWS:
            edges.append(float(min(near)))
    return sorted(set(edges))


def _open_rows(parts: list[list[Segment]], x: float, em: float) -> list[tuple[int, int]]:
    """The stretches of rows in which nothing stands on the gutter left of `x`."""
    stretches: list[tuple[int, int]] = []
    start = 0
    for index, row in enumerate(parts):
        if any(segment.x0 < x - 2 and segment.x1 > x - GUTTER * em + 0.5 for segment in row):
            if index - start >= _MIN_ROWS:
                stretches.append((start, index))
            start = index + 1
    if len(parts) - start >= _MIN_ROWS:
        stretches.append((start, len(parts)))
    return stretches


def _score(parts: list[list[Segment]], x: float, em: float, total: int) -> int:
    """How much text begins at the right column's edge, if both sides are running text; else 0.

    Not how many rows: a column of page numbers has as many as a text beside it.
    """
    left = [segment for row in parts for segment in row if segment.x0 < x - 2]
    right = [segment for row in parts for segment in row if segment.x0 >= x - 2]
    begun = sum(1 for segment in right if segment.x0 <= x + 3)
    if len(left) < _MIN_ROWS or begun < _MIN_ROWS or not _is_prose(right, em, 8):
        return 0
    if _is_prose(left, em, 8):
        return round(sum(segment.x1 - segment.x0 for segment in right if segment.x0 <= x + 3))
    # A note in the margin: a few short lines, close together, beside a text that fills the page.
    in_margin = len(left) >= 4 and len(left) * 2 <= begun and len(parts) * 10 >= total * 9
    return 1 if in_margin and _is_prose(left, em, 3.5) and _is_close(left, em) else 0


def _is_prose(segments: list[Segment], em: float, width: float) -> bool:
    """Whether most of the words stand in lines that fill a column; the cells of a table do not."""
    blocks = [segment for segment in segments if segment.items[0].block is not None]
    if blocks and len(blocks) == len(segments):
        return True
    widths = sorted(segment.x1 - segment.x0 for segment in segments if segment.items[0].block is None)
    full = widths[(len(widths) - 1) * 9 // 10]
    return full >= width * em and sum(value for value in widths if value >= 0.6 * full) >= 0.5 * sum(widths)


def _is_close(segments: list[Segment], em: float) -> bool:
    bases = [segment.items[0].base for segment in segments]
    return all(second - first < 1.8 * em for first, second in pairwise(bases))


def _between(cuts: Sequence[float], first: Item, second: Item) -> bool:
    left, right = (first.x0 + first.x1) / 2, (second.x0 + second.x1) / 2
    return any(left < cut < right for cut in cuts)
