"""The headers of a table: which of its first rows they are, and what a header over several columns belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from a2c_documents.model import Element, table
from a2c_documents.parsers.pdf.layout import Segment
from a2c_documents.parsers.pdf.table_rows import is_number, is_period, shape_of
from a2c_documents.parsers.pdf.words import rtl_letters

MOST_HEADERS = 5
_SAMPLE = 16
_NUMERIC = 0.6
"""The share of numbers in a column of numbers."""


@dataclass(slots=True)
class TableRow:
    """The texts of a row, and for each column the first one of the cell that it belongs to."""

    cells: list[str]
    cover: list[int]


def table_of(rows: Sequence[TableRow]) -> Element:
    """The rows, from left to right, as a table in the order of reading."""
    if _is_rtl(rows):
        last = len(rows[0].cells) - 1
        rows = [TableRow(row.cells[::-1], [last - start for start in row.cover[::-1]]) for row in rows]
    return table_with(rows, header_count(rows))


def table_with(rows: Sequence[TableRow], count: int) -> Element:
    """The rows as a table whose first rows are its headers."""
    made = table(_headers(rows[:count], len(rows[0].cells)), [row.cells for row in rows[count:]])
    if count != 1:
        made.metadata["header_rows"] = count
    return made


def _is_rtl(rows: Sequence[TableRow]) -> bool:
    """Whether most words are written from right to left. Numbers have no direction."""
    # Nearly all tables are ASCII, and this test is all that they cost.
    if "".join(["".join(row.cells) for row in rows]).isascii():
        return False
    written = sum(rtl_letters(cell) for row in rows for cell in row.cells)
    return written * 2 > sum(len(cell) for row in rows for cell in row.cells if not is_number(cell))


def header_count(rows: Sequence[TableRow]) -> int:
    """The number of header rows. There are none if the first row has numbers where all rows have numbers."""
    # The first rows show what a column holds.
    columns = numeric_columns([row.cells for row in rows[1:_SAMPLE]])
    count = 0
    while count < min(MOST_HEADERS, len(rows) - 1) and _is_header(rows, count, columns):
        count += 1
    # Headers of one level in two rows, above a table without numbers, cannot be told from data.
    return count


def _is_header(rows: Sequence[TableRow], at: int, numeric: Sequence[int]) -> bool:
    cells = rows[at].cells
    figures = [cells[column] for column in numeric if cells[column]]
    numbers = [cell for cell in figures if is_number(cell)]
    years = bool(numbers) and all(map(is_period, numbers))
    if at == 0:
        return not numbers or years or len(numbers) * 2 < len(figures) or _is_apart(rows, numeric)
    above = rows[at - 1]
    # A row below a header is another line of it if it names columns, and no row.
    named = bool(cells[0]) and cells[0] != above.cells[0] and bool(above.cells[0])
    if named or (numbers and not years) or not any(cells):
        return False
    spans = any(column != start and above.cells[start] for column, start in enumerate(above.cover))
    if spans:
        return sum(map(bool, cells[1:])) > 1 or bool(figures)
    return bool(figures) and not years


def _is_apart(rows: Sequence[TableRow], numeric: Sequence[int]) -> bool:
    """Whether the numbers of the first row differ in form from those below: numbers of buses above times."""
    apart = [shape_of(rows[0].cells[column]) not in {shape_of(row.cells[column]) for row in rows[1:]}
             for column in numeric if rows[0].cells[column]]  # fmt: skip
    return sum(apart) > _NUMERIC * len(apart)


def numeric_columns(rows: Sequence[Sequence[str]]) -> list[int]:
    """The columns of which most cells are numbers."""
    found: list[int] = []
    for column in range(len(rows[0]) if rows else 0):
        cells = [row[column] for row in rows if row[column]]
        if len(cells) > 0 and sum(map(is_number, cells)) >= _NUMERIC * len(cells):
            found.append(column)
    return found


def _headers(rows: Sequence[TableRow], width: int) -> list[str]:
    headers = [""] * width
    for row in rows:
        for column in range(width):
            start = row.cover[column]
            words = row.cells[start]
            if not words or headers[column] == words or headers[column].endswith(f" / {words}"):
                continue
            if not headers[column]:
                headers[column] = words
                continue
            group = row.cover.count(start) > 1
            # Groups of columns are levels; other rows are lines of one header.
            mark = " / " if group or " / " in headers[column] or _is_group(rows, column, headers[column]) else " "
            headers[column] = f"{headers[column]}{mark}{words}"
    return headers


def _is_group(rows: Sequence[TableRow], column: int, words: str) -> bool:
    """Whether a header is that of several columns."""
    return any(row.cells[row.cover[column]] == words and row.cover.count(row.cover[column]) > 1 for row in rows)


def covers(
    segments: Sequence[Segment],
    places: Sequence[int],
    columns: Sequence[tuple[float, float]],
    below: Sequence[str],
) -> list[int]:
    """For each column the one whose header stands above it.

    `columns` are the extents of the texts in them, and `below` the texts of the next row.
    """
    cover = list(range(len(columns)))
    if len(segments) >= len(columns):
        return cover
    again = [words for words in below if words and below.count(words) > 1]
    if len(again) > 1 and len(again) * 2 > len(below):
        # The same names below each header: what has no header of its own belongs to the one on its left.
        held = {place for place in places if below[place]}
        last: int | None = None
        for column, words in enumerate(below):
            last = column if column in held else None if column in places else last
            if last is not None and words:
                cover[column] = last
        return cover
    for number, (segment, place) in enumerate(zip(segments, places, strict=True)):
        left = places[number - 1] + 1 if number else 0
        right = places[number + 1] - 1 if number + 1 < len(segments) else len(columns) - 1
        first, last = _spanned(segment, place, left, right, columns)
        for column in range(first, last + 1):
            cover[column] = place
    return cover


def _spanned(
    segment: Segment, place: int, left: int, right: int, columns: Sequence[tuple[float, float]]
) -> tuple[int, int]:
    """The columns over which a header is centred, or at whose left edge it begins."""
    middle, best = (segment.x0 + segment.x1) / 2, (place, place)
    least = abs(middle - (columns[place][0] + columns[place][1]) / 2)
    own = columns[place]
    reach = segment.x0 < own[0] - 4 or segment.x1 > own[1] + 4
    for first in range(left, place + 1):
        for last in range(place, right + 1):
            x0, x1 = columns[first][0], columns[last][1]
            if first == last or x1 <= x0:
                continue
            away = abs(middle - (x0 + x1) / 2)
            crosses = segment.x0 < columns[first][1] and segment.x1 > columns[last][0]
            if (away < min(least - 1, 0.12 * (x1 - x0)) and (reach or crosses)) or (crosses and away < least):
                least, best = away, (first, last)
    return best
