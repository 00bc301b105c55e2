"""Spreadsheets: one page for each sheet; a long sheet continues on further pages with a fixed number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from a2c_documents.model import Element, Facts, Page, Source, UnreadableFileError, note
from a2c_documents.parsers.office.compound import MAGIC
from a2c_documents.parsers.office.facts import core_facts
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import DamagedPartError
from a2c_documents.parsers.sheets.calamine import CalamineBook
from a2c_documents.parsers.sheets.excel import ExcelBook
from a2c_documents.parsers.sheets.grid import Book, Region, title_of
from a2c_documents.parsers.sheets.layout import Continued, elements_of, last_table
from a2c_documents.parsers.sheets.opendocument import OpenDocumentBook

MAX_BINARY = 400_000_000
"""Limit for the unpacked bytes of a binary workbook, whose sheets can only be loaded as a whole."""


def open_sheets(path: Path) -> Source:
    """Open a workbook. Its content decides about the format, not its suffix.

    Raises:
        UnreadableFileError: it is damaged, encrypted or not a workbook.
    """
    try:
        with path.open("rb") as file:
            start = file.read(512)
    except OSError as error:
        raise UnreadableFileError(f"this file cannot be opened: {error.strerror}") from None
    if not start:
        raise UnreadableFileError("this file is empty")
    return SheetsSource(_book(path, start))


def _book(path: Path, start: bytes) -> Book:
    # Web applications export web pages and xlsx archives with the suffix .xls.
    if start.startswith(MAGIC):
        return CalamineBook(path)
    if not start.startswith(b"PK"):
        raise UnreadableFileError(_what_it_is(start))
    package = Package(path, "workbook")
    try:
        return _packed_book(package)
    except DamagedPartError as error:
        package.close()
        raise UnreadableFileError(f"this workbook is damaged: {error}") from None
    # Without this, an archive that is no workbook would stay open in the worker, and on Windows could not be deleted.
    except BaseException:
        package.close()
        raise


def _packed_book(package: Package) -> Book:
    if "xl/workbook.bin" in package:
        if package.unpacked > MAX_BINARY:
            raise UnreadableFileError(f"this binary workbook unpacks to more than {MAX_BINARY // 1_000_000} MB")
        # The sheets of an xlsb are binary records inside the archive, which only calamine reads.
        facts = core_facts(package)
        package.close()
        return CalamineBook(package.path, facts)
    return OpenDocumentBook(package) if "content.xml" in package else ExcelBook(package)


def _what_it_is(start: bytes) -> str:
    words = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if words.startswith((b"<html", b"<!doctype html", b"<table")):
        return "this file is a web page, not a workbook"
    if words.startswith(b"<?xml"):
        return "this file is XML, not a workbook"
    # Before Excel 5, a workbook was a bare sequence of records, which begins with 09 and the version.
    if start[:1] == b"\x09" and start[1:2] in b"\x00\x02\x04\x08":
        return "this workbook has a format from before Excel 97, which is not supported; save it as xlsx"
    if b"\x00" not in start:
        return "this file is a text file, not a workbook"
    return "this file is damaged or not a valid workbook"


class SheetsSource:
    """An open workbook of any format."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self.facts: Facts = book.facts
        self._pages = [(number, page) for number, sheet in enumerate(book.sheets) for page in sheet.pages]
        self._first: tuple[int, Region] | None = None
        """The first page of the last sheet that was read: the headers of a long sheet come from it."""
        self._last_table: tuple[int, Continued | None] | None = None

    @property
    def page_titles(self) -> Sequence[str]:
        """The name of each sheet, with the rows of the page if it has several."""
        return [title_of(self._book.sheets[number], page) for number, page in self._pages]

    def page(self, index: int) -> Page:
        """Read one page."""
        number, rows = self._pages[index]
        sheet = self._book.sheets[number]
        # The first page is read first, because rows can only be read forwards.
        continued = self._continued(number) if rows[0] else None
        region = self._book.region(number, *rows) if rows[0] else self._first_region(number)
        elements = self._notices(number, region)
        elements.extend(elements_of(region, rows[0], continued))
        return Page(title_of(sheet, rows), elements)

    def close(self) -> None:
        """Close the file."""
        self._book.close()

    def _first_region(self, number: int) -> Region:
        if self._first is None or self._first[0] != number:
            self._first = (number, self._book.region(number, *self._book.sheets[number].pages[0]))
        return self._first[1]

    def _continued(self, number: int) -> Continued | None:
        if self._last_table is None or self._last_table[0] != number:
            last = self._book.sheets[number].pages[0][1]
            # Every later page of a sheet needs the headers. Finding them means reading the first page again, so the
            # result is kept, also if it is None.
            self._last_table = (number, last_table(self._first_region(number), last))
        return self._last_table[1]

    def _notices(self, number: int, region: Region) -> list[Element]:
        hidden = self._book.sheets[number].hidden
        found: list[Element] = []
        if hidden:
            words = (
                "This sheet is hidden." if hidden == "hidden" else "This sheet is hidden from the list of sheets too."
            )
            found.append(note("annotation", words))
            found[0].metadata = {"hidden": hidden}
        return found + [note("annotation", problem) for problem in region.problems]
