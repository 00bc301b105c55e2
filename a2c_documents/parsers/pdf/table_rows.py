"""Lines of text as rows of a table: a cell may have several lines, and its neighbours fewer, above or between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from a2c_documents.parsers.pdf.layout import Segment, join

_PERIOD = re.compile(r"(?:.*\D)?(?:18|19|20|21)\d\d(?:\D.*)?|(?:FY|[QH]\d[ /-]?)(?:20)?\d\d", re.IGNORECASE)
_SHAPE = re.compile(r"\d(?:[.,'’\s]?\d)*")
_LEADING = 1.5
"""The greatest distance between the lines of one cell, in letter sizes."""
_SAME = 1.08
"""Distances that differ by less than this factor are equal."""
_CLEAR = 1.15
_SOME, _MANY, _MOST = 0.25, 0.6, 0.75
_OFTEN = 0.2
"""The share of greater distances that divide rows; rarer ones divide groups of rows."""
_SPACE = 0.25
_LINES = 14
"""Of one cell, in a table without lines between its rows."""
_HYPHENATED = re.compile(r"[^\W\d_]-$")


# A table is searched for its columns, its rows and its headers, each of which asks about all cells.
@lru_cache(maxsize=20_000)
def is_number(words: str) -> bool:
    """Whether a cell holds a number, with its unit, sign, currency or range."""
    if words.isdecimal():
        return True
    if len(words) > 30:
        return False
    digits = sum(map(str.isdecimal, words))
    letters = sum(map(str.isalpha, words))
    # "Q1" and "H2" are names; "12 kJ" and "EUR 5.00" are numbers.
    return digits > 0 and (
        letters == 0 or (letters <= 4 and digits >= 2 * letters) or (letters <= 3 and words[0].isdecimal())
    )


def is_period(words: str) -> bool:
    """Whether a text names a year, or a month or day of one: as likely a header as a value."""
    return len(words) < 25 and _PERIOD.fullmatch(words) is not None


def shape_of(words: str) -> str:
    """A number without its value: `9:9` for a time, `9 %` for a percentage."""
    return _SHAPE.sub("9", words)


@dataclass(slots=True)
class Pair:
    """Two texts of one column, one directly below the other."""

    column: int
    above: int
    below: int
    step: float
    """Between their baselines, in letter sizes."""
    numbers: bool
    """Whether both are numbers: a number is never continued in the next line."""
    fits: bool
    """Whether the lower text begins with a word for which the upper line has room."""


def grouped(lines: Sequence[list[Segment]], places: Sequence[list[int]], pairs: Sequence[Pair]) -> list[list[int]]:
    """The numbers of the lines of each row, given the column of each text."""
    tight = _tight(pairs, lines)
    if not tight:
        return _continued(lines, places, pairs)
    together = [False] * len(lines)
    for pair in pairs:
        if pair.step <= tight and not pair.numbers:
            for number in range(pair.above, pair.below):
                together[number] = True
    bases = [min(segment.items[0].base for segment in line) for line in lines]
    for pair in pairs:
        inner = range(pair.above, pair.below)
        # Two numbers are two cells, so a row ends somewhere between them: where the distance is greatest.
        if pair.numbers and all(together[number] for number in inner):
            together[max(inner, key=lambda number: bases[number + 1] - bases[number])] = False
    rows: list[list[int]] = []
    for number in range(len(lines)):
        if number and together[number - 1]:
            rows[-1].append(number)
        else:
            rows.append([number])
    return rows


def is_one_row(pairs: Sequence[Pair]) -> bool:
    """Whether lines between two rules are one row: their texts continue below because their columns are full."""
    numbers = sum(pair.numbers for pair in pairs)
    two = sum(pair.numbers or pair.fits for pair in pairs)
    return two * 2 <= len(pairs) and not _are_rows(numbers, len(pairs))


def has_rows(lines: Sequence[list[Segment]], pairs: Sequence[Pair]) -> bool:
    """Whether lines are clearly several rows, although other rows of the table have rules around them."""
    numbers = sum(pair.numbers for pair in pairs)
    two = sum(pair.numbers or pair.fits for pair in pairs)
    return _are_rows(numbers, len(pairs)) or (len(lines) > 1 and two >= _MOST * len(pairs))


def _are_rows(numbers: int, pairs: int) -> bool:
    return numbers > 1 and numbers >= _SOME * pairs


def is_prose(lines: Sequence[list[Segment]], places: Sequence[list[int]], widths: Sequence[float]) -> bool:
    """Whether the columns are columns of running text: nearly every line is full and continues in the next one."""
    # Most tables are told apart by their few words.
    words = sum(segment.words.count(" ") + 1 for line in lines for segment in line)
    if len(lines) < 5 or words <= 2.5 * sum(map(len, lines)):
        return False
    pairs = pairs_of(lines, places, widths)
    tight = min((pair.step for pair in pairs), default=0.0) * _SAME
    if any(pitch > _CLEAR * tight for pitch in pitches(lines)):
        return False
    full = [pair for pair in pairs if pair.step <= tight and not pair.numbers and not pair.fits]
    return len(full) > 0.8 * len(pairs)


def stacked(lines: Sequence[list[str]]) -> list[str]:
    """The texts of several lines as one row."""
    row = list(lines[0])
    for line in lines[1:]:
        row = [_goes_on(above, below) for above, below in zip(row, line, strict=True)]
    return row


def _goes_on(above: str, below: str) -> str:
    if _HYPHENATED.search(above) and below[:1].islower():
        return above[:-1] + below
    return join(above, below)


def pairs_of(lines: Sequence[list[Segment]], places: Sequence[list[int]], widths: Sequence[float]) -> list[Pair]:
    """The texts of each column with those below them, given the column of each text and the room in each column."""
    last: dict[int, tuple[int, Segment]] = {}
    pairs: list[Pair] = []
    for number, (line, columns) in enumerate(zip(lines, places, strict=True)):
        for segment, column in zip(line, columns, strict=True):
            before = last.get(column)
            last[column] = number, segment
            if before is None or before[0] == number:
                continue
            above, size = before[1], max(segment.items[0].size, 1.0)
            step = (segment.items[0].base - above.items[0].base) / size
            needed = above.x1 - above.x0 + _SPACE * size + segment.items[0].first
            both = is_number(above.words) and is_number(segment.words)
            pairs.append(Pair(column, before[0], number, step, both, needed <= widths[column]))
    return pairs


def _tight(pairs: Sequence[Pair], lines: Sequence[list[Segment]]) -> float:
    """The greatest distance between lines of one cell; 0 if the distances do not tell them from rows."""
    steps = sorted(pair.step for pair in pairs)
    if not steps or steps[0] > _LEADING:
        return 0.0
    tight = steps[0] * _SAME
    close = [pair for pair in pairs if pair.step <= tight]
    fitting = sum(pair.fits for pair in close)
    # If numbers are as close as this, it is the distance between rows.
    if sum(pair.numbers for pair in close) > _SOME * len(close) or fitting > _MANY * len(close):
        return 0.0
    # Lines of which none is further from the one above are all rows, or all one row.
    steps_between = pitches(lines)
    wider = [pitch for pitch in steps_between if pitch > tight]
    if not wider:
        return 0.0
    often = min(wider) >= _CLEAR * steps[0] and len(wider) >= _OFTEN * len(steps_between)
    return tight if often or fitting <= _SOME * len(close) else 0.0


def _continued(lines: Sequence[list[Segment]], places: Sequence[list[int]], pairs: Sequence[Pair]) -> list[list[int]]:
    """Each line is a row, unless it only continues texts of the row above."""
    close = min((pair.step for pair in pairs), default=0.0) * _SAME
    fitting = {(pair.below, pair.column) for pair in pairs
               if pair.above == pair.below - 1 and not (pair.numbers or pair.fits) and pair.step <= close}  # fmt: skip
    usual = sorted(len(line) for line in lines)[len(lines) // 2]
    left = min(line[0].x0 for line in lines if line)
    rows: list[list[int]] = []
    for number, (line, columns) in enumerate(zip(lines, places, strict=True)):
        # A text at the left is the title of a row, unless it begins in lower case.
        titled = line[0].x0 < left + 3 and not line[0].words[:1].islower()
        partial = len(line) < usual and len(line) * 2 <= max(usual, 2) and not titled
        goes_on = rows and partial and all((number, column) in fitting for column in columns)
        if goes_on and len(rows[-1]) < _LINES:
            rows[-1].append(number)
        else:
            rows.append([number])
    return rows


def pitches(lines: Sequence[list[Segment]]) -> list[float]:
    """The distances between consecutive lines, in letter sizes."""
    firsts = [line[0].items[0] for line in lines]
    return [(below.base - above.base) / max(below.size, 1.0) for above, below in pairwise(firsts)]
