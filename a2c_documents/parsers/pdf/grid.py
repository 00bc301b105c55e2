"""Which shapes of a page hang together. There may be tens of thousands: so it is seen on a grid, not shape by shape."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence

from a2c_documents.parsers.pdf.frame import Box

_CELL = 4.0
"""Points, at least. Shapes hang together where no more than two cells are between them."""
_MAX_CELLS = 400
"""Along a page."""

Run = tuple[int, int]
"""Cells of a row that are covered: the first, and the one after the last."""


def clusters_of(boxes: Sequence[Box], size: tuple[float, float]) -> list[list[int]]:
    """The numbers of the boxes that hang together; all are on a page of this size."""
    cell = max(_CELL, max(size) / _MAX_CELLS)
    cells = [tuple(int(side / cell) + 1 for side in box) for box in boxes]
    rows = [0] * (int(size[1] / cell) + 3)
    for left, top, right, bottom in cells:
        covered = ((1 << (right - left + 3)) - 1) << (left - 1)
        for row in range(top - 1, bottom + 2):
            rows[row] |= covered
    runs = [_runs(row) for row in rows]
    clusters = _joined(runs)
    found: dict[int, list[int]] = {}
    for number, (left, top, _, _) in enumerate(cells):
        at = bisect(runs[top], left, key=_start) - 1
        found.setdefault(clusters[top][at], []).append(number)
    return list(found.values())


def _start(run: Run) -> int:
    return run[0]


def _runs(row: int) -> list[Run]:
    """The runs of a row whose bits are its cells."""
    runs: list[Run] = []
    start = 0
    while row:
        gap = (row & -row).bit_length() - 1
        row >>= gap
        length = (~row & (row + 1)).bit_length() - 1
        runs.append((start + gap, start + gap + length))
        row >>= length
        start += gap + length
    return runs


def _joined(rows: list[list[Run]]) -> list[list[int]]:
    """For each run, the number of its cluster: runs above each other are in the same."""
    leads: list[int] = []

    def first(number: int) -> int:
        while leads[number] != number:
            leads[number] = leads[leads[number]]
            number = leads[number]
        return number

    numbers: list[list[int]] = []
    above: list[tuple[int, Run]] = []
    for row in rows:
        own = list(range(len(leads), len(leads) + len(row)))
        leads += own
        here = list(zip(own, row, strict=True))
        i = j = 0
        while i < len(here) and j < len(above):
            (number, (start, end)), (other, (from_, to)) = here[i], above[j]
            if from_ < end and start < to:
                leads[first(number)] = first(other)
            # Whichever ends first has met all it can meet.
            i, j = (i + 1, j) if end < to else (i, j + 1)
        numbers.append(own)
        above = here
    return [[first(number) for number in row] for row in numbers]
