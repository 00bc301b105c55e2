"""The pool of worker processes that read files, with limits on time and memory.

Parsers never run in the server's own process. A damaged file can crash a native library, loop forever or allocate all
memory, and pdfium is not safe to call from two threads. In a process of its own, each of these ends that process only:
the pool replaces it, and the request fails with a message. Each worker handles one request at a time, so pdfium is
called by one thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from a2c_documents.store.converted import ConvertedFiles
from a2c_documents.store.scratch import Scratch, delete
from a2c_documents.workers.child import Child
from a2c_documents.workers.conversion import Converter
from a2c_documents.workers.failures import Cause, Conversion, FileGone, ReadingFailed
from a2c_documents.workers.passwords import Passwords

logger = logging.getLogger(__name__)

T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of finished items and the total."""

PARSE_SECONDS = 60.0
MEMORY_BYTES = 2_000_000_000
TOTAL_BYTES = 3_000_000_000
"""The memory of all processes together. Above it, the one that uses most is ended."""
LEFT_BYTES = 500_000_000
"""A process that uses more than this is replaced before it reads another file."""
WATCH_SECONDS = 0.25
LONG_SECONDS = 2.0
"""A request that takes longer lets another one start beside it."""
_CLOSED = "nothing is read any more"
_MOST_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a worker: the parsed value, and the JSON that it was parsed from, which the store keeps."""

    value: dict[str, Any]
    body: bytes


class _Worker(Child):
    """A process that reads files."""

    def __init__(self, memory_bytes: int, scratch: Scratch) -> None:
        # -P: the working directory may be the served folder: never import modules from it
        super().__init__([sys.executable, "-P", "-m", "a2c_documents.workers.process", str(memory_bytes)])
        self._scratch = scratch
        self._folder: Path | None = None
        self.has_read = False
        """Whether this process has read anything: a failure may be a consequence of an earlier file."""
        self.path = ""
        """The file that it read last."""

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the reply: the failure, or `answer`. Starts a process if none is running.

        Raises:
            OSError, ValueError, RecursionError: the process died, or its reply is not JSON.
        """
        if self.is_stopped:
            await self.end()  # it had already replied when it was stopped
        if not self.is_running:
            await self._clear()
            self._folder = await asyncio.to_thread(self._scratch.make)
            try:
                await self.start(str(self._folder or ""))
            except OSError as error:
                problem = f"no process can be started to read it: {error.strerror or error}"
                raise ReadingFailed(problem, Cause.MACHINE) from None
            self.has_read = False
        # One line for each request, and JSON escapes line breaks, so no file name can end a line.
        await self.write(json.dumps(request).encode())
        reply: dict[str, Any] = json.loads(await self.read())
        if not reply:  # success: the answer follows on a line of its own
            body = await self.read()
            reply["answer"] = Reply(json.loads(body), body.removesuffix(b"\n"))
        self.has_read = True
        return reply

    async def end(self) -> None:
        """Kill the process."""
        self.has_read = False
        await super().end()
        await self._clear()

    async def _clear(self) -> None:
        """Delete the temporary files of a process that has ended."""
        folder, self._folder = self._folder, None
        if folder is not None:
            await asyncio.to_thread(delete, folder)


