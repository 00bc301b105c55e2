"""The processes that read files. One that crashes, hangs or takes too much memory is replaced, and who asked told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from a2c_smcp.utils.system.processes import APART

logger = logging.getLogger(__name__)

T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int], None]
"""Told how many are done, and of how many."""

PARSE_SECONDS = 60.0
MEMORY_BYTES = 2_000_000_000
DYING_SECONDS = 1.0
_LINE_LIMIT = 1 << 28
_CLOSED = "nothing is read any more"
_MOST_REMEMBERED = 1_000


class Cause(Enum):
    """Why something could not be read, and so what a further attempt would give."""

    FILE = "file"
    """What is in the file: the same again."""
    UNCLEAR = "unclear"
    """It took too much time or memory, or its reader died: the file may be at fault, or a machine under stress."""
    MACHINE = "machine"
    """No right to read it, a bad disk, a library that is missing: nothing is said about what is in the file."""


class ReadingFailed(Exception):
    """A file could not be read; the message says why, for a person."""

    def __init__(self, problem: str, cause: Cause) -> None:
        super().__init__(problem)
        self.cause = cause


@dataclass(frozen=True, slots=True)
class Reply:
    """What was read of a file: as values, and as the JSON that the process wrote, ready to be kept."""

    value: dict[str, Any]
    body: bytes


class FileGone(ReadingFailed):
    """The file is not there any more."""

    def __init__(self) -> None:
        super().__init__("the file is not there any more", Cause.MACHINE)


class _Worker:
    """One process, once it is needed."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self.has_read = False
        """Whether anything was read in this process: what ails it may come from there."""

    async def ask(self, request: dict[str, Any], memory_bytes: int) -> dict[str, Any]:
        """Have something done: what failed, or the `answer`. A process is started if there is none.

        Raises:
            OSError, ValueError, RecursionError: it died, or its answer is none.
        """
        if self._process is None or self._process.returncode is not None:
            self._process = await _start(memory_bytes)
            self.has_read = False
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            raise ConnectionError
        requests.write(json.dumps(request).encode() + b"\n")
        await requests.drain()
        line = await answers.readline()
        if not line:
            raise ConnectionError
        reply: dict[str, Any] = json.loads(line)
        if not reply:  # nothing failed: the answer follows in a line of its own
            body = await answers.readline()
            reply["answer"] = Reply(json.loads(body), body.removesuffix(b"\n"))
        self.has_read = True
        return reply

    async def end(self) -> None:
        """Kill it."""
        process, self._process, self.has_read = self._process, None, False
        if process is None:
            return
        if process.stdout is not None and process.stdout.at_eof():
            with contextlib.suppress(TimeoutError):  # it is dead, or nearly: a signal would get into asyncio's way
                await asyncio.wait_for(process.wait(), DYING_SECONDS)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _start(memory_bytes: int) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # the folder we are in may be the one that is served: what lies there is no code
            "-m",
            "a2c_documents.workers.process",
            str(memory_bytes),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LINE_LIMIT,
            **APART,  # Ctrl-C is for the server, which ends its workers
        )
    except OSError as error:
        problem = f"no process can be started to read it: {error.strerror or error}"
        raise ReadingFailed(problem, Cause.MACHINE) from None


class Workers:
    """As many processes as there are processors. A file is read where it was read before, if that process is free."""

    def __init__(
        self, count: int | None = None, seconds: float = PARSE_SECONDS, memory_bytes: int = MEMORY_BYTES
    ) -> None:
        self._all = [_Worker() for _ in range(count or min(os.cpu_count() or 2, 8))]
        self._idle = list(self._all)
        self._free = asyncio.Semaphore(len(self._all))
        self._readers: dict[str, _Worker] = {}
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._is_closed = False
        self.has_worked = False
        """Whether anything was ever asked for."""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._all)

    async def do(self, what: str, path: Path, *details: Any) -> Reply:
        """Have a file read.

        Raises:
            FileGone: it is not there any more.
            ReadingFailed: it cannot be read, and why.
        """
        self.has_worked = True
        request: dict[str, Any] = {"do": what, "path": str(path), "with": details}
        async with self._free:
            if self._is_closed:
                raise ReadingFailed(_CLOSED, Cause.MACHINE)
            worker = self._take(str(path))
            try:
                had_read = worker.has_read
                reply = await self._ask(worker, request)
                # It may have died of what it read before: once more, in a fresh one.
                if reply.get("is_exhausted") and had_read and not self._is_closed:
                    reply = await self._ask(worker, request)
            finally:
                self._idle.append(worker)
        if self._is_closed:
            raise ReadingFailed(_CLOSED, Cause.MACHINE)  # what it died of is us
        if reply.get("gone"):
            raise FileGone
        if "problem" in reply:
            if reply.get("is_unexpected"):
                logger.warning("%s: %s", path.name, reply["problem"])
            raise ReadingFailed(str(reply["problem"]), Cause(reply["cause"]))
        return reply["answer"]

    async def _ask(self, worker: _Worker, request: dict[str, Any]) -> dict[str, Any]:
        """What a process answers; one that is exhausted is ended."""
        try:
            async with asyncio.timeout(self._seconds):
                reply = await worker.ask(request, self._memory_bytes)
        except TimeoutError:
            reply = {"problem": f"reading it takes more than {self._seconds:.0f} seconds", "cause": Cause.UNCLEAR.value}
            await worker.end()
        except (OSError, ValueError, RecursionError):
            reply = {"problem": "the reader crashed at it", "cause": Cause.UNCLEAR.value, "is_exhausted": True}
        except BaseException:
            await worker.end()  # its answer would be taken for the next one's
            raise
        if reply.get("is_exhausted"):
            await worker.end()
        return reply

    async def for_each(
        self, items: Sequence[T], act: Callable[[T], Awaitable[None]], progress: Progress | None = None
    ) -> None:
        """Do something with each of some things, as many at once as there are processes."""
        waiting, done = iter(items), 0

        async def work() -> None:
            nonlocal done
            for item in waiting:
                await act(item)
                done += 1
                if progress is not None:
                    progress(done, len(items))

        if progress is not None:
            progress(0, len(items))
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self.count, len(items))):
                group.create_task(work())

    def _take(self, path: str) -> _Worker:
        known = self._readers.get(path)
        worker = known if known in self._idle else self._idle[-1]
        self._idle.remove(worker)
        if len(self._readers) > _MOST_REMEMBERED:
            self._readers.clear()
        self._readers[path] = worker
        return worker

    async def close(self) -> None:
        """End them all; nothing more is read."""
        self._is_closed = True
        await asyncio.gather(*(worker.end() for worker in self._all))
