"""Lines of a column as headings, paragraphs, lists, code and tables; lines at a page's edge as header and footer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from a2c_documents.model import Element, code, heading, list_of, note, text
from a2c_documents.parsers.pdf.aligned_tables import AlignedTables, Around
from a2c_documents.parsers.pdf.geometry import Box
from a2c_documents.parsers.pdf.layout import CELL_GAP, Row, bounds, join, rows_of, segments_of, words_of
from a2c_documents.parsers.pdf.words import Item, is_rtl

_BULLET = re.compile(r"[•◦▪▫‣⁃●○■□◆◇➢➤►▶·\uf0b7\uf0a7\uf0d8]|[-–—*](?=\s)")
# In forms, a box or a tick is an answer. A box alone at the beginning of a line is a bullet, unless its script has
# forms with boxes everywhere.
_BOX = re.compile(r"[☐☑☒✓✔✗✘]|[□■](?=.*[□■☐☑☒✓✔\u2e80-\u9fff\uac00-\ud7ff])")
_ANSWER = re.compile("[☐☑☒✓✔□√]")
_NUMBER = re.compile(r"(\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]|\[\d{1,3}\])(?=\s)")
_WIDE = 2.0
"""The width of a gap that neither a heading nor a sentence has, in letter sizes."""


@dataclass(slots=True)
class Line:
    """A line of text, and the look of its letters."""

    words: str
    items: list[Item]
    x0: float
    x1: float
    base: float
    size: float
    bold: bool
    mono: bool
    hyphen: bool
    first: float
    """The width of its first word."""
    parted: bool
    """Whether it has a wide gap."""
    level: int = 0
    """The level of a heading with this look; 0 for running text."""


def line_of(row: Row) -> Line:
    """A row of one column."""
    words = words_of(row.items)
    rtl = is_rtl(words)
    items = sorted(row.items, key=lambda item: item.order if rtl else item.x0)
    length = sum(len(item.text) for item in items)
    big: Counter[float] = Counter()
    for item in items:
        big[item.size] += len(item.text)
    return Line(
        words,
        row.items,
        min(item.x0 for item in items),
        max(item.x1 for item in items),
        row.base,
        big.most_common(1)[0][0],
        sum(len(item.text) for item in items if item.bold) * 10 >= length * 9,
        all(item.mono for item in items),
        items[-1].hyphen,
        items[0].first,
        len(row.items) > 1 and len(segments_of(row.items, _WIDE)) > 1,
    )


def joined(lines: Sequence[Line]) -> str:
    """The lines as one text. A hyphen at the end of a line is removed if the next line begins in lower case."""
    words = ""
    broken = False
    for line in lines:
        if broken and words.endswith(("-", "\u00ad")) and line.words[:1].islower():
            words = words[:-1] + line.words
        else:
            # Before a capital or a digit the hyphen is part of the word.
            words = words + line.words if broken and words.endswith("-") else join(words, line.words)
        # pdfium marks the hyphens that it recognizes. Otherwise a letter directly before it shows a divided word.
        broken = line.hyphen or (len(line.words) > 2 and line.words[-1] in "-\u00ad" and line.words[-2].isalpha())
    return words


def code_of(lines: Sequence[Line]) -> str:
    """The lines, with their indentation on the page."""
    start = min(line.x0 for line in lines)
    out: list[str] = []
    for line in lines:
        width = (line.x1 - line.x0) / max(len(line.words), 1) or 1.0
        out.append(" " * max(0, min(60, round((line.x0 - start) / width))) + line.words)
    return "\n".join(out)


def marker_of(words: str) -> str:
    """The bullet or number at the beginning of a line; empty if there is none."""
    if _BOX.match(words) is not None:
        return ""
    found = _BULLET.match(words) or _NUMBER.match(words)
    return found.group() if found is not None else ""


def list_from(items: list[list[Line]]) -> Element:
    """A list, nested by indentation. A single line with a number is no list: dates and initials look the same."""
    marks = [marker_of(lines[0].words) for lines in items]
    bullets = _BULLET.match(marks[0]) is not None
    if not bullets and len(items) == 1:
        return text(joined(items[0]))
    counted = [mark.strip("().[]") for mark in marks]
    # Only numbers that count from 1 can be left to the client. Letters, Roman numerals and references stay in the text.
    ordered = not bullets and counted == [str(number) for number in range(1, len(items) + 1)] and "[" not in marks[0]
    edges: list[float] = []
    # Items whose indentations differ by a few points are at the same level.
    for x in sorted(lines[0].x0 for lines in items):
        if not edges or x - edges[-1] > 6:
            edges.append(x)
    made: list[Any] = []
    open_lists: list[tuple[int, list[Any]]] = [(0, made)]
    for lines, mark in zip(items, marks, strict=True):
        words = joined(lines)
        words = words[len(mark) :].strip() if ordered or _BULLET.match(mark) else words
        level = max(index for index, x in enumerate(edges) if lines[0].x0 >= x - 0.01)
        while len(open_lists) > 1 and open_lists[-1][0] > level:
            open_lists.pop()
        holder = open_lists[-1][1]
        if level > open_lists[-1][0] and holder:
            parent: Any = holder[-1]
            if isinstance(parent, str):
                empty: list[Any] = []
                parent = holder[-1] = {"text": parent, "items": empty, "ordered": False}
            nested: list[Any] = parent["items"]
            open_lists.append((level, nested))
            holder = nested
        holder.append(words)
    return list_of(made, ordered=ordered)


# --------------------------------------------------------------------------------------------------------------- blocks


_PAGE_NUMBER = re.compile(r"(?:[-–—]\s*)?(?:page\s+|p\.\s*)?(?:\d{1,6}|[ivxlc]{1,7})(?:\s*(?:/|of|von|de)\s*\d{1,6})?"
                          r"(?:\s*[-–—])?", re.IGNORECASE)  # fmt: skip
_WORDY = re.compile(r"\w\W*\w")
_EDGE = 0.14
"""The share of the page's height, at the top and at the bottom, in which header and footer are."""
_MAX_HEADING = 200
_LARGER, _PRINT = 1.15, 2.0
"""How much larger headings are than running text at least, and running text than small print at most."""
_LONG_LINE, _MANY_WORDS = 60, 8
_RUNNING, _SHARE = 300, 0.15
"""Letters of one size, and their share of the page, above which they are running text."""


