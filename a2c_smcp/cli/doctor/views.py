"""The progress of checks and their findings, for a person."""

from __future__ import annotations

import asyncio
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from a2c_smcp.cli.doctor.checks import Examination
from a2c_smcp.cli.doctor.findings import Finding, Level, count
from a2c_smcp.utils.text import printable

LEAST_WIDTH = 40
_SYMBOLS = {
    Level.OK: ("✓", "green"),
    Level.NOTE: ("–", "dim"),
    Level.WARNING: ("!", "yellow"),
    Level.PROBLEM: ("✗", "red"),
}
_URGENT = (Level.PROBLEM, Level.WARNING)


async def run_with_progress(examination: Examination) -> None:
    """Run the checks; on a terminal, show those that are running."""
    if not sys.stderr.isatty():
        await examination.run()
        return
    running = asyncio.ensure_future(examination.run())
    try:
        with Live(console=Console(stderr=True), refresh_per_second=8, transient=True) as live:
            while not running.done():
                live.update(_progress(examination))
                await asyncio.wait((running,), timeout=0.12)
        running.result()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _progress(examination: Examination) -> Table:
    table = Table.grid(padding=(0, 1))
    for group, doing in examination.under_way:
        table.add_row(Spinner("dots"), Text.assemble(printable(group), " ", (printable(doing), "dim")))
    return table


def findings(found: Sequence[Finding]) -> Iterable[RenderableType]:
    """Problems, then warnings, then the rest by group; at the end, the number of each."""
    urgent = [finding for level in _URGENT for finding in found if finding.level is level]
    rest = [finding for finding in found if finding.level not in _URGENT]
    for part in (urgent, rest):
        for group, members in groupby(part, lambda finding: finding.group):
            yield Text(printable(group), "bold")
            for finding in members:
                yield from _finding(finding)
        if part:
            yield Text()
    counts = Counter(finding.level for finding in found)
    yield Text.assemble(
        (count(counts[Level.PROBLEM], "problem"), "red" if counts[Level.PROBLEM] else ""),
        ", ",
        (count(counts[Level.WARNING], "warning"), "yellow" if counts[Level.WARNING] else ""),
        f", {counts[Level.OK]} fine",
    )


def _finding(finding: Finding) -> Iterable[RenderableType]:
    symbol, style = _SYMBOLS[finding.level]
    yield Text.assemble("  ", (symbol, style), _indented(finding.text, "    ")[3:])
    for line in finding.details:
        yield Text(_indented(line, "      │ "), "dim")
    if finding.advice is not None:
        yield Text(_indented(finding.advice, "      "), "cyan")


def _indented(text: str, indent: str) -> str:
    """The text indented, and wrapped at the width of the terminal."""
    # Not wrapped without a terminal: a line that is searched with grep or pasted into a report has to stay whole. Not
    # wrapped at hyphens, because a wrapped option or URL cannot be copied.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    lines = textwrap.wrap(
        printable(text),
        max(width, LEAST_WIDTH),
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return "\n".join(lines) or indent
