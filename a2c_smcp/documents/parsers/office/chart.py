"""Charts as Office files hold them (DrawingML): kind, title, and what the numbers say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from a2c_smcp.documents.model import Element, chart
from a2c_smcp.documents.parsers.office.xml import attribute, local, number, whole, words_of

MAX_POINTS = 5_000
"""Values of a chart that are read."""
_NAMED_SERIES = 12
_NAMED_CATEGORIES = 8
_GROUPINGS = {"clustered": "clustered ", "stacked": "stacked ", "percentStacked": "100% stacked "}


@dataclass(slots=True)
class Series:
    """A row of values with its name."""

    name: str
    values: list[float | None]


def chart_of(root: Any, **metadata: Any) -> Element:
    """The chart in the root of a chart part, of the classic kind or of the newer one (waterfall, treemap …)."""
    if root.find(".//{*}plotAreaRegion") is not None:
        kind, series, categories = _extended(root)
    else:
        kind, series, categories = _classic(root)
    title = _title(root, series)
    names = [one.name or f"Series {number_}" for number_, one in enumerate(series, 1)]
    element = chart(kind, title, _summary(names, series, categories), **metadata)
    rows = [{"name": name, "values": one.values} for name, one in zip(names, series, strict=True)]
    element.detail = element.content | {"categories": categories, "series": rows}
    return element


def _title(root: Any, series: list[Series]) -> str:
    holder = root.find(".//{*}chart/{*}title")
    if holder is not None:
        rich = " ".join(words_of(paragraph) for paragraph in holder.iterfind(".//{*}p"))
        title = " ".join(rich.split()) or " ".join(words_of(value) for value in holder.iterfind(".//{*}v"))
        if title:
            return title
    deleted = root.find(".//{*}autoTitleDeleted")
    shown = deleted is None or attribute(deleted, "val", "1") in ("0", "false")
    # A title that was left to Office is the name of the only series.
    return series[0].name if holder is not None and shown and len(series) == 1 else ""


def _classic(root: Any) -> tuple[str, list[Series], list[str]]:
    kinds: list[str] = []
    series: list[Series] = []
    categories: list[str] = []
    area = root.find(".//{*}plotArea")
    for plot in area if area is not None else ():
        if not local(plot).endswith("Chart"):
            continue
        kind = _kind(plot)
        if kind not in kinds:
            kinds.append(kind)
        for one in plot.iterfind("{*}ser"):
            values = one.find("{*}val") if one.find("{*}val") is not None else one.find("{*}yVal")
            series.append(Series(_name(one), _numbers(values)))
            labels = one.find("{*}cat") if one.find("{*}cat") is not None else one.find("{*}xVal")
            if labels is not None and not categories:
                categories = _labels(labels)
    return " and ".join(kinds) or "chart", series, categories


def _kind(plot: Any) -> str:
    """ "clustered column", "stacked bar", "line", "3-D pie"."""
    name = local(plot).removesuffix("Chart")
    solid = name.endswith("3D")
    name = {"ofPie": "pie of pie"}.get(name, name.removesuffix("3D"))
    grouping_mark, direction = plot.find("{*}grouping"), plot.find("{*}barDir")
    grouping = attribute(grouping_mark, "val") if grouping_mark is not None else ""
    if name == "bar":
        name = "bar" if direction is not None and attribute(direction, "val") == "bar" else "column"
    elif grouping == "clustered":
        grouping = ""
    return ("3-D " if solid else "") + _GROUPINGS.get(grouping, "") + name


def _name(series: Any) -> str:
    holder = series.find("{*}tx")
    values = [words_of(value) for value in holder.iterfind(".//{*}v")] if holder is not None else []
    return " ".join(value for value in values if value)


def _points(holder: Any) -> Iterator[tuple[int, str]]:
    """The cached points: index and value. Of several levels, the innermost."""
    level = holder.find(".//{*}lvl")
    for count, point in enumerate((level if level is not None else holder).iterfind(".//{*}pt")):
        if count >= MAX_POINTS:
            return
        yield whole(attribute(point, "idx"), count), words_of(point.find("{*}v"))


def _numbers(holder: Any | None) -> list[float | None]:
    values: dict[int, float] = {}
    for index, word in _points(holder) if holder is not None else ():
        value = number(word, float("nan"))
        if 0 <= index < MAX_POINTS and value == value:
            values[index] = value
    return [values.get(index) for index in range(max(values, default=-1) + 1)]


def _labels(holder: Any) -> list[str]:
    code = words_of(holder.find(".//{*}formatCode")).lower()
    dated = any(mark in code for mark in ("yy", "mmm", "d/", "/d", "-d", "d-")) and "general" not in code
    return [_date(word) if dated else word for _, word in _points(holder)]


def _date(word: str) -> str:
    days = number(word, -1)
    if not 0 < days < 2_958_466:
        return word
    return (datetime(1899, 12, 30) + timedelta(days=days)).date().isoformat()


def _extended(root: Any) -> tuple[str, list[Series], list[str]]:
    data = {attribute(one, "id"): one for one in root.iterfind(".//{*}chartData/{*}data")}
    kinds: list[str] = []
    series: list[Series] = []
    categories: list[str] = []
    for one in root.iterfind(".//{*}plotAreaRegion/{*}series"):
        kind = "".join(f" {mark.lower()}" if mark.isupper() else mark for mark in attribute(one, "layoutId", "chart"))
        if kind not in kinds:
            kinds.append(kind)
        mark = one.find("{*}dataId")
        held = data.get(attribute(mark, "val")) if mark is not None else None
        words = held.find("{*}strDim/{*}lvl") if held is not None else None
        numbers = held.find("{*}numDim/{*}lvl") if held is not None else None
        values = [number(words_of(point), float("nan")) for point in (numbers if numbers is not None else ())]
        series.append(Series(_name(one), [value if value == value else None for value in values[:MAX_POINTS]]))
        if words is not None and not categories:
            categories = [words_of(point) for point in words[:MAX_POINTS]]
    return " and ".join(kinds) or "chart", series, categories


def _summary(names: list[str], series: list[Series], categories: list[str]) -> str:
    parts: list[str] = []
    if categories:
        shown = ", ".join(categories[:_NAMED_CATEGORIES]) + (", …" if len(categories) > _NAMED_CATEGORIES else "")
        parts.append(f"{len(categories)} categories: {shown}")
    for name, one in list(zip(names, series, strict=True))[:_NAMED_SERIES]:
        known = [value for value in one.values if value is not None]
        if not known:
            parts.append(f"{name}: no values")
        elif len(known) == 1:
            parts.append(f"{name}: {shown_number(known[0])}")
        else:
            low, high = shown_number(min(known)), shown_number(max(known))
            parts.append(f"{name}: {len(known)} values from {low} to {high}")
    if len(series) > _NAMED_SERIES:
        parts.append(f"and {len(series) - _NAMED_SERIES} more series")
    return "; ".join(parts) or "no data"


def shown_number(value: float) -> str:
    """A number as a person writes it: 2000, 4.3."""
    return str(int(value)) if value == int(value) else f"{value:.6f}".rstrip("0").rstrip(".") or "0"
