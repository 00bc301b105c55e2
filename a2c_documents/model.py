"""The output of every parser, whatever the format: facts, pages, elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

PROTECTED = "protected"
"""The detail of a document that a password opened."""
MAX_SUMMARY = 200
"""Characters of a summary."""


@dataclass(slots=True)
class Element:
    """One element of a page: a heading, a paragraph, a table …

    `content` has the shape that the protocol defines for its category. `metadata` says where in the source it is:
    `lines`, `source_range`, `box`, `shape` … Without a `summary`, one is made from the content.
    """

    category: str
    content: dict[str, Any]
    summary: str = ""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    detail: dict[str, Any] | None = None
    """The content on level 3, if it is more than on the page."""
    # Not compared: each reading of a file makes its own functions, and two readings of the same file must be equal.
    picture: Callable[[], tuple[str, bytes]] | None = field(default=None, compare=False)
    """Returns MIME type and bytes of an image, decoded only on request; may raise `UnreadableFileError`."""
    file: Callable[[], tuple[str, bytes]] | None = field(default=None, compare=False)
    """The same for the attachment that a link stands for."""


@dataclass(slots=True)
class Page:
    """A page in the sense of the format: a page of a PDF, a slide, a sheet, a section."""

    title: str
    elements: list[Element] = field(default_factory=list[Element])
    continues: bool = False
    """Whether it continues the page before, which would be too long with it (see `Library.element`)."""
    scan: Callable[[], Scan] | None = field(default=None, compare=False)
    """Returns a picture of the page, if its words can only be seen; may raise `UnreadableFileError`."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A picture of a page, in pieces that are small enough for text recognition."""

    pieces: list[Piece]
    size: tuple[int, int]
    """Width and height of the picture, in pixels."""
    scale: float
    """Pixels of the picture in one unit of the page: points in a PDF, pixels in a picture."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a picture, over its whole width or height."""

    mime_type: str
    data: bytes
    left: int
    top: int
    """Where it is in the picture."""
    owned: tuple[int, int, int, int]
    """Left, top, right and bottom of the part of the picture that belongs to this piece: pieces overlap."""


@dataclass(slots=True)
class Facts:
    """The metadata of a file. Empty fields are filled from the file's name or content."""

    title: str = ""
    author: str = ""
    keywords: list[str] = field(default_factory=list[str])
    summary: str = ""
    created: str = ""
    """ISO 8601."""
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    """Other facts about the whole document: page size, sheet names, encoding."""
    members: list[list[Any]] = field(default_factory=list[list[Any]])
    """The files in an archive that are documents: path below the archive, size, time, and a mark of the content."""


class Source(Protocol):
    """An open file, used by one thread of a worker process. The caller that opened it closes it."""

    facts: Facts

    @property
    def page_titles(self) -> Sequence[str]:
        """One title for each page, without reading the pages. A page that is read may have a better one."""
        ...

    def page(self, index: int) -> Page:
        """One page, at the cost of that page and not of the document. `index` is valid."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Parser(Protocol):
    """Opens files of one format."""

    def __call__(self, path: Path) -> Source:
        """Open a file.

        Raises:
            UnreadableFileError: the file cannot be read.
        """
        ...


class UnreadableFileError(Exception):
    """A file is damaged, encrypted or of another format. The message is shown to people."""


class ConversionNeededError(Exception):
    """A file can only be read after LibreOffice has converted it: `to` is the format (`docx`)."""

    def __init__(self, to: str) -> None:
        super().__init__(to)
        self.to = to


class PagesSource:
    """A source that has all pages when it is open, for formats that cannot be read page by page."""

    def __init__(self, facts: Facts, pages: Iterable[Page]) -> None:
        self.facts = facts
        # Page 0 of every document is a valid address, even if the file has no content.
        self._pages = list(pages) or [Page("")]

    @property
    def page_titles(self) -> Sequence[str]:
        """One title for each page."""
        return [page.title for page in self._pages]

    def page(self, index: int) -> Page:
        """One page."""
        return self._pages[index]

    def close(self) -> None:
        """Nothing to close."""


# ------------------------------------------------------------------------------------------------------------- elements
# How parsers make elements: one function for each shape of content.


def heading(text: str, level: int, **metadata: Any) -> Element:
    """A heading; level 1 is the highest."""
    # Outlines of Word and PDF files have more than the six levels of Markdown and HTML.
    return Element("heading", {"level": max(1, min(level, 6)), "text": text}, metadata=metadata)


def text(words: str, **metadata: Any) -> Element:
    """A paragraph."""
    return Element("text", {"text": words}, metadata=metadata)


def list_of(items: Sequence[Any], *, ordered: bool = False, **metadata: Any) -> Element:
    """A list. An item is a text, or `{"text": …, "items": […], "ordered": …}` if it has a list of its own."""
    return Element("list", {"items": list(items), "ordered": ordered}, metadata=metadata)


def code(source: str, language: str = "", **metadata: Any) -> Element:
    """Code."""
    return Element("code", {"code": source, "language": language}, metadata=metadata)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], **metadata: Any) -> Element:
    """A table of texts. Every row has as many cells as there are headers."""
    content: dict[str, Any] = {"headers": list(headers), "rows": [list(row) for row in rows]}
    # Level 3 states the size of the whole table, because a page may have only some of its rows (see `paging.py`).
    size = {"total_rows": len(content["rows"]), "total_columns": len(content["headers"])}
    return Element("table", content, metadata=metadata, detail=content | size)


def image(alt: str, description: str = "", url: str = "", **metadata: Any) -> Element:
    """A picture. Set `picture` if its bytes are available."""
    return Element("image", {"alt": alt, "url": url, "description": description}, metadata=metadata)


def link(words: str, url: str, **metadata: Any) -> Element:
    """A link on its own line."""
    return Element("link", {"text": words, "url": url}, metadata=metadata)


def formula(expression: str, value: str = "", **metadata: Any) -> Element:
    """A formula, and its value if it has one."""
    return Element("formula", {"expression": expression} | ({"value": value} if value else {}), metadata=metadata)


def chart(chart_type: str, title: str, data_summary: str, **metadata: Any) -> Element:
    """A chart: its kind, its title, and a sentence about its data."""
    content = {"chart_type": chart_type, "title": title, "data_summary": data_summary}
    return Element("chart", content, summary=title or data_summary, metadata=metadata)


def note(category: str, words: str, **fields: Any) -> Element:
    """An annotation, header, footer, separator, diagram, form … : a text and other `fields`."""
    return Element(category, {"text": words, **fields})
