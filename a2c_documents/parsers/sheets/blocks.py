"""Find the tables of a sheet: empty rows and columns divide its cells into blocks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from a2c_documents.parsers.sheets.grid import DATE, NUMBER, TEXT, YEAR, Area, Cell
from a2c_documents.parsers.sheets.spacers import spacers_of

MAX_BLOCKS = 300
"""A sheet with more blocks is not a sheet of tables, and is shown as one block."""
_LONG_HEADER = 120
_MOST_HEADERS = 4
_SMALL = 2_000
"""Cells of a rectangle that counts as a table however empty it is."""
_APART = 3
"""Empty rows above which nothing belongs together."""
_NOTHING = Cell("")


@dataclass(slots=True)
class Block:
    """A rectangle of cells by rows, including empty cells, but without columns that only make room."""

    area: Area
    rows: list[list[Cell]]
    merged: list[Area]
    columns: list[int]
    """The columns of the sheet that the cells of a row are in."""

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def has_gaps(self) -> bool:
        """Whether columns of the rectangle are left out."""
        return len(self.columns) <= self.area.right - self.area.left

    def without_first(self) -> Block:
        """The block without its first row."""
        return replace(self, area=self.area._replace(top=self.area.top + 1), rows=self.rows[1:])

    def without_last(self) -> Block:
        """The block without its last row."""
        return replace(self, area=self.area._replace(bottom=self.area.bottom - 1), rows=self.rows[:-1])

    def narrowed(self) -> Block:
        """The first column, if only merged cells make the block wider; otherwise the block itself."""
        # A merged title covers many columns with one text. Without this, it would look like a wide, empty table.
        if any(filled(row[1:]) for row in self.rows):
            return self
        area = self.area._replace(right=self.area.left)
        return Block(area, [row[:1] for row in self.rows], self.merged, self.columns[:1])


def filled(row: list[Cell]) -> list[Cell]:
    """The cells of a row that are not empty."""
    return [cell for cell in row if cell.text or cell.formula]


def block_of(
    cells: dict[tuple[int, int], Cell], area: Area, merged: list[Area], columns: Sequence[int] | None = None
) -> Block:
    """The cells of a rectangle as a block; of the given columns only."""
    columns = list(range(area.left, area.right + 1)) if columns is None else list(columns)
    rows = [[cells.get((row, column), _NOTHING) for column in columns] for row in range(area.top, area.bottom + 1)]
    return Block(area, rows, [one for one in merged if one.meets(area)], columns)


def used_columns(cells: dict[tuple[int, int], Cell], area: Area, kept: Collection[int]) -> list[int]:
    """The columns of a rectangle that are not empty, or among those to be kept."""
    used = {column for row, column in cells if area.holds((row, column))}
    return [column for column in range(area.left, area.right + 1) if column in used or column in kept]


def is_sparse(area: Area, cells: dict[tuple[int, int], Cell]) -> bool:
    """Whether a rectangle is too empty for a table: a few cells can span millions."""
    size = (area.bottom - area.top + 1) * (area.right - area.left + 1)
    if size <= _SMALL:
        return False
    # A table is a full rectangle in the result. One cell in A1 and one in XFD1048576 would make 17 billion empty ones.
    return size > 20 * sum(area.holds(place) for place in cells)


def areas_of(
    cells: dict[tuple[int, int], Cell], merged: list[Area], hidden: tuple[Collection[int], Collection[int]] = ((), ())
) -> list[Area]:
    """The areas of the blocks in reading order. A merged cell fills the area that it covers.

    `hidden` are the hidden rows and columns: they do not divide blocks.
    """
    if not cells:
        return []
    # A merged area can reach to the last row of the sheet. It is cut to the cells that exist before its places are
    # counted one by one.
    bounds = _bounds(list(cells))
    places = set(cells)
    for area in merged:
        if (area.top, area.left) in cells:
            bottom, right = min(area.bottom, bounds.bottom), min(area.right, bounds.right)
            places.update(
                (row, column) for row in range(area.top, bottom + 1) for column in range(area.left, right + 1)
            )
    found: list[Area] = []
    waiting = [(part, *_dividing(cells, part, hidden)) for part in _groups_of(sorted(places))]
    while waiting:
        part, rows, columns = waiting.pop()
        # Rows first, then columns, and again inside each piece: two tables side by side below a common title are only
        # divided once the title is a piece of its own.
        pieces = _cut(part, 0, rows) or _cut(part, 1, columns)
        if pieces:
            waiting.extend((piece, rows, columns) for piece in pieces)
        else:
            found.append(_bounds(part))
        # Scattered cells, as in a calendar or a form, would give hundreds of tables with one cell each.
        if len(found) + len(waiting) > MAX_BLOCKS:
            found = _bands(sorted(places))
            break
    return sorted(found)


def _groups_of(places: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """The cells between wide gaps. What makes room is different in each of them."""
    groups: list[list[tuple[int, int]]] = []
    last: int | None = None
    for place in places:
        if last is None or place[0] - last > _APART:
            groups.append([])
        groups[-1].append(place)
        last = place[0]
    return groups


def _dividing(
    cells: dict[tuple[int, int], Cell],
    places: list[tuple[int, int]],
    hidden: tuple[Collection[int], Collection[int]],
) -> tuple[Collection[int], Collection[int]]:
    """The rows and columns that divide nothing: hidden ones, and those that only make room."""
    rows, columns = spacers_of(cells, places)
    return (rows | set(hidden[0]) if rows else hidden[0]), (columns | set(hidden[1]) if columns else hidden[1])


def _cut(places: list[tuple[int, int]], axis: int, hidden: Collection[int] = ()) -> list[list[tuple[int, int]]]:
    """The cells between empty rows (axis 0) or columns (axis 1); empty if nothing divides them."""
    used = sorted({place[axis] for place in places})
    part_of: dict[int, int] = {}
    number = 0
    for before, line in zip([used[0], *used], used, strict=False):
        # A gap that consists of hidden rows or columns is not seen, and what looks like one table is one.
        number += line > before + 1 and any(gap not in hidden for gap in range(before + 1, line))
        part_of[line] = number
    if number == 0:
        return []
    parts: list[list[tuple[int, int]]] = [[] for _ in range(number + 1)]
    for place in places:
        parts[part_of[place[axis]]].append(place)
    return parts


def _bands(places: list[tuple[int, int]]) -> list[Area]:
    """One area for all cells; or one for each group of rows, if that would be mostly empty."""
    whole = _bounds(places)
    if (whole.bottom - whole.top + 1) * (whole.right - whole.left + 1) <= 20 * len(places):
        return [whole]
    return [_bounds(part) for part in _cut(places, 0) or [places]]


def _bounds(places: list[tuple[int, int]]) -> Area:
    rows, columns = [row for row, _ in places], [column for _, column in places]
    return Area(min(rows), min(columns), max(rows), max(columns))


# -------------------------------------------------------------------------------------------------------------- headers


def header_rows(block: Block) -> int:
    """The number of header rows at the top: none, one, or more for grouped or multi-line headers."""
    # A header over several columns is merged, so most cells of its row are empty, and a second row has the names.
    grouped = bool(_groups(block))
    if len(block.rows) < 2 or not (_is_header(block.rows[0], block.width, grouped=grouped) or _names_numbers(block)):
        return 0
    count = 1
    if grouped and len(block.rows) > 2 and _is_header(block.rows[1], block.width, grouped=True):
        count = 2
    while count < _MOST_HEADERS and count + 1 < len(block.rows) and _goes_on(block, count, grouped=grouped):
        count += 1
    return count


def _names_numbers(block: Block) -> bool:
    """Whether the first row has texts above columns of numbers, and nothing above the names of the rows."""
    named = [column for column, cell in enumerate(block.rows[0]) if cell.text]
    row = block.rows[0]
    if not named or row[0].text or any(row[at].kind != TEXT or row[at].formula for at in named):
        return False
    if any(len(row[at].text) > _LONG_HEADER for at in named):
        return False
    above = 0
    for column in named:
        below = [cells[column] for cells in block.rows[1:] if cells[column].text]
        above += bool(below) and sum(cell.kind == NUMBER for cell in below) * 2 > len(below)
    return above > 0 and above * 2 >= len(named)


def _goes_on(block: Block, count: int, *, grouped: bool) -> bool:
    """Whether a row continues the headers above it: texts or years above numbers, and an empty first column."""
    row, below = block.rows[count], block.rows[count + 1]
    present = filled(row)
    if grouped and not row[0].text and _is_row_of_years(row):
        return True
    if not present or row[0].text or any(cell.kind != TEXT or cell.formula for cell in present):
        return False
    # A header can have up to four lines: if the next row can be another line, the row after it decides.
    if not any(below) or not filled(below[:1]):
        more = count + 2 < len(block.rows) and _goes_on(block, count + 1, grouped=grouped)
        return bool(filled(below)) and more
    return any(over.text and under.kind not in (TEXT, DATE) for over, under in zip(row, below, strict=True))


def _groups(block: Block) -> list[Area]:
    """Cells of the first row that are merged across columns."""
    top, _, _, right = block.area
    return [area for area in block.merged if area.top == area.bottom == top and min(area.right, right) > area.left]


def _is_header(row: list[Cell], width: int, *, grouped: bool) -> bool:
    present = filled(row)
    if not present or (len(present) * 2 < width and not grouped) or any(cell.formula for cell in present):
        return _is_row_of_years(row)
    if any(cell.kind != TEXT or len(cell.text) > _LONG_HEADER for cell in present):
        return _is_row_of_years(row)
    return True


def _is_row_of_years(row: list[Cell]) -> bool:
    """Whether a row holds years or dates after a name ("Region | 2023 | 2024"), only years in order, or months by
    name."""
    present = filled(row)
    times = [cell for cell in present if cell.kind == DATE or (cell.kind == NUMBER and YEAR.match(cell.text))]
    if len(times) < 2 or any(cell.kind != TEXT for cell in present if cell not in times):
        return False
    # Years alone could be data. Without a name in front, only three or more are headers, in order or as names of
    # months.
    if row[0].kind == TEXT or not row[0].text:
        return True
    texts = [cell.text for cell in times]
    if all(text[:1].isalpha() for text in texts):
        return len(times) > 2 and len(set(texts)) == len(texts)
    return len(times) > 2 and (texts == sorted(set(texts)) or texts == sorted(set(texts), reverse=True))


def headers_of(block: Block, count: int) -> list[str]:
    """The headers of the columns; a merged header belongs to each column that it covers."""
    rows = [_spread(block, number) for number in range(count)]
    if not rows:
        return []
    # Rows under a merged header are levels: "2025 / Q1". Other rows are lines of one header: "Unit" and "price".
    between = " / " if _groups(block) else " "
    return [between.join(dict.fromkeys(part.strip() for part in parts if part)) for parts in zip(*rows, strict=True)]


def _spread(block: Block, number: int) -> list[str]:
    texts = [cell.text for cell in block.rows[number]]
    row = block.area.top + number
    for area in block.merged:
        if area.top <= row <= area.bottom:
            covered = [at for at, column in enumerate(block.columns) if area.left <= column <= area.right]
            source = area.top - block.area.top
            words = block.rows[source][covered[0]].text if covered and 0 <= source < len(block.rows) else ""
            for at in covered:
                texts[at] = texts[at] or words
    return texts
