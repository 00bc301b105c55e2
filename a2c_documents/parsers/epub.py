"""Books (EPUB 2 and 3): a page is an item of the spine, which is a chapter or a part of one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from a2c_documents.model import Element, Facts, Page, Source, UnreadableFileError, image, note
from a2c_documents.paging import MAX_PAGE_BYTES, paginate
from a2c_documents.parsers.common.decoding import decode_as
from a2c_documents.parsers.html.web_page import html_elements
from a2c_documents.parsers.office.lazy import Later, LazySource
from a2c_documents.parsers.office.package import Package, resolve
from a2c_documents.parsers.office.xml import MAX_XML, DamagedPartError, attribute, local, words_of

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
    """The pages of an item. It is read now only if it may take several pages, or if only its text has a title."""
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
    elements = html_elements(markup)
    if not any(element.category == "image" for element in elements):
        # A cover is often an SVG drawing that only wraps one picture.
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
    """XHTML as HTML."""
    declared = _ENCODING.search(raw[:300])
    markup, _ = decode_as(raw, declared[1].decode("ascii") if declared else "utf-8")
    # In XHTML `<a/>` is an empty element. An HTML parser ignores the slash, and the open element swallows what follows.
    return _EMPTY.sub(_closed, markup)


def _closed(found: re.Match[str]) -> str:
    name = found[1]
    return found[0] if name.lower() in _VOID else f"<{name}{found[2]}></{name}>"


# ------------------------------------------------------------------------------------------------------------- the book


MAX_ITEMS = 10_000
# Books without DRM have an `encryption.xml` as well, if their embedded fonts are obfuscated.
_FONT_ONLY = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Algorithms that obfuscate fonts only."""
_BLOCK = re.compile(r"</?(?:p|div|br|li|ul|ol|h[1-6])\b[^<>]{0,500}>", re.I)
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,500}>")


@dataclass(frozen=True, slots=True)
class Item:
    """A part of the book: its name in the archive, and its type."""

    name: str
    type: str
    properties: str = ""


@dataclass(slots=True)
class Book:
    """A book without its text."""

    facts: Facts
    spine: list[Item]
    titles: dict[str, str] = field(default_factory=dict[str, str])
    """Titles from the table of contents, by the names of items."""


def read_book(package: Package) -> Book:
    """The book in an archive.

    Raises:
        DamagedPartError: the description of the book is missing or cannot be read.
        UnreadableFileError: its text is encrypted.
    """
    name = _described_in(package)
    # Reading systems tolerate invalid XML, so there are books with it.
    root = package.xml(name, recover=True)
    items: dict[str, Item] = {}
    for entry in root.iterfind("{*}manifest/{*}item"):
        href, kind = attribute(entry, "href"), attribute(entry, "media-type").lower()
        items[attribute(entry, "id")] = Item(resolve(name, href), kind, attribute(entry, "properties"))
    listed = [attribute(entry, "idref") for entry in root.iterfind("{*}spine/{*}itemref")]
    # An item that is listed twice is still one part of the book.
    spine = [items[one] for one in dict.fromkeys(listed) if one in items][:MAX_ITEMS]
    if not spine:
        raise DamagedPartError("nothing says in which order it is read")
    _check_rights(package, spine)
    book = Book(_facts(root), spine)
    book.titles = _titles(package, root, name, items)
    return book


def _described_in(package: Package) -> str:
    root = package.xml("META-INF/container.xml", recover=True)
    for entry in root.iterfind(".//{*}rootfile"):
        name = resolve("", attribute(entry, "full-path"))
        if name in package:
            return name
    raise DamagedPartError("what describes the book is missing")


