"""A child process of `a2c up`: started with the plan, restarted when it dies, and read from."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from a2c_smcp.utils.backoff import Backoff
from a2c_smcp.utils.system.processes import APART, describe_exit
from a2c_smcp.utils.text import printable

STOP_SECONDS = 15.0
"""Seconds that a process has to stop before it is killed."""
FIRST_DELAY, LONGEST_DELAY = 0.2, 5.0
MOST_DEATHS, WITHIN_SECONDS = 10, 60.0
"""After this many deaths in this many seconds, the process is not restarted."""
LAST_WORDS = 12
"""Log messages that are quoted when a process cannot be kept alive."""
LONGEST_LINE = 4_000_000
LONGEST_WORDS = 1_000
LATE_OUTPUT = 0.5
"""Seconds that output may arrive after the end of its process."""

Report = dict[str, Any]


class ProcessFailed(Exception):
    """A process cannot be kept alive."""


class SupervisedProcess:
    """One process. `plan` makes its first line of input, given its process id. `options` go to `subprocess`.
    `on_report` gets its reports, `on_log` level and message of each log record, `on_death` the reason of a restart."""

    def __init__(
        self,
        name: str,
        plan: Callable[[int], bytes],
        *,
        options: Mapping[str, Any] = {},
        on_report: Callable[[Report], None],
        on_log: Callable[[str, str], None],
        on_death: Callable[[str], None],
    ) -> None:
        self.name = name
        self._plan = plan
        self._options = options
        self._on_report = on_report
        self._on_log = on_log
        self._on_death = on_death
        self._process: asyncio.subprocess.Process | None = None
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)
        self._told = False
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()
        self._ended.set()
        self._is_killed = False

    async def run(self) -> None:
        """Keep the process alive until `stop`.

        Raises:
            ProcessFailed: the process does not start, or dies repeatedly.
        """
        self._ended.clear()
        try:
            await self._keep_alive()
        finally:
            self._ended.set()

    async def stop(self) -> bool:
        """Stop the process, or kill it if it does not stop in time; whether it was killed. Returns after `run`."""
        # Closing its standard input is the signal: it works the same on every system, and also if the child is not yet
        # far enough to handle SIGTERM.
        self._stopping.set()
        self._hang_up()
        try:
            await asyncio.wait_for(self._ended.wait(), STOP_SECONDS)
        except TimeoutError:
            self.kill()
            await self._ended.wait()
        return self._is_killed

    def tell(self, **news: Any) -> None:
        """Tell the process something, if it runs. After a restart, it does not know it any more."""
        if self._process is not None and self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps(news).encode() + b"\n")

    def kill(self) -> None:
        """Kill the process."""
        self._stopping.set()
        if not self._ended.is_set():
            self._is_killed = True
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _keep_alive(self) -> None:
        backoff = Backoff(FIRST_DELAY, LONGEST_DELAY)
        while not self._stopping.is_set():
            began = time.monotonic()
            code = await self._live()
            if self._stopping.is_set():
                return
            # An exit before the first report is a mistake that another start repeats, such as a broken file. A signal
            # (a negative code) comes from outside, perhaps from the system when memory is short, and is retried.
            if not self._told and code >= 0:
                raise ProcessFailed(f"the {self.name} does not start: it {describe_exit(code)}{self._words()}")
            self._deaths.append(time.monotonic())
            if len(self._deaths) == MOST_DEATHS and self._deaths[-1] - self._deaths[0] < WITHIN_SECONDS:
                raise ProcessFailed(
                    f"the {self.name} died {MOST_DEATHS} times in a row; last, it {describe_exit(code)}{self._words()}"
                )
            self._on_death(f"it {describe_exit(code)}")
            if time.monotonic() - began > WITHIN_SECONDS:
                backoff.reset()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), backoff.next())

    def _hang_up(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    async def _live(self) -> int:
        """Start the process and read from it until it ends; returns its exit code."""
        self._last_words.clear()
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", f"a2c_smcp.cli.up.{self.name.lower()}_process",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=_environment(), limit=LONGEST_LINE, **APART, **self._options,
        )  # fmt: skip
        # `stop` or `kill` may have been called while the process was starting, when there was nothing to act on.
        if self._stopping.is_set():
            self._hang_up()
        if self._is_killed:
            self.kill()
        readers: list[asyncio.Task[None]] = []
        try:
            stdin, stdout, stderr = _pipes(process)
            with contextlib.suppress(ConnectionError):  # it died at once; the exit code says more than the broken pipe
                stdin.write(self._plan(process.pid))
                await stdin.drain()
            readers = [asyncio.create_task(self._listen(stdout)), asyncio.create_task(self._read_log(stderr))]
            code = await process.wait()
            # Read the rest, which has the reason of the end. With a limit: a grandchild that inherited the pipe would
            # keep it open.
            await asyncio.wait(readers, timeout=LATE_OUTPUT)
            return code
        finally:
            for reader in readers:
                reader.cancel()
            if process.returncode is None:
                process.kill()
            self._process = None

    async def _listen(self, stream: asyncio.StreamReader) -> None:
        async for line in _lines(stream):
            try:
                report: Any = json.loads(line)
                self._on_report(report)
                self._told = True
            except Exception as error:  # a library that prints, or a bug in a handler: the next report may be fine
                self._on_log("warning", f"invalid report {line[:LONGEST_WORDS]!r}: {error}")

    async def _read_log(self, stream: asyncio.StreamReader) -> None:
        async for line in _lines(stream):
            text = line.decode("utf-8", "replace").rstrip()
            # A line that is not a log record is a traceback or an abort of the interpreter.
            level, message = "error", text
            with contextlib.suppress(ValueError, KeyError, TypeError):
                record = json.loads(text)
                level, message = record["level"], record["message"]
            if message:
                self._last_words.append(message[:LONGEST_WORDS])
                self._on_log(level, message[:LONGEST_WORDS])

    def _words(self) -> str:
        return "".join(f"\n    {printable(line)}" for words in self._last_words for line in words.splitlines())


async def _lines(stream: asyncio.StreamReader) -> AsyncGenerator[bytes]:
    """The lines of a stream; of a line beyond the limit, only the end."""
    while True:
        try:
            yield await stream.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            if end.partial:
                yield end.partial
            return
        except asyncio.LimitOverrunError as error:
            await stream.readexactly(error.consumed)


def _pipes(
    process: asyncio.subprocess.Process,
) -> tuple[asyncio.StreamWriter, asyncio.StreamReader, asyncio.StreamReader]:
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise RuntimeError("the process was started without pipes")
    return process.stdin, process.stdout, process.stderr


def _environment() -> dict[str, str]:
    """The environment of the child: without variables of `a2c`, but with those for inputs and the runtime folder."""
    # A2C_PORT or A2C_KEYS_FILE in the user's shell would override the plan in the child's settings. The runtime folder
    # is where `a2c computer approvals` in that shell looks for the Computer.
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("A2C_") or name.startswith("A2C_SMCP_") or name == "A2C_RUNTIME_DIR"
    }


def log_level(name: str) -> int:
    """The number of a log level; ERROR for an unknown name."""
    return logging.getLevelNamesMapping().get(name.upper(), logging.ERROR)
