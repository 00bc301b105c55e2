"""Watches the folder and announces changes.

The operating system's notifications are hints only: they can be late, merged or missing, and a network drive may send
none. After each hint the files themselves are compared with what is known. Where watching fails, the folder is scanned
from time to time instead.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TypeAlias

import watchfiles

from a2c_documents.folder.files import IGNORE_FILES
from a2c_documents.library.library import Library, News

logger = logging.getLogger(__name__)

GATHER_MS = 200
"""Changes within this time are announced together: saving one file causes several events."""
IDLE_MS = 500
"""How often the watcher wakes up without events, to notice that the folder itself was replaced."""
RETRY_SECONDS = 1.0
LOOK_SECONDS = 5.0
"""How often a folder that cannot be watched is scanned."""
READING_SECONDS = 0.5
"""How long an announcement waits for new files to be read: clients usually ask for their titles at once."""

Announce: TypeAlias = Callable[[News], Awaitable[None]]


async def watch(library: Library, announce: Announce, look_seconds: float = LOOK_SECONDS) -> None:
    """Watch the folder until cancelled. Waits for a folder that does not exist."""
    complaint = ""
    async with asyncio.TaskGroup() as readings:  # reading in the background ends with the watching
        watcher = _Watcher(library, announce, readings)
        while True:
            seconds = RETRY_SECONDS
            try:
                await watcher.watch()
                complaint = ""
            except _Unwatchable as error:  # may be temporary
                seconds = look_seconds
                if str(error) != complaint:
                    logger.warning("the folder cannot be watched, and is looked at from time to time: %s", error)
                complaint = str(error)
            except Exception:
                logger.exception("watching the folder failed, and is begun again")
            await asyncio.sleep(seconds)


class _Unwatchable(Exception):
    """The system reports no changes: too many files, or no such service."""


class _Watcher:
    """Watches the folder, and its successors of the same name."""

    def __init__(self, library: Library, announce: Announce, readings: asyncio.TaskGroup) -> None:
        self._library = library
        self._folder = library.folder
        self._announce = announce
        self._readings = readings

    async def watch(self) -> None:
        """Watch the folder as long as it is the same directory.

        Raises:
            _Unwatchable: the folder cannot be watched; it was scanned once.
        """
        identity = _identity(self._folder.root)
        if identity is None:
            await self._look(None)
            return
        closed = self._folder.closed
        is_new = True
        async with aclosing(self._changes()) as seen:
            async for changes in seen:
                if _identity(self._folder.root) != identity:
                    await self._look(None)
                    # The folder was deleted and created again, or another disk was mounted. The watch belongs to the
                    # old directory and reports nothing about the new one.
                    return
                if is_new:  # changes between the last scan and the start of the watch were not reported
                    await self._look(None)
                    is_new, closed = False, self._folder.closed
                elif changes:
                    await self._look(changes)
                    if closed - self._folder.closed:
                        return  # a directory became readable: start again, so that it is watched too

    async def _changes(self) -> AsyncGenerator[set[Path]]:
        """Sets of changed files; an empty set after some time without changes."""
        # No filter: the default one of watchfiles hides `.git`, `node_modules` and others, while the rules of the
        # folder decide what is a document. Directories without permission are skipped instead of ending the watch.
        watching = watchfiles.awatch(
            self._folder.root,
            watch_filter=None,
            debounce=GATHER_MS,
            step=50,
            rust_timeout=IDLE_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        async with aclosing(watching) as seen:
            while True:
                try:
                    changes = await anext(seen)
                except StopAsyncIteration:
                    return
                except (OSError, RuntimeError) as error:
                    await self._look(None)
                    raise _Unwatchable(error) from None
                # watchfiles fails at file names that are not UTF-8, which other programs may create.
                except ExceptionGroup as group:
                    logger.debug("watching is begun again: %s", group.exceptions[0])
                    return
                yield {Path(path) for _, path in changes}

    async def _look(self, paths: set[Path] | None) -> None:
        """Check the changed files; scan everything if a directory or an ignore file changed."""
        if paths is None or any(self._concerns_many(path) for path in paths):
            news = await self._library.look()
        else:
            news = await self._library.look_at(paths)
        if news.is_list_changed or news.updated:
            # `asyncio.wait` does not cancel the reading when its time is up: it continues after the announcement.
            reading = self._readings.create_task(self._library.read_all())
            await asyncio.wait([reading], timeout=READING_SECONDS)
            await self._announce(news + self._library.take_news())
            if not reading.done():
                self._readings.create_task(self._announce_rest(reading))

    async def _announce_rest(self, reading: asyncio.Task[int]) -> None:
        """Announce what is in archives that take longer to read."""
        await asyncio.wait([reading])
        if news := self._library.take_news():
            await self._announce(news)

    def _concerns_many(self, path: Path) -> bool:
        """Whether the change may affect more than this file."""
        # A deleted path that is no document may have been a directory with documents in it.
        return path.name in IGNORE_FILES or path.is_dir() or (not path.exists() and not self._library.knows(path))


def _identity(root: Path) -> tuple[int, int, bool] | None:
    """Which directory it is, and whether it can be listed."""
    try:
        stat = os.stat(root)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, os.access(root, os.R_OK | os.X_OK)
