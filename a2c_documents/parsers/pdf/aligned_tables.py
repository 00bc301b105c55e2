"""Tables without lines: rows with gaps at the same positions."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from a2c_documents.parsers.pdf.geometry import Box
from a2c_documents.parsers.pdf.layout import CELL_GAP, GUTTER, Row, Segment, bounds, join, rows_of, segments_of
from a2c_documents.parsers.pdf.table_columns import (
    GAP,
    MIN_ROWS,
    NARROW,
    borders_of,
    by_words,
    common_gaps,
    divided,
    gathered,
    is_edge,
    refined,
    shifted,
    words_in,
)
from a2c_documents.parsers.pdf.table_groups import gutter_of
from a2c_documents.parsers.pdf.table_heads import TableRow, table_of
from a2c_documents.parsers.pdf.table_lines import body_of, is_table, merged, rows_from, trimmed
from a2c_documents.parsers.pdf.table_rows import is_number
from a2c_documents.parsers.pdf.tables import MAX_COLUMNS, Found, fits, parts_of
from a2c_documents.parsers.pdf.words import Item

_MAX_ROWS = 400
_MAX_TRIES = 6
_LOOKED_AT = 60
_PITCH = 3.0
"""The greatest distance between two rows of a table, in letter sizes."""
_NEAR = 2.2
"""The same for a line with a single text, unless all rows are far from each other."""
_SINGLE = 12
"""Lines with a single text that follow each other: the rest of a long cell."""
_CELL = 11.0
"""The greatest height of a turned heading, in letter sizes."""
_APART = 1.5
"""The greatest distance of a header from its table, in distances between rows."""
_RULE = 0.6
"""The share of a table's width that a line between two rows has."""
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"(?:^|(?<=\s))[^\sA-Za-z]*\d\S*")


@dataclass(slots=True)
class Around:
    """What is on the page besides its lines of text."""

    across: Sequence[Box] = ()
    """Horizontal lines."""
    sideways: list[Item] = field(default_factory=list[Item])
    """Turned texts. Those that are headings of a table are removed."""


_NOTHING = Around()
_Taken = tuple[int, list[Found]]
"""A number of rows, and the tables in them."""


