"""How a command fails."""

from __future__ import annotations

from typing import NoReturn

import typer

INTERRUPTED = 130
HUNG_UP = 129


class Interrupted(Exception):
    """Ctrl-C at a prompt. Not `KeyboardInterrupt`, which asyncio lets end the whole program."""


def fail(message: str, code: int = 1) -> NoReturn:
    """End the command with one line on standard error."""
    typer.echo(f"a2c: {message}", err=True)
    raise typer.Exit(code)
