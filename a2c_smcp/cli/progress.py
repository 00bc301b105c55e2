"""Progress bars and spinners for slow work, on terminals only."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from a2c_smcp.cli.quoting import BAR
from a2c_smcp.utils.text import one_line

BAR_WIDTH = 20
MAX_MESSAGE = 60
"""Characters of a tool's message beside its bar."""
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


class CallShown:
    """What a person sees of a running call: a spinner, once it takes a while, and a bar, once it reports progress."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._has_reports = False
        self._began: float | None = None
        """When the download began that is shown."""
        self._done = 0
        self._is_terminal = sys.stderr.isatty()
        self.resume()

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """The call is so far."""
        if not self._is_terminal:
            return
        if not self._has_reports:
            self.pause()  # the spinner, which the bar replaces
            self._has_reports = True
        self._show()
        if self._bar is not None and self._task is not None:
            # The bar marks words of the server, as everywhere.
            words = f"{BAR}{one_line(message, MAX_MESSAGE)}" if message else self._what
            self._bar.update(self._task, completed=done, total=total, description=escape(words))

    def download(self, done: int, total: int, mime_type: str) -> None:
        """A binary of the result has arrived so far."""
        now = time.monotonic()
        if self._began is None or done < self._done:  # another one
            self._began = now
        self._done = done
        if now - self._began >= A_WHILE:
            self.report(done, total, f"downloading {mime_type}")

    def pause(self) -> None:
        """Hide it: the terminal is needed for something else."""
        if self._timer is not None:
            self._timer.cancel()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def resume(self) -> None:
        """Show it again, after a while."""
        if self._is_terminal:
            self._timer = asyncio.get_running_loop().call_later(A_WHILE, self._show)

    def _show(self) -> None:
        if self._bar is None:
            bar = [BarColumn(BAR_WIDTH)] if self._has_reports else []
            columns = SpinnerColumn(), TextColumn("{task.description}"), *bar, TimeElapsedColumn()
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(escape(self._what), total=None)
            self._bar.start()


@contextlib.contextmanager
def call_shown(what: str) -> Generator[CallShown]:
    """Show how a call is going while the block runs."""
    shown = CallShown(what)
    try:
        yield shown
    finally:
        shown.pause()


async def _show(what: str) -> None:
    await asyncio.sleep(A_WHILE)
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(escape(what))
        await asyncio.Event().wait()
