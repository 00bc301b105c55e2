"""OpenDocument charts. A chart holds a copy of its values in a table of its own."""

from __future__ import annotations

import re
from typing import Any

from a2c_documents.parsers.office.charts import MAX_POINTS, MAX_SERIES, Chart, Series, Values
from a2c_documents.parsers.office.tables import column_of
from a2c_documents.parsers.office.xml import Node, attribute, local, number, words_of
from a2c_documents.parsers.opendocument.addresses import reference_of

_NAMES = {"circle": "pie", "ring": "doughnut", "filled-radar": "radar", "gantt": "bar"}
# A chart without a sheet refers to its own table by this name.
_LOCAL = re.compile(r"local-table\.\$?([A-Z]{1,3})\$?\d")


def chart_of(root: Node, **metadata: Any) -> Chart | None:
    """Read the chart in the content of an embedded object; None if there is none."""
    # `office:chart` around the chart has the same local name, but no class.
    drawn = next((node for node in root.iter("{*}chart") if attribute(node, "class")), None)
    if drawn is None:
        return None
    title = " ".join(words_of(line) for line in drawn.iterfind("{*}title/{*}p"))
    table = _Table(drawn)
    told = list(drawn.iterfind(".//{*}plot-area/{*}series"))[:MAX_SERIES]
    # Column 0 has the categories, so that the first series has column 1 unless it names another one.
    series = [table.series(one, drawn, place) for place, one in enumerate(told, 1)] or table.all_series()
    return Chart(_kinds(root, drawn, told), title, series, metadata)


class _Table:
    """The table inside a chart: names in the first row, categories in the first column, one column for each series."""

    def __init__(self, drawn: Node) -> None:
        rows = [
            [cell for cell in row if local(cell) == "table-cell"] for row in drawn.iterfind(".//{*}table//{*}table-row")
        ]
        self._names = [_words(cell) for cell in rows[0]] if rows else []
        self._columns = [
            [row[place] if place < len(row) else None for row in rows[1 : MAX_POINTS + 1]]
            for place in range(max(map(len, rows), default=0))
        ]
        # The columns of the table are in no fixed order. LibreOffice describes each column by the range that it was
        # copied from, and series refer to that range.
        self._sources = {
            words: place
            for place, column in enumerate(self._columns)
            if column and column[0] is not None and (words := words_of(column[0].find(".//{*}desc")))
        }

    def series(self, node: Node, drawn: Node, usual: int) -> Series:
        """Read a series; `usual` is its column if the file does not name another one."""
        source = attribute(node, "values-cell-range-address")
        place = self._place(source, usual)
        # In a scatter chart each series has its own x values; other charts share one range of categories.
        below = node.find("{*}domain")
        below = below if below is not None else drawn.find(".//{*}axis/{*}categories")
        categories = Values()
        if below is not None:
            categories = self._values(self._place(attribute(below, "cell-range-address"), 0))
        return Series(self._name(node, place), self._values(place, source), categories)

    def all_series(self) -> list[Series]:
        """Every column as a series, for a chart that does not list its series."""
        columns = range(1, min(len(self._columns), MAX_SERIES))
        return [Series(self._named(place), self._values(place), self._values(0)) for place in columns]

    def _place(self, address: str, usual: int) -> int:
        found = _LOCAL.match(address)
        return column_of(found[1]) if found else self._sources.get(address, usual)

    def _name(self, node: Node, place: int) -> str:
        return attribute(node, "label-string").strip('"') or self._named(place)

    def _named(self, place: int) -> str:
        return self._names[place] if place < len(self._names) else ""

    def _values(self, place: int, source: str = "") -> Values:
        result = Values(source="" if _LOCAL.match(source) else reference_of(source))
        for cell in self._columns[place] if place < len(self._columns) else ():
            words = _words(cell) if cell is not None else ""
            value = number(attribute(cell, "value") or words, float("nan"))
            is_number = value == value
            result.values.append(value if is_number else words or None)
            result.shown.append(words or (f"{value:g}" if is_number else ""))
        return result


def _words(cell: Node) -> str:
    """The text of a cell, without the description of its source."""
    return " ".join(filter(None, (words_of(line) for line in cell.iterfind("{*}p"))))


def _kinds(root: Node, drawn: Node, series: list[Node]) -> list[str]:
    """ "clustered column", "stacked bar", "line": each series can have its own type."""
    style = attribute(drawn.find("{*}plot-area"), "style-name")
    said: dict[str, str] = {}
    for node in root.iterfind(".//{*}style") if style else ():
        if attribute(node, "name") == style:
            said = {key.rpartition("}")[2]: value for part in node for key, value in part.items()}
    usual = attribute(drawn, "class")
    return [_kind(attribute(one, "class") or usual, said) for one in series] or [_kind(usual, said)]


def _kind(name: str, said: dict[str, str]) -> str:
    name = name.rpartition(":")[2]
    name = _NAMES.get(name, name)
    stacked = (
        "100% stacked " if said.get("percentage") == "true" else "stacked " if said.get("stacked") == "true" else ""
    )
    if name == "bar":
        # The property means that the axes are swapped, so that "vertical" bars are horizontal.
        name = "bar" if said.get("vertical") == "true" else "column"
        stacked = stacked or "clustered "
    return ("3-D " if said.get("three-dimensional") == "true" else "") + stacked + name
