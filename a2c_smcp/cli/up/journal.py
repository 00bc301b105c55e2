"""The last of what happened in the office, in a file that the `machine` MCP server shows as a window."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from pathlib import Path

LINES = 20
WRITE_SECONDS = 0.2
"""However much happens, it is written no more often than this."""

logger = logging.getLogger("a2c.up")


class Journal:
    """The last lines; `keep` writes them, for as long as it runs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: deque[str] = deque(maxlen=LINES)
        self._news = asyncio.Event()
        self._is_broken = False
        self._write("")

    def add(self, line: str) -> None:
        """Something happened."""
        self._lines.append(line)
        self._news.set()

    async def keep(self) -> None:
        """Write what is new, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await asyncio.to_thread(self._write, "".join(f"{line}\n" for line in self._lines))
            await asyncio.sleep(WRITE_SECONDS)

    def _write(self, text: str) -> None:
        """Replace the file, so that nobody reads half of it. Without room on the disk the office goes on."""
        fresh = self._path.with_suffix(".new")
        try:
            fresh.write_text(text, "utf-8")
            fresh.replace(self._path)
        except OSError as error:
            if not self._is_broken:
                logger.warning("the activity cannot be written down: %s", error)
            self._is_broken = True
        else:
            self._is_broken = False
