"""Child processes that speak MCP on their standard input and output, and that never outlive their Computer.

Stopping a child stops everything that it started; `utils.system.processes` knows how, and does the same if the Computer
is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from a2c_smcp.utils.system.processes import APART, Guard, ProcessTree, describe_exit

EXIT_GRACE = 2.0
"""Seconds a child gets to end by itself once its standard input is closed, and again after SIGTERM."""
LATE_OUTPUT = 0.2
"""Seconds to wait for the output of a child that exited: others may hold its pipes open for ever."""
STDERR_LINES = 20
STDERR_WIDTH = 8_000
FLOOD_CHUNK = 32_768
"""A chunk of output this large that carries no message is followed by a pause: a flood slows its own source."""
FLOOD_PAUSE = 0.05
MAX_LINE = 100_000_000
"""Bytes of a line: a server that never ends its line must not fill the memory of the Computer."""


class Children:
    """The children of one Computer."""

    def __init__(self) -> None:
        self._guard = Guard()

    async def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None,
        on_line: Callable[[bytes], bool],
        on_error_line: Callable[[str], None],
        stall_timeout: float,
    ) -> Child:
        """Start a child. `on_line` gets each line of its standard output, and returns whether it was a message.

        A child becomes `unusable` if it reads nothing for `stall_timeout` seconds while data waits for it.

        Raises:
            OSError: it cannot be started.
        """
        # The mark is an environment variable, which everything that the child starts inherits. On a system with /proc,
        # it leads to processes that have left the process group of the child.
        mark = self._guard.mark()
        child = Child(on_line, on_error_line, lambda pid: self._guard.adopt(pid, mark), stall_timeout)
        await asyncio.get_running_loop().subprocess_exec(lambda: child, *argv, env={**env, **mark}, cwd=cwd, **APART)
        return child

    async def aclose(self) -> None:
        """Close the guard, once all children have been stopped."""
        await asyncio.to_thread(self._guard.close)


class Child(asyncio.SubprocessProtocol):
    """One running child: reads its lines, writes to it, and reports its end.

    It is a protocol of asyncio, not a pair of streams: the event loop hands each chunk of output directly to
    `pipe_data_received`, without a task that waits for it.
    """

    def __init__(
        self,
        on_line: Callable[[bytes], bool],
        on_error_line: Callable[[str], None],
        adopt: Callable[[int], ProcessTree],
        stall_timeout: float,
    ) -> None:
        self._on_line = on_line
        self._on_error_line = on_error_line
        self._adopt = adopt
        self._tree: ProcessTree | None = None
        self._stall_timeout = stall_timeout
        self._transport: asyncio.SubprocessTransport | None = None
        self._parts: list[bytes] = []
        self._part_bytes = 0
        self._error_rest = b""
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = loop.create_future()
        """The return code, as soon as the process has ended."""
        self.silent: asyncio.Future[None] = loop.create_future()
        """Done when its standard output has ended."""
        self.unusable: asyncio.Future[str] = loop.create_future()
        """Why it cannot be used although the process still runs."""
        self.pid = 0
        self._written = 0
        self._is_read = asyncio.Event()
        """Set while the child reads as fast as we write."""
        self._is_read.set()
        self._turn = asyncio.Lock()
        self._waiting = 0
        """The number of callers in `ready`. While there are any, new callers wait, too, so that all go in order."""
        self._stall: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------------------------------------ called by the transport

    def describe_end(self) -> str:
        """How it ended, in words."""
        if not self.exited.done():
            return "closed its standard output"
        return describe_exit(self.exited.result())

    def write(self, data: bytes) -> None:
        """Write to its standard input. Data that the child has not read is kept in memory, so a caller that sends
        requests waits for `ready` first.

        Raises:
            ConnectionError: the child has ended.
        """
        pipe = cast("asyncio.WriteTransport | None", self._pipe(0))
        if self.exited.done() or pipe is None or pipe.is_closing():
            raise ConnectionResetError(f"the process {self.describe_end()}")
        self._written += len(data)
        pipe.write(data)

    async def ready(self) -> None:
        """Wait until the child has read most of what was written. Callers continue in the order in which they came."""
        # An `Event` alone would release all callers at once, and each would write its request: a child that reads
        # slowly would face a thousand of them. The lock lets one caller through, whose data clears the event again.
        if self._is_read.is_set() and not self._waiting:
            return
        self._waiting += 1
        try:
            async with self._turn:
                await self._is_read.wait()
        finally:
            self._waiting -= 1

    def close_stdin(self) -> None:
        """Close its standard input: by the rules of MCP, a server ends then."""
        if (pipe := self._pipe(0)) is not None:
            pipe.close()

    async def stop(self) -> None:
        """End the child and everything it started, within a limited time."""
        # Three steps, as MCP recommends: close the input, then SIGTERM, then SIGKILL. The second one goes to the whole
        # tree even if the child itself has ended: `npx` and shells often leave the real server behind.
        self.close_stdin()
        try:
            await asyncio.wait((self.exited,), timeout=EXIT_GRACE)
            if self._tree is not None and await asyncio.to_thread(self._tree.terminate):
                await self._end_within(self._tree, EXIT_GRACE)
        finally:
            if self._transport is not None:
                with contextlib.suppress(PermissionError, ProcessLookupError):
                    self._transport.close()
            if self._tree is not None:
                self._tree.close()
            # A thread of asyncio waits for the end of the process, and on a busy machine it may be late. A loop that
            # is closed before would leave a process whose end is never noticed.
            await asyncio.wait((self.exited,), timeout=EXIT_GRACE)

    # ----------------------------------------------------------------------------------------- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process runs."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._transport.get_pid()
        self._tree = self._adopt(self.pid)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """The child wrote something."""
        # A child that prints without end would take all time of the event loop. A pause in reading fills its pipe, and
        # then the child waits in its own `write`.
        useful = self._take_output(data) if fd == 1 else self._take_errors(data)
        if not useful and len(data) >= FLOOD_CHUNK:
            self._read(fd, False)
            asyncio.get_running_loop().call_later(FLOOD_PAUSE, self._read, fd, True)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """The child closed a pipe, or ended."""
        if fd == 1 and not self.silent.done():
            self.silent.set_result(None)

    def process_exited(self) -> None:
        """The child ended."""
        assert self._transport is not None
        code = self._transport.get_returncode()
        self.resume_writing()  # callers in `ready` go on, and get an error when they write
        if not self.exited.done():
            self.exited.set_result(code if code is not None else -1)
        # Its last answers may still be in the pipe. But the end of the pipe may never come, if a process that the child
        # started holds it open; so it is not waited for longer than this.
        asyncio.get_running_loop().call_later(LATE_OUTPUT, self.pipe_connection_lost, 1, None)

    def pause_writing(self) -> None:
        """The child does not read as fast as we write."""
        self._is_read.clear()
        self._stall = asyncio.get_running_loop().call_later(self._stall_timeout, self._check_stall, self._consumed())

    def resume_writing(self) -> None:
        """The child has read most of what was written."""
        self._is_read.set()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    # -------------------------------------------------------------------------------------------------------- internals

    def _consumed(self) -> int:
        """Bytes that the system has taken from us: read by the child, or in the pipe."""
        pipe = cast("asyncio.WriteTransport | None", self._pipe(0))
        return self._written - (pipe.get_write_buffer_size() if pipe is not None and not pipe.is_closing() else 0)

    # A child that reads slowly is fine; one that reads nothing at all for this long hangs, and all its callers with it.
    def _check_stall(self, before: int) -> None:
        consumed = self._consumed()
        if consumed == before:
            self._give_up(f"has read nothing from its standard input for {self._stall_timeout:g} s")
        else:
            self._stall = asyncio.get_running_loop().call_later(self._stall_timeout, self._check_stall, consumed)

    def _take_output(self, data: bytes) -> bool:
        """Cut the output into lines; whether any was of use."""
        if b"\n" not in data:
            # Collected in a list and joined once: a large message arrives in small chunks, and adding each to a
            # byte string would copy the whole message again.
            self._parts.append(data)
            self._part_bytes += len(data)
            if self._part_bytes <= MAX_LINE:
                return True  # a long message on its way
            self._parts.clear()
            self._part_bytes = 0
            self._give_up(f"writes a line of more than {MAX_LINE} bytes")
            return False
        first, *lines = data.split(b"\n")
        lines.insert(0, b"".join((*self._parts, first)))
        rest = lines.pop()
        self._parts = [rest] if rest else []
        self._part_bytes = len(rest)
        useful = False
        for line in lines:
            useful |= self._on_line(line)
        return useful

    def _take_errors(self, data: bytes) -> bool:
        lines = (self._error_rest + data).split(b"\n")
        # Both cuts bound the work: a line may never end, and a chunk may have thousands of lines, of which only the
        # last ones are kept. Each of these is searched for secrets.
        self._error_rest = lines.pop()[:STDERR_WIDTH]
        for line in lines[-STDERR_LINES:]:
            if text := line[:STDERR_WIDTH].decode("utf-8", "replace").rstrip():
                self._on_error_line(text)
        return False

    def _give_up(self, reason: str) -> None:
        if not self.unusable.done():
            self.unusable.set_result(reason)

    def _read(self, fd: int, on: bool) -> None:
        pipe = self._pipe(fd)
        if pipe is None or pipe.is_closing():
            return
        reader = cast("asyncio.ReadTransport", pipe)
        with contextlib.suppress(RuntimeError):  # already so
            (reader.resume_reading if on else reader.pause_reading)()

    def _pipe(self, fd: int) -> asyncio.BaseTransport | None:
        return self._transport.get_pipe_transport(fd) if self._transport is not None else None

    async def _end_within(self, tree: ProcessTree, seconds: float) -> None:
        """Wait until all processes of the tree have ended; kill those that remain after `seconds`."""
        # Searching for the processes reads all of /proc. In threads, because that may take long on a busy machine.
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while await asyncio.to_thread(tree.is_alive):
            if loop.time() > deadline:
                await asyncio.to_thread(tree.kill)
                break
            await asyncio.sleep(0.05)
        await asyncio.wait((self.exited,), timeout=seconds)


def default_environment() -> dict[str, str]:
    """What a server sees of our environment: enough to find programs, and no secrets."""
    from mcp.client.stdio import get_default_environment

    environment = get_default_environment()
    for name in ("LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"):
        if name in os.environ:
            environment[name] = os.environ[name]
    return environment