def _check_rights(package: Package, spine: list[Item]) -> None:
    try:
        root = package.xml("META-INF/encryption.xml")
    except DamagedPartError:
        return
    # Only encrypted text makes a book unreadable. Fonts, pictures and other parts may be encrypted.
    read = {item.name for item in spine}
    for entry in root.iterfind(".//{*}EncryptedData"):
        method, target = entry.find("{*}EncryptionMethod"), entry.find(".//{*}CipherReference")
        algorithm = attribute(method, "Algorithm") if method is not None else ""
        if target is not None and algorithm not in _FONT_ONLY and resolve("", attribute(target, "URI")) in read:
            raise UnreadableFileError("this book is protected (DRM): its text is encrypted")


# ---------------------------------------------------------------------------------------------------------------- facts


def _facts(root: Any) -> Facts:
    found: dict[str, list[str]] = {}
    dates: dict[str, str] = {}
    holder = root.find("{*}metadata")
    for entry in holder.iter() if holder is not None else ():
        words = words_of(entry) if local(entry) else ""
        if words:
            found.setdefault(local(entry), []).append(words)
        # EPUB 2 may have several dates, and says what each of them is (`opf:event`).
        if words and local(entry) == "date":
            dates.setdefault(attribute(entry, "event"), words)
    first = {name: values[0] for name, values in found.items()}
    created = dates.get("creation") or dates.get("publication") or next(iter(dates.values()), "")
    details = {name: first[name] for name in ("language", "publisher", "identifier", "rights") if name in first}
    return Facts(
        title=first.get("title", ""),
        author=", ".join(dict.fromkeys(found.get("creator", []))),
        keywords=list(dict.fromkeys(found.get("subject", [])))[:50],
        # The description often contains HTML as text.
        summary=" ".join(_MARKUP.sub("", _BLOCK.sub(" ", first.get("description", ""))).split()),
        created=created,
        details=details | {"version": attribute(root, "version")},
    )


# --------------------------------------------------------------------------------------------------------------- titles


def _titles(package: Package, root: Any, name: str, items: dict[str, Item]) -> dict[str, str]:
    """The first entry of the table of contents for each item. A missing or damaged one gives no titles."""
    titles: dict[str, str] = {}
    navigation = next((item for item in items.values() if "nav" in item.properties.split()), None)
    spine = root.find("{*}spine")
    older = items.get(attribute(spine, "toc")) if spine is not None else None
    older = older or next((item for item in items.values() if item.type == "application/x-dtbncx+xml"), None)
    # Books of EPUB 3 often have both tables of contents, for older programs. `_add` keeps the first title of an item,
    # so the newer table comes first.
    for item, read in ((navigation, _entries), (older, _points)):
        try:
            tree = package.xml(item.name, recover=True) if item is not None else None
        except DamagedPartError:
            continue
        if item is not None and tree is not None:
            _add(titles, item.name, read(tree))
    _add(titles, name, [(attribute(one, "href"), attribute(one, "title")) for one in root.iterfind("{*}guide/{*}*")])
    return titles


def _add(titles: dict[str, str], base: str, entries: list[tuple[str, str]]) -> None:
    for target, words in entries:
        words = " ".join(words.split())
        if target and words and "://" not in target:
            short = words if len(words) <= _MAX_TITLE else words[: _MAX_TITLE - 1] + "…"
            titles.setdefault(resolve(base, target), short)


def _entries(tree: Any) -> list[tuple[str, str]]:
    """The table of contents of EPUB 3, a list of links."""
    lists = list(tree.iter("{*}nav"))
    contents = [one for one in lists if "toc" in attribute(one, "type").split()] or lists[:1]
    return [(attribute(one, "href"), words_of(one)) for part in contents for one in part.iter("{*}a")][:MAX_ITEMS]


def _points(tree: Any) -> list[tuple[str, str]]:
    """The table of contents of EPUB 2."""
    found: list[tuple[str, str]] = []
    for point in tree.iter("{*}navPoint"):
        target = point.find("{*}content")
        if target is not None and len(found) < MAX_ITEMS:
            found.append((attribute(target, "src"), words_of(point.find("{*}navLabel"))))
    return found
