"""What is drawn on a PDF page besides text: pictures, and the straight lines that tables are ruled with."""

from __future__ import annotations

import ctypes
import importlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from a2c_smcp.documents.model import UnreadableFileError
from a2c_smcp.documents.parsers.pdf.words import Box, box_of

MAX_OBJECTS = 50_000
MAX_RULES = 4_000
MAX_PIXELS = 40_000_000
_MAX_DEPTH = 8
_THIN = 3.2
"""Points: whatever is thinner and longer than this is a line."""
_MIN_PICTURE = 8.0
"""Points: smaller pictures are dots and shadows."""

Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: Matrix = (1, 0, 0, 1, 0, 0)


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
class Drawn:
    """Everything drawn on a page."""

    pictures: list[Picture] = field(default_factory=list[Picture])
    across: list[Box] = field(default_factory=list[Box])
    upright: list[Box] = field(default_factory=list[Box])
    shapes: int = 0
    """How many lines and areas there are."""
    texts: int = 0
    """How many pieces of text there are, whether pdfium can read them or not."""
    cut: bool = False
    """There was too much."""


def read_objects(page: Any, frame: Callable[[float, float], tuple[float, float]]) -> Drawn:
    """Pictures and lines of a page, in the order in which they are drawn."""
    pdfium: Any = importlib.import_module("pypdfium2.raw")
    drawn = Drawn()
    edges = [ctypes.c_float() for _ in range(4)]
    for handle, kind, way, matrix in _walk(pdfium, page.raw, drawn):
        if not pdfium.FPDFPageObj_GetBounds(handle, *edges):
            continue
        left, bottom, right, top = (edge.value for edge in edges)
        if matrix is not _IDENTITY:
            left, bottom, right, top = _moved(matrix, left, bottom, right, top)
        box = box_of(frame, left, bottom, right, top)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            _add_picture(pdfium, handle, box, way, drawn)
        else:
            drawn.shapes += 1
            _add_path(pdfium, handle, matrix, frame, box, drawn)
    return drawn


def picture_of(document: Any, index: int, way: tuple[int, ...]) -> tuple[str, bytes]:
    """An image of a page: as it is in the file where that is a JPEG, else as PNG.

    Raises:
        UnreadableFileError: it cannot be decoded, or is too large to.
    """
    pdfium2: Any = importlib.import_module("pypdfium2")
    pdfium: Any = importlib.import_module("pypdfium2.raw")
    page = _loaded(document, index)
    try:
        handle = pdfium.FPDFPage_GetObject(page.raw, way[0])
        for number in way[1:]:
            handle = pdfium.FPDFFormObj_GetObject(handle, number)
        image = pdfium2.PdfImage(handle, page=page, pdf=document)
        width, height = image.get_px_size()
        if width * height > MAX_PIXELS:
            raise UnreadableFileError(f"this picture is too large to be shown ({width} x {height})")
        if image.get_filters() == ["DCTDecode"] and not _is_exotic(pdfium, image):
            return "image/jpeg", bytes(image.get_data(decode_simple=True))
        return "image/png", _png(image.get_bitmap(render=False))
    except (pdfium2.PdfiumError, ValueError, OSError, ctypes.ArgumentError) as error:
        raise UnreadableFileError(f"this picture cannot be decoded: {error}") from None
    finally:
        page.close()


def render(document: Any, index: int, longest: int = 1_600) -> tuple[str, bytes]:
    """The page as it looks.

    Raises:
        UnreadableFileError: it cannot be drawn.
    """
    pdfium2: Any = importlib.import_module("pypdfium2")
    page = _loaded(document, index)
    try:
        scale = min(3.0, longest / max(*page.get_size(), 1.0))
        return "image/png", _png(page.render(scale=scale))
    except (pdfium2.PdfiumError, ValueError, OSError) as error:
        raise UnreadableFileError(f"this page cannot be drawn: {error}") from None
    finally:
        page.close()


def _loaded(document: Any, index: int) -> Any:
    pdfium2: Any = importlib.import_module("pypdfium2")
    if document.raw is None:
        raise UnreadableFileError("this PDF has been closed")
    try:
        return document[index]
    except pdfium2.PdfiumError as error:
        raise UnreadableFileError(f"this page cannot be drawn: {error}") from None


# -------------------------------------------------------------------------------------------------------------- walking


