"""Reads files, and remembers what cannot be read.

What fails because of what is in a file is not tried again: not now, and not after a restart, until the file changes or
its parser gets a new version. What fails for no clear reason, since it took too much time or memory or since its reader
died, may have hit a good file on a machine under stress: it is tried a second time, a minute later at the earliest, and
that is the verdict. What the machine is to blame for alone is never held against a file.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from a2c_documents.folder.files import Folder, Stamp
from a2c_documents.store.store import Failure, Store
from a2c_documents.workers.pool import Cause, FileGone, ReadingFailed, Reply, Workers

RETRY_SECONDS = 60.0


class FileChanged(Exception):
    """The file is not any more what it was."""


@dataclass(frozen=True, slots=True)
class Content:
    """A file as it is known: what is read of it must be of this content."""

    path: Path
    stamp: Stamp
    digest: str


class Attempts:
    """The way to the workers for everything that depends on a content."""

    def __init__(self, folder: Folder, store: Store, workers: Workers, retry_seconds: float) -> None:
        self._folder = folder
        self._store = store
        self._workers = workers
        self._retry_seconds = retry_seconds

    async def read(self, content: Content, act: str, *details: Any) -> Reply:
        """Read something of a file.

        Raises:
            FileChanged: it has another content now.
            FileGone: it is not there any more.
            ReadingFailed: it cannot be read, and why; with `Cause.UNCLEAR` it will be tried again.
        """
        what = " ".join(map(str, (act, *details)))
        before: Failure | None = None
        if content.digest in self._store.failing:
            before = await asyncio.to_thread(self._store.failure, content.digest, what)
        if before is not None and (before.is_final or 0 <= time.time() - before.at < self._retry_seconds):
            raise ReadingFailed(before.problem, Cause.FILE if before.is_final else Cause.UNCLEAR)
        try:
            answer = await self._workers.do(act, content.path, *details)
        except FileGone:
            raise
        except ReadingFailed as error:
            await self.check(content)
            if error.cause is Cause.MACHINE:
                raise
            is_final = error.cause is Cause.FILE or before is not None
            failure = Failure(str(error), is_final, time.time())
            await asyncio.to_thread(self._store.keep_failure, content.digest, what, failure)
            raise ReadingFailed(str(error), Cause.FILE if is_final else Cause.UNCLEAR) from None
        await self.check(content)
        return answer

    async def check(self, content: Content) -> None:
        """Make sure that a file still is what it was.

        Raises:
            FileChanged: it is not.
        """
        if await asyncio.to_thread(self._folder.stamp, content.path) != content.stamp:
            raise FileChanged
