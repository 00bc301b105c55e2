"""PDF files: opened by pdfium, and read one page at a time. Nothing is read of a page that nobody asks for."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from a2c_documents.model import Facts, Page, Source, UnreadableFileError, note
from a2c_documents.parsers.pdf.outline import Outline, read_outline
from a2c_documents.parsers.pdf.page import read_page

_DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?'?|(Z).*)?")


def open_pdf(path: Path) -> Source:
    """Open a PDF.

    Raises:
        UnreadableFileError: it is empty, damaged beyond repair, or needs a password.
    """
    return PdfSource(path)


class PdfSource:
    """An open PDF."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.stat().st_size == 0:
            raise UnreadableFileError("this PDF is empty")
        pdfium2: Any = importlib.import_module("pypdfium2")
        self._raw: Any = importlib.import_module("pypdfium2.raw")
        self._error: type[Exception] = pdfium2.PdfiumError
        try:
            self._document: Any = pdfium2.PdfDocument(path)
        except pdfium2.PdfiumError as error:
            raise UnreadableFileError(_why(self._raw, error)) from None
        self._count = len(self._document)
        self._has_form = self._start_form()
        self.facts = self._read_facts()

    @property
    def page_titles(self) -> Sequence[str]:
        """The numbers of the pages. What the outline calls them is read with a page: it takes longer than to open."""
        return [f"Page {number}" for number in range(1, self._count + 1)]

    @cached_property
    def _outline(self) -> Outline:
        return read_outline(self._document)

    def page(self, index: int) -> Page:
        """One page; a damaged one says so."""
        title = self._title(index)
        try:
            page = self._document[index]
        except self._error:
            return Page(title, [note("annotation", "This page is damaged and cannot be read.")])
        try:
            titles = self._outline.get(index, [])
            return Page(title, read_page(self._path, self._document, page, index, titles, self._form))
        except self._error as error:
            return Page(title, [note("annotation", f"This page is damaged and cannot be read: {error}")])
        finally:
            page.close()

    def close(self) -> None:
        """Let go of the file."""
        self._document.close()

    @property
    def _form(self) -> Any:
        return self._document.formenv.raw if self._has_form else None

    def _start_form(self) -> bool:
        """Without this pdfium does not tell the fields' names. It has to come before any page is loaded."""
        if self._document.get_formtype() == self._raw.FORMTYPE_NONE:
            return False
        try:
            self._document.init_forms()
        except self._error:
            return False
        return self._document.formenv is not None

    def _title(self, index: int) -> str:
        """The first title of the outline that points at a page, else its number as it is printed on it."""
        titles = self._outline.get(index)
        return titles[0][0] if titles else f"Page {self._label(index) or index + 1}"

    def _label(self, index: int) -> str:
        with suppress(self._error):
            return self._document.get_page_label(index).strip()
        return ""

    def _read_facts(self) -> Facts:
        said = {
            key: " ".join(value.split()) for key, value in self._document.get_metadata_dict(skip_empty=True).items()
        }
        details: dict[str, Any] = {"pages": self._count}
        with suppress(self._error):
            details["page_size"] = [round(side, 1) for side in self._document.get_page_size(0)]
        version = self._document.get_version()
        if version:
            details["pdf_version"] = f"{version // 10}.{version % 10}"
        if self._has_form:
            details["form"] = True
        attachments = self._attachments()
        if attachments:
            details["attachments"] = attachments
        if said.get("Creator"):
            details["creator"] = said["Creator"]
        return Facts(
            title=re.sub(r"^Microsoft (?:Word|PowerPoint|Excel) - ", "", said.get("Title", "")),
            author=said.get("Author", ""),
            keywords=[word for part in re.split(r"[,;]", said.get("Keywords", "")) if (word := part.strip())],
            summary=said.get("Subject", ""),
            created=_iso(said.get("CreationDate", "")),
            details=details,
        )

    def _attachments(self) -> list[str]:
        names: list[str] = []
        with suppress(self._error):
            count = min(self._document.count_attachments(), 1_000)
            names.extend(self._document.get_attachment(index).get_name() for index in range(count))
        return names


def _why(raw: Any, error: Any) -> str:
    code = getattr(error, "err_code", None)
    if code == raw.FPDF_ERR_PASSWORD:
        return "this PDF needs a password"
    if code == raw.FPDF_ERR_SECURITY:
        return "this PDF is protected in a way that cannot be read"
    return "this is no PDF, or a damaged one"


def _iso(date: str) -> str:
    """A PDF's date (`D:20240131093000+01'00'`) as ISO 8601; empty where it is none."""
    found = _DATE.match(date)
    if found is None:
        return ""
    year, month, day, hour, minute, second, sign, hours, minutes, utc = found.groups()
    iso = f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}"
    if sign:
        iso += f"{sign}{hours}:{minutes or '00'}"
    elif utc:
        iso += "+00:00"
    try:
        return datetime.fromisoformat(iso).isoformat()
    except ValueError:
        return ""
