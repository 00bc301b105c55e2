"""The processes that read files. One that crashes, hangs or takes too much memory is replaced, and who asked told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

PARSE_SECONDS = 60.0
MEMORY_BYTES = 2_000_000_000
_LINE_LIMIT = 1 << 30


class ReadingFailed(Exception):
    """A file could not be read; the message says why, for a person."""


class FileGone(ReadingFailed):
    """The file is not there any more."""


class _Worker:
    """One process."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None

    async def ask(self, request: dict[str, Any], memory_bytes: int) -> dict[str, Any]:
        """Have something done; a process is started if there is none."""
        if self.process is None or self.process.returncode is not None:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # the folder we are in may be the one that is served: what lies there is no code
                "-m",
                "a2c_smcp.documents.worker",
                str(memory_bytes),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=_LINE_LIMIT,
                start_new_session=True,  # Ctrl-C is for the server, which ends its workers
            )
        requests, answers = self.process.stdin, self.process.stdout
        if requests is None or answers is None:
            raise ConnectionError
        requests.write(json.dumps(request).encode() + b"\n")
        await requests.drain()
        line = await answers.readline()
        if not line:
            raise ConnectionError
        return json.loads(line)

    async def end(self) -> None:
        """Kill it."""
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        self.process = None


class Workers:
    """As many processes as there are processors. A file is read where it was read before, if that process is free."""

    def __init__(
        self, count: int | None = None, seconds: float = PARSE_SECONDS, memory_bytes: int = MEMORY_BYTES
    ) -> None:
        self._idle = [_Worker() for _ in range(count or min(os.cpu_count() or 2, 8))]
        self._all = list(self._idle)
        self._free = asyncio.Semaphore(len(self._idle))
        self._readers: dict[str, _Worker] = {}
        self._seconds = seconds
        self._memory_bytes = memory_bytes

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._all)

    @property
    def has_worked(self) -> bool:
        """Whether any process was ever needed."""
        return any(worker.process is not None for worker in self._all)

    async def do(self, what: str, path: Path, *details: Any) -> dict[str, Any]:
        """Have a file read.

        Raises:
            FileGone: it is not there any more.
            ReadingFailed: it cannot be read, and why.
        """
        request: dict[str, Any] = {"do": what, "path": str(path), "with": details}
        async with self._free:
            worker = self._take(str(path))
            try:
                async with asyncio.timeout(self._seconds):
                    reply = await worker.ask(request, self._memory_bytes)
            except TimeoutError:
                await worker.end()
                raise ReadingFailed(f"reading it takes more than {self._seconds:.0f} seconds") from None
            except (ConnectionError, OSError, ValueError):
                await worker.end()
                raise ReadingFailed("the reader crashed at it") from None
            except BaseException:
                await worker.end()  # its answer would be taken for the next one's
                raise
            finally:
                self._idle.append(worker)
        if reply.get("gone"):
            raise FileGone("the file is not there any more")
        if "problem" in reply:
            if reply.get("is_unexpected"):
                logger.warning("%s: %s", path.name, reply["problem"])
            raise ReadingFailed(str(reply["problem"]))
        return reply["answer"]

    def _take(self, path: str) -> _Worker:
        known = self._readers.get(path)
        worker = known if known in self._idle else self._idle[-1]
        self._idle.remove(worker)
        if len(self._readers) > 1_000:
            self._readers.clear()
        self._readers[path] = worker
        return worker

    async def close(self) -> None:
        """End them all."""
        await asyncio.gather(*(worker.end() for worker in self._all))
