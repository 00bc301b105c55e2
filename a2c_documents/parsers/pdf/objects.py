"""The graphics of a PDF page: pictures, shapes, and the straight lines of which tables consist."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage

from a2c_documents.parsers.pdf.geometry import Box, Matrix, box_in, matrix_of, times

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
    """Its id in the structure of the document; -1 if it has none."""


@dataclass(slots=True)
class Shape:
    """A line or an area."""

    box: Box
    """Only the visible part, if it has bends."""
    bends: int
    """Its slanted and curved pieces: a table, a frame and an underline have none."""


@dataclass(slots=True)
class Drawn:
    """Everything drawn on a page."""

    pictures: list[Picture] = field(default_factory=list[Picture])
    dots: list[Box] = field(default_factory=list[Box])
    """Images that are too small to be pictures by themselves."""
    across: list[Box] = field(default_factory=list[Box])
    upright: list[Box] = field(default_factory=list[Box])
    shapes: list[Shape] = field(default_factory=list[Shape])
    texts: int = 0
    """The number of text objects, whether pdfium can read them or not."""
    cut: bool = False
    """Whether some objects were left out."""


def read_objects(page: PdfPage, frame: Matrix) -> Drawn:
    """Pictures, shapes and lines of a page, in the order in which they are drawn."""
    drawn, paths = Drawn(), Paths()
    # A page may have tens of thousands of objects. Functions and buffers are looked up and created once.
    bounds, image = pdfium.FPDFPageObj_GetBounds, pdfium.FPDF_PAGEOBJ_IMAGE
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for handle, kind, way, matrix in _walk(page.raw, frame, drawn):
        if not bounds(handle, left, bottom, right, top):
            continue
        box = box_in(matrix, left.value, bottom.value, right.value, top.value)
        if kind == image:
            _add_picture(handle, box, way, drawn)
        else:
            bends = paths.read(handle, matrix, box)
            drawn.shapes.append(Shape(paths.visible(handle, matrix, box) if bends else box, bends))
    drawn.across, drawn.upright = paths.across, paths.upright
    drawn.cut = drawn.cut or paths.cut
    return drawn


def _walk(page: Any, frame: Matrix, drawn: Drawn) -> Iterator[tuple[Any, int, tuple[int, ...], Matrix]]:
    """Images and paths, also inside form objects, each with its matrix.

    `way` is the position in each enclosing form, by which an image is found again when it is shown. The depth is
    limited, because a form may contain itself.
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
                todo.append((handle, (*way, number), times(matrix_of(handle), matrix)))


def _add_picture(handle: Any, box: Box, way: tuple[int, ...], drawn: Drawn) -> None:
    if min(box[2] - box[0], box[3] - box[1]) < _MIN_PICTURE:
        drawn.dots.append(box)
        return
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(handle, width, height)
    mark = int(pdfium.FPDFPageObj_GetMarkedContentID(handle))
    drawn.pictures.append(Picture(box, way, width.value, height.value, mark))


# ---------------------------------------------------------------------------------------------------------------- paths


MAX_RULES = 4_000
_THIN = 3.2
"""Points: whatever is thinner and longer than this is a line."""
_ENOUGH = 64
"""Segments of a filled path, or of a clip path, that are looked at."""
_RECTANGLE = 5
"""Segments of a rectangle. Nearly all filled paths with this number of segments are rectangles."""


