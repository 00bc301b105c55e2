"""What a slide holds besides text: tables, charts, SmartArt, embedded objects, pictures, sound and film."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from a2c_smcp.documents.model import Element, image, link, note, table
from a2c_smcp.documents.parsers.office.chart import chart_of
from a2c_smcp.documents.parsers.office.package import Package, Relation, type_of
from a2c_smcp.documents.parsers.office.xml import DamagedPartError, attribute, local, whole
from a2c_smcp.documents.parsers.slides.shapes import Shape
from a2c_smcp.documents.parsers.slides.text import Paragraph, nested, paragraphs_of, plain

MAX_CELLS = 200_000
_PROGRAMS = {
    "Excel": "Excel worksheet", "Word": "Word document", "PowerPoint": "PowerPoint presentation",
    "Visio": "Visio drawing", "AcroExch": "PDF document", "Equation": "equation", "Package": "file",
    "MSGraph": "chart", "Paint": "picture",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """The package that a slide is in, and what the slide relates to."""

    package: Package
    relations: dict[str, Relation]

    def target(self, identifier: str) -> str:
        """The part that an id of the slide leads to; empty if it leads out of the file."""
        relation = self.relations.get(identifier)
        return relation.target if relation is not None and not relation.external else ""


def frame_elements(shape: Shape, place: Place, metadata: dict[str, Any]) -> list[Element]:
    """What a frame holds. A part that is damaged is said to be so."""
    data = shape.element.find(".//{*}graphicData")
    if data is None:
        return []
    try:
        for child in data.iter():
            match local(child):
                case "tbl":
                    return [_table(child, metadata), *_table_links(child, place, metadata)]
                case "chart":
                    root = place.package.xml(place.target(attribute(child, "id")))
                    return [chart_of(root, **metadata)]
                case "relIds":
                    return [_diagram(place.package.xml(place.target(attribute(child, "dm"))), metadata)]
                case "oleObj":
                    return [_embedded(child, shape, place, metadata)]
                case _:
                    pass
    except DamagedPartError as error:
        return [_placed(note("annotation", f"{shape.name or 'An object'} cannot be read: {error}"), metadata)]
    return []


def _placed(element: Element, metadata: dict[str, Any]) -> Element:
    element.metadata = dict(metadata)
    return element


# ---------------------------------------------------------------------------------------------------------------- table


def _table(element: Any, metadata: dict[str, Any]) -> Element:
    rows: list[list[str]] = []
    merged: list[str] = []
    left = MAX_CELLS
    for row_number, row in enumerate(element.iterfind("{*}tr"), 1):
        cells: list[str] = []
        for column, cell in enumerate(row.iterfind("{*}tc")):
            if left <= 0:
                break
            left -= 1
            wide, high = whole(cell.get("gridSpan"), 1), whole(cell.get("rowSpan"), 1)
            covered = cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true")
            cells.append("" if covered else plain(cell.find("{*}txBody")))
            if not covered and (wide > 1 or high > 1):
                end = f"{_letters(column + wide - 1)}{row_number + high - 1}"
                merged.append(f"{_letters(column)}{row_number}:{end}")
        rows.append(cells)
    columns = max((len(row) for row in rows), default=0)
    rows = [row + [""] * (columns - len(row)) for row in rows]
    properties = element.find("{*}tblPr")
    headed = properties is not None and properties.get("firstRow") in ("1", "true")
    headers = rows[0] if rows and headed else [""] * columns
    result = table(headers, rows[1:] if headed else rows, **metadata)
    if merged:
        result.metadata["merged"] = merged
    return result


def _table_links(element: Any, place: Place, metadata: dict[str, Any]) -> Iterator[Element]:
    for body in element.iterfind("{*}tr/{*}tc/{*}txBody"):
        for paragraph in paragraphs_of(body, [], place.relations):
            yield from (link(" ".join(words.split()), url, **metadata) for words, url in paragraph.links)


def _letters(column: int) -> str:
    """The name of a column, as spreadsheets count them."""
    name = ""
    column = max(0, min(column, 1_000_000)) + 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


# -------------------------------------------------------------------------------------------------------------- diagram


def _diagram(root: Any, metadata: dict[str, Any]) -> Element:
    """SmartArt: its points with text, each below the one that it belongs to."""
    words = {
        attribute(point, "modelId"): " ".join(plain(point.find("{*}t")).split())
        for point in root.iterfind(".//{*}ptLst/{*}pt")
        if attribute(point, "type", "node") in ("node", "asst", "doc")
    }
    below: dict[str, list[tuple[int, str]]] = {}
    for line in root.iterfind(".//{*}cxnLst/{*}cxn"):
        if attribute(line, "type", "parOf") == "parOf" and attribute(line, "destId") in words:
            order = whole(attribute(line, "srcOrd"))
            below.setdefault(attribute(line, "srcId"), []).append((order, attribute(line, "destId")))
    lower = {point for points in below.values() for _, point in points}
    waiting = [(0, point) for point in reversed([point for point in words if point not in lower])]
    seen: set[str] = set()
    entries: list[Paragraph] = []
    while waiting:
        level, point = waiting.pop()
        if point in seen:
            continue
        seen.add(point)
        if words[point]:
            entries.append(Paragraph(words[point], min(level, 20)))
        inner = level + 1 if words[point] else level
        waiting.extend((inner, child) for _, child in sorted(below.get(point, []), reverse=True))
    lines = "\n".join("  " * entry.level + entry.words for entry in entries)
    return _placed(note("diagram", lines or "A diagram without text.", items=nested(entries)), metadata)


# ------------------------------------------------------------------------------------------------------------- embedded


def _embedded(element: Any, shape: Shape, place: Place, metadata: dict[str, Any]) -> Element:
    program = attribute(element, "progId")
    what = next((name for start, name in _PROGRAMS.items() if program.startswith(start)), program or "object")
    relation = place.relations.get(attribute(element, "id"))
    name = attribute(element, "name")
    if relation is not None and relation.external:
        return link(f"Linked {what}", relation.target, **metadata)
    file = posixpath.basename(relation.target) if relation is not None else ""
    called = f" “{name}”" if name and name.lower() not in (what.lower(), "object") else ""
    size = f", {place.package.size(relation.target):,} bytes" if relation is not None else ""
    words = f"Embedded {what}{called}" + (f" ({file}{size})" if file else "")
    return _placed(note("annotation", words, kind="embedded", program=program, file=file), metadata)


# ------------------------------------------------------------------------------------------------------------- pictures


def picture_elements(shape: Shape, place: Place, metadata: dict[str, Any]) -> list[Element]:
    """A picture, or the sound or film that it stands for."""
    blip = shape.element.find("{*}blipFill/{*}blip")
    if blip is None:
        blip = shape.element.find("{*}spPr/{*}blipFill/{*}blip")
    part = place.target(attribute(blip, "embed")) if blip is not None else ""
    picture = place.package.picture(part) if part and part in place.package else None
    element = _media(shape, place)
    if element is None:
        linked = place.relations.get(attribute(blip, "link")) if blip is not None else None
        url = linked.target if linked is not None and linked.external else ""
        element = image(shape.alt, _size(shape, part), url)
    element.metadata = dict(metadata)
    element.picture = picture
    return [element]


def _size(shape: Shape, part: str) -> str:
    """ "Picture 4, 320 × 240 pt, image/png"."""
    size = f"{shape.box[2]:g} × {shape.box[3]:g} pt" if shape.box else ""
    return ", ".join(filter(None, (shape.name, size, type_of(part) if part else "")))


def _media(shape: Shape, place: Place) -> Element | None:
    properties = shape.element.find("{*}nvPicPr/{*}nvPr")
    for mark in properties.iter() if properties is not None else ():
        name = local(mark)
        if name in ("audioFile", "wavAudioFile", "audioCd", "videoFile", "quickTimeFile"):
            relation = place.relations.get(attribute(mark, "link") or attribute(mark, "embed"))
            category = "video" if name in ("videoFile", "quickTimeFile") else "audio"
            url = relation.target if relation is not None and relation.external else ""
            file = relation.target if relation is not None and not url else ""
            known: dict[str, Any] = {"url": url} if url else {}
            if file:
                known = {"file": posixpath.basename(file), "mime": type_of(file), "bytes": place.package.size(file)}
            return note(category, shape.alt or shape.name or category.capitalize(), **known)
    return None
