"""Progress bars and spinners for slow work, on terminals only."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Callable, Generator

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

A_WHILE = 2.0
"""Seconds before a wait is shown: quick work must not flicker."""


@contextlib.contextmanager
def progress_bar(what: str) -> Generator[Callable[[int, int], None] | None]:
    """Show a bar; gives a function that takes the number done and the total, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextlib.asynccontextmanager
async def wait_shown(what: str) -> AsyncGenerator[None]:
    """Show a spinner with this text while the block runs, once that takes a while."""
    if not sys.stderr.isatty():
        yield
        return
    showing = asyncio.create_task(_show(what))
    try:
        yield
    finally:
        # Wait until the spinner is erased, or the first line of the result would be printed into it.
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)


async def _show(what: str) -> None:
    await asyncio.sleep(A_WHILE)
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(escape(what))
        await asyncio.Event().wait()
