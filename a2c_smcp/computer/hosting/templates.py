"""The resource templates of one connected MCP server: asked for when they are wanted, kept until its list changes."""

from __future__ import annotations

import asyncio
import logging
import re

import mcp_types as types
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.mcp.session import Session

logger = logging.getLogger(__name__)

SECONDS = 10.0
"""After which a server that does not answer has failed."""
STALE_AFTER = 5.0
"""Seconds after which the templates of a server that does not tell of changes are asked for again."""

_HOST = re.compile(r"dpe://([^/?#{}]+)(?=[/?#{]|$)")


class Templates:
    """One list for all that ask at a time. `is_told` says that the server tells when the list changes."""

    def __init__(self, session: Session, *, is_offered: bool, is_told: bool) -> None:
        self._session = session
        self._is_offered = is_offered
        self._is_told = is_told
        self._reading: asyncio.Task[list[types.ResourceTemplate]] | None = None
        """The newest list, or its reading, which ends by itself: with an answer, in time, or with the connection."""
        self._readings: set[asyncio.Task[list[types.ResourceTemplate]]] = set()
        self._read_at = 0.0

    async def listed(self) -> list[types.ResourceTemplate]:
        """All templates; none of a server that does not know them.

        Raises:
            MCPError: the server refused, or is gone.
            TimeoutError: it does not answer.
        """
        if not self._is_offered:
            return []
        now = asyncio.get_running_loop().time()
        reading = self._reading
        is_old = not self._is_told and now - self._read_at > STALE_AFTER
        if reading is None or (reading.done() and (is_old or reading.exception() is not None)):
            reading = self._reading = asyncio.create_task(self._read(), name="templates")
            self._readings.add(reading)
            reading.add_done_callback(self._end)
            self._read_at = now
        return await asyncio.shield(reading)  # whoever gives up takes it from nobody else

    async def hosts(self) -> frozenset[str]:
        """The hosts of `dpe://` templates, in lower case; none where they cannot be read."""
        try:
            templates = await self.listed()
        except (MCPError, TimeoutError):
            return frozenset()
        found = (_HOST.match(template.uri_template) for template in templates)
        return frozenset(match[1].lower() for match in found if match is not None)

    def outdate(self) -> None:
        """The list may have changed: it is read again when somebody asks."""
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
            if error.code == types.METHOD_NOT_FOUND:
                return []
            raise
