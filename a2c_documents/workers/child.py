"""A child process that answers one line with one line, and that can be killed at any moment."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence

from a2c_smcp.utils.system.processes import APART
from a2c_smcp.utils.system.resources import resident_bytes

DYING_SECONDS = 1.0
_LINE_LIMIT = 1 << 28
"""Bytes of one line that asyncio buffers. The default of 64 KiB is less than one page."""


class Child:
    """One process. It starts with the first request, so that a server that only lists documents starts none."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """`environment` is added to that of this process."""
        self._command = command
        self._environment = environment or {}
        self._process: asyncio.subprocess.Process | None = None
        self.is_stopped = False
        """Whether it was ended because it used too much memory."""

    @property
    def is_running(self) -> bool:
        """Whether there is a process that can be asked."""
        return self._process is not None and self._process.returncode is None

    @property
    def memory_bytes(self) -> int:
        """The memory that the process uses."""
        process = self._process
        return resident_bytes(process.pid) if process is not None and process.returncode is None else 0

    def stop(self) -> None:
        """Kill the process. The request that it handles fails."""
        if self._process is not None and self._process.returncode is None:
            self.is_stopped = True
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def start(self, *arguments: str) -> None:
        """Start the process, with more arguments.

        Raises:
            OSError: it cannot be started.
        """
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, **self._environment},
            limit=_LINE_LIMIT,
            **APART,  # Ctrl-C is for the server, which ends its children
        )

    async def write(self, line: bytes) -> None:
        """Send a line, which has no line break.

        Raises:
            OSError: the process died.
        """
        requests = self._process.stdin if self._process is not None else None
        if requests is None:
            raise ConnectionError
        requests.write(line + b"\n")
        await requests.drain()

    async def read(self) -> bytes:
        """The next line.

        Raises:
            OSError, ValueError: the process died, or the line is too long.
        """
        answers = self._process.stdout if self._process is not None else None
        line = await answers.readline() if answers is not None else b""
        if not line:
            raise ConnectionError
        return line

    async def end(self) -> None:
        """Kill the process."""
        process, self._process, self.is_stopped = self._process, None, False
        if process is None:
            return
        if process.stdout is not None and process.stdout.at_eof():
            # Its pipe is closed, so it is dead or about to be. A signal now could reach the process between its exit
            # and the moment asyncio reaps it, which asyncio reports as an error.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), DYING_SECONDS)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