class AlignedTables:
    """Finds tables in the rows of a column. Cells of rows are cached, because the search visits a row many times."""

    def __init__(self, rows: Sequence[Row], around: Around = _NOTHING) -> None:
        self._rows = rows
        self._around = around
        self._parts: dict[int, list[Segment]] = {}
        self._numeric: dict[int, bool] = {}
        self._narrow: dict[int, tuple[list[list[Segment]], list[float]] | None] = {}

    def at(self, start: int) -> _Taken | None:
        """The number of rows of the table that begins with this row, and the table; None if there is none.

        Two tables that are side by side have the same rows.

        A table has at least three rows with gaps at the same positions.
        """
        if self._around.sideways and (words := self._beside_turned(start)):
            return self._with_name(start + 1, words)
        return self._begun(start)

    def _begun(self, start: int) -> _Taken | None:
        row = self._rows[start]
        # A row without a gap cannot begin a table. Most rows have none, and this test is all that they cost.
        if len(row.items) < 2 or len(segments_of(row.items, CELL_GAP)) < 2:
            return self._with_narrow_gaps(start)
        taken = self._with_gaps(start, _SINGLE)
        found = self._with_wide_gaps(start, row.size, taken)
        if found is None and any(len(line) < 2 for line in taken):
            found = self._with_wide_gaps(start, row.size, self._with_gaps(start, 0))
        return found or self._with_narrow_gaps(start)

    def _with_wide_gaps(self, start: int, size: float, lines: list[list[Segment]]) -> _Taken | None:
        """A table that begins with these lines, or some of them."""
        taken = list(lines)
        for _ in range(_MAX_TRIES):
            taken = trimmed(taken)
            several = sum(len(line) > 1 for line in taken)
            if several < MIN_ROWS or (several == MIN_ROWS and len(taken) > several):
                break
            borders = borders_of(body_of(taken), size)
            if 2 <= len(borders) - 1 <= MAX_COLUMNS and is_table(taken, borders):
                # The columns are known, so the rest of a long table only has to fit them.
                taken += self._going_on(start + len(taken) - 1, start + _MAX_ROWS, borders)
                # Columns that are close to each other may have a wide gap in the first rows only.
                narrow = self._aligned(start) if self._has_more(start + len(taken)) else None
                if narrow is not None and len(narrow[0]) > len(taken):
                    return self._made(start, *narrow)
                finer = refined(taken, borders, size)
                if len(finer) > len(borders):
                    taken += self._going_on(start + len(taken) - 1, start + _MAX_ROWS, finer)
                return self._made(start, taken, finer)
            # The last row may be text below the table, which covers the gaps. Try again without it.
            taken.pop()
        return None

    def _made(self, start: int, taken: list[list[Segment]], borders: list[float]) -> _Taken:
        low, high = self._rows[start].base, self._rows[start + len(taken) - 1].base
        across = [line for line in self._around.across if low - 20 < line[1] < high + 20]
        gutter = gutter_of(taken, self._rows[start].size, across)
        if gutter is not None and (sides := self._beside(start, len(taken), gutter)):
            return len(taken), sides
        items = [item for row in self._rows[start : start + len(taken)] for item in row.items]
        box = bounds(items)
        levels = sorted(line[1] for line in self._around.across if line[0] < box[2] and line[2] > box[0]
                        and box[1] < line[1] < box[3] and line[2] - line[0] > _RULE * (box[2] - box[0]))  # fmt: skip
        borders = shifted(taken, borders)
        rows = rows_from([divided(line, borders, taken) for line in taken], borders, levels)
        turned = self._turned(box, items[0].size, taken, borders)
        if turned is not None:
            rows.insert(0, turned)
        return len(taken), [Found(table_of(rows), box, items)]

    def _beside(self, start: int, count: int, gutter: float) -> list[Found]:
        """The tables left and right of a gap; none if these are no tables by themselves."""
        found: list[Found] = []
        items = [item for row in self._rows[start : start + count] for item in row.items]
        for is_left in (True, False):
            rows = rows_of([item for item in items if (item.x0 < gutter) is is_left])
            table = AlignedTables(rows, self._around).at(0) if rows else None
            if table is None or table[0] < len(rows):
                return []
            found += table[1]
        return found

    def _beside_turned(self, start: int) -> str:
        """The text of a row beside turned headings, which names the first column; empty if the row is no such text."""
        parts = self._parts_of(start)
        if len(parts) != 1 or start + 1 >= len(self._rows):
            return ""
        row = self._rows[start]
        base, size, end = row.base, row.size, self._rows[start + 1].base
        near = [item for item in self._around.sideways
                if end - 4 * size < item.bottom < end and (item.x0 > parts[0].x1 or item.x1 < parts[0].x0)]  # fmt: skip
        if len(near) < 2:
            return ""
        # A name at the top of its cell can be above the headings.
        is_beside = min(item.top for item in near) - size < base
        is_above = row.items[0].bold and not self._rows[start + 1].items[0].bold and end - base < _CELL * size
        return parts[0].words if is_beside or is_above else ""

    def _with_name(self, start: int, words: str) -> _Taken | None:
        """The table below its turned headings, with the name of its first column."""
        found = self._begun(start)
        if found is None or len(found[1]) > 1:
            return None
        headers: list[str] = found[1][0].element.content["headers"]
        # The table below has taken the headings, unless they are not its own.
        if not headers or headers[0] or not all(headers[1:]):
            return None
        headers[0] = words
        found[1][0].items += self._rows[start - 1].items
        return found[0] + 1, found[1]

    def _has_more(self, end: int) -> bool:
        """Whether the line below is close enough to be a row of numbers, too."""
        if end >= len(self._rows) or _is_far(self._rows[end - 1], self._rows[end]):
            return False
        return any(_DIGIT.search(item.text) for item in self._rows[end].items)

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
        """The rows from here on that share a gap. The first row that covers all of the gaps is not part of them.

        At most `most` of them that have a single text follow each other.
        """
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
                wider = merged([*covered, *parts])
                if not any(second.x0 - first.x1 >= GAP * row.size for first, second in pairwise(wider)):
                    break
                covered = wider
            else:
                covered = merged(parts)
            taken.append(parts)
            above = row
        return taken

    def _going_on(self, start: int, stop: int, borders: Sequence[float]) -> list[list[Segment]]:
        """The rows below this one that fit the columns, even if the gaps between their cells are narrow."""
        more: list[list[Segment]] = []
        for above, row in pairwise(self._rows[start:stop]):
            parts = [] if row.block is not None else parts_of(row, GUTTER)
            if parts and not fits(parts, borders):
                parts = by_words(row, borders)
            if not parts or _is_far(above, row):
                break
            more.append(parts)
        while more and len(more[-1]) < 2:
            more.pop()
        return more

    def _with_narrow_gaps(self, start: int) -> _Taken | None:
        """A table whose words begin or end at the same places, with narrow gaps between them."""
        # Such a table has numbers. This test is all that rows of running text cost.
        if not self._is_numeric(start + 1) or not self._is_numeric(start + 2):
            return None
        found = self._aligned(start)
        if found is not None:
            return self._made(start, *found)
        # The words of a header may be closer together than those below it.
        below = self._aligned(start + 1) if start + 1 < len(self._rows) else None
        row = self._rows[start]
        if below is None or row.block is not None or _is_far(row, self._rows[start + 1]):
            return None
        words = words_in(row)
        lines, borders = below
        if len(words) < len(borders) - 1 or len(words) > 2 * len(borders) or any(is_number(w.words) for w in words):
            return None
        first = gathered(words, borders)
        if len(first) < len(borders) - 1 or not self._is_above(start, first, lines, borders):
            return None
        return self._made(start, [first, *lines], borders)

    def _is_above(self, start: int, line: list[Segment], lines: list[list[Segment]], borders: list[float]) -> bool:
        """Whether a line belongs to the rows below it: as close as they are, with each text above a column."""
        bases = [row.base for row in self._rows[start : start + len(lines) + 1]]
        steps = sorted(second - first for first, second in pairwise(bases[1:]))
        if bases[1] - bases[0] > _APART * steps[len(steps) // 2]:
            return False
        held = [(bisect(borders, (part.x0 + part.x1) / 2), part) for row in lines for part in row]
        return all(
            part.x1 < min((below.x0 for at, below in held if at > column), default=1e6) + 1
            and part.x0 > max((below.x1 for at, below in held if at < column), default=-1e6) - 1
            for column, part in enumerate(line, 1)
        )

    def _is_numeric(self, index: int) -> bool:
        """Whether a row has two numbers."""
        if index not in self._numeric:
            row = self._rows[index] if index < len(self._rows) else None
            count = 0
            for item in row.items if row is not None and row.block is None else ():
                # Most rows of text have no digit at all, which is quickly seen.
                if _DIGIT.search(item.text):
                    count += len(_DIGITS.findall(item.text))
            self._numeric[index] = count > 1
        return self._numeric[index]

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
            words = words_in(row)
            least = NARROW * row.size
            own = [(first.x1, second.x0) for first, second in pairwise(words) if second.x0 - first.x1 >= least]
            # A row can lack its first cells: they are those of the row above.
            side = [(-1e6, words[0].x0)] if above is not None and own else []
            shared = own if above is None else common_gaps(gaps, [*side, *own], least)
            if not shared:
                break
            gaps, above = shared, row
            taken.append(words)
        if len(taken) <= MIN_ROWS:
            return None
        gaps = [gap for gap in gaps if is_edge(taken, gap)]
        if not gaps or len(gaps) + 1 > MAX_COLUMNS:
            return None
        borders = [-1e6, *((start + end) / 2 for start, end in gaps), 1e6]
        lines = [gathered(words, borders) for words in taken]
        if not all(len(line) > 1 for line in lines) or not is_table(lines, borders):
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