class Paths:
    """Reads paths and collects the straight lines in them, as tables are ruled with."""

    def __init__(self) -> None:
        self._fill, self._stroke = ctypes.c_int(), ctypes.c_int()
        self._x, self._y = ctypes.c_float(), ctypes.c_float()
        self.across: list[Box] = []
        self.upright: list[Box] = []
        self.cut = False
        """Whether lines were left out."""

    def read(self, handle: Any, matrix: Matrix, box: Box) -> int:
        """Collect the lines of a path, and return the number of its slanted and curved segments."""
        if len(self.across) + len(self.upright) > MAX_RULES:
            self.cut = True
            return 0
        # Ordered by cost: each call into pdfium takes longer than all of these tests, and most paths are thin lines or
        # filled rectangles, whose segments need not be read.
        if self._add(box):
            return 0
        pdfium.FPDFPath_GetDrawMode(handle, self._fill, self._stroke)
        count = pdfium.FPDFPath_CountSegments(handle)
        if max(box[2] - box[0], box[3] - box[1]) <= 2 * _THIN:
            return 0 if count == _RECTANGLE else max(count // 3, 1)  # no line is so short
        # A filled rectangle without an outline is a coloured area, and rules nothing.
        if count == _RECTANGLE and not self._stroke.value:
            return 0
        return self._trace(handle, count, times(matrix_of(handle), matrix), box)

    def visible(self, handle: Any, matrix: Matrix, box: Box) -> Box:
        """The visible part of a path. A curve may lead far out of its plot, and is clipped to it."""
        x, y = self._x, self._y
        clip = pdfium.FPDFPageObj_GetClipPath(handle)
        for path in range(max(pdfium.FPDFClipPath_CountPaths(clip), 0) if clip else 0):
            count = pdfium.FPDFClipPath_CountPathSegments(clip, path)
            # A complicated clip path is not worth following: it only makes the box smaller.
            if not 0 < count <= _ENOUGH:
                continue
            points: list[tuple[float, float]] = []
            for number in range(count):
                pdfium.FPDFPathSegment_GetPoint(pdfium.FPDFClipPath_GetPathSegment(clip, path, number), x, y)
                points.append((x.value, y.value))
            xs, ys = [point[0] for point in points], [point[1] for point in points]
            left, top, right, bottom = box_in(matrix, min(xs), min(ys), max(xs), max(ys))
            box = max(box[0], left), max(box[1], top), min(box[2], right), min(box[3], bottom)
        return box

    def _trace(self, handle: Any, count: int, matrix: Matrix, box: Box) -> int:
        """Follow the segments of a path: the sides of a box, a whole grid drawn at once, or a curve.

        A curve may have thousands of segments, and its first ones are enough to recognize it.
        """
        x, y = self._x, self._y
        piece_at, point_of = pdfium.FPDFPath_GetPathSegment, pdfium.FPDFPathSegment_GetPoint
        type_of, closes = pdfium.FPDFPathSegment_GetType, pdfium.FPDFPathSegment_GetClose
        moves, draws = pdfium.FPDF_SEGMENT_MOVETO, pdfium.FPDF_SEGMENT_LINETO
        a, b, c, d, e, f = matrix
        is_stroked, far = self._stroke.value, (box[2] - box[0] + box[3] - box[1]) / 2
        here = start = (0.0, 0.0)
        last: Any = None
        slanted = curved = followed = 0
        straight = bent = 0.0
        for number in range(min(count, MAX_RULES if is_stroked else _ENOUGH)):
            piece = piece_at(handle, number)
            point_of(piece, x, y)
            kind = type_of(piece)
            point = a * x.value + c * y.value + e, b * x.value + d * y.value + f
            if kind == moves:
                # Only the last piece of a figure can close it.
                if is_stroked and last is not None and closes(last):
                    self._add(_between(here, start))
                start = point
            else:
                width, height = abs(point[0] - here[0]), abs(point[1] - here[1])
                if kind != draws:
                    curved += 1
                    bent += width + height
                # Rounded coordinates make straight lines slightly slanted.
                elif width > 0.02 * height and height > 0.02 * width:
                    slanted += 1
                    bent += width + height
                else:
                    straight += width + height
                if is_stroked and kind == draws:
                    self._add(_between(here, point))
            here, last, followed = point, piece, number + 1
            # The bends outweigh the straight parts by a quarter of the box's perimeter: certainly a curve.
            if bent > straight + far:
                break
        else:
            if is_stroked and last is not None and closes(last):
                self._add(_between(here, start))
        # A box with round corners is a box: its straight sides are longer than its corners. pdfium gives three segments
        # for each Bézier curve. The bends of segments that were not followed are extrapolated.
        return max((slanted + curved // 3) * count // followed, 1) if bent > straight else 0

    def _add(self, box: Box) -> bool:
        """Collect a box that is a line. Returns whether it is thin: a line, or a dot."""
        width, height = box[2] - box[0], box[3] - box[1]
        if height <= _THIN and width > 2 * _THIN:
            self.across.append(box)
        elif width <= _THIN and height > 2 * _THIN:
            self.upright.append(box)
        return width <= _THIN or height <= _THIN


def _between(one: tuple[float, float], other: tuple[float, float]) -> Box:
    (x0, y0), (x1, y1) = one, other
    if x0 > x1:
        x0, x1 = x1, x0
    return (x0, y0, x1, y1) if y0 <= y1 else (x0, y1, x1, y0)
