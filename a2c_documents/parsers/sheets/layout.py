"""Blocks of cells as elements: titles, tables with headers, single values and formulas, in reading order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from a2c_documents.model import Element, formula, heading, link, table, text
from a2c_documents.paging import MAX_PAGE_BYTES, size_of
from a2c_documents.parsers.office.tables import column_of, letters
from a2c_documents.parsers.sheets.blocks import (
    Block,
    areas_of,
    block_of,
    filled,
    header_rows,
    headers_of,
    is_sparse,
    used_columns,
)
from a2c_documents.parsers.sheets.grid import (
    DATE,
    TEXT,
    Area,
    Cell,
    NamedTable,
    Region,
    area_of,
    ref_of,
    spans,
)

MAX_FORMULAS = 200
_SHORT = 100
"""Limit for the characters of a title."""
_NOTE = 60
"""Characters from which a single cell below a table is a note to it."""
_NOTES = re.compile(
    r"[*†‡¹²³]|\(\d\)\s|(?:source|note|quelle|anmerkung|remark|nota|fuente)s?\b|注|资料来源|数据来源|出典",
    re.IGNORECASE,
)
"""What the first words of a note are."""
_LINES = 3
"""Up to this number of rows, a single column is lines of text and not a table."""
_NEAR = 3
"""Limit for the rows between things that belong together."""


class Continued(NamedTuple):
    """A table that continues from the page before: its columns and their headers."""

    left: int
    right: int
    headers: list[str]
    columns: list[int]


class Placed(NamedTuple):
    """An element with its first cell."""

    row: int
    column: int
    element: Element


def elements_of(region: Region, first: int, continued: Continued | None = None) -> list[Element]:
    """The elements of a page that starts with row `first`."""
    cells = visible(region)
    placed = [Placed(row, column, element) for row, column, element in region.floating]
    for named in region.tables:
        placed.extend(_named(cells, named, region))
    # The order matters: named tables take their cells first, then the table that continues from the page before. What
    # is left is divided into blocks.
    rest = _continued(cells, first, continued)
    if continued is not None and rest is not None:
        block = block_of(cells, rest, region.merged, continued.columns)
        placed.append(Placed(first, rest.left, _table(block, continued.headers, 0, region, continued=True)))
        # Cells that already belong to a table are removed, so that the search for blocks does not see them again.
        _take(cells, rest)
    areas = areas_of(cells, region.merged, (region.hidden_rows, region.hidden_columns))
    tables: list[Element] = []
    for number, area in enumerate(areas):
        if is_sparse(area, cells):
            placed.append(_listed(cells, area))
        else:
            block = _block_in(cells, area, region).narrowed()
            above = _is_above_table(area, areas[number + 1 :], region)
            placed.extend(_block(block, region, tables, above_table=above))
    placed.sort(key=lambda one: one[:2])
    body = [one.element for one in placed]
    comments = [element for _, _, element in sorted(region.comments, key=lambda one: one[:2])]
    header = [element for element in region.edges if element.category == "header"]
    footer = [element for element in region.edges if element.category != "header"]
    return fitted([*header, *body, *comments, *footer])


def last_table(region: Region, last: int) -> Continued | None:
    """The table that reaches the last row of a page and continues on the next page."""
    cells = visible(region)
    # A named table brings its own headers to each page.
    for named in region.tables:
        _take(cells, named.area)
    for area in areas_of(cells, region.merged, (region.hidden_rows, region.hidden_columns)):
        if area.bottom >= last and area.right > area.left and not is_sparse(area, cells):
            # The same steps as in `_block`, so that later pages have the headers that the first page shows.
            _, block = _titled(_block_in(cells, area, region).narrowed(), region)
            count = header_rows(block) if block.width > 1 else 0
            if count:
                return Continued(block.area.left, block.area.right, headers_of(block, count), block.columns)
    return None


def _block_in(cells: dict[tuple[int, int], Cell], area: Area, region: Region) -> Block:
    """A rectangle without its empty columns. Hidden and merged ones stay: an author has put them there."""
    kept = set(region.hidden_columns)
    for one in region.merged:
        if one.meets(area) and one.bottom > one.top:
            kept.update(range(one.left, one.right + 1))
    return block_of(cells, area, region.merged, used_columns(cells, area, kept))


def visible(region: Region) -> dict[tuple[int, int], Cell]:
    """The cells that show something."""
    return {place: cell for place, cell in region.cells.items() if cell.formula or cell.text.strip()}


# --------------------------------------------------------------------------------------------------------- named tables


def _named(cells: dict[tuple[int, int], Cell], named: NamedTable, region: Region) -> Iterable[Placed]:
    """The part of a named table that is on this page."""
    inside = [place for place in cells if named.area.holds(place)]
    if not inside:
        return
    rows = [row for row, _ in inside]
    area = named.area._replace(top=min(rows), bottom=max(rows))
    # The declared range can be far larger than its cells. They are left to the search for blocks.
    if is_sparse(area, cells):
        return
    block = block_of(cells, area, region.merged)
    count = max(0, named.area.top + named.header_rows - area.top) if area.top == named.area.top else 0
    # A later page has no header row, but the file names the columns. The names are only used if there is one for each
    # column.
    headers = list(named.headers) if len(named.headers) == block.width else headers_of(block, count)
    element = _table(block, headers, count, region, continued=area.top > named.area.top)
    element.metadata["table"] = named.name
    _take(cells, area)
    yield Placed(area.top, area.left, element)


def _continued(cells: dict[tuple[int, int], Cell], first: int, continued: Continued | None) -> Area | None:
    """The rows at the start of a page that continue a table: up to an empty row, with no cells beside them."""
    if continued is None:
        return None
    rows: dict[int, set[int]] = {}
    for row, column in cells:
        # One more column on each side shows whether other cells touch the table.
        if continued.left - 1 <= column <= continued.right + 1:
            rows.setdefault(row, set()).add(column)
    last = first - 1
    while last + 1 in rows:
        last += 1
        # A cell beside the table means that another layout begins: headers from the page before would be wrong.
        if continued.left - 1 in rows[last] or continued.right + 1 in rows[last]:
            return None
    return Area(first, continued.left, last, continued.right) if last >= first else None


def _take(cells: dict[tuple[int, int], Cell], area: Area) -> None:
    for place in [place for place in cells if area.holds(place)]:
        del cells[place]


# --------------------------------------------------------------------------------------------------------------- blocks


def _block(block: Block, region: Region, tables: list[Element], *, above_table: bool) -> Iterable[Placed]:
    """The elements of a block: titles above, the table, notes below. `tables` are the tables before it."""
    titles, block = _titled(block, region)
    yield from titles
    notes: list[Placed] = []
    # Sources and explanations below a table are often in the row right after it.
    while len(block.rows) > 1 and block.width > 1 and _is_note_row(block):
        last = replace(block, area=block.area._replace(top=block.area.bottom), rows=block.rows[-1:])
        notes.append(_single(last, last.rows[0], region, is_title=False))
        block = block.without_last()
    if len(filled([cell for row in block.rows for cell in row])) == 1:
        yield _single(block, next(row for row in block.rows if filled(row)), region, is_title=above_table)
    elif block.width == 1 and (len(block.rows) <= _LINES or any(len(row[0].text) > _SHORT for row in block.rows)):
        for number, row in enumerate(block.rows):
            if filled(row):
                top = block.area.top + number
                one = replace(block, area=block.area._replace(top=top, bottom=top), rows=[row])
                yield _single(one, row, region, is_title=number == 0 and (above_table or block.area.top == 0))
    else:
        count = header_rows(block)
        # Authors put an empty row between groups of one table. The parts below it have no headers of their own.
        above = _table_above(block, tables) if count == 0 else None
        if above is not None:
            block = _under(above, block, region)
        headers = headers_of(block, count) if above is None else above.content["headers"]
        # An empty row between the headers and the rest makes room.
        while count and count + 1 < len(block.rows) and not filled(block.rows[count]):
            count += 1
        element = _table(block, headers, count, region)
        if above is not None:
            element.metadata["headers_from"] = above.metadata.get("headers_from", above.metadata["source_range"])
        tables.append(element)
        yield Placed(block.area.top, block.area.left, element)
    yield from reversed(notes)


def _table_above(block: Block, tables: list[Element]) -> Element | None:
    """The table right above with headers for the same columns: an empty row often divides one table."""
    for element in reversed(tables):
        area = area_of(element.metadata["source_range"])
        if area is not None and (area.left, area.right) == (block.area.left, block.area.right):
            named = element.metadata["header_rows"] or "headers_from" in element.metadata
            is_near = 0 < block.area.top - area.bottom <= _NEAR
            return element if named and is_near and set(block.columns) <= set(_columns_of(element, area)) else None
    return None


def _columns_of(element: Element, area: Area) -> list[int]:
    names: list[str] | None = element.metadata.get("columns")
    return list(range(area.left, area.right + 1)) if names is None else list(map(column_of, names))


def _under(above: Element, block: Block, region: Region) -> Block:
    """A block with the columns of the table above it."""
    area = area_of(above.metadata["source_range"]) or block.area
    columns = _columns_of(above, area)
    if columns == block.columns:
        return block
    return block_of(visible(region), block.area, region.merged, columns)


def _titled(block: Block, region: Region) -> tuple[list[Placed], Block]:
    """The titles above a table, and the rest of its block: the first line is the title, further lines are texts."""
    titles: list[Placed] = []
    while len(block.rows) > 1 and _is_title_row(block):
        titles.append(_single(block, block.rows[0], region, is_title=not titles))
        block = block.without_first()
    return titles, block


def _is_title_row(block: Block) -> bool:
    """Whether the first row is a title: a single text or date, with more columns below it."""
    present = filled(block.rows[0])
    if block.width < 2 or len(present) != 1 or present[0].kind not in (TEXT, DATE) or present[0].formula:
        return False
    # A single text above single texts is the first line of a list, not a title.
    return any(len(filled(row)) > 1 for row in block.rows[1:4])


def _is_note_row(block: Block) -> bool:
    present = filled(block.rows[-1])
    if len(present) != 1 or present[0] != block.rows[-1][0] or present[0].kind != TEXT:
        return False
    return len(present[0].text) > _NOTE or _NOTES.match(present[0].text) is not None


def _is_above_table(area: Area, later: Sequence[Area], region: Region) -> bool:
    """Whether an area is right above a wider one or above a named table."""
    below = [other for other in later if other.right > other.left] + [named.area for named in region.tables]
    return any(
        0 < other.top - area.bottom <= _NEAR and other.left <= area.right + 1 and area.left <= other.right
        for other in below
    )


def _listed(cells: dict[tuple[int, int], Cell], area: Area) -> Placed:
    """Cells that are too far apart for a table, as a list of names and values."""
    rows = [[ref_of(*place), cells[place].text] for place in sorted(cells) if area.holds(place)]
    return Placed(area.top, area.left, table(["Cell", "Value"], rows, source_range=area.ref, sparse=True))


def _single(block: Block, row: list[Cell], region: Region, *, is_title: bool) -> Placed:
    """A single cell: a title, a text, a link, or a formula with its value."""
    column = next(number for number, cell in enumerate(row) if cell.text or cell.formula)
    cell = row[column]
    top, left = block.area.top, block.columns[column]
    where: dict[str, Any] = {"source_range": ref_of(top, left)}
    if (merged := [area.ref for area in block.merged if (area.top, area.left) == (top, left)]) != []:
        where["merged"] = merged
    if cell.formula:
        # A formula that was never calculated has itself as its text.
        element = formula(cell.formula, cell.text if cell.text != cell.formula else "", **where)
    elif (top, left) in region.links:
        element = link(cell.text, region.links[top, left], **where)
    elif is_title and len(cell.text) <= _SHORT and cell.kind == TEXT and "\n" not in cell.text:
        element = heading(cell.text, 1 if top == 0 else 2, **where)
    else:
        element = text(cell.text, **where)
    return Placed(top, left, element)


def _table(block: Block, headers: list[str], count: int, region: Region, *, continued: bool = False) -> Element:
    """A block as a table; metadata holds formulas, links, merged and hidden cells."""
    area = block.area
    # Every table has headers in the result. The letters of the sheet say where a column is.
    names = headers or [letters(column) for column in block.columns]
    body = block.rows[count:]
    element = table(names, [[cell.text for cell in row] for row in body], source_range=area.ref)
    metadata = element.metadata
    metadata["header_rows"] = count
    if block.has_gaps:
        metadata["columns"] = [letters(column) for column in block.columns]
    if continued:
        metadata["continued"] = True
    if merged := [one.ref for one in block.merged if one.meets(area)]:
        metadata["merged"] = merged[:100]
    formulas = [
        (ref_of(area.top + number, column), cell.formula)
        for number, row in enumerate(block.rows)
        for column, cell in zip(block.columns, row, strict=True)
        if cell.formula
    ]
    if formulas:
        metadata["formulas"] = dict(formulas[:MAX_FORMULAS])
        metadata["formula_count"] = len(formulas)
    links = {ref_of(*place): url for place, url in region.links.items() if area.holds(place)}
    if links:
        metadata["links"] = dict(list(links.items())[:MAX_FORMULAS])
    if rows := [row for row in region.hidden_rows if area.top <= row <= area.bottom]:
        metadata["hidden_rows"] = spans(rows)
    if columns := [column for column in region.hidden_columns if area.left <= column <= area.right]:
        metadata["hidden_columns"] = spans(columns, "columns")
    return element


def table_of_block(block: Block, header_count: int | None = None) -> list[Element]:
    """A block that is known to be one table, as in a file of rows: the titles above it, and the table."""
    titles: list[Placed] = []
    if header_count is None:
        titles, block = _titled(block, Region())
        header_count = header_rows(block)
    made = _table(block, headers_of(block, header_count), header_count, Region())
    return [*(title.element for title in titles), made]


# ----------------------------------------------------------------------------------------------------------- long texts


_CUTS = (2_000, 500, 200, 100, 40)


def fitted(elements: list[Element]) -> list[Element]:
    """The elements, with texts shortened until the page has a readable size; the detail of an element keeps the full
    text."""
    # The number of rows of a page is fixed before its cells are read, so long texts can make a page too large. The
    # longest texts are shortened first.
    sizes = [size_of(element) for element in elements]
    for longest in _CUTS:
        if sum(sizes) <= MAX_PAGE_BYTES:
            break
        for number, element in enumerate(elements):
            # Elements that are short already gain nothing from a cut.
            if sizes[number] > 4 * longest and element.category in ("table", "text"):
                _shorten(element, longest)
                sizes[number] = size_of(element)
    return elements


def _shorten(element: Element, longest: int) -> None:
    # The detail is the full text since the first cut; `content` is already shortened in later rounds.
    full = element.detail or dict(element.content)
    if element.category == "text":
        element.content = {"text": _cut(full["text"], longest)}
    else:
        rows = [[_cut(words, longest) for words in row] for row in full["rows"]]
        element.content = {"headers": [_cut(words, longest) for words in full["headers"]], "rows": rows}
    element.detail = full
    element.metadata["shortened"] = True


def _cut(words: str, longest: int) -> str:
    return words if len(words) <= longest else words[: longest - 1] + "…"
