"""Sees what happens in the folder, and says it once."""

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
"""What happens within this time is one piece of news."""
IDLE_MS = 500
RETRY_SECONDS = 1.0
LOOK_SECONDS = 5.0
"""A folder that cannot be watched is looked at this often."""
READING_SECONDS = 0.5
"""So long news wait for what is new to be read: who hears of it mostly wants its title."""

Announce: TypeAlias = Callable[[News], Awaitable[None]]


async def watch(library: Library, announce: Announce, look_seconds: float = LOOK_SECONDS) -> None:
    """Watch the folder until cancelled; one that is gone is waited for."""
    complaint = ""
    async with asyncio.TaskGroup() as readings:  # what is still being read ends with the watching
        watcher = _Watcher(library, announce, readings)
        while True:
            seconds = RETRY_SECONDS
            try:
                await watcher.watch()
                complaint = ""
            except _Unwatchable as error:  # it may pass
                seconds = look_seconds
                if str(error) != complaint:
                    logger.warning("the folder cannot be watched, and is looked at from time to time: %s", error)
                complaint = str(error)
            except Exception:
                logger.exception("watching the folder failed, and is begun again")
            await asyncio.sleep(seconds)


class _Unwatchable(Exception):
    """The system does not tell of changes: too many files, no such service."""


class _Watcher:
    """Watches one folder of this name after another."""

    def __init__(self, library: Library, announce: Announce, readings: asyncio.TaskGroup) -> None:
        self._library = library
        self._folder = library.folder
        self._announce = announce
        self._readings = readings

    async def watch(self) -> None:
        """Watch the folder for as long as it is the same one.

        Raises:
            _Unwatchable: it can only be looked at; that was done.
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
                    return  # another folder of the same name: the system would tell us nothing of it
                if is_new:  # what happened before it began to watch nobody has told us
                    await self._look(None)
                    is_new, closed = False, self._folder.closed
                elif changes:
                    await self._look(changes)
                    if closed - self._folder.closed:
                        return  # what happens in a directory that was opened must be seen as well

    async def _changes(self) -> AsyncGenerator[set[Path]]:
        """The files that changed, again and again; none where nothing happened for a while."""
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
                except ExceptionGroup as group:  # the name of a file that is not UTF-8, which others may have
                    logger.debug("watching is begun again: %s", group.exceptions[0])
                    return
                yield {Path(path) for _, path in changes}

    async def _look(self, paths: set[Path] | None) -> None:
        """Look at what changed; at everything where a directory did, or the rules of what is a document."""
        if paths is None or any(self._concerns_many(path) for path in paths):
            news = await self._library.look()
        else:
            news = await self._library.look_at(paths)
        if news.is_list_changed or news.updated:
            await asyncio.wait([self._readings.create_task(self._library.read_all())], timeout=READING_SECONDS)
            await self._announce(news)

    def _concerns_many(self, path: Path) -> bool:
        """Whether more than one file may have come or gone."""
        return path.name in IGNORE_FILES or path.is_dir() or (not path.exists() and not self._library.knows(path))


def _identity(root: Path) -> tuple[int, int, bool] | None:
    """Which folder it is, and whether it can be looked into."""
    try:
        stat = os.stat(root)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, os.access(root, os.R_OK | os.X_OK)
