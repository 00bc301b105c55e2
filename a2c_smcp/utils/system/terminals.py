"""Terminals and shells: whether there is one, how to wait for Enter, and how to write and read a command line."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import sys
from collections.abc import Mapping

KEY_SECONDS = 0.05
"""How often the keyboard is polled on Windows, where an event loop cannot wait for it."""
_CTRL_C, _CTRL_D, _CTRL_Z = "\x03", "\x04", "\x1a"
_PLAIN_WORD = re.compile(r"[\w.:/\\=@%+,-]+", re.ASCII)


def powershell_string(text: str) -> str:
    """A text as a value in PowerShell."""
    return "'" + text.replace("'", "''") + "'"


def powershell_word(text: str) -> str:
    """A text as an argument in PowerShell, quoted if that is needed."""
    return text if _PLAIN_WORD.fullmatch(text) else powershell_string(text)


def powershell_variables(values: Mapping[str, str]) -> str:
    """The command that sets environment variables in PowerShell."""
    return "; ".join(f"$env:{name} = {powershell_string(value)}" for name, value in values.items())


def posix_variables(values: Mapping[str, str]) -> str:
    """The command that sets environment variables in a POSIX shell."""
    return "export " + " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items())


def split_without_escapes(line: str, comments: bool = False) -> list[str]:
    r"""The words of a line in which a backslash is an ordinary character, as in `C:\Users`.

    Raises:
        ValueError: a quotation mark is not closed.
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.escape = ""
    if not comments:
        lexer.commenters = ""
    return list(lexer)


if sys.platform == "win32":
    import msvcrt

    def has_terminal() -> bool:
        """Whether this process has a console."""
        try:
            os.close(os.open("CONIN$", os.O_RDONLY))
        except OSError:
            return False
        return True

    async def enter_pressed() -> bool:
        """Wait until a person at the terminal presses Enter; False at the end of input (Ctrl-D, Ctrl-Z)."""
        while True:
            while not msvcrt.kbhit():  # noqa: ASYNC110
                await asyncio.sleep(KEY_SECONDS)
            key = msvcrt.getwch()
            if key == _CTRL_C:  # read as a key while getwch runs
                signal.raise_signal(signal.SIGINT)
            elif key in "\r\n":
                return True
            elif key in (_CTRL_D, _CTRL_Z):
                return False

    def quote_program(path: str) -> str:
        """A program's path as this system's shell reads it at the start of a line."""
        word = powershell_word(path)
        return word if word == path else f"& {word}"  # a line that begins with a string only prints it

    quote = powershell_word
    set_variables = powershell_variables
    split_words = split_without_escapes

else:

    def has_terminal() -> bool:
        """Whether this process has a terminal."""
        try:
            os.close(os.open("/dev/tty", os.O_RDONLY))
        except OSError:
            return False
        return True

    async def enter_pressed() -> bool:
        """Wait until a person at the terminal presses Enter; False at the end of input (Ctrl-D)."""
        # Not in a thread: one that reads standard input cannot be stopped when the program ends.
        loop, number = asyncio.get_running_loop(), sys.stdin.fileno()
        pressed: asyncio.Future[bool] = loop.create_future()

        def read() -> None:
            loop.remove_reader(number)
            try:
                pressed.set_result(bool(os.read(number, 4096)))  # a terminal gives a line at a time
            except OSError:  # the terminal is gone
                pressed.set_result(False)

        loop.add_reader(number, read)
        try:
            return await pressed
        finally:
            loop.remove_reader(number)

    quote = quote_program = shlex.quote
    set_variables = posix_variables
    split_words = shlex.split
