"""What an OpenDocument sheet has besides cells: pictures, charts, pivot tables, and what the file says of itself."""

from __future__ import annotations

import mimetypes
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from a2c_smcp.documents.model import Element, Facts, UnreadableFileError, chart, image, note, text
from a2c_smcp.documents.parsers.sheets.grid import area_of
from a2c_smcp.documents.parsers.sheets.xml import DAMAGE, Parts, attribute, first, found, local, tree_of

MAX_SHAPES = 500
_MAX_PICTURE = 50_000_000
_PIVOTS = re.compile(rb"<table:data-pilot-tables>.*?</table:data-pilot-tables>", re.DOTALL)
_LENGTH = re.compile(r"([0-9.]+)(cm|mm|in|pt)$")
_PIXELS = {"cm": 96 / 2.54, "mm": 96 / 25.4, "in": 96.0, "pt": 96 / 72}


def facts_of(parts: Parts) -> Facts:
    """What the file says of itself."""
    try:
        tree = parts.tree("meta.xml")
    except UnreadableFileError:
        return Facts()

    def said(*names: str) -> str:
        return next((node.text.strip() for name in names for node in found(tree, name) if node.text), "")

    keywords = [(node.text or "").strip() for node in found(tree, "keyword")]
    return Facts(
        title=said("title"),
        author=said("initial-creator", "creator"),
        keywords=[word for word in keywords if word],
        summary=said("description", "subject"),
        created=said("creation-date").partition(".")[0],
    )


def frame_elements(path: Path, parts: Parts, nodes: Iterable[ElementTree.Element]) -> Iterator[Element]:
    """Pictures, charts and text boxes below some nodes."""
    holder = ElementTree.Element("all")
    holder.extend(nodes)
    for frame in list(found(holder, "frame"))[:MAX_SHAPES]:
        element = _frame(path, parts, frame)
        if element is None:
            continue
        if name := attribute(frame, "name"):
            element.metadata["shape"] = name
        size = [_pixels(attribute(frame, key)) for key in ("width", "height")]
        if all(size):
            element.metadata["size"] = size
        yield element


def _pixels(words: str) -> int:
    match = _LENGTH.match(words)
    try:
        return round(float(match[1]) * _PIXELS[match[2]]) if match else 0
    except ValueError:
        return 0


def _frame(path: Path, parts: Parts, frame: ElementTree.Element) -> Element | None:
    alt = " ".join((node.text or "").strip() for node in found(frame, "title", "desc")).strip()
    thing = next((node for node in frame if local(node.tag) in ("object", "image", "text-box")), None)
    target = attribute(thing, "href")
    if thing is not None and local(thing.tag) == "object":
        try:
            return _chart(parts.tree(posixpath.normpath(target) + "/content.xml"), alt)
        except UnreadableFileError as error:
            return note("annotation", f"A chart cannot be read: {error}.")
    if thing is not None and local(thing.tag) == "text-box":
        words = "\n".join("".join(line.itertext()) for line in found(thing, "p")).strip()
        return text(words) if words else None
    if thing is None:
        return None
    element = image(alt or attribute(frame, "name"))
    real = parts.real_name(posixpath.normpath(target)) if target else None
    if real is not None:
        element.picture = partial(_picture, path, real)
    return element


def _picture(path: Path, member: str) -> tuple[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            return mimetypes.guess_type(member)[0] or "application/octet-stream", file.read(_MAX_PICTURE)
    except (*DAMAGE, KeyError) as error:
        raise UnreadableFileError(f"the picture cannot be read: {error}") from None


def _chart(tree: ElementTree.Element | None, alt: str) -> Element | None:
    """A chart: its type, its title, and the table of its values that is kept with it."""
    node = first(tree, "chart")
    if node is None:
        return None
    kind = attribute(node, "class").rpartition(":")[2]
    title = next((child for child in node if local(child.tag) == "title"), None)
    words = " ".join("".join(line.itertext()) for line in found(title, "p")).strip() if title is not None else ""
    rows = [
        ["".join(cell.itertext()).strip() for cell in row if "cell" in local(cell.tag)]
        for row in found(node, "table-row")
    ]
    count = sum(1 for _ in found(node, "series"))
    summary = f"{count} series" if count else ""
    if len(rows) > 1:
        told = [f"{row[0]}: {', '.join(row[1:])}" for row in rows[1:9] if row]
        names = ", ".join(name for name in rows[0] if name)
        more = " …" if len(rows) > 9 else ""
        summary += f" over {len(rows) - 1} categories{f' ({names})' if names else ''}. {'; '.join(told)}{more}"
    element = chart(kind or "chart", words or alt, summary)
    element.detail = element.content | {"table": rows[:500]}
    return element


def pivot_elements(raw: bytes, root: bytes, end: bytes, sheet: str) -> Iterator[tuple[int, int, Element]]:
    """The pivot tables on a sheet."""
    match = _PIVOTS.search(raw)
    if match is None:
        return
    try:
        tree = tree_of(root + match[0] + end)
    except UnreadableFileError:
        return
    for node in found(tree, "data-pilot-table"):
        ends = [part.rpartition(".") for part in attribute(node, "target-range-address").split(":")]
        area = area_of(":".join(cell for _, _, cell in ends))
        if area is None or ends[0][0].strip("$'") != sheet:
            continue
        fields: dict[str, list[str]] = {}
        for field in found(node, "data-pilot-field"):
            name = attribute(field, "source-field-name") or "Values"
            how, where = attribute(field, "function"), attribute(field, "orientation")
            fields.setdefault(where, []).append(f"{name} ({how})" if where == "data" and how else name)
        source = attribute(first(node, "source-cell-range"), "cell-range-address")
        content = {
            "name": attribute(node, "name"),
            "rows": fields.get("row", []),
            "columns": fields.get("column", []),
            "values": fields.get("data", []),
            "filters": fields.get("page", []),
            "source": source,
        }
        by = ", ".join(content["rows"])
        summary = f"{content['name']}: {', '.join(content['values'])} by {by}"
        yield area.top, area.left, Element("pivot_table", content, summary, {"source_range": area.ref})
