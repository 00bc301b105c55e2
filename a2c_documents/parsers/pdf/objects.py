"""What is drawn on a PDF page besides text: pictures, shapes, and the straight lines that tables are ruled with."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from a2c_documents.parsers.pdf.frame import Box, Matrix, box_in, matrix_of, times
from a2c_documents.parsers.pdf.paths import Paths

MAX_OBJECTS = 50_000
_MAX_DEPTH = 8
_MIN_PICTURE = 8.0
"""Points: smaller pictures are dots and shadows."""


@dataclass(slots=True)
class Picture:
    """An image on the page, and the way to it: its number among the page's objects, then within forms."""

    box: Box
    way: tuple[int, ...]
    width: int
    height: int
    mark: int
    """What the document's structure calls it; -1 where it has no name."""


@dataclass(slots=True)
class Shape:
    """A line or an area."""

    box: Box
    """Of one with bends, what can be seen of it."""
    bends: int
    """Its slanted and curved pieces: a table, a frame and an underline have none."""


@dataclass(slots=True)
class Drawn:
    """Everything drawn on a page."""

    pictures: list[Picture] = field(default_factory=list[Picture])
    across: list[Box] = field(default_factory=list[Box])
    upright: list[Box] = field(default_factory=list[Box])
    shapes: list[Shape] = field(default_factory=list[Shape])
    texts: int = 0
    """How many pieces of text there are, whether pdfium can read them or not."""
    cut: bool = False
    """There was too much."""


def read_objects(page: Any, frame: Matrix) -> Drawn:
    """Pictures, shapes and lines of a page, in the order in which they are drawn."""
    pdfium: Any = importlib.import_module("pypdfium2.raw")
    drawn, paths = Drawn(), Paths(pdfium)
    bounds, image = pdfium.FPDFPageObj_GetBounds, pdfium.FPDF_PAGEOBJ_IMAGE
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for handle, kind, way, matrix in _walk(pdfium, page.raw, frame, drawn):
        if not bounds(handle, left, bottom, right, top):
            continue
        box = box_in(matrix, left.value, bottom.value, right.value, top.value)
        if kind == image:
            _add_picture(pdfium, handle, box, way, drawn)
        else:
            bends = paths.read(handle, matrix, box)
            drawn.shapes.append(Shape(paths.visible(handle, matrix, box) if bends else box, bends))
    drawn.across, drawn.upright = paths.across, paths.upright
    drawn.cut = drawn.cut or paths.cut
    return drawn


def _walk(pdfium: Any, page: Any, frame: Matrix, drawn: Drawn) -> Iterator[tuple[Any, int, tuple[int, ...], Matrix]]:
    """Images and paths, also those within forms, and how each lies on the page.

    A form that contains itself ends at a depth.
    """
    type_of = pdfium.FPDFPageObj_GetType
    text_kind = pdfium.FPDF_PAGEOBJ_TEXT
    form_kind, wanted = pdfium.FPDF_PAGEOBJ_FORM, (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_PATH)
    seen = 0
    todo: list[tuple[Any, tuple[int, ...], Matrix]] = [(None, (), frame)]
    while todo:
        form, way, matrix = todo.pop()
        count = pdfium.FPDFPage_CountObjects(page) if form is None else pdfium.FPDFFormObj_CountObjects(form)
        get = pdfium.FPDFPage_GetObject if form is None else pdfium.FPDFFormObj_GetObject
        holder = page if form is None else form
        if seen + count > MAX_OBJECTS:
            drawn.cut = True
            count = MAX_OBJECTS - seen
        seen += count
        for number in range(count):
            handle = get(holder, number)
            kind = type_of(handle)
            if kind == text_kind:
                drawn.texts += 1
            elif kind in wanted:
                yield handle, kind, (*way, number), matrix
            elif kind == form_kind and len(way) < _MAX_DEPTH:
                todo.append((handle, (*way, number), times(matrix_of(pdfium, handle), matrix)))


def _add_picture(pdfium: Any, handle: Any, box: Box, way: tuple[int, ...], drawn: Drawn) -> None:
    if min(box[2] - box[0], box[3] - box[1]) < _MIN_PICTURE:
        return
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(handle, width, height)
    mark = int(pdfium.FPDFPageObj_GetMarkedContentID(handle))
    drawn.pictures.append(Picture(box, way, width.value, height.value, mark))
