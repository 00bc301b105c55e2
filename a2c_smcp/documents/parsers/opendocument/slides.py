"""Slides of OpenDocument: title first, then what is on the slide, then what the speaker notes."""

from __future__ import annotations

import re
from typing import Any

from a2c_smcp.documents.model import Page, heading, note
from a2c_smcp.documents.parsers.office.xml import attribute, local, words_of
from a2c_smcp.documents.parsers.opendocument.body import Body
from a2c_smcp.documents.parsers.opendocument.styles import Styles
from a2c_smcp.documents.parsers.opendocument.text import Reader

MAX_TITLE = 120
_UNNAMED = re.compile(r"(page|slide|folie|diapo\w{0,10}|dia|seite)?\s?\d*", re.IGNORECASE)
_FURNITURE = ("footer", "header", "date-time", "page-number")
_LEFT_OUT = ("notes", "forms", "animations", "par", "seq", "title", "desc", "layer-set", "event-listeners")


class Slides:
    """Reads the slides of a presentation."""

    def __init__(self, reader: Reader, styles: Styles) -> None:
        self._reader = reader
        self._styles = styles
        self._told: dict[tuple[str, str], str] = {}

    def read(self, presentation: Any) -> list[Page]:
        """All slides."""
        for node in presentation:
            if (kind := local(node)) in ("footer-decl", "header-decl"):
                self._told[kind.removesuffix("-decl"), attribute(node, "name")] = words_of(node)
        slides = [node for node in presentation if local(node) == "page"]
        return [self._slide(node, number) for number, node in enumerate(slides, 1)]

    def _slide(self, slide: Any, number: int) -> Page:
        page = Page("")
        rest: list[Any] = []
        for shape in slide:
            role = attribute(shape, "class") if local(shape) in ("frame", "custom-shape") else ""
            if attribute(shape, "placeholder") == "true" or role in _FURNITURE or local(shape) in _LEFT_OUT:
                continue
            if role in ("title", "subtitle") and (words := " ".join(self._reader.plain(shape).split())):
                level = 1 if role == "title" else 2
                page.elements.append(heading(words, level, shape=attribute(shape, "name") or role))
                page.title = page.title or words
            else:
                rest.append(shape)
        page.elements.sort(key=lambda element: int(element.content["level"]))
        for shape in rest:
            page.elements.extend(self._shape(shape))
        notes = slide.find("{*}notes")
        if notes is not None and (words := self._notes(notes)):
            page.elements.append(note("annotation", words, kind="speaker notes"))
        for category in ("header", "footer"):
            told = self._told.get((category, attribute(slide, f"use-{category}-name")), "")
            if told:
                page.elements.append(note(category, told))
        for element in page.elements:
            element.metadata["slide"] = number
        page.title = (page.title or self._name(slide) or f"Slide {number}")[:MAX_TITLE]
        return page

    def _shape(self, shape: Any) -> list[Any]:
        """What a shape says. Several shapes with words that are drawn as one are a diagram."""
        body = Body(self._reader, self._styles)
        body.read((shape,))
        elements = [item.element for item in body.items if item.element is not None]
        words = [element.content["text"] for element in elements if element.category == "text"]
        if local(shape) == "g" and len(words) > 1:
            others = [element for element in elements if element.category != "text"]
            elements = [note("diagram", "\n".join(words)), *others]
        if name := attribute(shape, "name"):
            for element in elements:
                element.metadata.setdefault("shape", name)
        return elements

    def _notes(self, notes: Any) -> str:
        frames = [node for node in notes if attribute(node, "class") == "notes" and not _is_empty(node)]
        return "\n".join(filter(None, (self._reader.plain(frame) for frame in frames)))

    def _name(self, slide: Any) -> str:
        name = attribute(slide, "name")
        return "" if _UNNAMED.fullmatch(name[:100]) else name


def _is_empty(node: Any) -> bool:
    return attribute(node, "placeholder") == "true"
