"""The recent activity of the office, in a file that the `machine` MCP server shows as a window."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from pathlib import Path

LINES = 20
WRITE_SECONDS = 0.2
"""The shortest time between two writes, in seconds. Each write makes the Agent read the window again."""

logger = logging.getLogger("a2c.up")


class Journal:
    """The last lines; `keep` writes them to the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: deque[str] = deque(maxlen=LINES)
        self._news = asyncio.Event()
        self._is_broken = False
        self._write("")

    def add(self, line: str) -> None:
        """Add a line, for the next write."""
        self._lines.append(line)
        self._news.set()

    async def keep(self) -> None:
        """Write new lines until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await asyncio.to_thread(self._write, "".join(f"{line}\n" for line in self._lines))
            await asyncio.sleep(WRITE_SECONDS)

    def _write(self, text: str) -> None:
        """Write the file. An error is logged once, and the office goes on."""
        # Written beside and renamed: the MCP server, another process, never reads half a file.
        fresh = self._path.with_suffix(".new")
        try:
            fresh.write_text(text, "utf-8")
            fresh.replace(self._path)
        except OSError as error:
            if not self._is_broken:
                logger.warning("cannot write the activity file: %s", error)
            self._is_broken = True
        else:
            self._is_broken = False
