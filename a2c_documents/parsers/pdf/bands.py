"""Bands of a PDF page: what lies between two lines across, where lines upright divide it. Tables are made of them."""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from a2c_documents.parsers.pdf.frame import Box

NEAR = 4.0
"""Points by which lines that belong together may miss each other."""
_MAX_LINES = 600


@dataclass(slots=True)
class Band:
    """What lies between two lines across, and the lines upright that divide it."""

    top: float
    bottom: float
    left: float
    right: float
    cuts: list[float]


def grouped_bands(across: Sequence[Box], upright: Sequence[Box]) -> list[list[Band]]:
    """Bands that may be one table: one right below the other, with the same sides or the same columns."""
    groups: list[list[Band]] = []
    for band in _bands(_merged(across, 1)[:_MAX_LINES], _merged(upright, 0)[:_MAX_LINES]):
        above = groups[-1][-1] if groups else None
        if above is not None and band.top - above.bottom < 1 and _alike(above, band):
            groups[-1].append(band)
        else:
            groups.append([band])
    return groups


def is_near(place: float, lines: list[float]) -> bool:
    """Whether one of these lines, which are in order, is where this one is."""
    at = bisect(lines, place - NEAR)
    return at < len(lines) and lines[at] < place + NEAR


def _merged(lines: Sequence[Box], axis: int) -> list[Box]:
    """Lines in one direction; pieces of one line are put together. `axis` is 1 for lines across, 0 for upright ones."""
    along = 1 - axis
    merged: list[list[float]] = []
    middle = [((line[axis] + line[axis + 2]) / 2, line[along], line[along + 2]) for line in lines]
    for at, start, end in sorted(middle, key=lambda line: (round(line[0] / 2), line[1])):
        last = merged[-1] if merged else None
        if last is not None and abs(last[0] - at) < 2.5 and start <= last[2] + NEAR:
            last[2] = max(last[2], end)
        else:
            merged.append([at, start, end])
    kept = sorted(line for line in merged if line[2] - line[1] > 8)
    return [(start, at, end, at) if axis else (at, start, at, end) for at, start, end in kept]


def _bands(across: list[Box], upright: list[Box]) -> list[Band]:
    """Bands with at least two columns."""
    bands: list[Band] = []
    ends = sorted({line[1] for line in across} | {line[1] for line in upright} | {line[3] for line in upright})
    levels: list[float] = []
    for level in ends:
        if not levels or level - levels[-1] > NEAR:
            levels.append(level)
    heights = [line[1] for line in across]
    for top, bottom in pairwise(levels):
        low, high = top + NEAR, bottom - NEAR
        cuts = [x for x, start, _, end in upright if start <= low and end >= high]
        if not cuts:
            continue
        edges = [
            line for level in (top, bottom)
            for line in across[bisect_left(heights, level - NEAR) : bisect(heights, level + NEAR)]
        ]  # fmt: skip
        left = min([cuts[0], *(line[0] for line in edges if line[0] <= cuts[-1] and line[2] >= cuts[0])])
        right = max([cuts[-1], *(line[2] for line in edges if line[0] <= cuts[-1] and line[2] >= cuts[0])])
        inner = [cut for cut in cuts if left + NEAR < cut < right - NEAR]
        if inner:
            bands.append(Band(top, bottom, left, right, inner))
    return bands


def _alike(above: Band, band: Band) -> bool:
    shared = sum(1 for cut in band.cuts if is_near(cut, above.cuts))
    return shared > 0 and shared * 2 >= min(len(band.cuts), len(above.cuts))
