"""Tables without lines: rows with gaps at the same positions."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from a2c_documents.parsers.pdf.geometry import Box
from a2c_documents.parsers.pdf.layout import CELL_GAP, GUTTER, Row, Segment, bounds, join, segments_of
from a2c_documents.parsers.pdf.table_heads import MOST_HEADERS as TITLES
from a2c_documents.parsers.pdf.table_heads import TableRow, covers, table_of
from a2c_documents.parsers.pdf.table_rows import grouped, has_rows, is_number, is_prose, stacked
from a2c_documents.parsers.pdf.tables import MAX_COLUMNS, Found, fits, gaps_of, is_leader, parts_of, place_of, texts_in
from a2c_documents.parsers.pdf.words import Item, parted

_MIN_ROWS = 3
_MAX_ROWS = 400
_MAX_TRIES = 6
_LOOKED_AT = 60
_GAP, _NARROW = 0.8, 0.3
"""The least gap through all rows, in letter sizes: between texts, and between words that are aligned."""
_PITCH = 3.0
"""The greatest distance between two rows of a table, in letter sizes."""
_NEAR = 2.2
"""The same for a line with a single text, unless all rows are far from each other."""
_SINGLE = 12
"""Lines with a single text that follow each other: the rest of a long cell."""
_SHORT = 45
"""Characters of a cell; longer texts are sentences."""
_FEW, _CHANCE = 4, 1.6
"""Lines of a table, and the least gap between its two columns in letter sizes if it has no more lines."""
_NUMBER = 12
"""Characters of half of the cells, in a table with numbers beside long names."""
_RULE = 0.6
"""The share of a table's width that a line between two rows has."""
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"(?:^|(?<=\s))[^\sA-Za-z]*\d\S*")
_MARK = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})(?:[.\-)\]]\w{0,3})*[)\].:]?")
_ALIGNED = 1.6
"""Points by which the edges of a column differ."""


@dataclass(slots=True)
class Around:
    """What is on the page besides its lines of text."""

    across: Sequence[Box] = ()
    """Horizontal lines."""
    sideways: list[Item] = field(default_factory=list[Item])
    """Turned texts. Those that are headings of a table are removed."""


_NOTHING = Around()


