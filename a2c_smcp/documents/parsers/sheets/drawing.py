"""What lies over the cells of an Excel sheet: charts, pictures, text boxes, diagrams."""

from __future__ import annotations

import mimetypes
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from a2c_smcp.documents.model import Element, UnreadableFileError, image, note, text
from a2c_smcp.documents.parsers.sheets.charts import chart_element, paragraphs
from a2c_smcp.documents.parsers.sheets.grid import MAX_COLUMNS, MAX_ROWS, ref_of
from a2c_smcp.documents.parsers.sheets.xml import DAMAGE, Parts, attribute, first, found, local

MAX_SHAPES = 500
_MAX_PICTURE = 50_000_000
_PIXEL = 9_525
"""English Metric Units of a pixel at 96 dpi."""


def drawing_elements(path: Path, parts: Parts, name: str) -> Iterator[tuple[int, int, Element]]:
    """The elements of a drawing, each with the row and column of its upper left corner.

    Raises:
        UnreadableFileError: the drawing is damaged.
    """
    tree = parts.tree(name)
    targets = {key: target for key, _, target in parts.relations(name)}
    anchors = [node for node in tree if local(node.tag).endswith("Anchor")] if tree is not None else []
    for anchor in anchors[:MAX_SHAPES]:
        start = first(anchor, "from")
        row, column = _number(start, "row", MAX_ROWS), _number(start, "col", MAX_COLUMNS)
        for shape in found(anchor, "pic", "graphicFrame", "sp", "cxnSp"):
            element = _shape(path, parts, targets, shape)
            if element is not None:
                size = next((node for node in anchor if local(node.tag) == "ext"), None)
                if element.category == "image":
                    element.metadata.setdefault("size", _size(size))
                element.metadata["source_range"] = _covered(anchor, row, column)
                yield row, column, element


def _covered(anchor: ElementTree.Element, row: int, column: int) -> str:
    end = first(anchor, "to")
    start = ref_of(row, column)
    return (
        start if end is None else f"{start}:{ref_of(_number(end, 'row', MAX_ROWS), _number(end, 'col', MAX_COLUMNS))}"
    )


def _number(node: ElementTree.Element | None, name: str, limit: int) -> int:
    child = first(node, name)
    words = (child.text or "").strip() if child is not None else ""
    return min(int(words), limit - 1) if words.isdigit() else 0


def _shape(path: Path, parts: Parts, targets: dict[str, str], shape: ElementTree.Element) -> Element | None:
    properties = first(shape, "cNvPr")
    name, alt = attribute(properties, "name"), attribute(properties, "descr")
    kind = local(shape.tag)
    element: Element | None = None
    if kind == "pic":
        element = _picture(path, parts, targets, shape, alt or name)
    elif kind == "sp":
        words = "\n".join(line for line in paragraphs(shape) if line)
        element = text(words) if words else None
    elif kind == "graphicFrame":
        element = _frame(parts, targets, shape, alt)
    if element is not None and name:
        element.metadata["shape"] = name
    return element


def _picture(path: Path, parts: Parts, targets: dict[str, str], shape: ElementTree.Element, alt: str) -> Element:
    target = targets.get(attribute(first(shape, "blip"), "embed"), "")
    element = image(alt)
    if (size := first(first(first(shape, "spPr"), "xfrm"), "ext")) is not None:
        element.metadata["size"] = _size(size)
    real = parts.real_name(target) if target else None
    if real is not None:
        element.picture = partial(_picture_bytes, path, real)
    return element


def _size(node: ElementTree.Element | None) -> list[int]:
    """Width and height in pixels."""
    return [int(words) // _PIXEL if words.isdigit() else 0 for words in (attribute(node, key) for key in ("cx", "cy"))]


def _picture_bytes(path: Path, member: str) -> tuple[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            return mimetypes.guess_type(member)[0] or "application/octet-stream", file.read(_MAX_PICTURE)
    except (*DAMAGE, KeyError) as error:
        raise UnreadableFileError(f"the picture cannot be read: {error}") from None


def _frame(parts: Parts, targets: dict[str, str], shape: ElementTree.Element, alt: str) -> Element | None:
    node = first(shape, "chart")
    if node is not None:
        try:
            return chart_element(parts.tree(targets.get(attribute(node, "id"), "")), alt)
        except UnreadableFileError as error:
            return note("annotation", f"A chart cannot be read: {error}.")
    node = first(shape, "relIds")
    if node is not None:
        tree = parts.tree(targets.get(attribute(node, "dm"), ""))
        words = [line for line in paragraphs(tree) if line]
        return note("diagram", "\n".join(words)) if words else None
    return None
