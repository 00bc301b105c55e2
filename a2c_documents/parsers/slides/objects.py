"""Objects on a slide besides text: tables, charts, SmartArt, embedded files, pictures, sound and film."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from a2c_documents.model import Element, image, link, note
from a2c_documents.parsers.office.charts import chart_of
from a2c_documents.parsers.office.embedded import embedded_element
from a2c_documents.parsers.office.package import Package, Relation, type_of
from a2c_documents.parsers.office.smartart import diagram_of
from a2c_documents.parsers.office.tables import Grid
from a2c_documents.parsers.office.xml import DamagedPartError, Node, attribute, local, whole
from a2c_documents.parsers.slides.paragraphs import paragraphs_of, plain
from a2c_documents.parsers.slides.shapes import Shape

MAX_CELLS = 200_000


@dataclass(frozen=True, slots=True)
class SlidePart:
    """The package of a slide, and the relations of the slide."""

    package: Package
    relations: dict[str, Relation]

    def target(self, identifier: str) -> str:
        """The part that a relation of the slide leads to; empty if it leads out of the file."""
        relation = self.relations.get(identifier)
        return relation.target if relation is not None and not relation.external else ""


def frame_elements(shape: Shape, part: SlidePart, metadata: dict[str, Any]) -> list[Element]:
    """The content of a frame. A damaged part gives an annotation."""
    data = shape.element.find(".//{*}graphicData")
    if data is None:
        return []
    try:
        # The content of a frame can be below an `AlternateContent`. The first thing that is known decides; the others
        # are fallbacks for it.
        for child in data.iter():
            match local(child):
                case "tbl":
                    return [*_table(child, metadata), *_table_links(child, part, metadata)]
                case "chart":
                    root = part.package.xml(part.target(attribute(child, "id")))
                    return [chart_of(root, **metadata).element()]
                case "relIds":
                    return [_placed(diagram_of(part.package.xml(part.target(attribute(child, "dm")))), metadata)]
                case "oleObj":
                    relation = part.relations.get(attribute(child, "id"))
                    program, called = attribute(child, "progId"), attribute(child, "name")
                    return [embedded_element(part.package, relation, program, called, **metadata)]
                case _:
                    pass
    except DamagedPartError as error:
        return [_placed(note("annotation", f"{shape.name or 'An object'} cannot be read: {error}"), metadata)]
    return []


def _placed(element: Element, metadata: dict[str, Any]) -> Element:
    element.metadata = dict(metadata)
    return element


# ---------------------------------------------------------------------------------------------------------------- table


def _table(element: Node, metadata: dict[str, Any]) -> list[Element]:
    grid = Grid()
    left = MAX_CELLS
    for row_number, row in enumerate(element.iterfind("{*}tr")):
        cells: list[str] = []
        for column, cell in enumerate(row.iterfind("{*}tc")):
            if left <= 0:
                break
            left -= 1
            wide, high = whole(cell.get("gridSpan"), 1), whole(cell.get("rowSpan"), 1)
            # Cells below a merged cell stay in the file, sometimes with old text that PowerPoint does not show.
            covered = cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true")
            cells.append("" if covered else plain(cell.find("{*}txBody")))
            if not covered and (wide > 1 or high > 1):
                grid.merged.append((row_number, column, row_number + high - 1, column + wide - 1))
        grid.rows.append(cells)
    headed = attribute(element.find("{*}tblPr"), "firstRow") in ("1", "true")
    result = grid.element(first_is_header=headed)
    if result is not None:
        result.metadata = metadata | result.metadata
    return [result] if result is not None else []


def _table_links(element: Node, part: SlidePart, metadata: dict[str, Any]) -> Iterator[Element]:
    for body in element.iterfind("{*}tr/{*}tc/{*}txBody"):
        for paragraph in paragraphs_of(body, [], part.relations):
            yield from (link(" ".join(words.split()), url, **metadata) for words, url in paragraph.links)


# ------------------------------------------------------------------------------------------------------------- pictures


def picture_elements(shape: Shape, part: SlidePart, metadata: dict[str, Any]) -> list[Element]:
    """A picture, or the sound or film that it stands for."""
    blip = shape.element.find("{*}blipFill/{*}blip")
    if blip is None:
        blip = shape.element.find("{*}spPr/{*}blipFill/{*}blip")
    file = part.target(attribute(blip, "embed")) if blip is not None else ""
    picture = part.package.picture(file) if file and file in part.package else None
    # Sound and film are stored as their poster picture, with a mark that names the file.
    element = _media(shape, part)
    if element is None:
        linked = part.relations.get(attribute(blip, "link")) if blip is not None else None
        url = linked.target if linked is not None and linked.external else ""
        element = image(shape.alt, _size(shape, file), url)
    element.metadata = dict(metadata)
    element.picture = picture
    return [element]


def _size(shape: Shape, file: str) -> str:
    """ "Picture 4, 320 × 240 pt, image/png"."""
    size = f"{shape.box[2]:g} × {shape.box[3]:g} pt" if shape.box else ""
    return ", ".join(filter(None, (shape.name, size, type_of(file) if file else "")))


def _media(shape: Shape, part: SlidePart) -> Element | None:
    properties = shape.element.find("{*}nvPicPr/{*}nvPr")
    for mark in properties.iter() if properties is not None else ():
        name = local(mark)
        if name in ("audioFile", "wavAudioFile", "audioCd", "videoFile", "quickTimeFile"):
            # Sound and film are relations of type "link" even if the file is inside the archive. Only short sounds of
            # the older kind are `embed`.
            relation = part.relations.get(attribute(mark, "link") or attribute(mark, "embed"))
            category = "video" if name in ("videoFile", "quickTimeFile") else "audio"
            url = relation.target if relation is not None and relation.external else ""
            file = relation.target if relation is not None and not url else ""
            known: dict[str, Any] = {"url": url} if url else {}
            if file:
                known = {"file": posixpath.basename(file), "mime": type_of(file), "bytes": part.package.size(file)}
            return note(category, shape.alt or shape.name or category.capitalize(), **known)
    return None
