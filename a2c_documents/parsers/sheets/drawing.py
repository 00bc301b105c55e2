"""What lies over the cells of an Excel sheet: charts, pictures, text boxes, diagrams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from a2c_documents.model import Element, image, note, text
from a2c_documents.parsers.office.charts import Chart, chart_of
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.smartart import diagram_of
from a2c_documents.parsers.office.xml import DamagedPartError, attribute, drawn_pixels, first, found, local
from a2c_documents.parsers.sheets.grid import MAX_COLUMNS, MAX_ROWS, Area

MAX_SHAPES = 500


def drawn_things(package: Package, name: str) -> Iterator[tuple[int, int, Element | Chart]]:
    """What is in a drawing, each with the row and column of its upper left corner.

    Raises:
        DamagedPartError: the drawing is damaged.
    """
    anchors = [node for node in package.xml(name) if local(node).endswith("Anchor")]
    for anchor in anchors[:MAX_SHAPES]:
        area = area_of_anchor(anchor)
        for shape in found(anchor, "pic", "graphicFrame", "sp", "cxnSp"):
            thing = _shape(package, name, shape)
            if thing is not None:
                size = next((node for node in anchor if local(node) == "ext"), None)
                if isinstance(thing, Element) and thing.category == "image":
                    thing.metadata.setdefault("size", _size(size))
                thing.metadata["source_range"] = area.ref
                yield area.top, area.left, thing


def area_of_anchor(anchor: Any | None) -> Area:
    """The cells that something is anchored to; the first one, if that is not known."""
    ends = [first(anchor, name) for name in ("from", "to")]
    top, bottom = (_number(end, "row", MAX_ROWS) for end in ends)
    left, right = (_number(end, "col", MAX_COLUMNS) for end in ends)
    return Area(top, left, top, left) if ends[1] is None else Area(top, left, bottom, right)


def _number(node: Any | None, name: str, limit: int) -> int:
    child = first(node, name)
    words = (child.text or "").strip() if child is not None else ""
    return min(int(words), limit - 1) if words.isdigit() else 0


def _shape(package: Package, drawing: str, shape: Any) -> Element | Chart | None:
    properties = first(shape, "cNvPr")
    name, alt = attribute(properties, "name"), attribute(properties, "descr")
    kind = local(shape)
    thing: Element | Chart | None = None
    if kind == "pic":
        thing = _picture(package, drawing, shape, alt)
    elif kind == "sp":
        lines = ("".join(run.text or "" for run in found(line, "t")).strip() for line in found(shape, "p"))
        words = "\n".join(filter(None, lines))
        thing = text(words) if words else None
    elif kind == "graphicFrame":
        thing = _frame(package, drawing, shape, alt)
    if thing is not None and name:
        thing.metadata["shape"] = name
    return thing


def _picture(package: Package, drawing: str, shape: Any, alt: str) -> Element:
    relation = package.relations(drawing).get(attribute(first(shape, "blip"), "embed"))
    element = image(alt)
    if (size := first(first(first(shape, "spPr"), "xfrm"), "ext")) is not None:
        element.metadata["size"] = _size(size)
    if relation is not None and relation.target in package:
        element.picture = package.picture(relation.target)
    return element


def _size(node: Any | None) -> list[int]:
    """Width and height in pixels."""
    return [drawn_pixels(attribute(node, key)) for key in ("cx", "cy")]


def _frame(package: Package, drawing: str, shape: Any, alt: str) -> Element | Chart | None:
    node = first(shape, "chart", "relIds")
    if node is None:
        return None
    kind = local(node)
    relation = package.relations(drawing).get(attribute(node, "id" if kind == "chart" else "dm"))
    try:
        root = package.xml(relation.target if relation is not None else "")
    except DamagedPartError as error:
        return note("annotation", f"A {'chart' if kind == 'chart' else 'diagram'} cannot be read: {error}.")
    if kind == "relIds":
        return diagram_of(root)
    chart = chart_of(root)
    chart.title = chart.title or alt
    return chart
