"""The pictures of a PDF page (images and drawings), as elements and as image files."""

from __future__ import annotations

import ctypes
import io
from functools import partial

import pypdfium2.raw as pdfium
from pypdfium2 import PdfBitmap, PdfDocument, PdfImage, PdfiumError, PdfPage

from a2c_documents.model import Element, Scan, UnreadableFileError, image
from a2c_documents.parsers.common.scans import divided, scan_of
from a2c_documents.parsers.pdf.geometry import Box
from a2c_documents.parsers.pdf.objects import Drawn, Picture
from a2c_documents.parsers.pdf.strings import Strings

MAX_PICTURES = 200
_MAX_STRUCTURE = 5_000


def pictures_of(document: PdfDocument, page: PdfPage, index: int, drawn: Drawn) -> list[tuple[Element, Box]]:
    """The images of a page, and where each is."""
    shown = drawn.pictures[:MAX_PICTURES]
    if not shown:
        return []
    # The structure finds pictures by their ids. If none has one, it need not be read.
    alts = _alternatives(page) if any(picture.mark >= 0 for picture in shown) else {}
    return [(_image(document, index, picture, alts.get(picture.mark, "")), picture.box) for picture in shown]


def drawing_of(document: PdfDocument, index: int, box: Box, description: str) -> Element:
    """A part of a page as it looks."""
    made = image("", description, box=[round(side, 1) for side in box])
    made.picture = partial(render, document, index, box)
    return made


def _image(document: PdfDocument, index: int, picture: Picture, alt: str) -> Element:
    box = [round(side, 1) for side in picture.box]
    made = image(alt, f"Picture, {picture.width} x {picture.height} pixels", box=box)
    made.metadata |= {"width": picture.width, "height": picture.height}
    made.picture = partial(picture_of, document, index, picture.way)
    return made


def _alternatives(page: PdfPage) -> dict[int, str]:
    """The alternative texts of the pictures in a tagged document, by the ids of the pictures."""
    tree = pdfium.FPDF_StructTree_GetForPage(page.raw)
    if not tree:
        return {}
    found: dict[int, str] = {}
    strings = Strings()
    try:
        todo = [
            pdfium.FPDF_StructTree_GetChildAtIndex(tree, i) for i in range(pdfium.FPDF_StructTree_CountChildren(tree))
        ]
        # A damaged structure may have millions of elements, or contain itself.
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


# ---------------------------------------------------------------------------------------------------------------- files


MAX_PIXELS = 40_000_000
_LONGEST = 1_600
"""Pixels of a drawn page."""
_COARSE, _FINE = 120 / 72, 300 / 72
"""Pixels in a point for text recognition. A page of A4 has at most 200 dpi (see `common/scans.py`)."""


def picture_of(document: PdfDocument, index: int, way: tuple[int, ...]) -> tuple[str, bytes]:
    """An image of a page: unchanged if it is a JPEG, else as PNG.

    Raises:
        UnreadableFileError: it cannot be decoded, or is too large.
    """
    page = _loaded(document, index)
    try:
        handle = pdfium.FPDFPage_GetObject(page.raw, way[0])
        for number in way[1:]:
            handle = pdfium.FPDFFormObj_GetObject(handle, number)
        image = PdfImage(handle, page=page, pdf=document)
        width, height = image.get_px_size()
        if width * height > MAX_PIXELS:
            raise UnreadableFileError(f"this picture is too large to be shown ({width} x {height})")
        # The JPEG itself: to decode and encode it again would cost time and quality.
        if image.get_filters() == ["DCTDecode"] and not _is_exotic(image):
            return "image/jpeg", bytes(image.get_data(decode_simple=True))
        return "image/png", _png(image.get_bitmap(render=False))
    except (PdfiumError, ValueError, OSError, ctypes.ArgumentError) as error:
        raise UnreadableFileError(f"this picture cannot be decoded: {error}") from None
    finally:
        page.close()


def render(document: PdfDocument, index: int, box: Box | None = None) -> tuple[str, bytes]:
    """The page as it looks, or a part of it.

    Raises:
        UnreadableFileError: it cannot be drawn.
    """
    page = _loaded(document, index)
    try:
        width, height = page.get_size()
        left, top, right, bottom = box or (0.0, 0.0, width, height)
        # At most 216 dpi: a scale of 1 is 72 dpi.
        scale = min(3.0, _LONGEST / max(right - left, bottom - top, 1.0))
        return "image/png", _png(page.render(scale=scale, crop=(left, height - bottom, width - right, top)))
    except (PdfiumError, ValueError, OSError) as error:
        raise UnreadableFileError(f"this page cannot be drawn: {error}") from None
    finally:
        page.close()


def scan_page(document: PdfDocument, index: int, resolution: float) -> Scan:
    """The page as it looks, for text recognition; `resolution` is that of its pictures, in pixels for each point.

    Raises:
        UnreadableFileError: it cannot be drawn.
    """
    page = _loaded(document, index)
    try:
        width, height = page.get_size()
        # More pixels than the scan has would cost time only.
        finest = min(max(resolution, _COARSE), _FINE) if resolution else _FINE
        _, factor = divided(round(width * finest), round(height * finest))
        scale = finest * factor
        return scan_of(page.render(scale=scale).to_pil(), scale)
    except (PdfiumError, ValueError, OSError) as error:
        raise UnreadableFileError(f"this page cannot be drawn: {error}") from None
    finally:
        page.close()


def _loaded(document: PdfDocument, index: int) -> PdfPage:
    # A picture is read on request, and the document may have been closed since its page was read.
    if document.raw is None:
        raise UnreadableFileError("this PDF has been closed")
    try:
        return document[index]
    except PdfiumError as error:
        raise UnreadableFileError(f"this page cannot be drawn: {error}") from None


def _is_exotic(image: PdfImage) -> bool:
    """Whether its colours (such as CMYK) would look wrong outside of the PDF."""
    known = (pdfium.FPDF_COLORSPACE_DEVICERGB, pdfium.FPDF_COLORSPACE_DEVICEGRAY, pdfium.FPDF_COLORSPACE_CALRGB,
             pdfium.FPDF_COLORSPACE_CALGRAY, pdfium.FPDF_COLORSPACE_ICCBASED)  # fmt: skip
    metadata = image.get_metadata()
    return metadata.colorspace not in known or metadata.bits_per_pixel not in (8, 24)


def _png(bitmap: PdfBitmap) -> bytes:
    picture = bitmap.to_pil()
    if picture.mode not in ("1", "L", "RGB", "RGBA"):
        picture = picture.convert("RGB")
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()
