"""Recognizes the text of all scans in the background, so that they can be searched."""

from __future__ import annotations

import asyncio
import logging

from a2c_documents.library.attempts import FileChanged
from a2c_documents.library.contents import Contents
from a2c_documents.library.search import SearchIndex
from a2c_documents.store.words import Words
from a2c_documents.workers.failures import Cause, ReadingFailed
from a2c_documents.workers.pool import Progress
from a2c_smcp.errors import DocumentNotFoundError

logger = logging.getLogger(__name__)

MAX_FAILURES = 3
"""Failures in a row that are not the fault of a picture, after which recognition rests until the next search."""


class Backlog:
    """The scans that nobody has read yet."""

    def __init__(self, index: SearchIndex, contents: Contents, words: Words, *, is_worked_off: bool) -> None:
        self._index = index
        self._contents = contents
        self._words = words
        self._is_worked_off = is_worked_off and contents.scans.key is not None
        self._working = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Work in the background, unless that happens already."""
        if self._is_worked_off and not self._working.locked() and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._work_quietly())

    async def work(self, progress: Progress | None = None) -> None:
        """Recognize every scan that is indexed and was not recognized before."""
        key = self._contents.scans.key
        if not self._is_worked_off or key is None:
            return
        async with self._working:
            holders = self._index.holders()
            todo = await asyncio.to_thread(self._words.unrecognized, key, list(holders))
            failures = 0
            for done, (digest, number) in enumerate(todo):
                if progress is not None:
                    progress(done, len(todo))
                try:
                    await self._contents.recognize(holders[digest][0], digest, number)
                    failures = 0
                except ReadingFailed as error:
                    logger.info("page %d of %s is not recognized: %s", number, holders[digest][0].relative, error)
                    if error.cause is Cause.FILE:  # it stays so: not asked again after a restart
                        await asyncio.to_thread(self._words.keep_recognized, digest, number, key, [])
                        failures = 0
                    elif (failures := failures + 1) >= MAX_FAILURES:
                        logger.warning("text recognition rests, because it fails: %s", error)
                        return
                except (FileChanged, DocumentNotFoundError):
                    pass  # the new content is indexed first

    async def how_far(self) -> tuple[int, int]:
        """How many scanned pages are recognized, and how many there are."""
        key = self._contents.scans.key
        if key is None:
            return 0, 0
        return await asyncio.to_thread(self._words.recognized, key, list(self._index.holders()))

    async def close(self) -> None:
        """Stop working."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work_quietly(self) -> None:
        try:
            await self._index.settle()  # scans are known once their documents are indexed
            await self.work()
        except Exception:
            logger.exception("recognizing text in the background failed")
