"""The columns of a table without rules: the borders between them, and the texts of a line in each of them."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from itertools import pairwise

from a2c_documents.parsers.pdf.layout import Row, Segment, segments_of
from a2c_documents.parsers.pdf.table_heads import MOST_HEADERS
from a2c_documents.parsers.pdf.table_rows import is_number
from a2c_documents.parsers.pdf.tables import gaps_of, is_leader
from a2c_documents.parsers.pdf.words import parted

MIN_ROWS = 3
GAP, NARROW = 0.8, 0.3
"""The least gap through all rows, in letter sizes: between texts, and between words that are aligned."""
_DASHES = frozenset("-–—")
_SIGNS = frozenset("%‰°€$£¥")
"""Signs beside numbers, which are no column of their own."""
_ALIGNED = 1.6
"""Points by which the edges of a column differ."""


def borders_of(lines: list[list[Segment]], size: float) -> list[float]:
    """The borders of the columns: the middle of each gap that goes through all lines."""
    gaps = gaps_of([segment for line in lines for segment in line])
    return [-1e6, *((start + end) / 2 for start, end in gaps if end - start >= GAP * size), 1e6]


def refined(lines: list[list[Segment]], borders: list[float], size: float) -> list[float]:
    """The borders, with those between columns of numbers that are close to each other."""
    columns: list[list[list[Segment]]] = [[[] for _ in lines] for _ in borders]
    for number, line in enumerate(lines):
        for segment in line:
            columns[bisect(borders, (segment.x0 + segment.x1) / 2)][number].append(segment)
    more: list[float] = []
    for column in columns:
        # Most columns have one word in most lines, which is known without looking at the words.
        counts = [sum(len(item.pieces) or 1 for segment in line for item in segment.items) for line in column if line]
        if sum(count > 1 for count in counts) < (len(counts) - 1) // 2:
            continue
        held = [[word for segment in line for word in _words_in(segment)] for line in column]
        # A header may be wider than the numbers below it.
        titled = any(not is_number(word.words) and len(word.words) > 1 for word in held[0])
        body = [words for words in held[titled:] if words]
        if len(body) < MIN_ROWS or sum(len(words) > 1 for words in body) < len(body) // 2:
            continue
        for start, end in gaps_of([word for words in body for word in words]):
            sides = [word.words for words in body for word in words if word.x0 >= end - 1]
            short = sum(is_number(words) or len(words) == 1 for words in sides)
            if _SIGNS.issuperset(sides):
                continue
            if end - start < NARROW * size or len(sides) < MIN_ROWS or short < 0.6 * len(sides):
                continue
            if short == len(sides) or is_edge(body, (start, end)):
                more.append((start + end) / 2)
    return sorted([*borders, *more])


def shifted(lines: list[list[Segment]], borders: list[float]) -> list[float]:
    """The borders, moved inside their gaps to where no word of a header is crossed."""
    moved = list(borders)
    for number, border in enumerate(borders[1:-1], 1):
        # In a line with few texts, they are headers over several columns.
        full = [line for line in lines[:MOST_HEADERS] if len(line) >= 0.7 * (len(borders) - 1)]
        crossing = [segment for line in full for segment in line if segment.x0 + 1 < border < segment.x1 - 1]
        if not crossing:
            continue
        rest = [segment for line in lines for segment in line if not segment.x0 + 1 < border < segment.x1 - 1]
        low = max((segment.x1 for segment in rest if segment.x1 <= border + 1), default=border)
        high = min((segment.x0 for segment in rest if segment.x0 >= border - 1), default=border)
        for segment in crossing:
            words = sorted(_words_in(segment), key=lambda word: word.x0)
            # The text may be in one of the columns, and only reach into the gap.
            gaps = [(low, segment.x0), (segment.x1, high)]
            gaps += [(max(low, first.x1), min(high, second.x0)) for first, second in pairwise(words)]
            found = next((gap for gap in gaps if gap[1] - gap[0] > 1), None)
            if found is not None:
                moved[number] = (found[0] + found[1]) / 2
    return moved


def divided(line: list[Segment], borders: list[float], lines: list[list[Segment]]) -> list[Segment]:
    """The texts of a line, with those divided that are close to each other, but in different columns."""
    divided: list[Segment] = []
    for segment in line:
        inner = [border for border in borders if segment.x0 + 2 < border < segment.x1 - 2]
        words = [word for item in segment.items for word in parted(item)] if inner else []
        parts = segments_of(words, 1e9, inner) if len(words) > 1 else [segment]
        marks = all(is_number(part.words) or len(part.words) == 1 for part in parts)
        if len(parts) > 1 and (marks or all(_is_under(part, borders, lines) for part in parts)):
            divided += parts
        else:
            divided.append(segment)
    return divided


def _is_under(part: Segment, borders: list[float], lines: list[list[Segment]]) -> bool:
    """Whether a part of a text is where the other texts of its column are."""
    at = bisect(borders, (part.x0 + part.x1) / 2)
    low, high = borders[at - 1], borders[at]
    if part.x0 < low - 1 or part.x1 > high + 1:
        return False
    others = [other for line in lines for other in line if low - 1 <= other.x0 and other.x1 <= high + 1]
    return any(abs(part.x0 - other.x0) < 3 or abs(part.x1 - other.x1) < 3
               or abs(part.x0 + part.x1 - other.x0 - other.x1) < 6 for other in others)  # fmt: skip


def _words_in(segment: Segment) -> list[Segment]:
    words = [word for item in segment.items for word in parted(item)]
    return [Segment(word.x0, word.x1, [word]) for word in words if not is_leader(word.text)]


def words_in(row: Row) -> list[Segment]:
    """Each word of a row."""
    words = sorted((word for item in row.items for word in parted(item)), key=lambda word: word.x0)
    return [Segment(word.x0, word.x1, [word]) for word in words if not is_leader(word.text)]


def common_gaps(
    gaps: list[tuple[float, float]], own: list[tuple[float, float]], least: float
) -> list[tuple[float, float]]:
    """The parts of gaps that the words of a row leave open, with words on both sides."""
    found: list[tuple[float, float]] = []
    for start, end in gaps:
        for left, right in own:
            low, high = max(start, left), min(end, right)
            if high - low >= least:
                found.append((low, high))
    return found


def is_edge(lines: list[list[Segment]], gap: tuple[float, float]) -> bool:
    """Whether the words of most lines end at the left side of a gap, or begin at its right side."""
    ends = [min((abs(word.x1 - gap[0]) for word in line if word.x1 < gap[1]), default=None) for line in lines]
    begins = [min((abs(word.x0 - gap[1]) for word in line if word.x0 > gap[0]), default=None) for line in lines]
    sides = [[away for away in side if away is not None] for side in (ends, begins)]
    if any(len(side) > 1 and sum(away < _ALIGNED for away in side) >= 0.7 * len(side) for side in sides):
        return True
    # Names on the left, and numbers that are aligned at their other side.
    left = [max((word for word in line if word.x1 < gap[1]), key=lambda word: word.x1, default=None) for line in lines]
    right = [min((word for word in line if word.x0 > gap[0]), key=lambda word: word.x0, default=None) for line in lines]
    names = sum(word is not None and not is_number(word.words) for word in left)
    # A dash stands for a missing number.
    numbers = all(word is not None and (is_number(word.words) or word.words in _DASHES) for word in right[1:])
    return numbers and names >= 0.7 * len(lines)


def by_words(row: Row, borders: Sequence[float]) -> list[Segment]:
    """The texts of a row whose words are in columns although they are close to each other; empty if they are not."""
    words = words_in(row)
    if any(word.x0 + 1 < border < word.x1 - 1 for word in words for border in borders):
        return []
    parts = gathered(words, borders)
    # Words of a sentence may be in columns by chance; numbers and marks are not.
    short = all(is_number(part.words) or len(part.words) == 1 for part in parts[1:])
    return parts if len(parts) > 1 and short else []


def gathered(words: list[Segment], borders: Sequence[float]) -> list[Segment]:
    """The words of a line in each column as one text."""
    found: dict[int, Segment] = {}
    for word in words:
        at = bisect(borders, (word.x0 + word.x1) / 2)
        held = found.get(at)
        if held is None:
            found[at] = word
        else:
            found[at] = Segment(held.x0, word.x1, [*held.items, *word.items])
    return list(found.values())


def widths_of(lines: list[list[Segment]], places: list[list[int]], borders: list[float]) -> list[float]:
    """The width of the widest text that is in one column only."""
    widths = [0.0] * (len(borders) - 1)
    for line, at in zip(lines, places, strict=True):
        for segment, column in zip(line, at, strict=True):
            if segment.x0 > borders[column] - 1 and segment.x1 < borders[column + 1] + 1:
                widths[column] = max(widths[column], segment.x1 - segment.x0)
    return widths
