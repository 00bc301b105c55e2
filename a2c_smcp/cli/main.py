"""`a2c`: the commands and how they fail: one clear line on standard error and a non-zero exit code."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

import a2c_smcp
from a2c_smcp.cli import config, documents, keys, server
from a2c_smcp.cli.agent import command as agent
from a2c_smcp.cli.computer import command as computer
from a2c_smcp.cli.doctor import command as doctor
from a2c_smcp.cli.errors import INTERRUPTED
from a2c_smcp.cli.up import command as up
from a2c_smcp.utils.garbage import collect_less_often

app = typer.Typer(
    name="a2c",
    help="A2C-SMCP: let an Agent use tools, live context and documents on other people's machines.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up")(up.up)
app.command("server")(server.serve)
app.add_typer(computer.app, name="computer")
app.add_typer(agent.app, name="agent")
app.command("documents")(documents.documents)
app.add_typer(config.app, name="config")
app.add_typer(keys.app, name="keys")
app.command("doctor")(doctor.doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"a2c-stack {a2c_smcp.__version__}")
        raise typer.Exit()


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of every command."""
    context.obj = debug


def main() -> None:
    """The entry point of the `a2c` command."""
    debug = "--debug" in sys.argv
    collect_less_often()
    _have_standard_streams()
    try:
        app()
    except KeyboardInterrupt:  # before a command has begun
        sys.exit(INTERRUPTED)
    except Exception as error:
        if debug:
            raise
        print(f"a2c: {type(error).__name__}: {error} (--debug shows where)", file=sys.stderr)
        sys.exit(1)


def _have_standard_streams() -> None:
    """Whoever starts us may have closed them; the next file or socket would take their numbers."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
