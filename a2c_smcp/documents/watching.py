"""Sees what happens in the folder, and says it once."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from a2c_smcp.documents.folder import IGNORE_FILES
from a2c_smcp.documents.library import Library, News

logger = logging.getLogger(__name__)

GATHER_MS = 200
"""What happens within this time is one piece of news."""
IDLE_MS = 500
RETRY_SECONDS = 1.0
READING_SECONDS = 0.5
"""So long news wait for what is new to be read: who hears of it mostly wants its title."""

Announce: TypeAlias = Callable[[News], Awaitable[None]]


async def watch(library: Library, announce: Announce) -> None:
    """Watch the folder until cancelled; one that is gone is waited for."""
    async with asyncio.TaskGroup() as readings:  # what is still being read ends with the watching
        while True:
            try:
                await _watch_once(library, announce, readings)
            except Exception as error:  # too many to watch, no right to: it may pass
                logger.warning("the folder cannot be watched now: %s", error)
            await asyncio.sleep(RETRY_SECONDS)


async def _watch_once(library: Library, announce: Announce, readings: asyncio.TaskGroup) -> None:
    """Watch the folder for as long as it is the same one."""
    watchfiles: Any = importlib.import_module("watchfiles")
    root = library.folder.root
    identity = _identity(root)
    if identity is None:
        return
    is_new = True
    seen = watchfiles.awatch(
        root, watch_filter=None, debounce=GATHER_MS, step=50, rust_timeout=IDLE_MS, yield_on_timeout=True
    )
    async for changes in seen:
        if _identity(root) != identity:
            await _look(library, None, announce, readings)
            return  # another folder of the same name: the system would tell us nothing of it
        if is_new:  # what happened before it began to watch nobody has told us
            await _look(library, None, announce, readings)
            is_new = False
        elif changes:
            await _look(library, {Path(path) for _, path in changes}, announce, readings)


async def _look(library: Library, paths: set[Path] | None, announce: Announce, readings: asyncio.TaskGroup) -> None:
    """Look at what changed; at everything where a directory did, or the rules of what is a document."""
    if paths is None or any(_concerns_many(path, library) for path in paths):
        news = await library.look()
    else:
        news = await library.look_at(paths)
    if news.is_list_changed or news.updated:
        await asyncio.wait([readings.create_task(library.read_all())], timeout=READING_SECONDS)
        await announce(news)


def _concerns_many(path: Path, library: Library) -> bool:
    """Whether more than one file may have come or gone."""
    return path.name in IGNORE_FILES or path.is_dir() or (not path.exists() and not library.knows(path))


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        stat = os.stat(root)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
