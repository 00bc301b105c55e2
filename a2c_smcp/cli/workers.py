"""`a2c server --workers`: starts the worker processes, replaces those that die, and passes signals on to them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from a2c_smcp.cli.errors import fail
from a2c_smcp.cli.running import on_hangup, run_until_done
from a2c_smcp.server.settings import ServerSettings
from a2c_smcp.utils.backoff import Backoff
from a2c_smcp.utils.system.processes import APART, Guard, describe_exit
from a2c_smcp.utils.system.signals import HANGUP, STOP, on_signals
from a2c_smcp.utils.system.sockets import bind, hand_over, inheriting, share

logger = logging.getLogger("a2c_smcp.server.workers")

WORKER = "a2c_smcp.cli.worker"
"""The module of a worker. It is not imported here: this process needs nothing of a Server."""
READY = "ready"
"""What a worker reports once it serves, followed by its URL."""
FIRST_DELAY, LONGEST_DELAY = 0.2, 10.0
"""Seconds before a worker is replaced."""
STABLE_SECONDS = 60.0
"""A worker that lived longer is replaced after the first delay again."""


class WorkersFailed(Exception):
    """No worker can start."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def run_workers(
    settings: ServerSettings, given: Mapping[str, Any], config: Path | None, on_ready: Callable[[str], None]
) -> None:
    """Run the workers until a signal stops them. `given` are the settings of the command line. `on_ready` gets the
    Server's URL once a first worker serves.

    Raises:
        OSError: the address cannot be bound.
    """
    if sys.platform == "win32":
        fail("--workers: on Windows, several processes cannot share a port; start one Server for each port", 2)
    # On a command line, every user of the machine could read the secrets. As the settings of the environment take
    # precedence over the file, those of the command line can be among them.
    environment = {**os.environ, **{f"A2C_{name.upper()}": str(value) for name, value in given.items()}}
    if config is not None:
        environment["A2C_CONFIG"] = str(config)
    with contextlib.closing(bind(settings.host, settings.port)) as reserved:
        try:
            run_until_done(_Workers(reserved, environment, on_ready).run(settings.workers))
        except WorkersFailed as error:
            fail(str(error), error.code)


class _Workers:
    """The processes, by their numbers."""

    def __init__(self, reserved: socket.socket, environment: dict[str, str], on_ready: Callable[[str], None]) -> None:
        self._reserved = reserved
        self._environment = environment
        self._on_ready: Callable[[str], None] | None = on_ready
        self._guard = Guard()
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._ready: set[int] = set()
        self._stopping = asyncio.Event()

    async def run(self, count: int) -> int:
        """Keep this many workers alive until a signal stops them; returns the exit code.

        Raises:
            WorkersFailed: none of them can start.
        """
        failure: WorkersFailed | None = None
        with contextlib.ExitStack() as signals:
            for number in STOP:
                signals.enter_context(on_signals([number], partial(self._stop, number)))
            signals.enter_context(on_hangup(self._reload, partial(self._stop, signal.SIGTERM)))
            try:
                async with asyncio.TaskGroup() as tasks:
                    for number in range(1, count + 1):
                        tasks.create_task(self._keep(number))
            except* WorkersFailed as failures:
                failure = failures.exceptions[0]  # pyright: ignore[reportAssignmentType]  # the group is flat
            self._guard.close()
        if failure is not None:
            raise failure
        return 0

    def _stop(self, number: int) -> None:
        """Pass a signal on. A worker takes it as a Server does that has no parent: a second Ctrl-C ends it at once."""
        self._stopping.set()
        self._reserved.close()
        for index, process in self._processes.items():
            # One that is still starting would write a traceback for SIGINT.
            _send(process, number if index in self._ready else signal.SIGTERM)

    def _reload(self) -> None:
        # The others read the settings in a moment anyway. The signal would end them, as they do not handle it yet.
        for number in self._ready:
            _send(self._processes[number], HANGUP or 0)

    async def _keep(self, number: int) -> None:
        """Keep one worker alive."""
        backoff = Backoff(FIRST_DELAY, LONGEST_DELAY)
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                code, reason = await self._live(number)
            except OSError as error:  # too many processes, for example
                code, reason = 1, str(error)
            if self._stopping.is_set():
                return
            # An exit before it was ready is a mistake that another start repeats. While other workers serve it is not
            # worth to end their calls for it. A signal (a negative code) comes from outside, and is retried.
            if reason is not None and code >= 0 and not self._ready:
                raise WorkersFailed(reason or f"a worker {describe_exit(code)} before it was ready", code or 1)
            if time.monotonic() - began > STABLE_SECONDS:
                backoff.reset()
            delay = backoff.next()
            why = f" ({reason})" if reason else ""
            logger.warning("worker %d %s%s; it is replaced in %.1f s", number, describe_exit(code), why, delay)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay)

    async def _live(self, number: int) -> tuple[int, str | None]:
        """Run one worker until it ends; its exit code and, if it was never ready, the reason as far as it is known."""
        mark = self._guard.mark()
        # Closed here at once: the socket of a worker that dies must not go on to collect connections.
        with contextlib.closing(share(self._reserved)) as listener:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", WORKER, str(number), hand_over(listener, os.getpid()),
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                env={**self._environment, **mark}, **APART, **inheriting(listener),
            )  # fmt: skip
        tree = self._guard.adopt(process.pid, mark)
        self._processes[number] = process
        if self._stopping.is_set():  # it was started just before
            _send(process, signal.SIGTERM)
        try:
            assert process.stdout is not None
            kind, _, text = (await process.stdout.readline()).decode().strip().partition(" ")
            if kind == READY:
                self._ready.add(number)
                if self._on_ready is not None:
                    self._on_ready(text)
                    self._on_ready = None
            code = await process.wait()
            return code, None if kind == READY else text
        finally:
            self._ready.discard(number)
            del self._processes[number]
            if process.returncode is None:
                process.kill()
                await process.wait()
            tree.close()


def _send(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended
        process.send_signal(number)
