"""A list of one connected MCP server that is read when it is needed, and kept until it changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.hosting.notes import Notes
from a2c_smcp.computer.mcp.listing import WrittenList

logger = logging.getLogger(__name__)

STALE_AFTER = 5.0
"""Seconds after which a list is read again if the server announces no changes, or could not send all of it in time."""


class KeptList:
    """`read` gives the list, and what is wrong with it, which becomes `notes`; it must end by itself. Requests at the
    same time share one reading. `is_told`: the server announces changes of the list."""

    def __init__(
        self,
        what: str,
        read: Callable[[], Awaitable[WrittenList]],
        notes: Notes,
        *,
        is_offered: bool,
        is_told: bool,
    ) -> None:
        self.is_offered = is_offered
        """Whether the server declares that it has such a list."""
        self.notes = notes
        self._what = what
        self._ask = read
        self._is_told = is_told
        self._reading: asyncio.Task[WrittenList] | None = None
        """The newest list, or the task that reads it."""
        self._readings: set[asyncio.Task[WrittenList]] = set()
        self._read_at = 0.0

    async def listed(self) -> list[dict[str, Any]]:
        """The whole list; empty for a server without one.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
            TimeoutError: it does not answer in time.
        """
        if not self.is_offered:
            return []
        reading = self._reading
        if reading is None or (reading.done() and self._is_old(reading)):
            reading = self._reading = asyncio.create_task(self._read(), name=self._what)
            self._readings.add(reading)  # the event loop keeps only weak references to tasks
            reading.add_done_callback(self._end)
        # A request that is cancelled must not cancel the reading for the others.
        return (await asyncio.shield(reading)).items

    def outdate(self) -> bool:
        """The list may have changed: the next request reads it again. Returns whether it was read since the last
        change."""
        # A reading that still runs is not cancelled: the requests that wait for it get its list. `_readings` keeps the
        # task alive.
        was_read, self._reading = self._reading is not None, None
        return was_read

    def _is_old(self, reading: asyncio.Task[WrittenList]) -> bool:
        if reading.cancelled() or reading.exception() is not None:
            return True
        # Without announcements the list may change at any time. A few seconds of reuse are enough for an Agent that
        # reads page after page, or a person who types.
        is_kept = self._is_told and reading.result().is_whole
        return not is_kept and asyncio.get_running_loop().time() - self._read_at > STALE_AFTER

    def _end(self, reading: asyncio.Task[WrittenList]) -> None:
        self._readings.discard(reading)
        if not reading.cancelled() and reading.exception() is not None:
            logger.debug("no %s: %s", self._what, reading.exception())

    async def _read(self) -> WrittenList:
        try:
            found = await self._ask()
        except MCPError as error:
            # A capability does not tell everything: `resources` stands for resources and templates, and a server
            # without templates may reject the request.
            if error.code != types.METHOD_NOT_FOUND:
                raise
            found = WrittenList([], [])
        else:
            self.notes.replace(found.problems)
        self._read_at = asyncio.get_running_loop().time()
        return found
