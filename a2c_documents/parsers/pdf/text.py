"""Lines of a column as headings, paragraphs, lists, code and tables; lines at a page's edge as header and footer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from a2c_documents.model import Element, code, heading, note, text
from a2c_documents.parsers.pdf.aligned import AlignedTables
from a2c_documents.parsers.pdf.frame import Box
from a2c_documents.parsers.pdf.layout import CELL_GAP, Row, bounds, rows_of, segments_of, words_of
from a2c_documents.parsers.pdf.lines import Line, code_of, joined, line_of, list_from, marker_of
from a2c_documents.parsers.pdf.words import Item, is_rtl

_PAGE_NUMBER = re.compile(r"(?:[-–—]\s*)?(?:page\s+|p\.\s*)?(?:\d{1,6}|[ivxlc]{1,7})(?:\s*(?:/|of|von|de)\s*\d{1,6})?"
                          r"(?:\s*[-–—])?", re.IGNORECASE)  # fmt: skip
_WORDY = re.compile(r"\w\W*\w")
_EDGE = 0.14
"""Of the page's height: a header and a footer stand within it."""
_MAX_HEADING = 200


@dataclass(slots=True)
class Block:
    """An element and where it stands, in the frame of the words."""

    element: Element
    box: Box


@dataclass(slots=True)
class Style:
    """What is usual on the page."""

    size: float
    mono: bool
    titles: Mapping[str, int] = field(default_factory=dict[str, int])
    """Titles of the outline that point at this page, and their level."""


@dataclass(slots=True)
class _Shape:
    """The column that lines stand in."""

    left: float
    right: float
    pitch: float
    to_left: bool
    """Lines begin at its left edge; they do not where a text is centred, or set to the right."""


def style_of(items: Sequence[Item], titles: Mapping[str, int]) -> Style:
    """The size of most letters, and whether most are those of a typewriter."""
    exact: dict[float, int] = {}
    mono = total = 0
    for item in items:
        length = len(item.text)
        exact[item.size] = exact.get(item.size, 0) + length
        total += length
        mono += length if item.mono else 0
    sizes: Counter[float] = Counter()
    for size, length in exact.items():
        sizes[round(size * 2) / 2] += length
    return Style(sizes.most_common(1)[0][0] if sizes else 10.0, mono * 2 > total, titles)


def blocks_of(column: Sequence[Item], style: Style) -> list[Block]:
    """The elements of one column, from top to bottom."""
    rows = rows_of(column)
    tables = AlignedTables(rows)
    blocks: list[Block] = []
    lines: list[Line] = []
    at = 0
    while at < len(rows):
        row = rows[at]
        held = row.block
        found = tables.at(at) if held is None else None
        if held is None and found is None:
            line = line_of(row)
            line.level = _level(line, style)
            lines.append(line)
            at += 1
            continue
        blocks += _text_blocks(lines, style)
        lines = []
        if held is not None and held.block is not None:
            blocks.append(Block(held.block, held.box))
            at += 1
        elif found is not None:
            blocks.append(Block(found[1].element, found[1].box))
            at += found[0]
    return blocks + _text_blocks(lines, style)


def take_edges(
    items: list[Item], start: float, end: float, style: Style
) -> tuple[list[Block], list[Item], list[Block]]:
    """Running header, the rest, running footer, of a page that goes from `start` to `end`.

    Only lines that have a page number, or are far smaller than the text.
    """
    edge = (end - start) * _EDGE
    rows = rows_of(items)
    top: list[Block] = []
    bottom: list[Block] = []
    while len(rows) > 1 and _is_edge(rows[0], rows[1], rows[0].base < start + edge, style):
        top.append(_edge("header", rows.pop(0)))
    while len(rows) > 1 and _is_edge(rows[-1], rows[-2], rows[-1].base > end - edge, style):
        bottom.insert(0, _edge("footer", rows.pop()))
    return top, [item for row in rows for item in row.items], bottom


def _is_edge(row: Row, inner: Row, at_edge: bool, style: Style) -> bool:
    if not at_edge or row.block is not None or abs(inner.base - row.base) < 1.2 * style.size:
        return False
    if row.size < 0.75 * style.size:
        return True
    parts = [words_of(segment.items) for segment in segments_of(row.items, CELL_GAP)]
    numbers = [_PAGE_NUMBER.fullmatch(part) is not None for part in parts]
    alone = abs(inner.base - row.base) > 1.7 * style.size and row.size < 1.5 * style.size
    return alone and (numbers[0] or numbers[-1]) and len(parts) <= 4 and (len(parts) == 1 or not all(numbers))


