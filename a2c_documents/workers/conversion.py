"""Converts files of old formats with LibreOffice: one at a time, within limits, each in a folder of its own.

Conversions take seconds, so no worker waits for one. A request about a file that has not been converted fails with
`NotYet`. Those who want to wait call `Converter.convert`; the others go on with other files.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from a2c_documents.store.converted import ConvertedFiles
from a2c_documents.store.scratch import Scratch, delete
from a2c_documents.workers import libreoffice
from a2c_documents.workers.failures import Cause, Conversion, NotYet, ReadingFailed, identity_of
from a2c_smcp.utils.system.processes import APART, Guard, ProcessTree, describe_exit

logger = logging.getLogger(__name__)

CONVERSION_SECONDS = 120.0
MEMORY_BYTES = 2_000_000_000
MAX_RESULT = 500_000_000
"""Bytes of the largest file that a conversion may write."""
RETRY_SECONDS = 60.0
ATTEMPTS = 2
"""How often the conversion of a content may fail. A machine under load may have failed it, or a broken installation,
so that nothing is kept of it on disk: after a restart, it is tried again."""
_MOST_FAILURES = 10_000


@dataclass(slots=True)
class _Failure:
    problem: str
    attempts: int = 0
    at: float = field(default_factory=time.monotonic)


class Converter:
    """Converts files. `program` is LibreOffice; without it, no file can be converted."""

    def __init__(
        self,
        program: Path | None,
        files: ConvertedFiles,
        seconds: float = CONVERSION_SECONDS,
        memory_bytes: int = MEMORY_BYTES,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._program = program
        self._files = files
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._retry_seconds = retry_seconds
        self._guard: Guard | None = None
        self._scratch = Scratch()
        self._alone = asyncio.Lock()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._failures: dict[str, _Failure] = {}

    async def find(self, conversion: Conversion) -> Path:
        """The converted file.

        Raises:
            NotYet: it has to be converted first.
            ReadingFailed: it cannot be converted.
        """
        if (found := await asyncio.to_thread(self._files.get, conversion.name)) is not None:
            return found
        if self._program is None:
            what = conversion.path.suffix.lower() or "such"
            raise ReadingFailed(f"to read {what} files, {libreoffice.HOW_TO_INSTALL}", Cause.LATER)
        failure = self._failures.get(conversion.name)
        if failure is not None and (
            failure.attempts >= ATTEMPTS or time.monotonic() - failure.at < self._retry_seconds
        ):
            raise ReadingFailed(failure.problem, Cause.LATER)
        raise NotYet(conversion)

    async def convert(self, conversion: Conversion) -> None:
        """Convert a file. Whether that has succeeded, `find` says.

        Others may wait for the same file: a caller that is cancelled does not end the conversion.
        """
        name = conversion.name
        task = self._running.get(name)
        if task is None:
            task = self._running[name] = asyncio.create_task(self._convert(conversion))
            task.add_done_callback(lambda _: self._running.pop(name, None))
        await asyncio.shield(task)

    async def _convert(self, conversion: Conversion) -> None:
        try:
            async with self._alone, self._folder() as folder:
                # Somebody else may have converted it, also in another process.
                if await asyncio.to_thread(self._files.get, conversion.name) is None:
                    await self._run(conversion, folder)
            self._failures.pop(conversion.name, None)
        except (OSError, _Failed) as error:
            problem = f"LibreOffice could not convert it: {getattr(error, 'strerror', None) or error}"
            logger.info("%s: %s", conversion.path.name, problem)
            if len(self._failures) > _MOST_FAILURES:
                self._failures.clear()
            before = self._failures.get(conversion.name)
            self._failures[conversion.name] = _Failure(problem, (before.attempts if before else 0) + 1)

    async def _run(self, conversion: Conversion, folder: Path) -> None:
        """Convert a copy of the file, and keep the result.

        Raises:
            _Failed, OSError: there is none.
        """
        if self._program is None:
            raise _Failed("it is not installed")
        source, results = folder / f"file{conversion.path.suffix.lower()}", folder / "results"
        profile = folder / "profile"
        # A copy with a plain name: the file may change or vanish, and its name may be anything.
        try:
            await asyncio.to_thread(shutil.copyfile, conversion.path, source)
            identity = identity_of(await asyncio.to_thread(conversion.path.stat))
        except FileNotFoundError:
            return
        # The result is kept for the content that a worker saw. If the copy may be of another one, or the file is gone,
        # the next request finds out what is there.
        if identity != conversion.identity:
            return
        await asyncio.to_thread(libreoffice.make_profile, profile)
        results.mkdir()
        code = await self._execute(libreoffice.command(self._program, profile, conversion.to, source, results), folder)
        made = results / f"file.{conversion.to}"
        if not made.is_file() or made.stat().st_size == 0:
            ended = describe_exit(code) if code else "it gave no result"
            raise _Failed(f"{ended}; the file may be damaged, or a part of LibreOffice not installed")
        await asyncio.to_thread(self._files.keep, conversion.name, made)

    async def _execute(self, command: list[str], folder: Path) -> int:
        """Run the program within the limits. However it ends, nothing of it is left."""
        if self._guard is None:
            self._guard = Guard()
        mark = self._guard.mark()
        limits = str(self._memory_bytes), str(MAX_RESULT)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "a2c_documents.workers.limited", *limits, *command,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
            cwd=folder, env=libreoffice.environment(folder, mark), **APART,
        )  # fmt: skip
        tree: ProcessTree = self._guard.adopt(process.pid, mark)
        try:
            async with asyncio.timeout(self._seconds):
                return await process.wait()
        except TimeoutError:
            raise _Failed(f"it took more than {self._seconds:.0f} seconds") from None
        finally:
            tree.kill()
            await process.wait()
            tree.close()

    async def close(self) -> None:
        """End a conversion that runs, and delete what was kept for this run."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._guard is not None:
            await asyncio.to_thread(self._guard.close)
        await asyncio.to_thread(self._files.close)
        await asyncio.to_thread(self._scratch.close)

    @asynccontextmanager
    async def _folder(self) -> AsyncGenerator[Path]:
        """A folder for one conversion, which only its owner can enter. If the server is killed, another one deletes it.

        Raises:
            _Failed: there is no room for one.
        """
        folder = await asyncio.to_thread(self._scratch.make)
        if folder is None:
            raise _Failed("no folder for temporary files can be created")
        try:
            yield folder
        finally:
            delete(folder)  # also when the conversion is cancelled; a few files, so it is quick


class _Failed(Exception):
    """A conversion without a result, and the reason."""
