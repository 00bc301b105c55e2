"""Divides long sections into pages of about 3,000 words, between paragraphs.

An edit should move as few page ends as possible. A page therefore does not end after a fixed number of words: among the
paragraphs where it may end, it ends before the highest heading, or else where the checksum of a paragraph is smallest.
After an inserted paragraph, the next pages end where they ended before.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence

from a2c_documents.model import Element, Page
from a2c_documents.paging import OVERHEAD, bytes_in, part_titles, size_of

LEAST, MOST = 12_000, 28_000
"""Bytes of the content of a page, with 20,000 in the middle: 3,000 words, or 6,000 Chinese characters."""
WHOLE = 37_000
"""A section of this length, which would make less than two full pages, stays in one piece."""
_ATTACHED = ("annotation", "footer", "link", "form")
"""Elements that belong to the one above."""


def in_portions(pages: Iterable[Page]) -> Iterator[Page]:
    """Pages, those that are too long divided."""
    for page in pages:
        starts = starts_of(page.elements)
        if len(starts) == 1:
            yield page
            continue
        parts = [page.elements[start:stop] for start, stop in zip(starts, [*starts[1:], None], strict=True)]
        for number, (title, elements) in enumerate(zip(titles_of(page.title, parts), parts, strict=True)):
            yield Page(title, elements, continues=number > 0)


def titles_of(title: str, parts: Sequence[Sequence[Element]]) -> list[str]:
    """The titles of portions: the heading that one begins with, or else "Prices (part 2 of 3)"."""
    titles = part_titles(title, parts)
    headings = ["", *(_first_heading(part) for part in parts[1:])]
    # A section whose next portion has a heading of its own is not continued there.
    first = title if headings[1] else titles[0]
    return [first, *(heading or other for heading, other in zip(headings[1:], titles[1:], strict=True))]


def _first_heading(elements: Sequence[Element]) -> str:
    is_heading = bool(elements) and elements[0].category == "heading"
    return " ".join(str(elements[0].content["text"]).split())[:120] if is_heading else ""


def starts_of(elements: Sequence[Element]) -> list[int]:
    """The positions at which the portions of a section start."""
    sizes = [_size(element) for element in elements]
    left = sum(sizes)
    starts = [0]
    if left <= WHOLE:
        return starts
    while left > MOST:
        start = _next(elements, sizes, starts[-1], min(MOST, left - LEAST // 2))
        if start is None:
            break
        left -= sum(sizes[starts[-1] : start])
        starts.append(start)
    return starts


def _size(element: Element) -> int:
    # Most elements are texts, whose length is known without their JSON.
    if element.category not in ("text", "heading"):
        return size_of(element) - OVERHEAD
    return bytes_in(str(element.content["text"]))


def _next(elements: Sequence[Element], sizes: Sequence[int], start: int, most: int) -> int | None:
    """The position at which the next portion starts; None if the section cannot be divided."""
    places: list[int] = []
    used = 0
    for place in range(start, len(sizes)):
        # A single element may be longer than a page, and then ends it.
        if place > start and (LEAST <= used <= most or (used > most and not places)):
            places.append(place)
        if used > most:
            break
        used += sizes[place]
    # No page ends with a heading.
    good = [place for place in places if _may_start(elements, place)]
    return min(good or places, key=lambda place: _rank(elements[place]), default=None)


def _may_start(elements: Sequence[Element], place: int) -> bool:
    return elements[place].category not in _ATTACHED and elements[place - 1].category != "heading"


def _rank(element: Element) -> tuple[int, int]:
    level = int(element.content["level"]) if element.category == "heading" else 7
    return level, zlib.crc32(repr((element.category, element.content))[:2_000].encode("utf-8", "replace"))
