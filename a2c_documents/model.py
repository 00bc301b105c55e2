"""What a file is made of, whatever its format: facts, pages, elements. Only parsers know formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

MAX_SUMMARY = 200
"""Characters of a summary."""


@dataclass(slots=True)
class Element:
    """One thing on a page, in reading order.

    `content` has the shape that the protocol gives its category. `metadata` says where in the source it is: `lines`,
    `source_range`, `box`, `shape` … `summary` is made from the content where a parser has nothing better to say.
    """

    category: str
    content: dict[str, Any]
    summary: str = ""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    detail: dict[str, Any] | None = None
    """The content on level 3, where that is more than on the page."""
    picture: Callable[[], tuple[str, bytes]] | None = field(default=None, compare=False)
    """MIME type and bytes of an image, made when somebody wants to see it; it may raise `UnreadableFileError`."""
    file: Callable[[], tuple[str, bytes]] | None = field(default=None, compare=False)
    """The same for the file that a link stands for: an attachment."""


@dataclass(slots=True)
class Page:
    """A page as people mean it: a PDF's page, a slide, a sheet, a section."""

    title: str
    elements: list[Element] = field(default_factory=list[Element])


@dataclass(slots=True)
class Facts:
    """What a file says about itself. Empty where it says nothing; then the name or the content is asked."""

    title: str = ""
    author: str = ""
    keywords: list[str] = field(default_factory=list[str])
    summary: str = ""
    created: str = ""
    """ISO 8601."""
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    """Anything else worth knowing about the document as a whole: page size, sheet names, encoding."""


class Source(Protocol):
    """An open file. It is used by one thread, in a process of its own, and closed by who opened it."""

    facts: Facts

    @property
    def page_titles(self) -> Sequence[str]:
        """One title for each page. Cheap: nothing is read for it that `open` did not have to read.

        A page that is read may have a better one.
        """
        ...

    def page(self, index: int) -> Page:
        """One page; costs that page and not the document. `index` is within range."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


class Parser(Protocol):
    """Opens files of one format."""

    def __call__(self, path: Path) -> Source:
        """Open a file.

        Raises:
            UnreadableFileError: it cannot be read, and why.
        """
        ...


class UnreadableFileError(Exception):
    """A file that is not what it should be: damaged, encrypted, of another format. The message is for a person."""


class PagesSource:
    """A source whose pages are all there once it is open: most formats cannot be read otherwise."""

    def __init__(self, facts: Facts, pages: Iterable[Page]) -> None:
        self.facts = facts
        self._pages = list(pages) or [Page("")]

    @property
    def page_titles(self) -> Sequence[str]:
        """One title for each page."""
        return [page.title for page in self._pages]

    def page(self, index: int) -> Page:
        """One page."""
        return self._pages[index]

    def close(self) -> None:
        """Nothing is held open."""


# ------------------------------------------------------------------------------------------------------------- elements
# How parsers make elements: one function for each shape of content.


def heading(text: str, level: int, **metadata: Any) -> Element:
    """A heading; level 1 is the highest."""
    return Element("heading", {"level": max(1, min(level, 6)), "text": text}, metadata=metadata)


def text(words: str, **metadata: Any) -> Element:
    """A paragraph."""
    return Element("text", {"text": words}, metadata=metadata)


def list_of(items: Sequence[Any], *, ordered: bool = False, **metadata: Any) -> Element:
    """A list. An item is a text, or `{"text": …, "items": […], "ordered": …}` where it has a list of its own."""
    return Element("list", {"items": list(items), "ordered": ordered}, metadata=metadata)


def code(source: str, language: str = "", **metadata: Any) -> Element:
    """Code."""
    return Element("code", {"code": source, "language": language}, metadata=metadata)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], **metadata: Any) -> Element:
    """A table of texts, as a person sees its cells. Every row has as many cells as there are headers."""
    content: dict[str, Any] = {"headers": list(headers), "rows": [list(row) for row in rows]}
    size = {"total_rows": len(content["rows"]), "total_columns": len(content["headers"])}
    return Element("table", content, metadata=metadata, detail=content | size)


def image(alt: str, description: str = "", url: str = "", **metadata: Any) -> Element:
    """A picture. Give it `picture` where its bytes can be had."""
    return Element("image", {"alt": alt, "url": url, "description": description}, metadata=metadata)


def link(words: str, url: str, **metadata: Any) -> Element:
    """A link that stands alone."""
    return Element("link", {"text": words, "url": url}, metadata=metadata)


def formula(expression: str, value: str = "", **metadata: Any) -> Element:
    """A formula, and its value where it has one."""
    return Element("formula", {"expression": expression} | ({"value": value} if value else {}), metadata=metadata)


def chart(chart_type: str, title: str, data_summary: str, **metadata: Any) -> Element:
    """A chart: what kind, what it is called, and what its data say in a sentence."""
    content = {"chart_type": chart_type, "title": title, "data_summary": data_summary}
    return Element("chart", content, summary=title or data_summary, metadata=metadata)


def note(category: str, words: str, **fields: Any) -> Element:
    """An annotation, header, footer, separator, diagram, form … : a text, and whatever else `fields` say."""
    return Element(category, {"text": words, **fields})
