"""Reads files through the workers, and remembers which requests fail.

A request that fails because of the content is not repeated, not even after a restart, until the file changes or its
parser gets a new version. A request that took too much time or memory, or that crashed the worker, may have hit a good
file on a busy machine: it is retried once, a minute later at the earliest, and the second result is final. A failure
that only the machine causes (a missing permission, a missing library) is never recorded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from a2c_documents.folder.files import Folder, Stamp
from a2c_documents.store.store import Failure, Store
from a2c_documents.workers.failures import Cause, FileGone, ReadingFailed
from a2c_documents.workers.pool import Reply, Workers

RETRY_SECONDS = 60.0

T = TypeVar("T")


class FileChanged(Exception):
    """The file has changed since its content was identified."""


@dataclass(frozen=True, slots=True)
class Content:
    """A file together with the content that a request is about."""

    path: Path
    stamp: Stamp
    digest: str


class Attempts:
    """Sends requests about a content to the workers. It checks after each one that the content is still the same."""

    def __init__(self, folder: Folder, store: Store, workers: Workers, retry_seconds: float) -> None:
        self._folder = folder
        self._store = store
        self._workers = workers
        self._retry_seconds = retry_seconds

    async def read(self, content: Content, act: str, *details: Any) -> Reply:
        """Read something from a file.

        Raises:
            FileChanged: the file has another content now.
            FileGone: the file does not exist any more.
            NotYet: the file has to be converted first.
            ReadingFailed: the file cannot be read; with `Cause.UNCLEAR` it will be retried.
        """
        # Failures are recorded for each request and not for the file: one damaged page leaves the others readable.
        what = " ".join(map(str, (act, *details)))
        return await self.attempt(content, what, lambda: self._workers.do(act, content.path, *details))

    async def attempt(self, content: Content, what: str, act: Callable[[], Awaitable[T]]) -> T:
        """Do anything with a file, and remember under a name if it fails.

        Raises:
            FileChanged, FileGone, ReadingFailed: as `read`.
        """
        before: Failure | None = None
        if content.digest in self._store.failing:
            before = await asyncio.to_thread(self._store.failure, content.digest, what)
        # Wall-clock time, because a failure outlives the process. If the clock was set back, the failure has a time in
        # the future, and the request is retried instead of being rejected until then.
        if before is not None and (before.is_final or 0 <= time.time() - before.at < self._retry_seconds):
            raise ReadingFailed(before.problem, Cause.FILE if before.is_final else Cause.UNCLEAR)
        try:
            answer = await act()
        # A kind of ReadingFailed, but nothing is recorded about a file that does not exist.
        except FileGone:
            raise
        except ReadingFailed as error:
            # A file that is being written is often cut off. Its failure must not be recorded for the content it had
            # before, so the file is checked first.
            await self.check(content)
            if error.cause in (Cause.MACHINE, Cause.LATER):
                raise
            is_final = error.cause is Cause.FILE or before is not None
            failure = Failure(str(error), is_final, time.time())
            await asyncio.to_thread(self._store.keep_failure, content.digest, what, failure)
            raise ReadingFailed(str(error), Cause.FILE if is_final else Cause.UNCLEAR) from None
        # The worker opens the file by its path, and may have read a newer content than the one that was identified.
        await self.check(content)
        return answer

    async def check(self, content: Content) -> None:
        """Check that a file has not changed, by its size, times and inode.

        Raises:
            FileChanged: it has changed.
        """
        if await asyncio.to_thread(self._folder.stamp, content.path) != content.stamp:
            raise FileChanged
