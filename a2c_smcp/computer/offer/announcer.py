"""Announces changes to the office: the first one at once, a burst as a few notices, the last one always.

An MCP server can send hundreds of notifications a second, and each notice makes the Agent ask again. A notice says
only that something changed, so one notice stands for all changes before it. It must be sent after the last change:
otherwise an Agent that asked in between would keep an old answer.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from enum import Enum
from typing import Protocol

from a2c_smcp.smcp import (
    UPDATE_CONFIG_EVENT,
    UPDATE_DESKTOP_EVENT,
    UPDATE_FINDER_EVENT,
    UPDATE_PROMPTS_EVENT,
    UPDATE_RESOURCES_EVENT,
    UPDATE_SKILLS_EVENT,
    UPDATE_TOOL_LIST_EVENT,
)
from a2c_smcp.utils.listeners import Listeners

logger = logging.getLogger(__name__)

PAUSE = 0.1
"""Seconds between two notices of one kind."""


class Change(Enum):
    """What changed at a Computer; the value is the event that announces it."""

    TOOLS = UPDATE_TOOL_LIST_EVENT
    CONFIG = UPDATE_CONFIG_EVENT
    WINDOWS = UPDATE_DESKTOP_EVENT
    DOCUMENTS = UPDATE_FINDER_EVENT
    RESOURCES = UPDATE_RESOURCES_EVENT
    """The list of resources of any scheme, or of templates."""
    PROMPTS = UPDATE_PROMPTS_EVENT
    SKILLS = UPDATE_SKILLS_EVENT


class Client(Protocol):
    """The connection to a Server."""

    async def emit_update(self, event: str) -> bool:
        """Send an update; False, and nothing is sent, while it is in no office, or its Server does not relay it."""
        ...

    async def emit_update_resource(self, uri: str, mcp_server: str) -> bool:
        """Send the update of a resource that the Agent watches, likewise."""
        ...


class Announcer:
    """Sends a notice for each kind of change. What cannot be sent, because there is no office, is sent later."""

    def __init__(self) -> None:
        self.changes: Listeners[Change] = Listeners()
        """Hears of each change, also outside of an office."""
        self._client: weakref.ref[Client] | None = None
        self._due: set[Change] = set()
        self._workers: dict[Change, asyncio.Task[None]] = {}

    @property
    def client(self) -> Client | None:
        """The client that sends the notices; it is not kept alive."""
        return self._client() if self._client is not None else None

    @client.setter
    def client(self, client: Client | None) -> None:
        self._client = None if client is None else weakref.ref(client)

    def announce(self, change: Change) -> None:
        """Something changed."""
        self.changes(change)
        self._due.add(change)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # no event loop runs yet: `catch_up` sends it after joining an office
        worker = self._workers.get(change)
        if worker is None or worker.done():
            self._workers[change] = loop.create_task(self._work(change), name=f"announce {change.name}")

    async def announce_resource(self, uri: str, mcp_server: str) -> bool:
        """Tell the Agent that a resource changed; False if there is no office."""
        return (client := self.client) is not None and await client.emit_update_resource(uri, mcp_server)

    def catch_up(self) -> None:
        """The Computer is in an office again: announce what changed meanwhile."""
        for change in tuple(self._due):
            self.announce(change)

    async def aclose(self) -> None:
        """Stop announcing."""
        workers = [worker for worker in self._workers.values() if not worker.done()]
        for worker in workers:
            worker.cancel()
        if workers:
            await asyncio.wait(workers)

    async def _work(self, change: Change) -> None:
        while change in self._due:
            # Removed before sending: a change during the sending may come too late for the notice, and needs another.
            self._due.discard(change)
            try:
                is_sent = (client := self.client) is not None and await client.emit_update(change.value)
            except Exception as error:  # the connection broke just now
                logger.debug("announcing %s failed: %s", change.name, error)
                is_sent = False
            if not is_sent:  # no office, or the connection broke: `catch_up` sends it after the next join
                self._due.add(change)
                return
            # Changes during the pause are added to `_due`, and one notice after it covers them all.
            await asyncio.sleep(PAUSE)
