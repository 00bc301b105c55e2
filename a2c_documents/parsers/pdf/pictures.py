"""The pictures of a PDF page as elements: images that are in the file, and drawings."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

from a2c_documents.model import Element, image
from a2c_documents.parsers.pdf.frame import Box
from a2c_documents.parsers.pdf.objects import Drawn, Picture
from a2c_documents.parsers.pdf.showing import picture_of, render
from a2c_documents.parsers.pdf.strings import Strings

MAX_PICTURES = 200
_MAX_STRUCTURE = 5_000


def pictures_of(document: Any, page: Any, index: int, drawn: Drawn) -> list[tuple[Element, Box]]:
    """The images of a page, and where each is."""
    shown = drawn.pictures[:MAX_PICTURES]
    if not shown:
        return []
    alts = _alternatives(page) if any(picture.mark >= 0 for picture in shown) else {}
    return [(_image(document, index, picture, alts.get(picture.mark, "")), picture.box) for picture in shown]


def drawing_of(document: Any, index: int, box: Box, description: str) -> Element:
    """A part of a page as it looks."""
    made = image("", description, box=[round(side, 1) for side in box])
    made.picture = partial(render, document, index, box)
    return made


def _image(document: Any, index: int, picture: Picture, alt: str) -> Element:
    box = [round(side, 1) for side in picture.box]
    made = image(alt, f"Picture, {picture.width} x {picture.height} pixels", box=box)
    made.metadata |= {"width": picture.width, "height": picture.height}
    made.picture = partial(picture_of, document, index, picture.way)
    return made


def _alternatives(page: Any) -> dict[int, str]:
    """What a tagged document says about its pictures, by the mark that a picture carries."""
    pdfium: Any = importlib.import_module("pypdfium2.raw")
    tree = pdfium.FPDF_StructTree_GetForPage(page.raw)
    if not tree:
        return {}
    found: dict[int, str] = {}
    strings = Strings()
    try:
        todo = [
            pdfium.FPDF_StructTree_GetChildAtIndex(tree, i) for i in range(pdfium.FPDF_StructTree_CountChildren(tree))
        ]
        for _ in range(_MAX_STRUCTURE):
            if not todo:
                break
            node = todo.pop()
            if not node:
                continue
            words = " ".join(strings.ask(pdfium.FPDF_StructElement_GetAltText, node).split())
            if words:
                for number in range(pdfium.FPDF_StructElement_GetMarkedContentIdCount(node)):
                    found[pdfium.FPDF_StructElement_GetMarkedContentIdAtIndex(node, number)] = words
            children = pdfium.FPDF_StructElement_CountChildren(node)
            todo += [pdfium.FPDF_StructElement_GetChildAtIndex(node, i) for i in range(min(children, _MAX_STRUCTURE))]
    finally:
        pdfium.FPDF_StructTree_Close(tree)
    return found
