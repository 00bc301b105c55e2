"""Programs as processes of their own: `a2c` as an operator runs it, and what they start."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import psutil

from tests.support.waiting import PATIENCE

A2C = [sys.executable, "-m", "a2c_smcp.cli"]
Command = list[str]
_CHANCE = random.SystemRandom()
"""Not the shared one, which hypothesis seeds: two workers would choose the same ports."""
_RUNS = tempfile.TemporaryDirectory(prefix="a2c-runs-")
_NUMBERS = itertools.count()
_TRUSTED = os.environ.get("SSL_CERT_FILE")
"""aiohttp reads the certificates that it trusts when it is imported, which the fork server has done with this setting.
A program with another one needs an interpreter of its own. Some machines set it for all programs."""


def environment(changes: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of the tests with changes, and without the settings of a developer who uses `a2c`."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("A2C_")}
    # A Computer looks for others of its name there, and each test has a Computer of the same name.
    return {**clean, "A2C_RUNTIME_DIR": f"{_RUNS.name}/{next(_NUMBERS)}", **(changes or {})}


class LineProcess:
    """A running program; `log` grows as it writes to standard output or standard error."""

    def __init__(self, command: Command, *, env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
        self.process = self._start(command, environment(env), cwd)
        self.log: list[str] = []
        self._ended = False
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _start(self, command: Command, env: dict[str, str], cwd: Path | None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, encoding="utf-8", errors="replace", cwd=cwd, env=env,
        )  # fmt: skip

    @property
    def text(self) -> str:
        return "".join(self.log)

    def wait_for(self, pattern: str, after: int = 0, patience: float = PATIENCE) -> re.Match[str]:
        """The first line that matches, whenever it comes; the first `after` lines do not count."""

        def find() -> re.Match[str] | None:
            return next((found for line in self.log[after:] if (found := re.search(pattern, line))), None)

        with self._changed:
            self._changed.wait_for(lambda: find() or self._ended, patience)
            found = find()
        assert found, f"no {pattern!r} in:\n{self.text}"
        return found

    def stop(self, signal: int) -> int:
        """Send a signal and wait for the exit code; `log` is complete then."""
        self.process.send_signal(signal)
        return self.end()

    def end(self, patience: float = PATIENCE) -> int:
        """Wait for the exit code; `log` is complete then."""
        code = self.process.wait(patience)
        self._reader.join(PATIENCE)
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        # A process that outlives its parent keeps the pipe open. Closing our end would block until it ends.
        assert not self._reader.is_alive(), f"a process that it started outlives it and keeps its output:\n{self.text}"
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.log.append(line)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class WarmProcess(LineProcess):
    """A running `a2c`, or a program in Python, that does not repeat the imports where the system can fork; or any other
    program."""

    def _start(self, command: Command, env: dict[str, str], cwd: Path | None) -> subprocess.Popen[str]:
        program, *arguments = command
        if program not in ("a2c", "python", sys.executable):
            return super()._start(command, env, cwd)
        return start_warm(["a2c" if program == "a2c" else "python", *arguments], env, cwd)

    def type(self, text: str = "") -> None:
        """Give the program the whole of its standard input, which is small."""
        _type(self.process, text)


def can_be_forked(env: dict[str, str]) -> bool:
    """Whether a program with this environment can start without repeating the imports."""
    return sys.platform != "win32" and env.get("SSL_CERT_FILE") == _TRUSTED


def start_warm(
    command: Command, env: dict[str, str], cwd: Path | None = None, *, is_apart: bool = False
) -> subprocess.Popen[str]:
    """Start `a2c` and its arguments, or `python` and those of Python; standard error goes to standard output unless it
    `is_apart`."""
    cwd = cwd or Path.cwd()
    if not can_be_forked(env):
        program = A2C if command[0] == "a2c" else [sys.executable]
        return subprocess.Popen(
            [*program, *command[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if is_apart else subprocess.STDOUT,
            text=True, encoding="utf-8", errors="replace", cwd=cwd, env=env,
        )  # fmt: skip
    from tests.support.warm import Forked

    return cast("subprocess.Popen[str]", Forked(command, env, cwd, is_apart=is_apart))


def _type(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # the program does not have to read it
        process.stdin.write(text)
        process.stdin.close()


class ServerProcess(WarmProcess):
    """A running `a2c server` that answers at `url`."""

    def __init__(self, *flags: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
        super().__init__(["a2c", "server", "--port", "0", *flags], env=env, cwd=cwd)
        self.type()
        try:
            self.url = self.wait_for(r"at (https?://\S+?),")[1]
        except BaseException:
            self.close()
            raise


@contextlib.contextmanager
def server_process(*flags: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> Generator[ServerProcess]:
    """A running `a2c server`, on a port of its own."""
    with contextlib.closing(ServerProcess(*flags, env=env, cwd=cwd)) as server:
        yield server


@contextlib.contextmanager
def computer_process(*flags: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> Generator[LineProcess]:
    """A running `a2c computer --no-interactive`."""
    with contextlib.closing(WarmProcess(["a2c", "computer", "--no-interactive", *flags], env=env, cwd=cwd)) as process:
        process.type()
        yield process


def a2c(
    *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command that ends by itself."""
    command = ["a2c", *arguments]
    process = start_warm(command, environment(env), cwd, is_apart=True)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr, ThreadPoolExecutor(1) as reader:
        try:
            errors = reader.submit(process.stderr.read)
            _type(process, typed)
            output = process.stdout.read()
            return subprocess.CompletedProcess(command, process.wait(PATIENCE), output, errors.result())
        finally:
            process.kill()


def free_port(lowest: int = 15_000, highest: int = 32_000) -> int:
    """A port for a program that cannot choose one itself.

    The system gives higher ports to connections and to listeners that ask for any port, so that none of them takes this
    one before the program does.
    """
    while True:
        port = _CHANCE.randrange(lowest, highest)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


lasting: set[int] = set()
"""Processes that live as long as the tests."""


def descendants() -> set[int]:
    """The living processes that this one started, directly or not, except those of `tests.support.warm`, `lasting`
    ones and what these started."""
    found: set[int] = set()
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            line = {child.pid, *(parent.pid for parent in child.parents())} if lasting else set[int]()
            is_kept = not lasting.isdisjoint(line) or any("multiprocessing." in word for word in child.cmdline())
            if child.status() != psutil.STATUS_ZOMBIE and not is_kept:
                found.add(child.pid)
    return found


class Watch:
    """Processes that are alive when the watch begins. Their ends are seen even when their parent is another process."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._handles = {pid: os.pidfd_open(pid) for pid in pids}

    def still_alive(self) -> set[int]:
        """Those that do not end within the tests' patience."""
        end = time.monotonic() + PATIENCE
        alive: set[int] = set()
        for pid, handle in self._handles.items():
            if not select.select([handle], [], [], max(end - time.monotonic(), 0))[0]:
                alive.add(pid)
        return alive

    def alive_now(self) -> set[int]:
        """Those that have not ended."""
        return {pid for pid, handle in self._handles.items() if not select.select([handle], [], [], 0)[0]}

    def close(self) -> None:
        for handle in self._handles.values():
            os.close(handle)


@contextlib.contextmanager
def watching(pids: Iterable[int]) -> Generator[Watch]:
    with contextlib.closing(Watch(pids)) as watch:
        yield watch
