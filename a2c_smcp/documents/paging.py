"""Long sections continue on further pages: a page stays readable."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from a2c_smcp.documents.model import Element, Page

MAX_PAGE_BYTES = 200_000
"""JSON of one page."""


def size_of(element: Element) -> int:
    """About the bytes of an element's JSON on a page."""
    return len(json.dumps(element.content, ensure_ascii=False, default=str).encode("utf-8", "replace")) + 120


def paginate(sections: Iterable[Page], max_bytes: int = MAX_PAGE_BYTES) -> list[Page]:
    """Split sections that are too long, between elements; so is a text, code or table that is too long itself."""
    return [page for section in sections for page in _split(section, max_bytes)]


def _split(section: Page, max_bytes: int) -> Iterator[Page]:
    parts: list[list[Element]] = [[]]
    room = max_bytes
    for element in section.elements:
        for piece in _pieces(element, max_bytes):
            size = size_of(piece)
            if size > room and parts[-1]:
                parts.append([])
                room = max_bytes
            parts[-1].append(piece)
            room -= size
    if len(parts) == 1:
        yield Page(section.title, parts[0])
        return
    for number, elements in enumerate(parts, 1):
        yield Page(f"{section.title} ({_range(elements) or f'part {number} of {len(parts)}'})".strip(), elements)


def _range(elements: list[Element]) -> str:
    """ "lines 501–1000", where the elements say so."""
    lines = [element.metadata["lines"] for element in elements if "lines" in element.metadata]
    if not lines or len(lines) < len(elements):
        return ""
    return f"lines {lines[0][0]}–{lines[-1][1]}"


def _pieces(element: Element, max_bytes: int) -> Iterator[Element]:
    """An element, or the parts of one that is too long for any page."""
    if size_of(element) <= max_bytes or element.category not in ("text", "code", "table"):
        yield element
        return
    if element.category == "table":
        yield from _table_pieces(element, max_bytes)
        return
    key = "code" if element.category == "code" else "text"
    first_line = element.metadata["lines"][0] if "lines" in element.metadata else None
    for words, start, count in _text_pieces(element.content[key], max_bytes // 2):
        metadata = dict(element.metadata)
        if first_line is not None:
            metadata["lines"] = [first_line + start, first_line + start + count - 1]
        yield Element(element.category, {**element.content, key: words}, metadata=metadata)


def _text_pieces(words: str, max_bytes: int) -> Iterator[tuple[str, int, int]]:
    """Whole lines, as many as fit; a line that does not fit is cut. With the first line's number, and how many."""
    piece: list[str] = []
    size = start = 0
    for number, line in enumerate(words.splitlines(keepends=True)):
        length = len(line.encode("utf-8", "replace"))
        if piece and size + length > max_bytes:
            yield "".join(piece), start, number - start
            piece, size, start = [], 0, number
        while length > max_bytes:
            cut = max(1, max_bytes // 4)
            yield line[:cut], number, 1
            line = line[cut:]
            length = len(line.encode("utf-8", "replace"))
            start = number
        piece.append(line)
        size += length
    if piece:
        yield "".join(piece), start, len(words.splitlines()) - start or 1


def _table_pieces(element: Element, max_bytes: int) -> Iterator[Element]:
    rows, headers = element.content["rows"], element.content["headers"]
    size_of_row = max(1, size_of(element) // max(1, len(rows)))
    step = max(1, max_bytes // 2 // size_of_row)
    for start in range(0, len(rows), step):
        content = {**element.content, "rows": rows[start : start + step]}
        detail = content | {"total_rows": len(rows), "total_columns": len(headers)}
        metadata = {**element.metadata, "rows": [start + 1, min(start + step, len(rows))]}
        yield Element("table", content, element.summary, metadata, detail)
