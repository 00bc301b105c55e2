"""Pictures of a PDF page as files that can be looked at; they are made only when somebody wants to see them."""

from __future__ import annotations

import ctypes
import importlib
import io
from typing import Any

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.pdf.frame import Box

MAX_PIXELS = 40_000_000
_LONGEST = 1_600
"""Pixels of a drawn page."""


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


def render(document: Any, index: int, box: Box | None = None) -> tuple[str, bytes]:
    """The page as it looks, or a part of it.

    Raises:
        UnreadableFileError: it cannot be drawn.
    """
    pdfium2: Any = importlib.import_module("pypdfium2")
    page = _loaded(document, index)
    try:
        width, height = page.get_size()
        left, top, right, bottom = box or (0.0, 0.0, width, height)
        scale = min(3.0, _LONGEST / max(right - left, bottom - top, 1.0))
        return "image/png", _png(page.render(scale=scale, crop=(left, height - bottom, width - right, top)))
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
