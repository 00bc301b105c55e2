"""Annotations of a PDF page: links, comments and form fields."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage

from a2c_documents.model import Element, link, note
from a2c_documents.parsers.pdf.geometry import Box, Matrix, box_in
from a2c_documents.parsers.pdf.strings import Strings

_MAX_MARKS = 2_000
_FIELD_TYPES = {1: "button", 2: "checkbox", 3: "radio", 4: "choice", 5: "list", 6: "text", 7: "signature"}


@dataclass(slots=True)
class Mark:
    """An element that belongs to a place on the page."""

    element: Element
    boxes: list[Box]
    """More than one if it continues on the next line."""
    marks_words: bool = False
    """Whether it refers to the words below it, which have to be added to the element."""


@dataclass(slots=True)
class Marks:
    """The annotations of a page."""

    places: list[Mark] = field(default_factory=list[Mark])
    form: Element | None = None
    cut: bool = False
    has_files: bool = False
    """Whether files are attached to places on the page."""


def read_marks(page: PdfPage, form: Any, frame: Matrix) -> Marks:
    """Links and comments in the order of the file, and the form. `form` is pdfium's handle, None without fields."""
    marks = Marks()
    strings = Strings()
    count = pdfium.FPDFPage_GetAnnotCount(page.raw)
    marks.cut = count > _MAX_MARKS
    fields: list[dict[str, Any]] = []
    radios: dict[str, dict[str, Any]] = {}
    for index in range(min(count, _MAX_MARKS)):
        annotation = pdfium.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if kind == pdfium.FPDF_ANNOT_WIDGET:
                _add_field(strings, form, annotation, fields, radios)
            elif kind == pdfium.FPDF_ANNOT_LINK:
                _add_link(page, annotation, frame, marks)
            # A popup is the window of a comment, and repeats it.
            elif kind != pdfium.FPDF_ANNOT_POPUP:
                _add_comment(strings, annotation, kind, frame, marks)
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
    if fields:
        filled = sum(1 for entry in fields if entry["value"])
        what = "field" if len(fields) == 1 else "fields"
        marks.form = note("form", f"Form with {len(fields)} {what}, {filled} filled", fields=fields)
    return marks


# --------------------------------------------------------------------------------------------------------------- fields


def _add_field(
    strings: Strings,
    form: Any,
    annotation: Any,
    fields: list[dict[str, Any]],
    radios: dict[str, dict[str, Any]],
) -> None:
    if form is None:
        return
    kind = _FIELD_TYPES.get(pdfium.FPDFAnnot_GetFormFieldType(form, annotation), "other")
    # A push button has no value.
    if kind == "button":
        return
    name = strings.ask(pdfium.FPDFAnnot_GetFormFieldName, form, annotation)
    value: str | bool
    if kind in ("checkbox", "radio"):
        checked = bool(pdfium.FPDFAnnot_IsChecked(form, annotation))
        value = checked
        if kind == "radio":
            # Buttons of the same name are one field. Its value is the export value of the selected button.
            own = strings.ask(pdfium.FPDFAnnot_GetFormFieldExportValue, form, annotation)
            known = radios.get(name)
            if known is not None:
                known["value"] = own if checked else known["value"]
                return
            value = own if checked else ""
    else:
        value = strings.ask(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)
    entry: dict[str, Any] = {"name": name, "type": kind, "value": value}
    label = strings.ask(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    if label and label != name:
        entry["label"] = label
    if kind == "radio":
        radios[name] = entry
    fields.append(entry)


# ------------------------------------------------------------------------------------------------------ links, comments


def _add_link(page: PdfPage, annotation: Any, frame: Matrix, marks: Marks) -> None:
    target = pdfium.FPDFAnnot_GetLink(annotation)
    action = pdfium.FPDFLink_GetAction(target) if target else None
    if not action or pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_URI:
        return
    # The first call returns the size of the buffer.
    size = pdfium.FPDFAction_GetURIPath(page.pdf.raw, action, None, 0)
    buffer = ctypes.create_string_buffer(max(size, 1))
    pdfium.FPDFAction_GetURIPath(page.pdf.raw, action, buffer, size)
    url = buffer.value.decode("utf-8", "replace").strip()
    corners = _corners(annotation)
    if not url or corners is None:
        return
    box = box_in(frame, *corners)
    # A link that continues on the next line has an annotation for each line, with the same address.
    last = marks.places[-1] if marks.places else None
    if last is not None and last.element.content.get("url") == url and _goes_on(last.boxes[-1], box):
        last.boxes.append(box)
    else:
        marks.places.append(Mark(link(url, url), [box], marks_words=True))


def _goes_on(above: Box, box: Box) -> bool:
    """Whether a link continues here: on the next line, or right beside it."""
    height = max(box[3] - box[1], 1.0)
    beside = abs(box[1] - above[1]) < height / 2
    return abs(box[0] - above[2]) < height if beside else abs(box[1] - above[1]) < 2 * height


def _add_comment(strings: Strings, annotation: Any, kind: int, frame: Matrix, marks: Marks) -> None:
    words = strings.ask(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents").strip()
    corners = _corners(annotation)
    box = box_in(frame, *corners) if corners is not None else (0.0, 0.0, 0.0, 0.0)
    extra: dict[str, Any] = {}
    author = strings.ask(pdfium.FPDFAnnot_GetStringValue, annotation, b"T").strip()
    if author:
        extra["author"] = author
    markup = (
        pdfium.FPDF_ANNOT_HIGHLIGHT,
        pdfium.FPDF_ANNOT_UNDERLINE,
        pdfium.FPDF_ANNOT_STRIKEOUT,
        pdfium.FPDF_ANNOT_SQUIGGLY,
    )
    if kind == pdfium.FPDF_ANNOT_FILEATTACHMENT:
        words, marks.has_files = words or "A file is attached here", True
    # A highlight without a comment still marks words.
    if words or kind in markup:
        marks.places.append(Mark(note("annotation", words or "Marked", **extra), [box], marks_words=kind in markup))


def _corners(annotation: Any) -> Box | None:
    box = pdfium.FS_RECTF()
    if not pdfium.FPDFAnnot_GetRect(annotation, box):
        return None
    # A rectangle in a PDF has any two opposite corners, in any order.
    return min(box.left, box.right), min(box.bottom, box.top), max(box.left, box.right), max(box.bottom, box.top)
