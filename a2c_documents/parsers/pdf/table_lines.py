"""The lines of a table without rules: which of them belong to it, and the rows that they make up."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from itertools import pairwise

from a2c_documents.parsers.pdf.layout import Segment
from a2c_documents.parsers.pdf.table_columns import MIN_ROWS, widths_of
from a2c_documents.parsers.pdf.table_groups import without_names
from a2c_documents.parsers.pdf.table_heads import MOST_HEADERS as TITLES
from a2c_documents.parsers.pdf.table_heads import TableRow, covers
from a2c_documents.parsers.pdf.table_rows import grouped, has_rows, is_number, is_prose, pairs_of, stacked
from a2c_documents.parsers.pdf.tables import gaps_of, place_of, texts_in

_SHORT = 45
"""Characters of a cell; longer texts are sentences."""
_FEW, _CHANCE = 4, 1.6
"""Lines of a table, and the least gap between its two columns in letter sizes if it has no more lines."""
_NUMBER = 12
"""Characters of half of the cells, in a table with numbers beside long names."""
_MARK = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})(?:[.\-)\]]\w{0,3})*[)\].:]?")


def trimmed(taken: list[list[Segment]]) -> list[list[Segment]]:
    """The lines without single texts at the end, unless these continue the last row."""
    last = max((number for number, line in enumerate(taken) if len(line) > 1), default=-1)
    end = last + 1
    edges = [segment.x0 for line in taken[max(last - 1, 0) : last + 1] for segment in line]
    for above, below in pairwise(taken[last:]):
        item, over = below[0].items[0], above[0].items[0]
        on = min(abs(below[0].x0 - edge) for edge in edges) < 3
        if item.base - over.base > 1.4 * item.size or not on or item.bold != over.bold:
            break
        end += 1
    return taken[:end]


def merged(segments: list[Segment]) -> list[Segment]:
    """The ranges that the segments cover."""
    merged: list[Segment] = []
    for segment in sorted(segments, key=lambda segment: segment.x0):
        if merged and segment.x0 <= merged[-1].x1:
            merged[-1].x1 = max(merged[-1].x1, segment.x1)
        else:
            merged.append(Segment(segment.x0, segment.x1, []))
    return merged


def body_of(taken: list[list[Segment]]) -> list[list[Segment]]:
    """The rows that show the columns. Titles may cover several of them, so the first rows are left out if possible."""
    several = [line for line in taken if len(line) > 1]
    most = max(len(line) for line in several)
    first = next(number for number, line in enumerate(several) if len(line) * 3 >= most * 2)
    rest = several[max(first, 1) :]
    return rest if len(rest) >= MIN_ROWS else several[1:] if len(several) > MIN_ROWS else several


def is_table(lines: list[list[Segment]], borders: list[float]) -> bool:
    """Whether enough lines have several cells, whose texts are short, and are neither columns of text nor a list."""
    places = [[place_of(segment, borders) for segment in line] for line in lines]
    if sum(len(set(at)) > 1 for at in places) < MIN_ROWS:
        return False
    cells = [texts_in(line, at, len(borders) - 1) for line, at in zip(lines, places, strict=True)]
    lengths = sorted(len(cell) for row in cells for cell in row if cell)
    marks = all(len(row[0]) <= 3 or _MARK.fullmatch(row[0]) for row in cells) and len(cells[0]) == 2
    if marks or is_prose(lines, places, widths_of(lines, places, borders)):
        return False
    # Lines of justified text can have gaps at the same place by chance.
    if len(lines) <= _FEW and len(cells[0]) == 2 and not any(is_number(cell) for row in cells for cell in row if cell):
        between = [end - start for start, end in gaps_of([part for line in lines for part in line])]
        if max(between, default=0.0) < _CHANCE * lines[0][0].items[0].size:
            return False
    if lengths[len(lengths) * 3 // 4] <= _SHORT or (len(cells[0]) > 2 and lengths[len(lengths) // 2] <= _NUMBER):
        return True
    # Names and explanations: a short text, and a long one beside it.
    names = sorted(len(row[0]) for row in cells if row[0])
    return len(cells[0]) == 2 and len(names) >= MIN_ROWS and names[-1] <= _SHORT and len(names) * 3 >= len(cells)


def rows_from(lines: list[list[Segment]], borders: list[float], levels: Sequence[float]) -> list[TableRow]:
    """The rows of a table, each with one or more lines. `levels` are the heights of the horizontal lines in it."""
    width = len(borders) - 1
    places = [[place_of(segment, borders) for segment in line] for line in lines]
    named = without_names(lines, places)
    if named is not None:
        lines, places = named.lines, named.places
    cells = [texts_in(line, at, width) for line, at in zip(lines, places, strict=True)]
    widths = widths_of(lines, places, borders)
    groups = _between(lines, places, levels, widths) or grouped(lines, places, pairs_of(lines, places, widths))
    rows: list[TableRow] = []
    extents = _extents(lines, places, width)
    texts = [stacked([cells[number] for number in group]) for group in groups]
    for number, group in enumerate(groups):
        cover = list(range(width))
        if number < TITLES and number + 1 < len(groups) and len(group) == 1:
            cover = covers(lines[group[0]], places[group[0]], extents, texts[number + 1])
        if named is not None:
            texts[number][0] = texts[number][0] or named.names[group[0]]
        rows.append(TableRow(texts[number], cover))
    return rows


def _between(
    lines: list[list[Segment]], places: list[list[int]], levels: Sequence[float], widths: list[float]
) -> list[list[int]]:
    """The lines between horizontal lines, if these divide rows."""
    if len(levels) < MIN_ROWS - 1:
        return []
    groups: dict[int, list[int]] = {}
    for number, line in enumerate(lines):
        item = line[0].items[0]
        groups.setdefault(bisect(levels, item.base - 0.3 * item.size), []).append(number)
    for group in groups.values():
        inside = [lines[at] for at in group]
        if has_rows(inside, pairs_of(inside, [places[at] for at in group], widths)):
            return []
    return list(groups.values())


def _extents(lines: list[list[Segment]], places: list[list[int]], width: int) -> list[tuple[float, float]]:
    """The range of the texts in each column, without those of headers over several columns."""
    found: list[tuple[float, float]] = [(0.0, 0.0)] * width
    for line, at in zip(lines[1:], places[1:], strict=True):
        for segment, column in zip(line, at, strict=True):
            x0, x1 = found[column]
            if (x0, x1) == (0.0, 0.0):
                found[column] = segment.x0, segment.x1
            elif len(line) * 2 > width:
                found[column] = min(x0, segment.x0), max(x1, segment.x1)
    return found
