"""A list of one connected MCP server that is read when it is needed, and kept until it changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

logger = logging.getLogger(__name__)

SECONDS = 10.0
"""Time limit for all pages of the list."""
STALE_AFTER = 5.0
"""Seconds after which the list of a server that announces no changes is read again."""

T = TypeVar("T")


class KeptList(Generic[T]):
    """Requests at the same time share one reading. `is_told`: the server announces changes of the list."""

    def __init__(self, what: str, read: Callable[[], Awaitable[list[T]]], *, is_offered: bool, is_told: bool) -> None:
        self.is_offered = is_offered
        """Whether the server declares that it has such a list."""
        self._what = what
        self._ask = read
        self._is_told = is_told
        self._reading: asyncio.Task[list[T]] | None = None
        """The newest list, or the task that reads it. It ends by itself: with an answer, in time, or with the
        connection."""
        self._readings: set[asyncio.Task[list[T]]] = set()
        self._read_at = 0.0

    async def listed(self) -> list[T]:
        """The whole list; empty for a server without one.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
            TimeoutError: it does not answer in time.
        """
        if not self.is_offered:
            return []
        now = asyncio.get_running_loop().time()
        reading = self._reading
        # Without announcements the list may change at any time. A few seconds of reuse are enough for an Agent that
        # reads page after page, or a person who types.
        is_old = not self._is_told and now - self._read_at > STALE_AFTER
        if reading is None or (reading.done() and (is_old or reading.exception() is not None)):
            reading = self._reading = asyncio.create_task(self._read(), name=self._what)
            self._readings.add(reading)  # the event loop keeps only weak references to tasks
            reading.add_done_callback(self._end)
            self._read_at = now
        return await asyncio.shield(reading)  # a request that is cancelled must not cancel it for the others

    def outdate(self) -> bool:
        """The list may have changed: the next request reads it again. Returns whether it was read since the last
        change."""
        # A reading that still runs is not cancelled: the requests that wait for it get its list. `_readings` keeps the
        # task alive.
        was_read, self._reading = self._reading is not None, None
        return was_read

    def _end(self, reading: asyncio.Task[list[T]]) -> None:
        self._readings.discard(reading)
        if not reading.cancelled() and reading.exception() is not None:
            logger.debug("no %s: %s", self._what, reading.exception())

    async def _read(self) -> list[T]:
        try:
            async with asyncio.timeout(SECONDS):
                return await self._ask()
        except MCPError as error:
            # A capability does not tell everything: `resources` stands for resources and templates, and a server
            # without templates may reject the request.
            if error.code == types.METHOD_NOT_FOUND:
                return []
            raise