@dataclass(slots=True)
class Block:
    """An element and its box, in the frame of the words."""

    element: Element
    box: Box


@dataclass(slots=True)
class Style:
    """The usual look of the text on a page."""

    size: float
    largest: float
    """The largest size of running text. On a page full of notes and forms, most letters are smaller."""
    mono: bool
    titles: Mapping[str, int] = field(default_factory=dict[str, int])
    """Titles of the outline that point at this page, and their level."""


@dataclass(slots=True)
class _Shape:
    """The column that contains the lines."""

    left: float
    right: float
    pitch: float
    to_left: bool
    """Whether lines begin at its left edge. They do not in centred or right-aligned text."""


def style_of(items: Sequence[Item], titles: Mapping[str, int]) -> Style:
    """The size of most letters, and whether most of them are monospaced."""
    exact: dict[float, int] = {}
    mono = total = 0
    for item in items:
        length = len(item.text)
        exact[item.size] = exact.get(item.size, 0) + length
        total += length
        mono += length if item.mono else 0
    sizes: Counter[float] = Counter()
    # Scaling leaves the same font with slightly different sizes, so they are rounded to half a point.
    for size, length in exact.items():
        sizes[round(size * 2) / 2] += length
    usual = sizes.most_common(1)[0][0] if sizes else 10.0
    running = [size for size, length in sizes.items() if length > max(_RUNNING, _SHARE * total) and size <= 2 * usual]
    largest = max([usual, *running])
    if max(sizes, default=0.0) >= _LARGER * largest:
        # On a page of small print, even a few sentences in a larger size show that it is one of running text.
        told = [item.size for item in items if item.size >= _LARGER * largest and _is_sentence(item.text)]
        largest = max([largest, *(size for size in told if size <= _PRINT * largest)])
    return Style(usual, largest, mono * 2 > total, titles)


def _is_sentence(words: str) -> bool:
    return len(words) > _LONG_LINE and words.endswith((".", ";", ",")) and words.count(" ") > _MANY_WORDS


def blocks_of(column: Sequence[Item], style: Style, around: Around) -> list[Block]:
    """The elements of one column, from top to bottom."""
    rows = rows_of(column)
    tables = AlignedTables(rows, around)
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
            blocks += [Block(table.element, table.box) for table in found[1]]
            at += found[0]
    return blocks + _text_blocks(lines, style)


def take_edges(
    items: list[Item], ends: tuple[float, float], style: Style, is_running: Callable[[Row], bool]
) -> tuple[list[Block], list[Item], list[Block]]:
    """The header, the rest and the footer of a page between its two ends.

    A header or footer has a page number, is much smaller than the text, or is on the pages around this one, too.
    """
    start, end = ends
    edge = (end - start) * _EDGE
    rows = rows_of(items)
    top: list[Block] = []
    bottom: list[Block] = []
    while len(rows) > 1 and rows[0].base < start + edge and _is_edge(rows[0], rows[1], style, is_running):
        top.append(_edge("header", rows.pop(0)))
    while len(rows) > 1 and rows[-1].base > end - edge and _is_edge(rows[-1], rows[-2], style, is_running):
        bottom.insert(0, _edge("footer", rows.pop()))
    return top, [item for row in rows for item in row.items], bottom


