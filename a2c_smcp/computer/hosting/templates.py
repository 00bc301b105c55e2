"""The resource templates of one connected MCP server: read when they are needed, kept until the list changes."""

from __future__ import annotations

import asyncio
import logging
import re

import mcp_types as types
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.mcp.session import Session

logger = logging.getLogger(__name__)

SECONDS = 10.0
"""Time limit for all pages of the list."""
STALE_AFTER = 5.0
"""Seconds after which the templates of a server that announces no changes are read again."""

# A template may leave its host open, as `dpe://{host}/…` does. Such a template names no host.
_HOST = re.compile(r"dpe://([^/?#{}]+)(?=[/?#{]|$)")


class Templates:
    """Requests at the same time share one reading. `is_told`: the server announces changes of the list."""

    def __init__(self, session: Session, *, is_offered: bool, is_told: bool) -> None:
        self._session = session
        self._is_offered = is_offered
        self._is_told = is_told
        self._reading: asyncio.Task[list[types.ResourceTemplate]] | None = None
        """The newest list, or the task that reads it. It ends by itself: with an answer, in time, or with the
        connection."""
        self._readings: set[asyncio.Task[list[types.ResourceTemplate]]] = set()
        self._read_at = 0.0

    async def listed(self) -> list[types.ResourceTemplate]:
        """All templates; empty for a server without templates.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
            TimeoutError: it does not answer in time.
        """
        if not self._is_offered:
            return []
        now = asyncio.get_running_loop().time()
        reading = self._reading
        # Without announcements the list may change at any time. A few seconds of reuse are enough for an Agent that
        # reads page after page, or a person who types.
        is_old = not self._is_told and now - self._read_at > STALE_AFTER
        if reading is None or (reading.done() and (is_old or reading.exception() is not None)):
            reading = self._reading = asyncio.create_task(self._read(), name="templates")
            self._readings.add(reading)  # the event loop keeps only weak references to tasks
            reading.add_done_callback(self._end)
            self._read_at = now
        return await asyncio.shield(reading)  # a request that is cancelled must not cancel it for the others

    async def hosts(self) -> frozenset[str]:
        """The hosts of `dpe://` templates, in lower case; none where they cannot be read."""
        try:
            templates = await self.listed()
        except (MCPError, TimeoutError):
            return frozenset()
        found = (_HOST.match(template.uri_template) for template in templates)
        return frozenset(match[1].lower() for match in found if match is not None)

    def outdate(self) -> None:
        """The list may have changed: the next request reads it again."""
        # A reading that still runs is not cancelled: the requests that wait for it get its list. `_readings` keeps the
        # task alive.
        self._reading = None

    def _end(self, reading: asyncio.Task[list[types.ResourceTemplate]]) -> None:
        self._readings.discard(reading)
        if not reading.cancelled() and reading.exception() is not None:
            logger.debug("no resource templates: %s", reading.exception())

    async def _read(self) -> list[types.ResourceTemplate]:
        try:
            async with asyncio.timeout(SECONDS):
                return await self._session.all_templates()
        except MCPError as error:
            # The capability `resources` does not tell whether a server has templates: one without may reject the
            # request.
            if error.code == types.METHOD_NOT_FOUND:
                return []
            raise
