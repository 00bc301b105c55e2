"""Sees what happens in the folder, and says it once."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from a2c_smcp.documents.library import Library, News

logger = logging.getLogger(__name__)

GATHER_MS = 200
"""What happens within this time is one piece of news."""
IDLE_MS = 500
RETRY_SECONDS = 5.0


async def watch(library: Library, announce: Callable[[News], Awaitable[None]]) -> None:
    """Watch the folder until cancelled."""
    watchfiles: Any = importlib.import_module("watchfiles")
    while True:
        try:
            is_new = True
            seen = watchfiles.awatch(
                library.folder.root, debounce=GATHER_MS, step=50, rust_timeout=IDLE_MS, yield_on_timeout=True
            )
            async for changes in seen:
                if is_new:  # what happened before it began to watch nobody has told us
                    await _look(library, None, announce)
                    is_new = False
                elif changes:
                    await _look(library, {Path(path) for _, path in changes}, announce)
            return
        except (OSError, RuntimeError) as error:  # the folder is gone, or there are too many to watch
            logger.warning("the folder cannot be watched now: %s", error)
            await asyncio.sleep(RETRY_SECONDS)
            await _look(library, None, announce)


async def _look(library: Library, paths: set[Path] | None, announce: Callable[[News], Awaitable[None]]) -> None:
    """Look at what changed; at everything where a directory did, or the rules of what is a document."""
    whole = paths is None or any(path.name in (".gitignore", ".a2cignore") or _is_no_file(path) for path in paths)
    news = await library.look() if whole or paths is None else await library.look_at(paths)
    if news.is_list_changed or news.updated:
        await announce(news)


def _is_no_file(path: Path) -> bool:
    """Whether a whole directory may have come or gone."""
    return path.is_dir() or (not path.exists() and not path.suffix)
