"""Splits long sections into pages, and long elements into pieces that fit on one.

An Agent reads a page as a whole, so a page must fit into one message and into the context of a model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from a2c_documents.model import Element, Page

MAX_PAGE_BYTES = 200_000
"""Bytes of the JSON of one page."""


def paginate(sections: Iterable[Page], max_bytes: int = MAX_PAGE_BYTES) -> list[Page]:
    """Split long sections between elements, and texts, code, tables and lists that are too long themselves."""
    return [page for section in sections for page in _split(section, max_bytes)]


def _split(section: Page, max_bytes: int) -> Iterator[Page]:
    parts: list[list[Element]] = [[]]
    room = max_bytes
    for element in section.elements:
        for piece in pieces_of(element, max_bytes):
            size = size_of(piece)
            # An element that cannot be divided may be longer than a page. It gets a page of its own.
            if size > room and parts[-1]:
                parts.append([])
                room = max_bytes
            parts[-1].append(piece)
            room -= size
    if len(parts) == 1:
        yield Page(section.title, parts[0], continues=section.continues)
        return
    for title, elements in zip(part_titles(section.title, parts), parts, strict=True):
        yield Page(title, elements, continues=section.continues)


def part_titles(title: str, parts: Sequence[Sequence[Element]]) -> list[str]:
    """The titles of the parts of a section."""
    # Line numbers say more than "part 2 of 3". They are not unique if one line fills several pages.
    ranges = [_range(part) for part in parts]
    if "" in ranges or len(set(ranges)) < len(ranges):
        ranges = [f"part {number} of {len(parts)}" for number in range(1, len(parts) + 1)]
    return [part_title(title, where) for where in ranges]


def part_title(title: str, where: str) -> str:
    """ "Sales (rows 501–1000)"; "Rows 501–1000" without a title."""
    return f"{title} ({where})" if title else where.capitalize()


def _range(elements: Sequence[Element]) -> str:
    """ "lines 501–1000", if all elements have line numbers."""
    lines = [element.metadata["lines"] for element in elements if "lines" in element.metadata]
    if not lines or len(lines) < len(elements):
        return ""
    return f"lines {lines[0][0]}–{lines[-1][1]}"


# --------------------------------------------------------------------------------------------------------------- pieces


OVERHEAD = 120
"""Bytes of an element's JSON besides its content."""
_REPEATED = 200
"""Characters of an item that are repeated in each piece of the list inside it."""
_LEAST_ROOM = 1_000
"""Bytes left for the items, however deep the list is nested."""


def size_of(element: Element) -> int:
    """The approximate size of an element's JSON on a page."""
    return _bytes_of(element.content) + OVERHEAD


def pieces_of(element: Element, max_bytes: int) -> Iterator[Element]:
    """The element, or its pieces if it is too long. Elements of other shapes stay whole."""
    content = element.content
    if size_of(element) <= max_bytes:
        yield element
    elif isinstance(content.get("rows"), list) and "headers" in content:
        yield from _table_pieces(element, max_bytes)
    elif isinstance(content.get("items"), list) and content["items"]:
        yield from _list_pieces(element, max_bytes)
    elif isinstance(content.get("code"), str):
        yield from _text_pieces(element, "code", max_bytes)
    elif isinstance(content.get("text"), str):
        yield from _text_pieces(element, "text", max_bytes)
    else:
        yield element


# `json.dumps` with options makes an encoder for each call, which takes longer than most elements do.
_json = json.JSONEncoder(ensure_ascii=False, default=str).encode


def _bytes_of(value: Any) -> int:
    return bytes_in(_json(value))


def bytes_in(words: str) -> int:
    """The length of a text in UTF-8."""
    return len(words) if words.isascii() else len(words.encode("utf-8", "replace"))


# ----------------------------------------------------------------------------------------------------------- text, code