def _walk(pdfium: Any, page: Any, drawn: Drawn) -> Iterator[tuple[Any, int, tuple[int, ...], Matrix]]:
    """Images and paths, also those within forms; a form that contains itself ends at a depth."""
    type_of = pdfium.FPDFPageObj_GetType
    text_kind = pdfium.FPDF_PAGEOBJ_TEXT
    form_kind, wanted = pdfium.FPDF_PAGEOBJ_FORM, (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_PATH)
    seen = 0
    todo: list[tuple[Any, tuple[int, ...], Matrix]] = [(None, (), _IDENTITY)]
    while todo:
        form, way, matrix = todo.pop()
        count = pdfium.FPDFPage_CountObjects(page) if form is None else pdfium.FPDFFormObj_CountObjects(form)
        get = pdfium.FPDFPage_GetObject if form is None else pdfium.FPDFFormObj_GetObject
        for number in range(count):
            seen += 1
            if seen > MAX_OBJECTS:
                drawn.cut = True
                return
            handle = get(page if form is None else form, number)
            kind = type_of(handle)
            if kind == text_kind:
                drawn.texts += 1
            elif kind in wanted:
                yield handle, kind, (*way, number), matrix
            elif kind == form_kind and len(way) < _MAX_DEPTH:
                todo.append((handle, (*way, number), _times(_matrix(pdfium, handle), matrix)))


def _matrix(pdfium: Any, handle: Any) -> Matrix:
    found = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(handle, found):
        return _IDENTITY
    return found.a, found.b, found.c, found.d, found.e, found.f


def _times(inner: Matrix, outer: Matrix) -> Matrix:
    a, b, c, d, e, f = inner
    oa, ob, oc, od, oe, of = outer
    return (
        a * oa + b * oc, a * ob + b * od, c * oa + d * oc, c * ob + d * od, e * oa + f * oc + oe, e * ob + f * od + of,
    )  # fmt: skip


def _point(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _moved(matrix: Matrix, left: float, bottom: float, right: float, top: float) -> Box:
    corners = [_point(matrix, x, y) for x in (left, right) for y in (bottom, top)]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


# ------------------------------------------------------------------------------------------------------ pictures, lines


def _add_picture(pdfium: Any, handle: Any, box: Box, way: tuple[int, ...], drawn: Drawn) -> None:
    if min(box[2] - box[0], box[3] - box[1]) < _MIN_PICTURE:
        return
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(handle, width, height)
    mark = int(pdfium.FPDFPageObj_GetMarkedContentID(handle))
    drawn.pictures.append(Picture(box, way, width.value, height.value, mark))


def _add_path(pdfium: Any, handle: Any, matrix: Matrix, frame: Any, box: Box, drawn: Drawn) -> None:
    if len(drawn.across) + len(drawn.upright) > MAX_RULES:
        drawn.cut = True
        return
    if _add_line(box, drawn):
        return
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(handle, fill, stroke)
    count = pdfium.FPDFPath_CountSegments(handle)
    if not stroke.value or not 1 < count <= MAX_RULES:
        return
    # The sides of a stroked box, or a whole grid that was drawn at once.
    own = _times(_matrix(pdfium, handle), matrix)
    x, y = ctypes.c_float(), ctypes.c_float()
    here = start = (0.0, 0.0)
    for number in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(handle, number)
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        point = frame(*_point(own, x.value, y.value))
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            _add_line(_between(here, point), drawn)
        if pdfium.FPDFPathSegment_GetClose(segment):
            _add_line(_between(point, start), drawn)
        here = point


def _between(one: tuple[float, float], other: tuple[float, float]) -> Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[0], other[0]), max(one[1], other[1])


def _add_line(box: Box, drawn: Drawn) -> bool:
    width, height = box[2] - box[0], box[3] - box[1]
    if height <= _THIN and width > 2 * _THIN:
        drawn.across.append(box)
    elif width <= _THIN and height > 2 * _THIN:
        drawn.upright.append(box)
    return min(width, height) <= _THIN


def _is_exotic(pdfium: Any, image: Any) -> bool:
    """Colours that a viewer of JPEGs would show wrongly."""
    known = (pdfium.FPDF_COLORSPACE_DEVICERGB, pdfium.FPDF_COLORSPACE_DEVICEGRAY, pdfium.FPDF_COLORSPACE_CALRGB,
             pdfium.FPDF_COLORSPACE_CALGRAY, pdfium.FPDF_COLORSPACE_ICCBASED)  # fmt: skip
    metadata = image.get_metadata()
    return metadata.colorspace not in known or metadata.bits_per_pixel not in (8, 24)


def _png(bitmap: Any) -> bytes:
    picture = bitmap.to_pil()
    if picture.mode not in ("1", "L", "RGB", "RGBA"):
        picture = picture.convert("RGB")
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()
