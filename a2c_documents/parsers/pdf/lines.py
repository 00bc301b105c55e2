"""Lines of words, and what several of them make together: a paragraph's text, code, a list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from a2c_documents.model import Element, list_of, text
from a2c_documents.parsers.pdf.layout import Row, join, segments_of, words_of
from a2c_documents.parsers.pdf.words import Item, is_rtl

_BULLET = re.compile(r"[•◦▪▫‣⁃●○■□◆◇➢➤✓✔►▶·\uf0b7\uf0a7\uf0d8]|[-–—*](?=\s)")
_NUMBER = re.compile(r"(\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]|\[\d{1,3}\])(?=\s)")
_WIDE = 2.0
"""Of a letter's size: a gap within a line that no heading and no sentence has."""


@dataclass(slots=True)
class Line:
    """A line, and how its letters look."""

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
    """Width of its first word."""
    parted: bool
    """There is a wide gap in it."""
    level: int = 0
    """Of a heading in such letters; 0 where they are those of the text."""


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
    """The lines as one text. A hyphen at a line's end goes where the next line goes on with a small letter."""
    words = ""
    broken = False
    for line in lines:
        if broken and words.endswith(("-", "\u00ad")) and line.words[:1].islower():
            words = words[:-1] + line.words
        else:
            words = words + line.words if broken and words.endswith("-") else join(words, line.words)
        # Either pdfium knows it, or a letter stands before the hyphen.
        broken = line.hyphen or (len(line.words) > 2 and line.words[-1] in "-\u00ad" and line.words[-2].isalpha())
    return words


def code_of(lines: Sequence[Line]) -> str:
    """Lines with the indentation that they have on the page."""
    start = min(line.x0 for line in lines)
    out: list[str] = []
    for line in lines:
        width = (line.x1 - line.x0) / max(len(line.words), 1) or 1.0
        out.append(" " * max(0, min(60, round((line.x0 - start) / width))) + line.words)
    return "\n".join(out)


def marker_of(words: str) -> str:
    """The bullet or number that a line begins with; empty where it begins with none."""
    found = _BULLET.match(words) or _NUMBER.match(words)
    return found.group() if found is not None else ""


def list_from(items: list[list[Line]]) -> Element:
    """A list, nested by indentation. A number alone makes no list: dates and initials begin with one, too."""
    marks = [marker_of(lines[0].words) for lines in items]
    bullets = _BULLET.match(marks[0]) is not None
    if not bullets and len(items) == 1:
        return text(joined(items[0]))
    counted = [mark.strip("().[]") for mark in marks]
    ordered = not bullets and counted == [str(number) for number in range(1, len(items) + 1)] and "[" not in marks[0]
    edges: list[float] = []
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
