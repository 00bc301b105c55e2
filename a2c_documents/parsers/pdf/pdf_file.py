"""PDF files: opened by pdfium, and read one page at a time, on request.

A page passes through these modules: `words.py` and `objects.py` ask pdfium for words, lines and pictures; `tables.py`
and `figures.py` take out what is not running text; `layout.py` finds the columns; `text.py` makes headings, paragraphs
and lists of them; `page.py` puts everything together. `across_pages.py` compares a page with those around it.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pypdfium2.raw as pdfium
from pypdfium2 import PdfDocument, PdfiumError, PdfPage

from a2c_documents.model import PROTECTED, Element, Facts, Page, Source, UnreadableFileError, note
from a2c_documents.parsers.common.passwords import candidates, refusal
from a2c_documents.parsers.pdf.across_pages import Ends, Neighbours, continue_table, ends_of
from a2c_documents.parsers.pdf.page import Place, is_scan, read_page, resolution_of, words_on
from a2c_documents.parsers.pdf.pictures import scan_page
from a2c_documents.parsers.pdf.strings import Strings
from a2c_documents.parsers.pdf.words import Item, Words

_MOST_AHEAD = 2
_DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?'?|(Z).*)?")


def open_pdf(path: Path) -> Source:
    """Open a PDF.

    Raises:
        PasswordNeededError: no candidate is its password.
        UnreadableFileError: it is empty, or damaged beyond repair.
    """
    return PdfSource(path)


class PdfSource:
    """An open PDF."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # pdfium reports an empty file as a damaged one.
        if path.stat().st_size == 0:
            raise UnreadableFileError("this PDF is empty")
        self._document, self._password = _open(path)
        self._count = len(self._document)
        self._has_form = self._start_form()
        self._neighbours = Neighbours(self._count, self._edges)
        self._ends: dict[int, Ends] = {}
        self._ahead: dict[int, tuple[PdfPage, Words]] = {}
        """Pages that were compared with another one. Mostly, they are read next."""
        self.facts = self._read_facts()

    @property
    def page_titles(self) -> Sequence[str]:
        """The numbers of the pages. Titles of the outline come with a page: reading them takes longer than opening."""
        return [f"Page {number}" for number in range(1, self._count + 1)]

    @cached_property
    def _outline(self) -> Outline:
        return read_outline(self._document)

    def page(self, index: int) -> Page:
        """One page. A damaged page has an annotation that says so."""
        elements, height = self._read(index)
        continue_table(elements, index, height, self._ends_of)
        page = Page(self._title(index), elements)
        if is_scan(elements, partial(self._size, index)):
            page.scan = partial(scan_page, self._document, index, resolution_of(elements))
        return page

    def _read(self, index: int) -> tuple[list[Element], float]:
        """The elements of a page by itself, and its height."""
        page, words = self._ahead.pop(index, (None, None))
        try:
            page = page or self._document[index]
        except PdfiumError:
            return [note("annotation", "This page is damaged and cannot be read.")], 0.0
        try:
            attached = self.facts.details.get("attachments", ()) if index == self._count - 1 else ()
            place = Place(self._path, self._document, page, index, self._neighbours, self._password, attached)
            elements = read_page(place, words or words_on(page), self._outline.get(index, []), self._form)
            height = page.get_size()[1]
            self._ends[index] = ends_of(elements, height)
            return elements, height
        except PdfiumError as error:
            return [note("annotation", f"This page is damaged and cannot be read: {error}")], 0.0
        finally:
            page.close()

    def _size(self, index: int) -> tuple[float, float]:
        with suppress(PdfiumError):
            return self._document.get_page_size(index)
        return 0.0, 0.0

    def _ends_of(self, index: int) -> Ends:
        if index not in self._ends:
            self._ends[index] = ends_of(*self._read(index))
        return self._ends[index]

    def _edges(self, index: int) -> list[Item]:
        """The words of a page, of which the edges are compared; none if it cannot be read."""
        with suppress(PdfiumError):
            page = self._document[index]
            try:
                words = words_on(page)
            except BaseException:
                page.close()
                raise
            while len(self._ahead) >= _MOST_AHEAD:
                self._ahead.pop(next(iter(self._ahead)))[0].close()
            self._ahead[index] = page, words
            return words.items
        return []

    def close(self) -> None:
        """Close the file."""
        for page, _ in self._ahead.values():
            page.close()
        self._document.close()

    @property
    def _form(self) -> Any:
        form = self._document.formenv
        return form.raw if form is not None and self._has_form else None

    def _start_form(self) -> bool:
        """Start pdfium's form environment, which it needs for field names, before any page is loaded."""
        if self._document.get_formtype() == pdfium.FORMTYPE_NONE:
            return False
        try:
            self._document.init_forms()
        except PdfiumError:
            return False
        return self._document.formenv is not None

    def _title(self, index: int) -> str:
        """The first title of the outline that points at a page, else its number as it is printed on it."""
        titles = self._outline.get(index)
        return titles[0][0] if titles else f"Page {self._label(index) or index + 1}"

    def _label(self, index: int) -> str:
        with suppress(PdfiumError):
            return self._document.get_page_label(index).strip()
        return ""

    def _read_facts(self) -> Facts:
        said = {
            key: " ".join(value.split()) for key, value in self._document.get_metadata_dict(skip_empty=True).items()
        }
        details: dict[str, Any] = {"pages": self._count}
        with suppress(PdfiumError):
            details["page_size"] = [round(side, 1) for side in self._document.get_page_size(0)]
        version = self._document.get_version()
        if version:
            details["pdf_version"] = f"{version // 10}.{version % 10}"
        if self._has_form:
            details["form"] = True
        attachments = self._attachments()
        if attachments:
            details["attachments"] = attachments
        if self._password is not None:
            details[PROTECTED] = True
        if said.get("Creator"):
            details["creator"] = said["Creator"]
        return Facts(
            # Office puts the name of its program before the name of the file if a PDF is printed.
            title=re.sub(r"^Microsoft (?:Word|PowerPoint|Excel) - ", "", said.get("Title", "")),
            author=said.get("Author", ""),
            keywords=[word for part in re.split(r"[,;]", said.get("Keywords", "")) if (word := part.strip())],
            summary=said.get("Subject", ""),
            created=_iso(said.get("CreationDate", "")),
            details=details,
        )

    def _attachments(self) -> list[str]:
        names: list[str] = []
        with suppress(PdfiumError):
            count = min(self._document.count_attachments(), 1_000)
            names.extend(self._document.get_attachment(index).get_name() for index in range(count))
        return names


