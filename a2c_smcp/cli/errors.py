"""How a command fails."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NoReturn

import typer

from a2c_smcp.utils.url import check_url

INTERRUPTED = 130
HUNG_UP = 129


class Interrupted(Exception):
    """Ctrl-C at a prompt. Not `KeyboardInterrupt`, which asyncio lets end the whole program."""


def fail(message: str, code: int = 1) -> NoReturn:
    """End the command with one line on standard error."""
    typer.echo(f"a2c: {message}", err=True)
    raise typer.Exit(code)


def check_server_url(url: str) -> None:
    """End the command if the address of the Server is no URL to connect to."""
    try:
        check_url(url)
    except ValueError as error:
        fail(f"--url {url}: {error}", 2)


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """A hint at what may have been meant; empty when nothing is near."""
    near = difflib.get_close_matches(word, list(choices), 3, 0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""