def _is_edge(row: Row, inner: Row, style: Style, is_running: Callable[[Row], bool]) -> bool:
    distance = abs(inner.base - row.base)
    if row.block is not None or distance < 1.2 * style.size:
        return False
    if row.size < 0.75 * style.size:
        return True
    parts = [words_of(segment.items) for segment in segments_of(row.items, CELL_GAP)]
    numbers = [_PAGE_NUMBER.fullmatch(part) is not None for part in parts]
    alone = distance > 1.7 * style.size and row.size < 1.5 * style.size
    # A row of several numbers and nothing else is the end of a table.
    if alone and (numbers[0] or numbers[-1]) and len(parts) <= 4 and (len(parts) == 1 or not all(numbers)):
        return True
    # A table over several pages has the same headers on each of them, with the cells of a row next to them.
    is_top = inner.base > row.base
    is_table = len(parts) > 2 or (len(parts) > 1 and len(segments_of(inner.items, CELL_GAP)) > 1)
    # Slides that follow each other can have the same title, which is larger than the text.
    return alone and not (is_top and is_table) and row.size < 1.15 * style.largest and is_running(row)


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
    # Distances between paragraphs are larger than those between lines. In a column of short paragraphs, even the median
    # may be one of them.
    pitch = steps[len(steps) // 3] if steps else lines[0].size * 1.2
    begun = sum(1 for line in lines if line.x0 - left < 2 * line.size)
    return _Shape(left, right, pitch, begun * 3 >= len(lines))


def _is_new(above: Line, line: Line, shape: _Shape, style: Style, item: list[Line]) -> bool:
    """Whether a line begins a new block, and does not continue the one above."""
    left, right, pitch = shape.left, shape.right, shape.pitch
    step, size = line.base - above.base, line.size
    if abs(above.size - size) > 0.12 * max(above.size, size) or (above.mono != line.mono and not style.mono):
        return True
    if step > max(1.35 * pitch, 1.15 * size) and step > 1.35 * size:
        return True
    if line.parted or above.parted or marker_of(line.words) or _BOX.match(line.words) or line.level != above.level:
        return True
    # In a form, each line of boxes is an answer.
    if _ANSWER.search(line.words) and _ANSWER.search(above.words):
        return True
    # The indentation and the lengths of lines of code say nothing about paragraphs.
    if line.mono and not style.mono:
        return False
    room = right - left - (above.x1 - above.x0)
    if line.level:
        return room > line.first + 2.5 * size
    # The first word of this line would have fitted into the line above, with much room left: a paragraph ends there.
    ended = room > max(line.first + 1.2 * size, 0.25 * (right - left)) and not above.hyphen
    if is_rtl(line.words) or not shape.to_left:
        return ended
    # An indented line begins a paragraph. The second line of a list item is indented, too: it is below the text of the
    # item, to the right of its bullet.
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
    """The level of a heading with the look of this line; 0 for running text."""
    if line.parted or _WORDY.search(line.words) is None:
        return 0
    named = style.titles.get(_plain(line.words)) if style.titles else None
    # The outline of the file is certain. The size of letters is only a guess.
    if named is not None:
        return named
    ratio = line.size / style.largest
    if ratio >= _LARGER:
        return 1 if ratio >= 1.7 else 2 if ratio >= 1.35 else 3
    return 4 if line.bold and ratio >= 0.95 and len(line.words) > 1 else 0


def _is_title(words: str, lines: int, level: int) -> bool:
    """Whether words in larger or bold letters are a title, and not a sentence."""
    if level == 1:
        return True
    ended = words.endswith((".", ",", ";")) and not words.endswith("...")
    # Large letters are a title even in lower case. Bold ones may be emphasized words in the middle of a sentence.
    begun = not words[0].islower() or level < 3
    return lines <= 3 and len(words) <= 150 and not ended and begun and any(letter.isalnum() for letter in words)


def plain_titles(titles: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Titles of the outline in the form in which lines are compared with them, and their levels."""
    return {plain: min(level + 1, 6) for title, level in titles if (plain := _plain(title))}


def _plain(words: str) -> str:
    # An outline and its page differ in spaces, case and punctuation.
    return "".join(letter for letter in words.casefold() if letter.isalnum())