class AlignedTables:
    """Finds tables in the rows of a column. Cells of rows are cached, because the search visits a row many times."""

    def __init__(self, rows: Sequence[Row], around: Around = _NOTHING) -> None:
        self._rows = rows
        self._around = around
        self._parts: dict[int, list[Segment]] = {}
        self._narrow: dict[int, tuple[list[list[Segment]], list[float]] | None] = {}

    def at(self, start: int) -> tuple[int, Found] | None:
        """The number of rows of the table that begins with this row, and the table; None if there is none.

        A table has at least three rows with gaps at the same positions.
        """
        row = self._rows[start]
        # A row without a gap cannot begin a table. Most rows have none, and this test is all that they cost.
        if len(row.items) < 2 or len(segments_of(row.items, CELL_GAP)) < 2:
            return self._with_narrow_gaps(start)
        for single in (_SINGLE, 0):
            found = self._with_wide_gaps(start, row.size, single)
            if found is not None:
                return found
        return self._with_narrow_gaps(start)

    def _with_wide_gaps(self, start: int, size: float, single: int) -> tuple[int, Found] | None:
        """A table of lines of which at most `single` with one text only follow each other."""
        taken = self._with_gaps(start, single)
        for _ in range(_MAX_TRIES):
            taken = _trimmed(taken)
            several = sum(len(line) > 1 for line in taken)
            if several < _MIN_ROWS or (several == _MIN_ROWS and len(taken) > several):
                break
            borders = _borders(_body(taken), size)
            if 2 <= len(borders) - 1 <= MAX_COLUMNS and _is_table(taken, borders):
                # The columns are known, so the rest of a long table only has to fit them.
                taken += self._going_on(start + len(taken) - 1, start + _MAX_ROWS, borders)
                # Columns that are close to each other may have a wide gap in the first rows only.
                narrow = self._aligned(start) if self._has_more(start + len(taken)) else None
                if narrow is not None and len(narrow[0]) > len(taken):
                    return self._made(start, *narrow)
                finer = _refined(taken, borders, size)
                if len(finer) > len(borders):
                    taken += self._going_on(start + len(taken) - 1, start + _MAX_ROWS, finer)
                return self._made(start, taken, finer)
            # The last row may be text below the table, which covers the gaps. Try again without it.
            taken.pop()
        return None

    def _made(self, start: int, taken: list[list[Segment]], borders: list[float]) -> tuple[int, Found]:
        items = [item for row in self._rows[start : start + len(taken)] for item in row.items]
        box = bounds(items)
        levels = sorted(line[1] for line in self._around.across if line[0] < box[2] and line[2] > box[0]
                        and box[1] < line[1] < box[3] and line[2] - line[0] > _RULE * (box[2] - box[0]))  # fmt: skip
        borders = _shifted(taken, borders)
        rows = _table_rows([_divided(line, borders, taken) for line in taken], borders, levels)
        turned = self._turned(box, items[0].size, taken, borders)
        if turned is not None:
            rows.insert(0, turned)
        return len(taken), Found(table_of(rows), box, items)

    def _has_more(self, end: int) -> bool:
        """Whether the line below is close enough to be a row, too."""
        return end < len(self._rows) and not _is_far(self._rows[end - 1], self._rows[end])

    def _turned(self, box: Box, size: float, taken: list[list[Segment]], borders: list[float]) -> TableRow | None:
        """The turned headings above a table."""
        low, high = box[1] - 3 * size, box[1] + 3 * size
        near = [item for item in self._around.sideways
                if low < item.bottom < high and box[0] < (item.x0 + item.x1) / 2 < box[2]]  # fmt: skip
        if len(near) < 2:
            return None
        cells = [""] * (len(borders) - 1)
        for item in sorted(near, key=lambda item: item.x0):
            at = bisect(borders, (item.x0 + item.x1) / 2) - 1
            cells[at] = join(cells[at], item.text)
        self._around.sideways[:] = [item for item in self._around.sideways if not any(item is one for one in near)]
        return TableRow(cells, list(range(len(cells))))

    def _with_gaps(self, start: int, most: int) -> list[list[Segment]]:
        """The rows from here on that share a gap. The first row that covers all of the gaps is not part of them."""
        taken: list[list[Segment]] = []
        covered: list[Segment] = []
        above: Row | None = None
        single, widest = 0, 0.0
        # Enough rows to know the columns; rows that fit them are added later. Without a bound a page full of dots takes
        # minutes, because the search begins at each of its rows.
        for index in range(start, min(start + _LOOKED_AT, len(self._rows))):
            row = self._rows[index]
            parts = self._parts_of(index)
            single = single + 1 if len(parts) < 2 else 0
            if not 1 <= len(parts) <= MAX_COLUMNS or single > most or _is_far(above, row):
                break
            if above is not None:
                step = (row.base - above.base) / row.size
                # A single text that is larger, or further away than any row, is a heading below the table.
                far = widest > 0 and step > max(1.25 * widest, _NEAR)
                if single and (far or abs(row.size - above.size) > 0.08 * above.size):
                    break
                widest = widest if single else max(widest, step)
                wider = _merged([*covered, *parts])
                if not any(second.x0 - first.x1 >= _GAP * row.size for first, second in pairwise(wider)):
                    break
                covered = wider
            else:
                covered = _merged(parts)
            taken.append(parts)
            above = row
        return taken

    def _going_on(self, start: int, stop: int, borders: Sequence[float]) -> list[list[Segment]]:
        """The rows below this one that fit the columns, even if the gaps between their cells are narrow."""
        more: list[list[Segment]] = []
        for above, row in pairwise(self._rows[start:stop]):
            parts = [] if row.block is not None else parts_of(row, GUTTER)
            if parts and not fits(parts, borders):
                parts = _by_words(row, borders)
            if not parts or _is_far(above, row):
                break
            more.append(parts)
        while more and len(more[-1]) < 2:
            more.pop()
        return more

    def _with_narrow_gaps(self, start: int) -> tuple[int, Found] | None:
        """A table whose words begin or end at the same places, with narrow gaps between them."""
        # Such a table has numbers. This test is all that rows of running text cost.
        if not all(map(self._is_numeric, range(start + 1, start + _MIN_ROWS))):
            return None
        found = self._aligned(start)
        if found is not None:
            return self._made(start, *found)
        # The words of a header may be closer together than those below it.
        below = self._aligned(start + 1) if start + 1 < len(self._rows) else None
        row = self._rows[start]
        if below is None or row.block is not None or _is_far(row, self._rows[start + 1]):
            return None
        words = _words(row)
        lines, borders = below
        if len(words) < len(borders) - 1 or len(words) > 2 * len(borders) or any(is_number(w.words) for w in words):
            return None
        first = _gathered(words, borders)
        return self._made(start, [first, *lines], borders) if len(first) == len(borders) - 1 else None

    def _is_numeric(self, index: int) -> bool:
        """Whether a row has two numbers."""
        row = self._rows[index] if index < len(self._rows) else None
        if row is None or row.block is not None:
            return False
        # Most rows of text have no digit at all, which is quickly seen.
        return sum(len(_DIGITS.findall(item.text)) for item in row.items if _DIGIT.search(item.text)) > 1

    def _aligned(self, start: int) -> tuple[list[list[Segment]], list[float]] | None:
        if start not in self._narrow:
            self._narrow[start] = self._search(start)
        return self._narrow[start]

    def _search(self, start: int) -> tuple[list[list[Segment]], list[float]] | None:
        """Lines whose words are aligned, and the borders between their columns."""
        taken: list[list[Segment]] = []
        gaps: list[tuple[float, float]] = []
        above: Row | None = None
        for index in range(start, min(start + _LOOKED_AT, len(self._rows))):
            row = self._rows[index]
            if row.block is not None or _is_far(above, row):
                break
            words = _words(row)
            least = _NARROW * row.size
            own = [(first.x1, second.x0) for first, second in pairwise(words) if second.x0 - first.x1 >= least]
            shared = own if above is None else _common(gaps, own, least)
            if not shared:
                break
            gaps, above = shared, row
            taken.append(words)
        if len(taken) <= _MIN_ROWS:
            return None
        gaps = [gap for gap in gaps if _is_edge(taken, gap)]
        if not gaps or len(gaps) + 1 > MAX_COLUMNS:
            return None
        borders = [-1e6, *((start + end) / 2 for start, end in gaps), 1e6]
        lines = [_gathered(words, borders) for words in taken]
        if not all(len(line) > 1 for line in lines) or not _is_table(lines, borders):
            return None
        filled = sum(map(len, lines))
        if filled < 0.6 * len(lines) * (len(borders) - 1):
            return None
        numbers = sum(1 for line in lines for segment in line if is_number(segment.words))
        # Without numbers, aligned words are more often an accident.
        if numbers < 2 * len(lines) and (len(borders) < 4 or numbers < len(lines)):
            return None
        return lines, borders

    def _parts_of(self, index: int) -> list[Segment]:
        parts = self._parts.get(index)
        if parts is None:
            row = self._rows[index]
            parts = self._parts[index] = [] if row.block is not None else parts_of(row, CELL_GAP)
        return parts


