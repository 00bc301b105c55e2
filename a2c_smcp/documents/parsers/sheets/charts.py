"""Charts of an Excel sheet: type, title, and what their data say in a sentence."""

from __future__ import annotations

from itertools import islice
from typing import Any
from xml.etree import ElementTree

from a2c_smcp.documents.model import Element, chart
from a2c_smcp.documents.parsers.sheets.formats import shown
from a2c_smcp.documents.parsers.sheets.grid import Cell, area_of
from a2c_smcp.documents.parsers.sheets.xml import attribute, first, found, local

MAX_POINTS = 500
"""Points of a series that are told on level 3."""
_NAMED_SERIES, _TOLD_VALUES = 6, 12
_KINDS = {
    "barChart": "bar", "bar3DChart": "bar", "lineChart": "line", "line3DChart": "line", "pieChart": "pie",
    "pie3DChart": "pie", "ofPieChart": "pie", "doughnutChart": "doughnut", "areaChart": "area", "area3DChart": "area",
    "scatterChart": "scatter", "bubbleChart": "bubble", "radarChart": "radar", "stockChart": "stock",
    "surfaceChart": "surface", "surface3DChart": "surface",
}  # fmt: skip


def paragraphs(node: ElementTree.Element | None) -> list[str]:
    """The lines of a text in a drawing."""
    return ["".join(run.text or "" for run in found(line, "t")).strip() for line in found(node, "p")]


def chart_element(tree: ElementTree.Element | None, alt: str = "") -> Element | None:
    """A chart from its XML: the type, the title, and what the values kept in it say."""
    if tree is None:
        return None
    plots = list(found(tree, *_KINDS))
    kinds = list(dict.fromkeys(_kind(plot) for plot in plots))
    if not plots:
        kinds = list(dict.fromkeys(attribute(node, "layoutId") for node in found(tree, "series")))
    series = [_series(node) for node in found(tree, "ser")][:100]
    element = chart(" and ".join(kind for kind in kinds if kind) or "chart", _title(tree) or alt, "")
    element.detail = {"series": series}
    _describe(element)
    return element


def _describe(element: Element) -> None:
    """Say what the series of a chart say."""
    series: list[dict[str, Any]] = element.detail["series"] if element.detail else []
    content = element.content
    content["title"] = content["title"] or (series[0]["name"] if len(series) == 1 else "")
    content["data_summary"] = _summary(series)
    element.summary = content["title"] or content["data_summary"]
    element.detail = content | {"series": series}


def fill_chart(element: Element, cells: dict[tuple[int, int], Cell], sheet: str) -> None:
    """Take the values of a chart from the cells of its sheet, where the file keeps none with the chart."""
    series: list[dict[str, Any]] = element.detail.get("series", []) if element.detail else []
    for one in series:
        if not any(one["values"]):
            one["values"] = _from_cells(one.get("source", ""), cells, sheet)
            one["categories"] = one["categories"] or _from_cells(one.get("categories_source", ""), cells, sheet)
            one["name"] = one["name"] or " ".join(_from_cells(one.get("name_source", ""), cells, sheet))
    _describe(element)


def _from_cells(ref: str, cells: dict[tuple[int, int], Cell], sheet: str) -> list[str]:
    named, _, _ = ref.rpartition("!")
    area = area_of(ref)
    if area is None or (named and named.strip("'").replace("''", "'") != sheet):
        return []
    places = ((row, column) for row in range(area.top, area.bottom + 1) for column in range(area.left, area.right + 1))
    return [cells[place].text if place in cells else "" for place in islice(places, MAX_POINTS)]


def _kind(plot: ElementTree.Element) -> str:
    name = _KINDS[local(plot.tag)]
    if name == "bar" and attribute(first(plot, "barDir"), "val", "col") == "col":
        name = "column"
    grouping = attribute(first(plot, "grouping"), "val")
    return f"stacked {name}" if grouping in ("stacked", "percentStacked") else name


def _title(tree: ElementTree.Element) -> str:
    body = first(tree, "chart")
    node = next((child for child in body if local(child.tag) == "title"), None) if body is not None else None
    lines = [line for line in paragraphs(node) if line]
    return " ".join(lines) or " ".join(value for value in _points(node) if value)


def _points(node: ElementTree.Element | None) -> list[str]:
    """The values kept for a reference; those that are missing are empty."""
    count = attribute(first(node, "ptCount"), "val")
    points = {attribute(point, "idx"): "".join(v.text or "" for v in found(point, "v")) for point in found(node, "pt")}
    total = min(int(count), MAX_POINTS) if count.isdigit() else min(len(points), MAX_POINTS)
    return [points.get(str(number), "") for number in range(total)]


def _series(node: ElementTree.Element) -> dict[str, Any]:
    parts = {local(child.tag): child for child in node}
    name_node, places = parts.get("tx"), parts.get("cat", parts.get("xVal"))
    data = parts.get("val", parts.get("yVal"))
    name = " ".join(_points(name_node)) or "".join(v.text or "" for v in found(name_node, "v"))
    series: dict[str, Any] = {"name": name.strip(), "categories": _kept(places), "values": _kept(data)}
    references = {"name_source": name_node, "categories_source": places, "source": data}
    for key, reference in references.items():
        rule = first(reference, "f")
        if rule is not None and rule.text:
            series[key] = rule.text
    return series


def _kept(node: ElementTree.Element | None) -> list[str]:
    """Values with the format that is kept beside them."""
    code = first(node, "formatCode")
    words = (code.text or "") if code is not None else ""
    return [_seen(value, words) for value in _points(node)]


def _seen(words: str, code: str) -> str:
    """A value as the axis of the chart shows it."""
    try:
        return shown(float(words), code)[0]
    except (ValueError, OverflowError):
        return words


def _summary(series: list[dict[str, Any]]) -> str:
    """What the data say in a sentence or two: "2 series over 3 categories (Q1, Q2, Q3). Sales: 10, 20, 30." """
    if not series:
        return ""
    longest = max(series, key=lambda one: len(one["categories"]))["categories"]
    words = "1 series" if len(series) == 1 else f"{len(series)} series"
    if longest:
        names = ", ".join(longest) if len(longest) <= _TOLD_VALUES else f"{longest[0]} … {longest[-1]}"
        words += f" over {len(longest)} categories ({names})"
    told = [_told(one, number) for number, one in enumerate(series[:_NAMED_SERIES], 1)]
    if len(series) > _NAMED_SERIES:
        told.append("and others")
    return f"{words}. {'; '.join(one for one in told if one)}.".replace(". .", ".")


def _told(one: dict[str, Any], number: int) -> str:
    values = [value for value in one["values"] if value]
    name = one["name"] or f"Series {number}"
    if not values:
        return f"{name}: no values kept in the file"
    if len(values) <= _TOLD_VALUES:
        return f"{name}: {', '.join(values)}"
    return f"{name}: {len(values)} values, the first {values[0]}, the last {values[-1]}"