class Workers:
    """As many processes as there are processors, at most 8, and as many again while requests take long: files that need
    minutes must not keep all others from being read.

    A worker keeps the last files open, so a request goes to the worker that read the same file before, if it is idle:
    the next page of a long PDF then costs that page only.
    """

    def __init__(
        self,
        count: int | None = None,
        seconds: float = PARSE_SECONDS,
        memory_bytes: int = MEMORY_BYTES,
        total_bytes: int = TOTAL_BYTES,
        converter: Converter | None = None,
        passwords: Passwords | None = None,
        long_seconds: float = LONG_SECONDS,
    ) -> None:
        self.count = count or min(os.cpu_count() or 2, 8)
        """How many requests run at the same time, besides those that take long."""
        self.passwords = passwords or Passwords()
        """Those that may be tried for each file."""
        self.converter = converter or Converter(None, ConvertedFiles(None))
        """Converts files of old formats, which no worker waits for."""
        self._scratch = Scratch()
        self._all = [_Worker(memory_bytes, self._scratch) for _ in range(2 * self.count)]
        self._idle = list(self._all)
        self._free = asyncio.Semaphore(self.count)
        self._long = 0
        """Requests that take long, beside which others have started."""
        self._readers: dict[str, _Worker] = {}
        self._seconds = seconds
        self._total_bytes = total_bytes
        self._long_seconds = long_seconds
        self._watching: asyncio.Task[None] | None = None
        self._is_closed = False
        self.has_worked = False
        """Whether any request was made."""

    async def do(self, what: str, path: Path, *details: Any) -> Reply:
        """Send a request about a file to a worker and return its reply.

        Raises:
            FileGone: the file does not exist any more.
            NotYet: the file has to be converted first.
            ReadingFailed: the file cannot be read.
        """
        request: dict[str, Any] = {"do": what, "path": str(path), "with": details}
        # Through the pipe: the arguments of a process are public.
        if passwords := self.passwords.candidates(path):
            request["passwords"] = passwords
        reply = await self._reply(path, request)
        if "convert" in reply:
            source, *described = reply["convert"]
            found = await self.converter.find(Conversion(Path(source), *described))
            reply = await self._reply(path, {**request, "converted": str(found)})
        return self._answer(path, reply)

    async def _reply(self, path: Path, request: dict[str, Any]) -> dict[str, Any]:
        """The reply of a worker."""
        self.has_worked = True
        async with self._slot():
            if self._is_closed:
                raise ReadingFailed(_CLOSED, Cause.MACHINE)
            worker = self._take(str(path))
            self._watch()
            try:
                if worker.path != str(path) and worker.memory_bytes > LEFT_BYTES:
                    await worker.end()
                worker.path = str(path)
                had_read = worker.has_read
                reply = await self._ask(worker, request)
                # Memory that earlier files left behind counts against the limit of this one, and a library may have
                # been left in a bad state. Only a failure in a fresh process is the fault of this file.
                if reply.get("is_exhausted") and had_read and not self._is_closed:
                    reply = await self._ask(worker, request)
                # What idle processes hold, the others cannot have.
                share = self._total_bytes // (4 * self.count)
                if worker.memory_bytes > share and self._memory_in_use() * 2 > self._total_bytes:
                    await worker.end()
            finally:
                self._idle.append(worker)
        if self._is_closed:
            raise ReadingFailed(_CLOSED, Cause.MACHINE)  # closing killed the worker: not the fault of the file
        return reply

    def _answer(self, path: Path, reply: dict[str, Any]) -> Reply:
        if reply.get("gone"):
            raise FileGone
        if "problem" in reply:
            if reply.get("is_unexpected"):
                logger.warning("%s: %s", path.name, reply["problem"])
            raise ReadingFailed(str(reply["problem"]), Cause(reply["cause"]))
        return reply["answer"]

    @contextlib.asynccontextmanager
    async def _slot(self) -> AsyncGenerator[None]:
        """Wait until a request may start."""
        await self._free.acquire()
        is_long = False

        def make_room() -> None:
            nonlocal is_long
            if self._long < self.count:
                is_long = True
                self._long += 1
                self._free.release()

        timer = asyncio.get_running_loop().call_later(self._long_seconds, make_room)
        try:
            yield
        finally:
            timer.cancel()
            if is_long:
                self._long -= 1
            else:
                self._free.release()

    async def _ask(self, worker: _Worker, request: dict[str, Any]) -> dict[str, Any]:
        """Ask a worker, within the time limit. A worker that hangs, crashed or ran out of memory is killed."""
        try:
            async with asyncio.timeout(self._seconds):
                reply = await worker.ask(request)
        except TimeoutError:
            reply = {"problem": f"reading it takes more than {self._seconds:.0f} seconds", "cause": Cause.UNCLEAR.value}
            await worker.end()
        except (OSError, ValueError, RecursionError):
            reply = {"problem": "the reader crashed at it", "cause": Cause.UNCLEAR.value, "is_exhausted": True}
            if worker.is_stopped:
                # Not repeated at once, because the other files need the memory.
                reply = {"problem": "reading it takes more memory than there is for all files",
                         "cause": Cause.UNCLEAR.value}  # fmt: skip
                await worker.end()
        except BaseException:
            # The request was cancelled, but its reply is still to come, and would be taken for the reply to the next
            # one.
            await worker.end()
            raise
        if reply.get("is_exhausted"):
            await worker.end()
        return reply

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._bound_memory())

    async def _bound_memory(self) -> None:
        """While anything is read, end the busy process that uses most when all of them use too much."""
        while len(self._idle) < len(self._all):
            await asyncio.sleep(WATCH_SECONDS)
            if self._memory_in_use() > self._total_bytes:
                busy = [worker for worker in self._all if worker not in self._idle]
                if busy:
                    max(busy, key=lambda worker: worker.memory_bytes).stop()

    def _memory_in_use(self) -> int:
        return sum(worker.memory_bytes for worker in self._all)

    async def for_each(
        self, items: Sequence[T], act: Callable[[T], Awaitable[None]], progress: Progress | None = None
    ) -> None:
        """Call `act` with each item, as many at once as there are processes; more may wait for one."""
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
            for _ in range(min(2 * self.count, len(items))):
                group.create_task(work())

    def _take(self, path: str) -> _Worker:
        known = self._readers.get(path)
        # Otherwise the worker that became idle last: its process is running, while others may not have been started.
        worker = known if known in self._idle else self._idle[-1]
        self._idle.remove(worker)
        # Forgetting all of them costs at most one opening of each file.
        if len(self._readers) > _MOST_REMEMBERED:
            self._readers.clear()
        self._readers[path] = worker
        return worker

    async def close(self) -> None:
        """Kill all processes and reject further requests."""
        self._is_closed = True
        if self._watching is not None:
            self._watching.cancel()
        await asyncio.gather(self.converter.close(), *(worker.end() for worker in self._all))
        await asyncio.to_thread(self._scratch.close)
