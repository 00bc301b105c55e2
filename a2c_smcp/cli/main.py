"""`a2c`: the commands. An error is one line on standard error and a non-zero exit code."""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated, Any

import typer
from typer.main import get_command

import a2c_smcp
from a2c_smcp.cli import completion, config, documents, keys, server
from a2c_smcp.cli.agent import command as agent
from a2c_smcp.cli.computer import command as computer
from a2c_smcp.cli.doctor import command as doctor
from a2c_smcp.cli.errors import INTERRUPTED
from a2c_smcp.cli.mcp import command as mcp
from a2c_smcp.cli.up import command as up
from a2c_smcp.utils.garbage import collect_less_often

_HELP = ["-h", "--help"]

app = typer.Typer(
    name="a2c",
    help="A2C-SMCP: let an Agent use tools, live context and documents on other people's machines.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": _HELP},
)
app.command("up")(up.up)
app.add_typer(server.app, name="server")
app.add_typer(computer.app, name="computer")
app.add_typer(agent.app, name="agent")
app.add_typer(mcp.app, name="mcp")
app.command("documents")(documents.documents)
app.add_typer(config.app, name="config")
app.add_typer(keys.app, name="keys")
app.command("doctor")(doctor.doctor)
app.command("completion")(completion.completion)


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
    # From the arguments, because an error may come before they are parsed.
    debug = "--debug" in sys.argv
    collect_less_often()
    _have_standard_streams()
    try:
        command = get_command(app)
        show_flags_as_flags(command)
        completion.get_ready()
        try:
            command(complete_var=completion.VARIABLE)
        finally:
            _write_the_rest()
    except KeyboardInterrupt:  # during imports; afterwards, commands handle Ctrl-C themselves
        sys.exit(INTERRUPTED)
    except Exception as error:
        if debug:
            raise
        print(f"a2c: {type(error).__name__}: {error} (--debug shows the traceback)", file=sys.stderr)
        sys.exit(1)


def _write_the_rest() -> None:
    """Write the output that is still in the buffer, while a failure can be reported."""
    # The interpreter would write it after the last line of the program. If it fails then, as it does when the output is
    # `| head`, the interpreter writes a traceback to standard error, and the exit code is 120.
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the buffer is written again at the end
        if error.errno == errno.EPIPE:
            sys.exit(1)  # as for all other output that has no reader
        raise


def show_flags_as_flags(command: Any) -> None:
    """Remove the type from flags in the help of a command and its subcommands."""
    # Typer shows `<bool>` behind a flag, which suggests that the flag takes a value.
    context = typer.Context(command, help_option_names=_HELP)  # `get_params` takes the names of --help from it
    for option in command.get_params(context):
        if getattr(option, "is_bool_flag", False):
            option.metavar = ""
    for each in getattr(command, "commands", {}).values():
        show_flags_as_flags(each)


def _have_standard_streams() -> None:
    """Open /dev/null in place of standard streams that are closed."""
    # A service manager may start a program without them. The next file or socket that is opened would then get number
    # 0, 1 or 2, and log lines would go into it. `os.open` takes the lowest free number, so the order matters.
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
