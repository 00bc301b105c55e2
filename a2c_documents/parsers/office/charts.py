"""Charts: the model that all formats share, and the reader of DrawingML charts (Word, Excel, PowerPoint)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from a2c_documents.model import Element, chart
from a2c_documents.parsers.office.number_formats import shown
from a2c_documents.parsers.office.xml import Node, attribute, local, number, whole, words_of

MAX_POINTS = 5_000
"""Limit for the values of a series."""
MAX_SERIES = 100
_NAMED_SERIES, _NAMED_CATEGORIES, _TOLD_VALUES = 12, 12, 12
_GAP = "–"


@dataclass(slots=True)
class Values:
    """Values that a chart keeps of a range of cells: the numbers or texts, how they are shown, and the range."""

    values: list[float | str | None] = field(default_factory=list[float | str | None])
    shown: list[str] = field(default_factory=list[str])
    source: str = ""
    is_plain: bool = False
    """The chart has no number format for these values; their cells may have one."""


@dataclass(slots=True)
class Series:
    """A series: its name, its values and their categories."""

    name: str = ""
    values: Values = field(default_factory=Values)
    categories: Values = field(default_factory=Values)
    name_source: str = ""


@dataclass(slots=True)
class Chart:
    """A chart that is not an element yet: the sheet may still supply values that the chart itself does not keep."""

    kinds: Sequence[str]
    title: str
    series: list[Series]
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    def element(self) -> Element:
        """The chart as an element; its detail holds all numbers."""
        names = [one.name or f"Series {number}" for number, one in enumerate(self.series, 1)]
        kind = " and ".join(dict.fromkeys(filter(None, self.kinds))) or "chart"
        shared = self._categories()
        made = chart(kind, self.title, _summary(names, self.series, shared), **self.metadata)
        rows: list[dict[str, Any]] = []
        for name, one in zip(names, self.series, strict=True):
            # Series usually share their categories; repeating a thousand of them for each series would fill the detail.
            own = {"categories": one.categories.shown} if one.categories.shown not in ([], shared) else {}
            source = {"source": one.values.source} if one.values.source else {}
            rows.append({"name": name, "values": one.values.values, **own, **source})
        made.detail = made.content | {"categories": shared, "series": rows}
        return made

    def _categories(self) -> list[str]:
        return next((one.categories.shown for one in self.series if one.categories.shown), list[str]())


def _summary(names: list[str], series: list[Series], categories: list[str]) -> str:
    """ "3 categories: May, June, July; North: 1, 2.5, -3; South: 40 values from 3 to 17"."""
    parts: list[str] = []
    if categories:
        few = len(categories) <= _NAMED_CATEGORIES
        named = categories if few else [*categories[:3], "…", categories[-1]]
        parts.append(f"{len(categories)} {'category' if len(categories) == 1 else 'categories'}: {', '.join(named)}")
    parts.extend(f"{name}: {_told(one.values)}" for name, one in list(zip(names, series, strict=True))[:_NAMED_SERIES])
    if len(series) > _NAMED_SERIES:
        parts.append(f"and {len(series) - _NAMED_SERIES} more series")
    return "; ".join(parts) or "no data"


def _told(values: Values) -> str:
    known = [shown for shown in values.shown if shown]
    if not known:
        return "no values in the file"
    # A short series is spelled out. A long one would fill the page: its range is enough, because the detail of the
    # element has every value.
    if len(values.shown) <= _TOLD_VALUES:
        return ", ".join(shown or _GAP for shown in values.shown)
    pairs = zip(values.values, values.shown, strict=True)
    numbers = sorted((value, shown) for value, shown in pairs if isinstance(value, float))
    if len(numbers) == len(known):
        return f"{len(known)} values from {numbers[0][1]} to {numbers[-1][1]}"
    return f"{len(known)} values, the first {known[0]}, the last {known[-1]}"


# ------------------------------------------------------------------------------------------------------------ DrawingML


_GROUPINGS = {"clustered": "clustered ", "stacked": "stacked ", "percentStacked": "100% stacked "}


def chart_of(root: Node, **metadata: Any) -> Chart:
    """Read the chart in the root of a chart part."""
    kinds, series = _extended(root) if root.find(".//{*}plotAreaRegion") is not None else _classic(root)
    return Chart(kinds, _title(root, series), series[:MAX_SERIES], metadata)


def _title(root: Node, series: list[Series]) -> str:
    holder = root.find(".//{*}chart/{*}title")
    if holder is not None:
        rich = " ".join(words_of(paragraph) for paragraph in holder.iterfind(".//{*}p"))
        title = " ".join(rich.split()) or " ".join(words_of(value) for value in holder.iterfind(".//{*}v"))
        if title:
            return title
    deleted = root.find(".//{*}autoTitleDeleted")
    left_to_office = deleted is None or attribute(deleted, "val", "1") in ("0", "false")
    # With an automatic title, Office shows the name of the only series.
    return series[0].name if left_to_office and len(series) == 1 else ""


# -------------------------------------------------------------------------------------------------------------- classic


def _classic(root: Node) -> tuple[list[str], list[Series]]:
    area = root.find(".//{*}plotArea")
    if area is None:
        return [], []
    plots = [node for node in area if local(node).endswith("Chart")]
    series: list[Series] = []
    for plot in plots:
        codes = _axis_codes(area, plot)
        # A chart can combine plots, such as columns and a line, each with axes of its own.
        series.extend(_series(one, codes) for one in plot.iterfind("{*}ser"))
    return [_kind(plot) for plot in plots], series


def _axis_codes(area: Node, plot: Node) -> tuple[str, str]:
    """The number formats of the category axis and the value axis of a plot, for values without a format of their
    own."""
    named = {attribute(axis.find("{*}axId"), "val"): axis for axis in area if local(axis).endswith("Ax")}
    ids = [attribute(node, "val") for node in plot.iterfind("{*}axId")]
    axes = [named[name] for name in ids if name in named]
    # A scatter chart has two value axes; the vertical one is the second.
    values = next((axis for axis in reversed(axes) if local(axis) == "valAx"), None)
    below = next((axis for axis in axes if axis is not values), None)
    if attribute(plot.find("{*}grouping"), "val") == "percentStacked":
        # This axis shows percentages, and its format does not fit the values.
        values = None
    codes = [attribute(axis.find("{*}numFmt"), "formatCode") if axis is not None else "" for axis in (below, values)]
    return codes[0], codes[1]


def _kind(plot: Node) -> str:
    """ "clustered column", "stacked bar", "line", "3-D pie"."""
    name = local(plot).removesuffix("Chart")
    solid = name.endswith("3D")
    name = {"ofPie": "pie of pie"}.get(name, name.removesuffix("3D"))
    grouping = attribute(plot.find("{*}grouping"), "val")
    if name == "bar":
        name = "bar" if attribute(plot.find("{*}barDir"), "val") == "bar" else "column"
    elif grouping == "clustered":
        grouping = ""
    return ("3-D " if solid else "") + _GROUPINGS.get(grouping, "") + name


def _series(node: Node, axis_codes: tuple[str, str]) -> Series:
    parts = {local(child): child for child in node}
    name = parts.get("tx")
    return Series(
        _name(name),
        _values(parts.get("val", parts.get("yVal")), axis_codes[1]),
        _values(parts.get("cat", parts.get("xVal")), axis_codes[0]),
        _source(name),
    )


def _name(holder: Node | None) -> str:
    values = [words_of(value) for value in holder.iterfind(".//{*}v")] if holder is not None else []
    return " ".join(filter(None, values))


def _source(holder: Node | None) -> str:
    return words_of(holder.find(".//{*}f")) if holder is not None else ""


def _values(holder: Node | None, axis_code: str) -> Values:
    """The cached values of a reference, in the format cached with them, or else in the format of their axis."""
    if holder is None:
        return Values()
    # Office caches the values of a series in the chart itself, so a chart can be read without its workbook.
    code = words_of(holder.find(".//{*}formatCode"))
    is_plain = code in ("", "General")
    code = axis_code if is_plain else code
    points = {index: words for index, words in _points(holder) if 0 <= index < MAX_POINTS}
    result = Values(source=_source(holder), is_plain=is_plain)
    # Empty cells have no point. The positions between the others stay, so that values and categories match.
    for index in range(max(points, default=-1) + 1):
        words = points.get(index, "")
        value = number(words, float("nan"))
        is_number = value == value
        result.values.append(value if is_number else words or None)
        result.shown.append(shown(value, code)[0] if is_number else words)
    return result


def _points(holder: Node) -> Iterator[tuple[int, str]]:
    """Index and value of each point. Categories with several levels give the innermost level."""
    # The innermost level is the first in the file. The outer ones have a point only where a group begins.
    level = holder.find(".//{*}lvl")
    for count, point in enumerate((level if level is not None else holder).iterfind(".//{*}pt")):
        if count >= MAX_POINTS:
            return
        yield whole(attribute(point, "idx"), count), words_of(point.find("{*}v"))


# ---------------------------------------------------------------------------------------------------------------- newer


def _extended(root: Node) -> tuple[list[str], list[Series]]:
    # Chart types since Office 2016 (waterfall, treemap …) have a schema of their own: the data are apart from the
    # series that refer to them.
    data = {attribute(one, "id"): one for one in root.iterfind(".//{*}chartData/{*}data")}
    kinds: list[str] = []
    series: list[Series] = []
    for one in root.iterfind(".//{*}plotAreaRegion/{*}series"):
        name = attribute(one, "layoutId", "chart")
        kinds.append("".join(f" {sign.lower()}" if sign.isupper() else sign for sign in name))
        held = data.get(attribute(one.find("{*}dataId"), "val"))
        numbers, words = (held.find(f"{{*}}{kind}") if held is not None else None for kind in ("numDim", "strDim"))
        series.append(Series(_name(one.find("{*}tx")), _dimension(numbers), _dimension(words)))
    return kinds, series


def _dimension(holder: Node | None) -> Values:
    if holder is None:
        return Values()
    result = Values(source=_source(holder))
    level = holder.find("{*}lvl")
    for point in level[:MAX_POINTS] if level is not None else ():
        words = words_of(point)
        value = number(words, float("nan"))
        is_number = value == value and local(holder) == "numDim"
        result.values.append(value if is_number else words or None)
        result.shown.append(shown(value)[0] if is_number else words)
    return result
