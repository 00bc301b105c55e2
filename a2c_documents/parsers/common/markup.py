"""Marked-up text as elements and pages. HTML, Markdown and notebooks are all read this way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from a2c_documents.inline import joined
from a2c_documents.model import Element, Page, link, list_of, text

MAX_DEPTH = 32
"""Levels of nested lists. Deeper lists are merged, because clients limit the depth of the JSON they parse."""
MAX_LINKS = 200
MAX_LIST = 40_000
"""Characters of a list; a longer one is divided."""
Link = dict[str, str]


@dataclass(slots=True)
class _Item:
    words: list[str] = field(default_factory=list[str])
    items: list[Any] = field(default_factory=list[Any])
    ordered: bool = False

    def finished(self) -> Any:
        """The item in the shape of the protocol."""
        words = joined(self.words, "\n")
        return {"text": words, "items": self.items, "ordered": self.ordered} if self.items else words


@dataclass(slots=True)
class _List:
    ordered: bool
    start: int = 1
    items: list[_Item] = field(default_factory=list[_Item])
    open: bool = False
    """Whether an item is open, to which words are added."""

    def finished(self) -> list[Any]:
        """The items. One without words, as after an interruption, is replaced by the items of its nested list."""
        found: list[Any] = []
        for item in self.items:
            if item.words:
                found.append(item.finished())
            else:
                found.extend(item.items)
        return found


class Flow:
    """Collects paragraphs and other elements in reading order, and puts the paragraphs of a list into its items.

    Items are texts. If an item contains code, a table or a picture, the list ends before it and continues after it, so
    that nothing is lost or moved.
    """

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self._lists: list[_List] = []
        self._links: list[Link] = []
        self._lines: list[int] = []

    @property
    def in_list(self) -> bool:
        """Whether a list is open."""
        return bool(self._lists)

    def paragraph(self, words: str, links: list[Link], lines: list[int] | None = None, **metadata: Any) -> None:
        """Add a paragraph and its links."""
        if not words:
            return
        # Words directly in a list, before its first item, are a paragraph of their own.
        if self._lists and (self._lists[-1].open or any(frame.items for frame in self._lists)):
            frame = self._lists[-1]
            if not frame.items or not frame.open:
                self.open_item()
            frame.items[-1].words.append(words)
            self._links += links[: MAX_LINKS - len(self._links)]
            self._widen(lines)
            return
        self.elements.append(_paragraph(words, links, metadata | ({"lines": lines} if lines else {})))

    def emit(self, element: Element) -> None:
        """Add an element other than a paragraph."""
        if self._lists:
            self._interrupt()
        self.elements.append(element)

    def open_list(self, *, ordered: bool, start: int = 1) -> None:
        """Begin a list, possibly inside an item."""
        # Too deep: the same list is pushed again, so that each `close_list` still has its counterpart.
        if len(self._lists) >= MAX_DEPTH:
            self._lists.append(self._lists[-1])
        else:
            self._lists.append(_List(ordered, start))

    def open_item(self) -> None:
        """Begin the next item of the list."""
        if self._lists:
            self._lists[-1].items.append(_Item())
            self._lists[-1].open = True

    def close_list(self) -> None:
        """End the list."""
        if not self._lists:
            return
        frame = self._lists.pop()
        if not self._lists:
            self._finish(frame)
            return
        parent = self._lists[-1]
        # One of the lists that were merged because of `MAX_DEPTH`.
        if parent is frame:
            return
        items = frame.finished()
        if items:
            if not parent.items:
                parent.items.append(_Item())
            parent.items[-1].ordered = frame.ordered
            parent.items[-1].items += items

    def close(self) -> None:
        """End all lists."""
        while self._lists:
            self.close_list()

    def _interrupt(self) -> None:
        # The open lists are finished, and continue as empty lists with the next numbers. A list that is on the stack
        # twice because of `MAX_DEPTH` has to stay one list.
        again: list[_List] = []
        previous = None
        for frame in self._lists:
            same = again[-1] if frame is previous and again else None
            again.append(same or _List(frame.ordered, frame.start + len(frame.items)))
            previous = frame
        self.close()
        self._lists = again

    def _widen(self, lines: list[int] | None) -> None:
        if lines:
            first = self._lines[0] if self._lines else lines[0]
            self._lines = [first, max(lines[1], self._lines[1] if self._lines else 0)]

    def _finish(self, frame: _List) -> None:
        items, links, lines = frame.finished(), self._links, self._lines
        self._links, self._lines = [], []
        if not items:
            return
        start = frame.start
        for piece in _pieces(items):
            metadata: dict[str, Any] = {"lines": lines} if lines else {}
            # The links of a list are collected together, so the first piece has all of them.
            if links and piece[0] is items[0]:
                metadata["links"] = links
            if frame.ordered and start != 1:
                metadata["start"] = start
            self.elements.append(list_of(piece, ordered=frame.ordered, **metadata))
            start += len(piece)


def _pieces(items: list[Any]) -> Iterator[list[Any]]:
    """The items, divided into lists that fit on a page."""
    piece: list[Any] = []
    size = 0
    for item in items:
        length = len(item if isinstance(item, str) else str(item))
        if piece and size + length > MAX_LIST:
            yield piece
            piece, size = [], 0
        piece.append(item)
        size += length + 8
    yield piece


def _paragraph(words: str, links: list[Link], metadata: dict[str, Any]) -> Element:
    if len(links) == 1 and links[0]["text"] == words:
        return link(str(words), links[0]["url"], **metadata)
    if links:
        metadata["links"] = links[:MAX_LINKS]
    return text(words, **metadata)


# ---------------------------------------------------------------------------------------------------------------- pages


MAX_TITLE = 120


def by_heading(elements: Sequence[Element], title: str) -> list[Page]:
    """Pages that begin at the highest level of headings that occurs more than once; `title` names what comes before.

    A page never consists of headings only: a title directly above the first chapter is on the page of that chapter.
    """
    levels = Counter(_level(element) for element in elements if element.category == "heading")
    divided = min((level for level, count in levels.items() if count > 1), default=0)
    first = next((_words(element) for element in elements if element.category == "heading"), "")
    pages = [Page(first or title)]
    begun = False
    for element in elements:
        if element.category == "heading" and _level(element) <= divided:
            # Pages begin at the first heading of the dividing level. Titles before it stay on the first page.
            begun = begun or _level(element) == divided
            if not _only_higher(pages[-1], _level(element)) and begun:
                pages.append(Page(_words(element)))
            elif begun:
                pages[-1].title = _words(element)
        pages[-1].elements.append(element)
    return pages


def title_of(elements: Sequence[Element]) -> str:
    """The heading of the first level, if there is exactly one."""
    found = [_words(element) for element in elements if element.category == "heading" and _level(element) == 1]
    return found[0] if len(found) == 1 else ""


def _only_higher(page: Page, level: int) -> bool:
    return all(element.category == "heading" and _level(element) < level for element in page.elements)


def _level(element: Element) -> int:
    return int(element.content["level"])


def _words(element: Element) -> str:
    words = " ".join(str(element.content["text"]).split())
    return words if len(words) <= MAX_TITLE else words[: MAX_TITLE - 1] + "…"