def _is_far(above: Row | None, row: Row) -> bool:
    return above is not None and row.base - above.base > _PITCH * row.size


def _trimmed(taken: list[list[Segment]]) -> list[list[Segment]]:
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
    """The rows that show the columns. Titles may cover several of them, so the first rows are left out if possible."""
    several = [line for line in taken if len(line) > 1]
    most = max(len(line) for line in several)
    first = next(number for number, line in enumerate(several) if len(line) * 3 >= most * 2)
    rest = several[max(first, 1) :]
    return rest if len(rest) >= _MIN_ROWS else several[1:] if len(several) > _MIN_ROWS else several


def _borders(lines: list[list[Segment]], size: float) -> list[float]:
    """The borders of the columns: the middle of each gap that goes through all lines."""
    gaps = gaps_of([segment for line in lines for segment in line])
    return [-1e6, *((start + end) / 2 for start, end in gaps if end - start >= _GAP * size), 1e6]


def _is_table(lines: list[list[Segment]], borders: list[float]) -> bool:
    """Whether enough lines have several cells, whose texts are short, and are neither columns of text nor a list."""
    places = [[place_of(segment, borders) for segment in line] for line in lines]
    if sum(len(set(at)) > 1 for at in places) < _MIN_ROWS:
        return False
    cells = [texts_in(line, at, len(borders) - 1) for line, at in zip(lines, places, strict=True)]
    lengths = sorted(len(cell) for row in cells for cell in row if cell)
    marks = all(len(row[0]) <= 3 or _MARK.fullmatch(row[0]) for row in cells) and len(cells[0]) == 2
    if marks or is_prose(lines, places, _widths(lines, places, borders)):
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
    return len(cells[0]) == 2 and len(names) >= _MIN_ROWS and names[-1] <= _SHORT and len(names) * 3 >= len(cells)


