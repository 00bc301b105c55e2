"""The Agent's seat of an office, which all MCP hosts of the office share.

The first host that needs it takes it, and it is released a while after the last host is gone: another Agent can then
use the office. While another Agent has the seat, every request fails with an error that names it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import InternalError, NotConnectedError, SMCPError, error_for

logger = logging.getLogger(__name__)

LINGER = 60.0
"""Seconds that the seat stays taken after the last host is gone. Hosts come back: one that restarts, or one that asks
only now and then."""
RETRY = 2.0
"""Seconds after which a failed attempt to take the seat is repeated, however many hosts ask meanwhile."""
TAKE_SECONDS = 20.0
LEAVE_SECONDS = 5.0

Connect: TypeAlias = Callable[[], Awaitable[AsyncSMCPAgentClient]]
"""Takes the seat: returns an Agent that is in the office."""


class SharedSeat:
    """Takes the seat when it is needed, and releases it. `on_taken` is called with the Agent each time."""

    def __init__(
        self, connect: Connect, on_taken: Callable[[AsyncSMCPAgentClient], None], *, linger: float = LINGER
    ) -> None:
        self._connect = connect
        self._on_taken = on_taken
        self._linger = linger
        self._users = 0
        self._agent: AsyncSMCPAgentClient | None = None
        self._taking: asyncio.Task[AsyncSMCPAgentClient] | None = None
        self._failure: tuple[float, SMCPError] | None = None
        self._release: asyncio.TimerHandle | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @property
    def current(self) -> AsyncSMCPAgentClient | None:
        """The Agent, if the seat is taken."""
        agent = self._agent
        return None if agent is None or agent.has_ended else agent

    @property
    def is_used(self) -> bool:
        """Whether hosts use it now."""
        return self._users > 0

    @property
    def is_released(self) -> bool:
        """Whether no host uses it, and none has for a while."""
        return not self._users and self._agent is None and self._taking is None and not self._leaving

    @asynccontextmanager
    async def used(self) -> AsyncGenerator[None]:
        """Keep the seat for as long as the block runs."""
        self._users += 1
        if self._release is not None:
            self._release.cancel()
            self._release = None
        try:
            yield
        finally:
            self._users -= 1
            self._release_later()

    async def agent(self) -> AsyncSMCPAgentClient:
        """The Agent in the seat, after taking it if necessary.

        Raises:
            OfficeFullError: another Agent has the seat.
            SMCPError: the seat cannot be taken for another reason.
        """
        # The Server may have disconnected the Agent: it lost its cluster, or shuts down. Such an Agent does not return.
        if self._agent is not None and not self._agent.has_ended:
            return self._agent
        if self._is_closed:
            raise NotConnectedError("the gateway is shutting down")
        if self._failure is not None:
            failed_at, error = self._failure
            if time.monotonic() - failed_at < RETRY:
                # A new one for each host: an exception that is raised again and again collects all their tracebacks.
                raise error_for(error.code, error.message, error.details)
        if self._taking is None:
            self._taking = asyncio.create_task(self._take(), name="take the Agent's seat")
            self._taking.add_done_callback(_retrieve)
        # Shielded: the task belongs to all hosts that wait for it, and goes on if one of them is gone.
        return await asyncio.shield(self._taking)

    async def _take(self) -> AsyncSMCPAgentClient:
        try:
            async with asyncio.timeout(TAKE_SECONDS):
                await self._finish_leaving()  # otherwise the seat may still be our own
                agent = await self._connect()
            self._agent, self._failure = agent, None
            self._on_taken(agent)
            return agent
        except SMCPError as error:
            self._failure = time.monotonic(), error
            raise
        except TimeoutError:
            error = InternalError("the gateway could not take the Agent's seat in time: try again")
            self._failure = time.monotonic(), error
            raise error from None
        finally:
            self._taking = None
            self._release_later()  # the hosts that wanted it may be gone

    # -------------------------------------------------------------------------------------------------------- releasing

    def _release_later(self) -> None:
        if not self._users and self._release is None and not self._is_closed:
            self._release = asyncio.get_running_loop().call_later(self._linger, self._give_up)

    def _give_up(self) -> None:
        """Release the seat: no host has used it for a while."""
        self._release = None
        # Forgotten at once: a host that arrives from here on takes the seat again.
        agent, self._agent = self._agent, None
        if agent is not None:
            task = asyncio.create_task(_leave(agent), name="release the Agent's seat")
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _finish_leaving(self) -> None:
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def aclose(self) -> None:
        """Release the seat for good."""
        self._is_closed = True
        if self._release is not None:
            self._release.cancel()
            self._release = None
        if self._taking is not None:
            self._taking.cancel()
            await asyncio.gather(self._taking, return_exceptions=True)
        self._give_up()
        await self._finish_leaving()


async def _leave(agent: AsyncSMCPAgentClient) -> None:
    try:
        # The Server answers when the seat is free. To disconnect frees it, too, but at some later moment.
        with contextlib.suppress(SMCPError, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await agent.leave_office()
    finally:
        with contextlib.suppress(SMCPError):
            await agent.disconnect()


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Take note of an error that no host waits for: asyncio would report it."""
    if not task.cancelled():
        task.exception()