def _text_pieces(element: Element, key: str, max_bytes: int) -> Iterator[Element]:
    first_line = element.metadata["lines"][0] if "lines" in element.metadata else None
    # Half of the room: in JSON, every line break, quote and backslash takes two bytes.
    for words, start, count in _cut_lines(element.content[key], max_bytes // 2):
        metadata = dict(element.metadata)
        if first_line is not None:
            metadata["lines"] = [first_line + start, first_line + start + count - 1]
        yield Element(element.category, {**element.content, key: words}, metadata=metadata)


def _cut_lines(words: str, max_bytes: int) -> Iterator[tuple[str, int, int]]:
    """Groups of whole lines that fit, with the number of the first line and their count. Longer lines are cut."""
    piece: list[str] = []
    size = start = 0
    lines = words.splitlines(keepends=True)
    for number, line in enumerate(lines):
        length = bytes_in(line)
        if piece and size + length > max_bytes:
            yield "".join(piece), start, number - start
            piece, size, start = [], 0, number
        # A character takes at most four bytes in UTF-8, so a slice of this many characters always fits.
        place, cut = 0, max(1, max_bytes // 4)
        while length > max_bytes:  # slices by position, because a line may be as long as the file
            part = line[place : place + cut]
            yield part, number, 1
            length -= len(part.encode("utf-8", "replace"))
            place, start = place + cut, number
        piece.append(line[place:] if place else line)
        size += length
    if piece:
        yield "".join(piece), start, len(lines) - start or 1


# ---------------------------------------------------------------------------------------------------------------- table


def _table_pieces(element: Element, max_bytes: int) -> Iterator[Element]:
    """Pieces with some rows each, all with the headers."""
    rows, headers = element.content["rows"], element.content["headers"]
    room = max(1, max_bytes - _bytes_of({**element.content, "rows": []}) - OVERHEAD)
    sizes = [_bytes_of(row) + 2 for row in rows]
    for start, stop in _spans(sizes, room):
        content = {**element.content, "rows": rows[start:stop]}
        detail = content | {"total_rows": len(rows), "total_columns": len(headers)}
        metadata = {**element.metadata, "rows": [start + 1, stop]}
        # A row that is longer than a page. `detail` was made before, so level 3 has the whole row.
        if sizes and sizes[start] > room:
            content, metadata["shortened"] = {**content, "rows": [_cut_cells(rows[start], room)]}, True
        yield Element(element.category, content, element.summary, metadata, detail)


def _cut_cells(row: list[Any], room: int) -> list[Any]:
    """A row that is too long for a page, with the beginning of each cell. The detail has all of it."""
    # In characters, of at most four bytes each.
    longest = max(1, room // len(row) // 4)
    return [f"{cell[: longest - 1]}…" if isinstance(cell, str) and len(cell) > longest else cell for cell in row]


def _spans(sizes: Iterable[int], room: int) -> Iterator[tuple[int, int]]:
    """Ranges of things that fit together. One that does not fit is alone in its range."""
    start = stop = used = 0
    for stop, size in enumerate(sizes):
        if used + size > room and stop > start:
            yield start, stop
            start, used = stop, 0
        used += size
    # Also without any sizes: a table with headers only is still one piece.
    yield start, stop + 1


# ----------------------------------------------------------------------------------------------------------------- list


def _list_pieces(element: Element, max_bytes: int) -> Iterator[Element]:
    """Pieces with some items each. The numbering continues."""
    first = element.metadata.get("start", 1)
    room = max_bytes - _bytes_of({**element.content, "items": []}) - OVERHEAD
    for place, items in _groups(element.content["items"], max(room, _LEAST_ROOM)):
        metadata = {**element.metadata, "items": [place + 1, place + len(items)]}
        if element.content.get("ordered") and first + place != 1:
            metadata["start"] = first + place
        yield Element(element.category, {**element.content, "items": items}, metadata=metadata)


def _groups(items: list[Any], room: int) -> Iterator[tuple[int, list[Any]]]:
    """Items that fit together, and the position of the first. An item that is too long alone is divided."""
    sizes = [_bytes_of(item) + 2 for item in items]
    for start, stop in _spans(sizes, room):
        if sizes[start] <= room:
            yield start, items[start:stop]
        else:
            yield from ((start, [part]) for part in _item_parts(items[start], room))


def _item_parts(item: Any, room: int) -> Iterator[Any]:
    """An item in parts: its text, then pieces of the list inside it, each with the beginning of the text."""
    inside = cast("dict[str, Any]", item) if isinstance(item, dict) else {"text": item}
    words = str(inside.get("text", ""))
    # A long text is given once, in parts of its own. The pieces of the list inside repeat only its beginning.
    if len(words) > _REPEATED:
        yield from (part for part, _, _ in _cut_lines(words, room // 2))
        words = words[: _REPEATED - 1] + "…"
    if inside.get("items"):
        head: dict[str, Any] = {**inside, "text": words, "items": [], "start": len(inside["items"])}
        for place, items in _groups(inside["items"], max(room - _bytes_of(head), _LEAST_ROOM)):
            part = {**inside, "text": words, "items": items}
            yield {**part, "start": place + 1} if inside.get("ordered") and place else part
