"""Finds the Computer that a command is for, and reports what it answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from a2c_smcp.cli.errors import INTERRUPTED, fail
from a2c_smcp.errors import ConflictError, SMCPError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from a2c_smcp.console.owner.client import OwnerClient


@contextmanager
def reached(context: typer.Context) -> Generator[OwnerClient]:
    """The API of the Computer that runs: the only one, or the one that --name and --office name. Errors of the block
    end the command with one line."""
    from a2c_smcp.console.owner.client import OwnerClient
    from a2c_smcp.console.owner.places import find

    name, office = _named(context)
    try:
        found = find(name, office)
    except ConflictError as error:
        fail(error.message)
    except OSError as error:
        fail(f"cannot look for Computers that run: {error.strerror or error} ({error.filename})")
    if not found:
        which = "".join(f" {word} {value}" for word, value in (("named", name), ("for office", office)) if value)
        fail(f"no Computer{which} of this user runs; start one with: a2c computer")
    if len(found) > 1:
        names = ", ".join(f"{place.name} (office {place.office})" if place.office else place.name for place in found)
        fail(f"several Computers run: {names}; choose one: a2c computer --name NAME --office OFFICE …")
    try:
        yield OwnerClient(found[0])
    except SMCPError as error:
        fail(f"{error.message} ({error.code})")
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def answer(
    context: typer.Context,
    as_json: bool,
    ask: Callable[[OwnerClient], Any],
    view: Callable[[Any], Iterable[RenderableType]],
) -> None:
    """Ask the Computer that runs, and print what it answers: as JSON, or as `view` shows it."""
    from a2c_smcp.cli.views import print_json, show

    with reached(context) as computer:
        found = ask(computer)
    if as_json:
        print_json(found)
    else:
        show(*view(found))


def _named(context: typer.Context) -> tuple[str | None, str | None]:
    """The name and office that were given to `a2c computer`."""
    parent = context.parent
    while parent is not None and "office" not in parent.params:
        parent = parent.parent
    return (parent.params["name"], parent.params["office"]) if parent is not None else (None, None)
