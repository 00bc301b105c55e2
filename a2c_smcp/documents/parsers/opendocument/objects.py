"""Frames of OpenDocument: pictures, charts, formulas, text boxes, films."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from a2c_smcp.documents.model import Element, chart, formula, image, link, note
from a2c_smcp.documents.parsers.office.chart import shown_number
from a2c_smcp.documents.parsers.office.package import Package
from a2c_smcp.documents.parsers.office.xml import DamagedPartError, attribute, local, number, words_of
from a2c_smcp.documents.parsers.opendocument.math import linear

_UNITS = {"cm": 96 / 2.54, "mm": 96 / 25.4, "in": 96.0, "inch": 96.0, "pt": 96 / 72, "px": 1.0, "pc": 16.0}
_LENGTH = re.compile(r"(-?[\d.]{1,12})(cm|mm|inch|in|pt|px|pc)")
_SHAPES = ("custom-shape", "rect", "ellipse", "path", "polygon", "polyline", "line", "connector")
MAX_SERIES = 50


class Objects:
    """Reads what frames and shapes hold. Pictures and embedded documents are parts of the package."""

    def __init__(self, package: Package) -> None:
        self._package = package

    def read(self, shape: Any) -> Iterator[Any]:
        """Elements, and the containers of paragraphs that are in a shape, in order. Groups are walked through."""
        stack = [shape]
        while stack:
            node = stack.pop()
            name = local(node)
            if name in ("g", "a"):
                stack.extend(reversed(node))
            elif name == "frame":
                yield from self._frame(node)
            elif name in _SHAPES and any(local(part) in ("p", "list") for part in node):
                yield node

    def _frame(self, frame: Any) -> Iterator[Any]:
        """The first thing in a frame that is understood; the others are replacements of it."""
        for node in frame:
            name = local(node)
            if name == "text-box":
                yield node
                return
            if name in ("object", "object-ole"):
                yield self._object(frame, node)
                return
            if name == "image":
                yield self._picture(frame, node)
                return
            if name == "plugin":
                yield _media(frame, node)
                return
            if name == "table":
                yield [node]
                return

    def _picture(self, frame: Any, node: Any) -> Element:
        target = attribute(node, "href")
        alt = words_of(frame.find("{*}desc")) or words_of(frame.find("{*}title"))
        part = posixpath.normpath(target) if target else ""
        inside = part in self._package
        shown = image(alt, url="" if inside else target, **_where(frame))
        if inside:
            shown.metadata["source"] = part
            shown.picture = self._package.picture(part)
        return shown

    def _object(self, frame: Any, node: Any) -> Element:
        target = posixpath.normpath(attribute(node, "href") or ".").lstrip("/")
        content = f"{target}/content.xml"
        own = next((part for part in node if local(part) in ("math", "document")), None)
        if own is None and content not in self._package:
            return link(f"Embedded file {target.rpartition('/')[2]}", target, **_where(frame))
        try:
            root = own if own is not None else self._package.xml(content)
        except DamagedPartError as error:
            return note("annotation", f"An embedded object cannot be read: {error}")
        if local(root) == "math":
            return formula(linear(root), **_where(frame))
        drawn = root.find(".//{*}body/{*}chart/{*}chart")
        if drawn is not None:
            return _chart(drawn, _where(frame))
        return link(f"Embedded document {target.rpartition('/')[2]}", target, **_where(frame))


def _media(frame: Any, node: Any) -> Element:
    kind = "audio" if attribute(node, "mime-type").startswith("audio") else "video"
    shown = note(kind, attribute(frame, "name"), url=attribute(node, "href"))
    shown.metadata.update(_where(frame))
    return shown


def _where(frame: Any) -> dict[str, Any]:
    """Name and place of a frame. The size is in pixels of 1/96 inch."""
    size = [pixels(attribute(frame, name)) for name in ("width", "height")]
    known: dict[str, Any] = {"shape": attribute(frame, "name"), "size": size if all(size) else None}
    return {key: value for key, value in known.items() if value}


def pixels(length: str) -> int:
    """A length in pixels of 1/96 inch; 0 for what is none."""
    found = _LENGTH.fullmatch(length)
    return round(number(found[1]) * _UNITS[found[2]]) if found else 0


def _chart(drawn: Any, metadata: dict[str, Any]) -> Element:
    """A chart; its data are in a table of its own, a series for each column."""
    kind = attribute(drawn, "class").rpartition(":")[2] or "chart"
    rows = [
        [words_of(cell) or attribute(cell, "value") for cell in row.iterfind("{*}table-cell")]
        for row in drawn.iterfind(".//{*}table//{*}table-row")
    ]
    rows = [row for row in rows if row]
    names = rows[0][1:] if rows else []
    categories = [row[0] for row in rows[1:]]
    parts = [f"{len(categories)} categories: {', '.join(categories[:8])}{', …' if len(categories) > 8 else ''}"]
    series: list[dict[str, Any]] = []
    for index, name in enumerate(names[:MAX_SERIES], 1):
        known = [value for row in rows[1:] if len(row) > index and (value := number(row[index], float("nan"))) == value]
        series.append({"name": name, "values": known})
        low, high = (shown_number(min(known)), shown_number(max(known))) if known else ("", "")
        span = f"{len(known)} values from {low} to {high}" if known else "no values"
        parts.append(f"{name or f'Series {index}'}: {span}")
    shown = chart(kind, words_of(drawn.find("{*}title")), "; ".join(parts) if rows else "no data", **metadata)
    shown.detail = shown.content | {"categories": categories, "series": series}
    return shown
