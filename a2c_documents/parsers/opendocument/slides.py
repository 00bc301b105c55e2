"""OpenDocument slides: the title, then the other content, then the speaker notes."""

from __future__ import annotations

import re

from a2c_documents.model import Element, Page, heading, note
from a2c_documents.parsers.office.comments import speaker_notes
from a2c_documents.parsers.office.pages import title_of
from a2c_documents.parsers.office.reading_order import NOWHERE, Extent, around, in_reading_order
from a2c_documents.parsers.office.xml import Node, attribute, found, local, points, words_of
from a2c_documents.parsers.opendocument.body import OdfBody
from a2c_documents.parsers.opendocument.objects import SHAPES
from a2c_documents.parsers.opendocument.paragraphs import OdfReader
from a2c_documents.parsers.opendocument.styles import OdfStyles
from a2c_documents.wording import shortened

MAX_TITLE = 120
# Programs name slides "page1", "Folie 2" and so on by default. Such a name is not a title.
_UNNAMED = re.compile(r"(page|slide|folie|diapo\w{0,10}|dia|seite)?\s?\d*", re.IGNORECASE)
_FURNITURE = ("footer", "header", "date-time", "page-number")
_DECLARED = {"header": "header", "footer": "footer", "date-time": "footer"}


class Slides:
    """Reads the slides of a presentation."""

    def __init__(self, reader: OdfReader, styles: OdfStyles) -> None:
        self._reader = reader
        self._styles = styles
        self._told: dict[tuple[str, str], str] = {}

    def read(self, presentation: Node) -> list[Page]:
        """Read all slides."""
        # The text of headers, footers and dates is declared once, in front of the slides, and each slide names the one
        # that it uses.
        for node in presentation:
            if local(node).endswith("-decl"):
                self._told[local(node).removesuffix("-decl"), attribute(node, "name")] = words_of(node)
        slides = [node for node in presentation if local(node) == "page"]
        return [self._slide(node, number) for number, node in enumerate(slides, 1)]

    def _slide(self, slide: Node, number: int) -> Page:
        style = self._styles.slide(attribute(slide, "style-name"))
        titles: list[Element] = []
        filled: list[tuple[Extent, Node]] = []
        free: list[tuple[Extent, Node]] = []
        for shape in slide:
            role = attribute(shape, "class") if local(shape) in ("frame", "custom-shape") else ""
            # A placeholder holds only the prompt of the design, such as "Click to add text".
            if local(shape) not in SHAPES or attribute(shape, "placeholder") == "true" or role in _FURNITURE:
                continue
            if role == "title" and (words := " ".join(self._reader.plain(shape).split())):
                titles.append(heading(words, 1, shape=attribute(shape, "name") or role))
            else:
                # A shape with a role fills a place of the design, in the order that the design intends.
                (filled if role else free).append((_extent(shape), shape))
        elements = list(titles)
        if style.get("visibility") == "hidden":
            elements.insert(0, note("annotation", "This slide is hidden.", kind="hidden"))
        for extent, shape in in_reading_order(filled, free):
            elements.extend(self._shape(shape, extent))
        title = titles[0].content["text"] if titles else self._name(slide) or _first_words(elements)
        elements.extend(self._edges(slide, style))
        elements.extend(self._remarks(slide))
        for element in elements:
            element.metadata["slide"] = number
        return Page(shortened(title, MAX_TITLE) or f"Slide {number}", elements)

    def _shape(self, shape: Node, extent: Extent) -> list[Element]:
        # Each shape has a body of its own, because numbering starts again in each.
        body = OdfBody(self._reader, self._styles, joined=True)
        body.read((shape,))
        elements = [step.element for step in body.story.steps if step.element is not None]
        for element in elements:
            if name := attribute(shape, "name"):
                element.metadata.setdefault("shape", name)
            if extent != NOWHERE:
                element.metadata["box"] = [round(edge, 1) for edge in extent]
        return elements

    def _edges(self, slide: Node, style: dict[str, str]) -> list[Element]:
        """Header, footer and date, where the slide shows them."""
        shown = [kind for kind in _DECLARED if style.get(f"display-{kind}", "true") == "true"]
        told = [(kind, self._told.get((kind, attribute(slide, f"use-{kind}-name")), "")) for kind in shown]
        return [note(_DECLARED[kind], words) for kind, words in told if words]

    def _remarks(self, slide: Node) -> list[Element]:
        """Speaker notes and comments of a slide."""
        frames = [node for node in found(slide.find("{*}notes"), "frame") if attribute(node, "class") == "notes"]
        written = (self._reader.plain(frame) for frame in frames if attribute(frame, "placeholder") != "true")
        words = "\n".join(filter(None, written))
        comments = self._reader.comments(node for node in slide if local(node) == "annotation")
        return [*([speaker_notes(words)] if words else []), *comments]

    def _name(self, slide: Node) -> str:
        name = attribute(slide, "name")
        return "" if _UNNAMED.fullmatch(name[:100]) else name


def _extent(shape: Node) -> Extent:
    """The area of a shape; a group covers the area of its shapes."""
    if local(shape) in ("g", "a"):
        # A group has no position of its own in the file.
        inner = [_extent(node) for node in found(shape, *SHAPES - {"g", "a"})]
        return around([extent for extent in inner if extent != NOWHERE])
    left, top, width, height = (points(attribute(shape, name)) for name in ("x", "y", "width", "height"))
    if left is None or top is None:
        return NOWHERE
    return left, top, left + (width or 0), top + (height or 0)


def _first_words(elements: list[Element]) -> str:
    return title_of([element for element in elements if element.category in ("text", "list", "link")])


def slide_size(styles: Node | None) -> list[float]:
    """Width and height of the slides in points; empty if the file does not state them."""
    master = next(found(styles, "master-page"), None)
    name = attribute(master, "page-layout-name")
    layout = next((node for node in found(styles, "page-layout") if attribute(node, "name") == name), None)
    properties = next(found(layout, "page-layout-properties"), None)
    size = [points(attribute(properties, f"page-{side}")) for side in ("width", "height")]
    return [round(length, 1) for length in size if length is not None]