def _open(path: Path) -> tuple[PdfDocument, str | None]:
    """The document, and the password that opened it, if it needs one."""
    for password in (None, *candidates()):
        try:
            return PdfDocument(path, password), password
        except PdfiumError as error:
            if getattr(error, "err_code", None) != pdfium.FPDF_ERR_PASSWORD:
                raise UnreadableFileError(_why(error)) from None
    raise refusal("PDF")


def _why(error: PdfiumError) -> str:
    code = getattr(error, "err_code", None)
    if code == pdfium.FPDF_ERR_SECURITY:
        return "this PDF is protected in a way that cannot be read"
    return "this is no PDF, or a damaged one"


def _iso(date: str) -> str:
    """A date of PDF (`D:20240131093000+01'00'`) as ISO 8601; empty if it is invalid."""
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


# -------------------------------------------------------------------------------------------------------------- outline


Outline = dict[int, list[tuple[str, int]]]
"""For each page that has any, its titles and their levels, in the order of the outline."""

_MAX_ENTRIES = 20_000
_MAX_DEPTH = 15
_MAX_TITLE = 200


def read_outline(document: PdfDocument) -> Outline:
    """All titles that point at a page.

    pdfium searches each target page from the front of the document, so this is the slowest step before the first page.
    """
    child_of, sibling_of = pdfium.FPDFBookmark_GetFirstChild, pdfium.FPDFBookmark_GetNextSibling
    target_of, page_of = pdfium.FPDFBookmark_GetDest, pdfium.FPDFDest_GetDestPageIndex
    file, strings = document.raw, Strings()
    outline: Outline = {}
    seen: set[int] = set()
    todo = [(child_of(file, None), 0)]
    while todo and len(seen) < _MAX_ENTRIES:
        entry, level = todo.pop()
        if not entry or ctypes.addressof(entry.contents) in seen:
            continue  # the end, or an outline with a cycle
        seen.add(ctypes.addressof(entry.contents))
        # The entries below are pushed last, so that they come before the next sibling: titles stay in the order of the
        # outline.
        todo.append((sibling_of(file, entry), level))
        if level < _MAX_DEPTH - 1:
            todo.append((child_of(file, entry), level + 1))
        target = target_of(file, entry)
        index = page_of(file, target) if target else -1
        title = " ".join(strings.ask(pdfium.FPDFBookmark_GetTitle, entry).split())[:_MAX_TITLE]
        if index >= 0 and title:
            outline.setdefault(index, []).append((title, level))
    return outline
