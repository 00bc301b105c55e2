"""A bar for work that takes a while; nothing where nobody looks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextlib.contextmanager
def progress_bar(what: str) -> Generator[Callable[[int, int], None] | None]:
    """A function to be told how much is done of how much; None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
