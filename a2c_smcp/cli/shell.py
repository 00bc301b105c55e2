"""A prompt with commands. Each command is a method `do_…` whose docstring begins with its usage, then its help."""

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
    """A command that was typed wrong."""


class CommandShell:
    """Reads commands and runs them. What goes wrong is one line on standard error."""

    expected_errors: ClassVar[tuple[type[Exception], ...]] = (SMCPError, UsageError, OSError, RuntimeError)
    farewell: ClassVar[str] = "Leave."

    def __init__(self, console: Console) -> None:
        self.console = console
        self.failed = False
        """Whether any command failed."""

    async def take_commands(self) -> None:
        """Until the end of input, `quit`, or Ctrl-D."""
        while (line := await self.console.read()) is not None:
            if not await self.run_line(line):
                break

    async def run_line(self, line: str) -> bool:
        """Run one line; False when it was the last."""
        try:
            words = split_words(line, comments=True)
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
        try:
            inspect.signature(command).bind(*arguments)
        except TypeError:
            self.complain(f"usage: {usage_of(command)}")
            return True
        await self.guarded(self.console.attend(command(*arguments)))
        return True

    async def guarded(self, work: Awaitable[None]) -> None:
        """Do something, and complain if that fails."""
        try:
            await work
        except Interrupted:
            self.complain("interrupted")
        except SMCPError as error:
            self.complain(printable(f"{error.message} ({error.code})"))
        except self.expected_errors as error:
            self.complain(printable(str(error)))
        except Exception as error:  # a command that breaks must not take everything with it
            logger.exception("the command failed")
            self.complain(printable(f"that failed: {type(error).__name__}: {error}"))

    def complain(self, message: str) -> None:
        """Say what is wrong."""
        self.failed = True
        print(message, file=sys.stderr)

    async def do_help(self) -> None:
        """help
        Show this."""
        for command in commands_of(type(self)):
            usage, text = described(command)
            print(f"  {usage:<{WIDTH_OF_USAGE}} {text}")
        print(f"  {'quit':<{WIDTH_OF_USAGE}} {self.farewell}")


def commands_of(shell: type[CommandShell]) -> list[Any]:
    """The commands, in the order in which they are written."""
    return [method for kind in shell.__mro__ for name, method in vars(kind).items() if name.startswith("do_")]


def described(command: Any) -> tuple[str, str]:
    """Usage and help of a command."""
    usage, _, text = (command.__doc__ or "").partition("\n")
    return usage.strip(), text.strip()


def usage_of(command: Any) -> str:
    """How a command is typed."""
    return described(command)[0]