def _widths(lines: list[list[Segment]], places: list[list[int]], borders: list[float]) -> list[float]:
    """The width of the widest text that is in one column only."""
    widths = [0.0] * (len(borders) - 1)
    for line, at in zip(lines, places, strict=True):
        for segment, column in zip(line, at, strict=True):
            if segment.x0 > borders[column] - 1 and segment.x1 < borders[column + 1] + 1:
                widths[column] = max(widths[column], segment.x1 - segment.x0)
    return widths


def _divided(line: list[Segment], borders: list[float], lines: list[list[Segment]]) -> list[Segment]:
    """The texts of a line, with those divided that are close to each other, but in different columns."""
    divided: list[Segment] = []
    for segment in line:
        inner = [border for border in borders if segment.x0 + 2 < border < segment.x1 - 2]
        words = [word for item in segment.items for word in parted(item)] if inner else []
        parts = segments_of(words, 1e9, inner) if len(words) > 1 else [segment]
        marks = all(is_number(part.words) or len(part.words) == 1 for part in parts)
        if len(parts) > 1 and (marks or all(_is_under(part, borders, lines) for part in parts)):
            divided += parts
        else:
            divided.append(segment)
    return divided


def _shifted(lines: list[list[Segment]], borders: list[float]) -> list[float]:
    """The borders, moved inside their gaps to where no word of a header is crossed."""
    moved = list(borders)
    for number, border in enumerate(borders[1:-1], 1):
        # In a line with few texts, they are headers over several columns.
        full = [line for line in lines[:TITLES] if len(line) >= 0.7 * (len(borders) - 1)]
        crossing = [segment for line in full for segment in line if segment.x0 + 1 < border < segment.x1 - 1]
        if not crossing:
            continue
        rest = [segment for line in lines for segment in line if not segment.x0 + 1 < border < segment.x1 - 1]
        low = max((segment.x1 for segment in rest if segment.x1 <= border + 1), default=border)
        high = min((segment.x0 for segment in rest if segment.x0 >= border - 1), default=border)
        for segment in crossing:
            words = sorted(_words_in(segment, -1e9, 1e9), key=lambda word: word.x0)
            # The text may be in one of the columns, and only reach into the gap.
            gaps = [(low, segment.x0), (segment.x1, high)]
            gaps += [(max(low, first.x1), min(high, second.x0)) for first, second in pairwise(words)]
            found = next((gap for gap in gaps if gap[1] - gap[0] > 1), None)
            if found is not None:
                moved[number] = (found[0] + found[1]) / 2
    return moved


def _is_under(part: Segment, borders: list[float], lines: list[list[Segment]]) -> bool:
    """Whether a part of a text is where the other texts of its column are."""
    at = bisect(borders, (part.x0 + part.x1) / 2)
    low, high = borders[at - 1], borders[at]
    if part.x0 < low - 1 or part.x1 > high + 1:
        return False
    others = [other for line in lines for other in line if low - 1 <= other.x0 and other.x1 <= high + 1]
    return any(abs(part.x0 - other.x0) < 3 or abs(part.x1 - other.x1) < 3
               or abs(part.x0 + part.x1 - other.x0 - other.x1) < 6 for other in others)  # fmt: skip


def _refined(lines: list[list[Segment]], borders: list[float], size: float) -> list[float]:
    """The borders, with those between columns of numbers that are close to each other."""
    more: list[float] = []
    for low, high in pairwise(borders):
        held = [[word for segment in line for word in _words_in(segment, low, high)] for line in lines]
        # A header may be wider than the numbers below it.
        titled = any(not is_number(word.words) and len(word.words) > 1 for word in held[0])
        body = [words for words in held[titled:] if words]
        if len(body) < _MIN_ROWS or sum(len(words) > 1 for words in body) < len(body) // 2:
            continue
        for start, end in gaps_of([word for words in body for word in words]):
            sides = [word.words for words in body for word in words if word.x0 >= end - 1]
            short = sum(is_number(words) or len(words) == 1 for words in sides)
            if end - start < _NARROW * size or len(sides) < _MIN_ROWS or short < 0.6 * len(sides):
                continue
            if short == len(sides) or _is_edge(body, (start, end)):
                more.append((start + end) / 2)
    return sorted([*borders, *more])


def _words_in(segment: Segment, low: float, high: float) -> list[Segment]:
    if not low < (segment.x0 + segment.x1) / 2 < high:
        return []
    words = [word for item in segment.items for word in parted(item)]
    return [Segment(word.x0, word.x1, [word]) for word in words if not is_leader(word.text)]


