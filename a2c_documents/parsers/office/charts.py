"""Charts of every kind of file, as people read them: what they are, what they are called, what their numbers say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from a2c_documents.model import Element, chart

MAX_POINTS = 5_000
"""Values of a series that are read."""
MAX_SERIES = 100
_NAMED_SERIES, _NAMED_CATEGORIES, _TOLD_VALUES = 12, 12, 12
_GAP = "–"


@dataclass(slots=True)
class Values:
    """What a chart keeps of some cells: numbers or words, what they look like, and where they come from."""

    values: list[float | str | None] = field(default_factory=list[float | str | None])
    shown: list[str] = field(default_factory=list[str])
    source: str = ""
    is_plain: bool = False
    """Nothing is said beside the numbers of how they look: their cells may know."""


@dataclass(slots=True)
class Series:
    """A row of values with its name, and what stands below them."""

    name: str = ""
    values: Values = field(default_factory=Values)
    categories: Values = field(default_factory=Values)
    name_source: str = ""


@dataclass(slots=True)
class Chart:
    """A chart before it is an element: a sheet may still have the values that the chart itself does not keep."""

    kinds: Sequence[str]
    title: str
    series: list[Series]
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    def element(self) -> Element:
        """The chart; all of its numbers are in the detail."""
        names = [one.name or f"Series {number}" for number, one in enumerate(self.series, 1)]
        kind = " and ".join(dict.fromkeys(filter(None, self.kinds))) or "chart"
        shared = self._categories()
        made = chart(kind, self.title, _summary(names, self.series, shared), **self.metadata)
        rows: list[dict[str, Any]] = []
        for name, one in zip(names, self.series, strict=True):
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
    if len(values.shown) <= _TOLD_VALUES:
        return ", ".join(shown or _GAP for shown in values.shown)
    pairs = zip(values.values, values.shown, strict=True)
    numbers = sorted((value, shown) for value, shown in pairs if isinstance(value, float))
    if len(numbers) == len(known):
        return f"{len(known)} values from {numbers[0][1]} to {numbers[-1][1]}"
    return f"{len(known)} values, the first {known[0]}, the last {known[-1]}"
