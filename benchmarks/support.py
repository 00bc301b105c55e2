"""The table of results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One measured number beside its floor. `ratio` is of the pairs measured together, not of the two columns."""

    what: str
    floor: str
    ours: str
    ratio: float
    target: float | None
    """None for a number that is only told."""
    at_least: bool = False
    """Whether more is better."""

    @property
    def ok(self) -> bool:
        if self.target is None:
            return True
        return self.ratio >= self.target if self.at_least else self.ratio <= self.target

    def cells(self) -> tuple[str, ...]:
        if self.target is None:
            return self.what, self.floor, self.ours, f"{self.ratio:.2f}", "-", ""
        target = f"{'≥' if self.at_least else '≤'} {self.target:.2f}"
        return self.what, self.floor, self.ours, f"{self.ratio:.2f}", target, "ok" if self.ok else "MISS"


HEADER = ("what", "floor", "ours", "ratio", "target", "")


def table(rows: Iterable[Row]) -> str:
    lines = [HEADER, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]

    def text(line: tuple[str, ...]) -> str:
        first, *rest = (
            cell.ljust(width) if column in (0, 5) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        return "  ".join((first, *rest)).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join((text(lines[0]), rule, *map(text, lines[1:])))
