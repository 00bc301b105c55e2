"""Long sections continue on further pages: a page stays readable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from a2c_documents.model import Element, Page
from a2c_documents.pieces import pieces_of, size_of

__all__ = ["MAX_PAGE_BYTES", "paginate", "part_title", "size_of"]

MAX_PAGE_BYTES = 200_000
"""JSON of one page."""


def paginate(sections: Iterable[Page], max_bytes: int = MAX_PAGE_BYTES) -> list[Page]:
    """Split sections that are too long, between elements; so is a text, code, table or list that is too long itself."""
    return [page for section in sections for page in _split(section, max_bytes)]


def _split(section: Page, max_bytes: int) -> Iterator[Page]:
    parts: list[list[Element]] = [[]]
    room = max_bytes
    for element in section.elements:
        for piece in pieces_of(element, max_bytes):
            size = size_of(piece)
            if size > room and parts[-1]:
                parts.append([])
                room = max_bytes
            parts[-1].append(piece)
            room -= size
    if len(parts) == 1:
        yield Page(section.title, parts[0])
        return
    ranges = [_range(part) for part in parts]
    if "" in ranges or len(set(ranges)) < len(ranges):
        ranges = [f"part {number} of {len(parts)}" for number in range(1, len(parts) + 1)]
    for where, elements in zip(ranges, parts, strict=True):
        yield Page(part_title(section.title, where), elements)


def part_title(title: str, where: str) -> str:
    """ "Sales (rows 501–1000)"; or "Rows 501–1000", where what it is a part of has no title."""
    return f"{title} ({where})" if title else where.capitalize()


def _range(elements: list[Element]) -> str:
    """ "lines 501–1000", where the elements say so."""
    lines = [element.metadata["lines"] for element in elements if "lines" in element.metadata]
    if not lines or len(lines) < len(elements):
        return ""
    return f"lines {lines[0][0]}–{lines[-1][1]}"
