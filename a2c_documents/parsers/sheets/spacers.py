"""Empty rows and columns that only make room: they divide no table, although nothing is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from a2c_documents.parsers.sheets.grid import NUMBER, TEXT, YEAR, Cell

Place = tuple[int, int]

_WIDEST = 2
"""Empty rows or columns next to each other."""
_MOST = 0.6
_HEADS = 3
"""Lines of a header."""


def spacers_of(cells: Mapping[Place, Cell], places: Sequence[Place]) -> tuple[set[int], set[int]]:
    """The rows and columns that divide nothing. `places` are those of the cells that are looked at."""
    # Most tables have no empty row or column at all. Looking at their cells takes much longer than seeing that.
    has_rows, has_columns = _has_gap({row for row, _ in places}), _has_gap({column for _, column in places})
    if not (has_rows or has_columns):
        return set(), set()
    held = {place: cells[place] for place in places if place in cells}
    return _rows(held) if has_rows else set(), _columns(held) if has_columns else set()


def _has_gap(used: set[int]) -> bool:
    return bool(used) and max(used) - min(used) >= len(used)


def _columns(cells: Mapping[Place, Cell]) -> set[int]:
    """The empty columns before numbers whose names are further to the left."""
    by_column: dict[int, list[tuple[int, Cell]]] = {}
    named: dict[int, int] = {}
    for (row, column), cell in cells.items():
        by_column.setdefault(column, []).append((row, cell))
        if cell.kind == TEXT and not cell.formula:
            named[row] = min(named.get(row, column), column)
    found: set[int] = set()
    for left, right in pairwise(sorted(by_column)):
        if 1 < right - left <= _WIDEST + 1 and _are_values(sorted(by_column[right]), named, left):
            found.update(range(left + 1, right))
    return found


def _are_values(column: list[tuple[int, Cell]], named: Mapping[int, int], left: int) -> bool:
    """Whether a column has numbers, in rows with a name on the left of it."""
    first = next((at for at, (_, cell) in enumerate(column) if _is_value(cell)), None)
    if first is None or first > _HEADS:
        return False
    numbers = [(row, cell) for row, cell in column[first:] if _is_value(cell)]
    if len(numbers) < _MOST * len(column[first:]):
        return False
    # Years are the names of the rows of another table.
    if len(numbers) > 1 and all(YEAR.match(cell.text) for _, cell in numbers):
        return False
    beside = sum(named.get(row, left + 1) <= left for row, _ in numbers)
    return beside >= _MOST * len(numbers)


def _rows(cells: Mapping[Place, Cell]) -> set[int]:
    """The empty rows between the headers of columns and the numbers in them."""
    by_row: dict[int, dict[int, Cell]] = {}
    for (row, column), cell in cells.items():
        by_row.setdefault(row, {})[column] = cell
    used = sorted(by_row)
    found: set[int] = set()
    for at, (above, below) in enumerate(pairwise(used)):
        if not 1 < below - above <= _WIDEST + 1 or not _are_heads(by_row[above]):
            continue
        if at and used[at - 1] == above - 1 and any(map(_is_value, by_row[used[at - 1]].values())):
            continue
        rest = [by_row[row] for row in used[at + 1 : at + 2 + _HEADS]]
        empty: dict[int, Cell] = {}
        values = next((row for row in rest if any(map(_is_value, row.values()))), empty)
        heads = [column for column in by_row[above] if column > min(values, default=0)]
        under = sum(_is_value(values[column]) for column in heads if column in values)
        if not values or not heads or under < _MOST * len(heads):
            continue
        if not any(map(_is_wide, rest[: rest.index(values)])):
            found.update(range(above + 1, below))
    return found


def _are_heads(row: Mapping[int, Cell]) -> bool:
    return len(row) > 1 and all(
        not cell.formula and (cell.kind == TEXT or YEAR.match(cell.text) is not None) for cell in row.values()
    )


def _is_wide(row: Mapping[int, Cell]) -> bool:
    """Whether a row without numbers has several texts: the headers of another table."""
    return len(row) > 1


def _is_value(cell: Cell) -> bool:
    return cell.kind == NUMBER or bool(cell.formula)
