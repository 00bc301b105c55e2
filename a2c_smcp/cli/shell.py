"""The base of the prompts. A command is a method `do_…`: the first line of its docstring is its usage, the rest its
help."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Awaitable
from typing import Any, ClassVar

from a2c_smcp.cli.console import Console
from a2c_smcp.cli.errors import Interrupted
from a2c_smcp.errors import SMCPError
from a2c_smcp.utils.system.terminals import split_words
from a2c_smcp.utils.text import printable

logger = logging.getLogger(__name__)

WIDTH_OF_USAGE = 48


class UsageError(ValueError):
    """A command with invalid arguments."""


class CommandShell:
    """Reads commands and runs them. An error is one line on standard error, and the prompt goes on."""

    expected_errors: ClassVar[tuple[type[Exception], ...]] = (SMCPError, UsageError, OSError, RuntimeError)
    farewell: ClassVar[str] = "Leave."

    def __init__(self, console: Console) -> None:
        self.console = console
        self.failed = False
        """Whether any command failed."""

    async def take_commands(self) -> None:
        """Run commands until `quit` or the end of input."""
        while (line := await self.console.read()) is not None:
            if not await self.run_line(line):
                break

    async def run_line(self, line: str) -> bool:
        """Run one line; returns False after `quit`."""
        try:
            words = split_words(line, comments=True)  # a file of commands may have comments
        except ValueError as error:
            self.complain(str(error))
            return True
        if not words:
            return True
        name, arguments = words[0].lower(), words[1:]
        if name in ("quit", "exit"):
            return False
        command = getattr(self, f"do_{name}", None)
        if command is None:
            self.complain(f"{name}: no such command; type help")
            return True
        # Bound first, not called: a TypeError from inside the command is a bug and must not be shown as its usage.
        try:
            inspect.signature(command).bind(*arguments)
        except TypeError:
            self.complain(f"usage: {usage_of(command)}")
            return True
        await self.guarded(self.console.attend(command(*arguments)))
        return True

    async def guarded(self, work: Awaitable[None]) -> None:
        """Wait for work, and print its error if it fails."""
        try:
            await work
        except Interrupted:
            self.complain("interrupted")
        except SMCPError as error:
            self.complain(printable(f"{error.message} ({error.code})"))
        except self.expected_errors as error:
            self.complain(printable(str(error)))
        except Exception as error:  # a bug in one command must not stop a Computer that serves an office
            logger.exception("the command failed")
            self.complain(printable(f"the command failed: {type(error).__name__}: {error}"))

    def complain(self, message: str) -> None:
        """Print an error."""
        self.failed = True
        print(message, file=sys.stderr)

    async def do_help(self) -> None:
        """help
        List the commands."""
        for command in commands_of(type(self)):
            usage, text = described(command)
            print(f"  {usage:<{WIDTH_OF_USAGE}} {text}")
        print(f"  {'quit':<{WIDTH_OF_USAGE}} {self.farewell}")


def commands_of(shell: type[CommandShell]) -> list[Any]:
    """The commands, in the order of their definition."""
    # `vars` of each class and not `dir`, which sorts by name. The subclass comes first, so `help` is the last.
    return [method for kind in shell.__mro__ for name, method in vars(kind).items() if name.startswith("do_")]


def described(command: Any) -> tuple[str, str]:
    """Usage and help of a command."""
    usage, _, text = (command.__doc__ or "").partition("\n")
    return usage.strip(), text.strip()


def usage_of(command: Any) -> str:
    """The usage of a command."""
    return described(command)[0]
