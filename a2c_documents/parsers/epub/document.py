"""Books (EPUB 2 and 3): a page is an item of the spine, which is a chapter or a part of one."""

from __future__ import annotations

import importlib
import re
from functools import partial
from pathlib import Path
from typing import Any

from a2c_documents.model import Element, Page, Source, UnreadableFileError, image, note
from a2c_documents.paging import MAX_PAGE_BYTES, paginate
from a2c_documents.parsers.common.reading import decode_as
from a2c_documents.parsers.epub.package import Book, Item, read_book
from a2c_documents.parsers.office.lazy import Later, LazySource
from a2c_documents.parsers.office.package import Package, resolve
from a2c_documents.parsers.office.xml import MAX_XML, DamagedPartError

_LONG = MAX_PAGE_BYTES // 2
"""Bytes of an item that may be more than one page."""
_MAX_TITLE = 120
_ENCODING = re.compile(rb"<\?xml\b[^>]{0,100}?\bencoding\s*=\s*[\"']([\w.:-]{1,40})")
_EMPTY = re.compile(r"<([A-Za-z][\w:.-]*)([^<>]*)/>")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
_DRAWN = re.compile(r"<(?:svg:)?image\b[^<>]*?\bhref\s*=\s*[\"']([^\"'<>]+)")


def open_epub(path: Path) -> Source:
    """Open a book.

    Raises:
        UnreadableFileError: it is no book, or a damaged or protected one.
    """
    package = Package(path, "book (EPUB)")
    try:
        book = read_book(package)
        pages = [page for number, item in enumerate(book.spine, 1) for page in _pages(package, book, item, number)]
    except DamagedPartError as error:
        package.close()
        raise UnreadableFileError(f"this is no book (EPUB), or a damaged one: {error}") from None
    except UnreadableFileError:
        package.close()
        raise
    return LazySource(book.facts, pages, package.close)


def _pages(package: Package, book: Book, item: Item, number: int) -> list[Page | Later]:
    """An item as a page, read now only if it may be several pages or if nothing but itself can name it."""
    title = book.titles.get(item.name, "")
    if title and package.size(item.name) <= _LONG:
        return [Later(title, partial(_page, package, item, title))]
    page = _page(package, item, title)
    if not page.title:
        page.title = _first_heading(page.elements) or f"Section {number}"
    return list(paginate([page]))


def _first_heading(elements: list[Element]) -> str:
    words = next((str(one.content["text"]) for one in elements if one.category == "heading"), "")
    words = " ".join(words.split())
    return words if len(words) <= _MAX_TITLE else words[: _MAX_TITLE - 1] + "…"


def _page(package: Package, item: Item, title: str) -> Page:
    try:
        elements = _elements(package, item)
    except (DamagedPartError, UnreadableFileError) as error:
        elements = [note("annotation", f"This part of the book cannot be read: {error}")]
    for element in elements:
        element.metadata.setdefault("file", item.name)
    return Page(title, elements)


def _elements(package: Package, item: Item) -> list[Element]:
    if item.type.startswith("image/"):
        picture = image("", item.type)
        picture.picture = package.picture(item.name) if item.name in package else None
        return [picture]
    if package.size(item.name) > MAX_XML:
        raise DamagedPartError(f"{package.size(item.name) // 1_000_000} MB are too much to read")
    markup = _markup(package.read(item.name))
    html: Any = importlib.import_module("a2c_documents.parsers.html.document")
    elements: list[Element] = html.html_elements(markup)
    if not any(element.category == "image" for element in elements):
        # Covers are often a drawing with nothing but a picture in it.
        elements += [image("", "", found[1]) for found in _DRAWN.finditer(markup)]
    for element in elements:
        if element.category == "image" and element.picture is None:
            _find_picture(package, item, element)
    return elements


def _find_picture(package: Package, item: Item, element: Element) -> None:
    url = str(element.content.get("url", ""))
    if url and "://" not in url and not url.startswith("data:"):
        part = resolve(item.name, url)
        if part in package:
            element.picture = package.picture(part)


def _markup(raw: bytes) -> str:
    """XHTML as HTML: there an element that is closed where it is opened stays open, and swallows what follows."""
    declared = _ENCODING.search(raw[:300])
    markup, _ = decode_as(raw, declared[1].decode("ascii") if declared else "utf-8")
    return _EMPTY.sub(_closed, markup)


def _closed(found: re.Match[str]) -> str:
    name = found[1]
    return found[0] if name.lower() in _VOID else f"<{name}{found[2]}></{name}>"
