"""A program on a real pseudo-terminal, seen as a person sees it: by what is on the screen."""

from __future__ import annotations

from tests.support.systems import need_posix

need_posix("a pseudo-terminal")

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Generator, Sequence
from pathlib import Path

from tests.support.process import A2C, Command, can_be_forked, environment
from tests.support.waiting import PATIENCE
from tests.support.warm import Forked

WIDTH, HEIGHT = 100, 60
TAB, ENTER, CTRL_C, CTRL_D, CTRL_U = "\t", "\r", "\x03", "\x04", "\x15"
IN_THE_TERMINAL = [
    sys.executable,
    "-c",
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])",
]
"""Makes the terminal the controlling one, so that its Ctrl-C interrupts the program."""
_SEQUENCE = re.compile(
    r"\x1b(?:\[(?P<params>[?>0-9;]*)(?P<final>[@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()].|[=>78cDEM])"
)


class Screen:
    """The screen of a terminal, with the control sequences that prompt_toolkit and rich use."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._rows = [[" "] * width for _ in range(HEIGHT)]
        self._row = self._column = 0
        self._rest = ""
        self.scrolled: list[str] = []

    @property
    def lines(self) -> list[str]:
        """All lines that scrolled out, and those on the screen; the last is the line with the cursor."""
        shown = ["".join(row).rstrip() for row in self._rows]
        return [*self.scrolled, *shown[: self._row + 1]]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def feed(self, text: str) -> str:
        """Show output; what the terminal answers to it."""
        text, answers, position = self._rest + text, "", 0
        self._rest = ""
        while position < len(text):
            if text[position] != "\x1b":
                self._put(text[position])
                position += 1
                continue
            found = _SEQUENCE.match(text, position)
            if found is None:  # the rest of it comes later
                self._rest = text[position:]
                break
            answers += self._obey(found["final"], found["params"] or "")
            position = found.end()
        return answers

    def _put(self, character: str) -> None:
        match character:
            case "\r":
                self._column = 0
            case "\n":
                self._line_feed()
            case "\b":
                self._column = max(self._column - 1, 0)
            case _ if character >= " ":
                if self._column == self._width:
                    self._column = 0
                    self._line_feed()
                self._rows[self._row][self._column] = character
                self._column += 1
            case _:
                pass

    def _line_feed(self) -> None:
        self._row += 1
        if self._row == HEIGHT:
            self.scrolled.append("".join(self._rows.pop(0)).rstrip())
            self._rows.append([" "] * self._width)
            self._row -= 1

    def _obey(self, final: str | None, params: str) -> str:
        numbers = [int(number) for number in params.split(";") if number.isdigit()]
        count = max(numbers[0] if numbers else 1, 1)
        match final:
            case "A":
                self._row = max(self._row - count, 0)
            case "B":
                self._row = min(self._row + count, HEIGHT - 1)
            case "C":
                self._column = min(self._column + count, self._width - 1)
            case "D":
                self._column = max(self._column - count, 0)
            case "G":
                self._column = count - 1
            case "H":
                self._row, self._column = (count - 1, numbers[1] - 1 if len(numbers) > 1 else 0)
            case "J":
                if not numbers or numbers[0] == 0:
                    self._erase(self._column, self._width)
                    self._rows[self._row + 1 :] = [[" "] * self._width for _ in range(HEIGHT - self._row - 1)]
                else:
                    self._rows = [[" "] * self._width for _ in range(HEIGHT)]
            case "K":
                mode = numbers[0] if numbers else 0
                self._erase(self._column if mode == 0 else 0, self._column + 1 if mode == 1 else self._width)
            case "n" if params == "6":
                return f"\x1b[{self._row + 1};{self._column + 1}R"
            case _:
                pass
        return ""

    def _erase(self, start: int, end: int) -> None:
        self._rows[self._row][start:end] = [" "] * (end - start)


def _start(command: Command, env: dict[str, str], terminal: int) -> subprocess.Popen[str] | Forked:
    if command[0] != "a2c":
        program = command
    elif can_be_forked(env):
        return Forked(command, env, Path.cwd(), terminal=terminal)
    else:
        program = [*A2C, *command[1:]]
    return subprocess.Popen(
        [*IN_THE_TERMINAL, *program],
        stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True, env=env, text=True,
    )  # fmt: skip


class TerminalProcess:
    """A program in a terminal. What a person types is typed; what they see is in `screen`."""

    def __init__(self, *command: str, prompt: str, width: int, home: Path, env: dict[str, str]) -> None:
        self._prompt = re.escape(prompt)
        self._master, slave = pty.openpty()
        self._stopped, self._stop = os.pipe()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, width, 0, 0))
        clean = environment()
        settings = {"TERM": "xterm-256color", "XDG_STATE_HOME": str(home), "NO_COLOR": "", "COLUMNS": "", "LINES": ""}
        set_ones = {key: value for key, value in {**clean, **settings, **env}.items() if value}
        self.process = _start(list(command), set_ones, slave)
        os.close(slave)
        self.screen = Screen(width)
        self.raw = ""
        self._ended = False
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def see(self, pattern: str, after: int = 0) -> re.Match[str]:
        """Wait until this is on the screen; the lines up to `after` do not count."""

        def find() -> re.Match[str] | None:
            return re.search(pattern, "\n".join(self.screen.lines[after:]), re.MULTILINE)

        with self._changed:
            self._changed.wait_for(lambda: find() or self._ended, PATIENCE)
            found = find()
        assert found, f"no {pattern!r} on the screen:\n{self.screen.text}"
        return found

    def mark(self) -> int:
        """Where the screen ends now, for `see`."""
        with self._changed:
            return len(self.screen.lines) - 1

    def see_prompt(self, typed: str = "") -> None:
        """Wait until the prompt is the last line, with this typed into it."""
        self.see(rf"^{self._prompt} {re.escape(typed)}\Z" if typed else rf"^{self._prompt}\Z")

    def run(self, command: str, expected: str) -> str:
        """Type a command at the prompt and wait until it has shown this; everything that it has shown."""
        self.see_prompt()
        start = self.mark()
        self.type(command + ENTER)
        self.see(expected, start + 1)
        self.see(rf"^{self._prompt}\Z", start + 1)
        return "\n".join(self.screen.lines[start + 1 : -1])

    def leave(self) -> int:
        """Press Ctrl-D and wait for the exit code."""
        self.type(CTRL_D)
        return self.end()

    def end(self) -> int:
        """Wait for the exit code, and until everything that the program wrote is on the screen."""
        code = self.process.wait(PATIENCE)
        with self._changed:
            assert self._changed.wait_for(lambda: self._ended, PATIENCE), "a process that it started has the terminal"
        return code

    def hang_up(self) -> None:
        """Close the terminal, as its window's cross does."""
        if self._master < 0:
            return
        os.write(self._stop, b"x")
        self._reader.join(PATIENCE)
        for end in (self._master, self._stop, self._stopped):
            os.close(end)
        self._master = -1

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.hang_up()

    def _read(self) -> None:
        while True:
            readable, _, _ = select.select([self._master, self._stopped], [], [])
            if self._master not in readable:
                return
            try:
                data = os.read(self._master, 65536)
            except OSError:  # nobody has the other end any more
                data = b""
            with self._changed:
                text = data.decode("utf-8", "replace")
                self.raw += text
                answer = self.screen.feed(text)
                self._ended = not data
                self._changed.notify_all()
            if not data:
                return
            if answer:
                with contextlib.suppress(OSError):
                    os.write(self._master, answer.encode())


@contextlib.contextmanager
def terminal(
    folder: Path,
    *arguments: str,
    prompt: str,
    width: int = WIDTH,
    env: dict[str, str] | None = None,
    program: Sequence[str] = ("a2c",),
) -> Generator[TerminalProcess]:
    """A running program, `a2c` if no other, whose prompt is this; what it remembers is in `folder`/state."""
    with contextlib.closing(
        TerminalProcess(*program, *arguments, prompt=prompt, width=width, home=folder / "state", env=env or {})
    ) as process:
        yield process