def _table_rows(lines: list[list[Segment]], borders: list[float], levels: Sequence[float]) -> list[TableRow]:
    """The rows of a table, each with one or more lines. `levels` are the heights of the horizontal lines in it."""
    width = len(borders) - 1
    places = [[place_of(segment, borders) for segment in line] for line in lines]
    cells = [texts_in(line, at, width) for line, at in zip(lines, places, strict=True)]
    groups = _between(lines, places, levels, borders) or grouped(lines, places, _widths(lines, places, borders))
    rows: list[TableRow] = []
    extents = _extents(lines, places, width)
    texts = [stacked([cells[number] for number in group]) for group in groups]
    for number, group in enumerate(groups):
        cover = list(range(width))
        if number < TITLES and number + 1 < len(groups) and len(group) == 1:
            cover = covers(lines[group[0]], places[group[0]], extents, texts[number + 1])
        rows.append(TableRow(texts[number], cover))
    return rows


def _between(
    lines: list[list[Segment]], places: list[list[int]], levels: Sequence[float], borders: list[float]
) -> list[list[int]]:
    """The lines between horizontal lines, if these divide rows."""
    if len(levels) < _MIN_ROWS - 1:
        return []
    groups: dict[int, list[int]] = {}
    for number, line in enumerate(lines):
        item = line[0].items[0]
        groups.setdefault(bisect(levels, item.base - 0.3 * item.size), []).append(number)
    widths = _widths(lines, places, borders)
    found = list(groups.values())
    if any(has_rows([lines[at] for at in group], [places[at] for at in group], widths) for group in found):
        return []
    return found


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


# ---------------------------------------------------------------------------------------------------------- narrow gaps


def _words(row: Row) -> list[Segment]:
    """Each word of a row."""
    words = sorted((word for item in row.items for word in parted(item)), key=lambda word: word.x0)
    return [Segment(word.x0, word.x1, [word]) for word in words if not is_leader(word.text)]


def _common(gaps: list[tuple[float, float]], own: list[tuple[float, float]], least: float) -> list[tuple[float, float]]:
    """The parts of gaps that the words of a row leave open, with words on both sides."""
    found: list[tuple[float, float]] = []
    for start, end in gaps:
        for left, right in own:
            low, high = max(start, left), min(end, right)
            if high - low >= least:
                found.append((low, high))
    return found


def _is_edge(lines: list[list[Segment]], gap: tuple[float, float]) -> bool:
    """Whether the words of most lines end at the left side of a gap, or begin at its right side."""
    ends = [min((abs(word.x1 - gap[0]) for word in line if word.x1 < gap[1]), default=None) for line in lines]
    begins = [min((abs(word.x0 - gap[1]) for word in line if word.x0 > gap[0]), default=None) for line in lines]
    sides = [[away for away in side if away is not None] for side in (ends, begins)]
    if any(len(side) > 1 and sum(away < _ALIGNED for away in side) >= 0.7 * len(side) for side in sides):
        return True
    # Names on the left, and numbers that are aligned at their other side.
    left = [max((word for word in line if word.x1 < gap[1]), key=lambda word: word.x1, default=None) for line in lines]
    right = [min((word for word in line if word.x0 > gap[0]), key=lambda word: word.x0, default=None) for line in lines]
    names = sum(word is not None and not is_number(word.words) for word in left)
    numbers = all(word is not None and is_number(word.words) for word in right[1:])
    return numbers and names >= 0.7 * len(lines)


def _by_words(row: Row, borders: Sequence[float]) -> list[Segment]:
    """The texts of a row whose words are in columns although they are close to each other; empty if they are not."""
    words = _words(row)
    if any(word.x0 + 1 < border < word.x1 - 1 for word in words for border in borders):
        return []
    parts = _gathered(words, borders)
    # Words of a sentence may be in columns by chance; numbers and marks are not.
    short = all(is_number(part.words) or len(part.words) == 1 for part in parts[1:])
    return parts if len(parts) > 1 and short else []


def _gathered(words: list[Segment], borders: Sequence[float]) -> list[Segment]:
    """The words of a line in each column as one text."""
    found: dict[int, Segment] = {}
    for word in words:
        at = bisect(borders, (word.x0 + word.x1) / 2)
        held = found.get(at)
        if held is None:
            found[at] = word
        else:
            found[at] = Segment(held.x0, word.x1, [*held.items, *word.items])
    return list(found.values())
