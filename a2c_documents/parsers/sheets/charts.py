"""Charts of a sheet: what the file keeps only in the cells, their values or how they look, comes from there."""

from __future__ import annotations

from itertools import islice

from a2c_documents.model import Element
from a2c_documents.parsers.office.charts import MAX_POINTS, Chart, Series, Values
from a2c_documents.parsers.office.xml import number
from a2c_documents.parsers.sheets.grid import DATE, NUMBER, Cell, area_of

Cells = dict[tuple[int, int], Cell]


def filled_chart(chart: Chart, cells: Cells, sheet: str) -> Element:
    """A chart with the values of its sheet, where it keeps none itself."""
    series = [
        _looking_alike(one, cells, sheet) if any(one.values.shown) else _filled(one, cells, sheet)
        for one in chart.series
    ]
    title = chart.title or (series[0].name if len(series) == 1 else "")
    return Chart(chart.kinds, title, series, chart.metadata).element()


def _filled(one: Series, cells: Cells, sheet: str) -> Series:
    name = one.name or " ".join(filter(None, _from_cells(one.name_source, cells, sheet).shown))
    categories = one.categories
    if not any(categories.shown):
        categories = _from_cells(categories.source, cells, sheet)
    return Series(name, _from_cells(one.values.source, cells, sheet), categories, one.name_source)


def _looking_alike(one: Series, cells: Cells, sheet: str) -> Series:
    values, categories = (_as_in_cells(kept, cells, sheet) for kept in (one.values, one.categories))
    return Series(one.name, values, categories, one.name_source)


def _as_in_cells(kept: Values, cells: Cells, sheet: str) -> Values:
    """Numbers without a format, as their cells show them; as they are, unless all of these are on the page."""
    if not kept.is_plain:
        return kept
    source = _cells_at(kept.source, cells, sheet)
    pairs = list(zip(kept.shown, source, strict=False))
    if len(pairs) < len(kept.shown) or any(shown and cell.kind not in (NUMBER, DATE) for shown, cell in pairs):
        return kept
    return Values(kept.values, [cell.text if shown else "" for shown, cell in pairs], kept.source)


def _cells_at(ref: str, cells: Cells, sheet: str) -> list[Cell]:
    named, _, _ = ref.rpartition("!")
    area = area_of(ref)
    if area is None or (named and named.strip("'").replace("''", "'") != sheet):
        return []
    places = ((row, column) for row in range(area.top, area.bottom + 1) for column in range(area.left, area.right + 1))
    return [cells.get(place, Cell("")) for place in islice(places, MAX_POINTS)]


def _from_cells(ref: str, cells: Cells, sheet: str) -> Values:
    result = Values(source=ref)
    for cell in _cells_at(ref, cells, sheet):
        value = number(cell.text.replace(",", ""), float("nan")) if cell.kind == NUMBER else float("nan")
        result.values.append(value if value == value else cell.text or None)
        result.shown.append(cell.text)
    return result