def _edge(category: str, row: Row) -> Block:
    return Block(note(category, words_of(row.items)), bounds(row.items))


# ----------------------------------------------------------------------------------------------------------- paragraphs


def _text_blocks(lines: list[Line], style: Style) -> list[Block]:
    if not lines:
        return []
    shape = _shape(lines)
    blocks: list[Block] = []
    group: list[Line] = []
    items: list[list[Line]] = []
    for line in lines:
        above = items[-1][-1] if items else group[-1] if group else None
        if above is not None and _is_new(above, line, shape, style, items[-1] if items else []):
            if items and marker_of(line.words) and line.base - above.base < 2.5 * line.size and not group:
                items.append([line])
                continue
            blocks += _finished(group, items, style)
            group, items = [], []
        if not group and not items and marker_of(line.words) and line.level == 0:
            items = [[line]]
        elif items:
            items[-1].append(line)
        else:
            group.append(line)
    return blocks + _finished(group, items, style)


def _shape(lines: list[Line]) -> _Shape:
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    steps = sorted(second.base - first.base for first, second in pairwise(lines))
    pitch = steps[len(steps) // 3] if steps else lines[0].size * 1.2
    begun = sum(1 for line in lines if line.x0 - left < 2 * line.size)
    return _Shape(left, right, pitch, begun * 3 >= len(lines))


def _is_new(above: Line, line: Line, shape: _Shape, style: Style, item: list[Line]) -> bool:
    """Whether a line begins something new, and does not go on with the one above it."""
    left, right, pitch = shape.left, shape.right, shape.pitch
    step, size = line.base - above.base, line.size
    if abs(above.size - size) > 0.12 * max(above.size, size) or (above.mono != line.mono and not style.mono):
        return True
    if step > max(1.35 * pitch, 1.15 * size) and step > 1.35 * size:
        return True
    if line.parted or above.parted or marker_of(line.words) or line.level != above.level:
        return True
    if line.mono and not style.mono:
        return False
    room = right - left - (above.x1 - above.x0)
    if line.level:
        return room > line.first + 2.5 * size
    # The next word would have had room, and much more: the line above was meant to end there.
    ended = room > max(line.first + 1.2 * size, 0.25 * (right - left)) and not above.hyphen
    if is_rtl(line.words) or not shape.to_left:
        return ended
    # A line is indented against the one above it where a paragraph begins; an item's lines go on under its text.
    indented = line.x0 - above.x0 > 0.7 * size and line.x0 - left > 0.7 * size
    if indented and (not item or above is not item[0]):
        return True
    return ended and (not item or line.x0 <= max(left, item[0].x0) + 1)


def _finished(group: list[Line], items: list[list[Line]], style: Style) -> list[Block]:
    if items:
        box = bounds([item for lines in items for line in lines for item in line.items])
        return [Block(list_from(items), box)]
    if not group:
        return []
    box = bounds([item for line in group for item in line.items])
    if group[0].mono and not style.mono:
        return [Block(code(code_of(group)), box)]
    words = joined(group)
    level = group[0].level
    if level and len(words) <= _MAX_HEADING and _is_title(words, len(group), level):
        return [Block(heading(words, level), box)]
    return [Block(text(words), box)]


def _level(line: Line, style: Style) -> int:
    """The level of a heading in such letters; 0 where they are those of the text."""
    if line.parted or _WORDY.search(line.words) is None:
        return 0
    named = style.titles.get(_plain(line.words)) if style.titles else None
    if named is not None:
        return named
    ratio = line.size / style.size
    if ratio >= 1.15:
        return 1 if ratio >= 1.7 else 2 if ratio >= 1.35 else 3
    return 4 if line.bold and ratio >= 0.95 and len(line.words) > 1 else 0


def _is_title(words: str, lines: int, level: int) -> bool:
    """Whether words in larger or bolder letters are a title, and not a sentence."""
    if level == 1:
        return True
    ended = words.endswith((".", ",", ";")) and not words.endswith("...")
    begun = not words[0].islower() or level < 3
    return lines <= 3 and len(words) <= 150 and not ended and begun and any(letter.isalnum() for letter in words)


def plain_titles(titles: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Titles of the outline as lines can be compared with them."""
    return {plain: min(level + 1, 6) for title, level in titles if (plain := _plain(title))}


def _plain(words: str) -> str:
    return "".join(letter for letter in words.casefold() if letter.isalnum())
