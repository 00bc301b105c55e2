"""Errors and exit codes that all commands share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NoReturn

import typer

# 128 + the number of the signal, as shells report it: SIGINT is 2, SIGHUP is 1.
INTERRUPTED = 130
HUNG_UP = 129


class Interrupted(Exception):
    """Ctrl-C at a prompt."""

    # Not KeyboardInterrupt: a task that ends with that one makes asyncio stop the whole event loop.


def fail(message: str, code: int = 1) -> NoReturn:
    """End the command with one line on standard error."""
    typer.echo(f"a2c: {message}", err=True)
    raise typer.Exit(code)


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """A hint with similar choices; empty if none is similar."""
    near = difflib.get_close_matches(word, list(choices), 3, 0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""
