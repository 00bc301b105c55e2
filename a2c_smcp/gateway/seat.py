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
from typing import TypeAlias

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.errors import InternalError, SMCPError

logger = logging.getLogger(__name__)

LINGER = 60.0
"""Seconds that the seat stays taken after the last host is gone. Hosts come back: one that restarts, or one that asks
only now and then."""
RETRY = 2.0
"""Seconds after which a failed attempt to take the seat is repeated, however many hosts ask meanwhile."""
TAKE_SECONDS = 20.0

Connect: TypeAlias = Callable[[], Awaitable[AsyncSMCPAgentClient]]
"""Takes the seat: returns an Agent that is in the office."""


class SharedSeat:
    """Takes the seat when it is needed, and releases it."""

    def __init__(
        self,
        connect: Connect,
        on_taken: Callable[[AsyncSMCPAgentClient], Awaitable[None]],
        *,
        linger: float = LINGER,
    ) -> None:
        self._connect = connect
        self._on_taken = on_taken
        self._linger = linger
        self._hosts = 0
        self._agent: AsyncSMCPAgentClient | None = None
        self._taking: asyncio.Task[AsyncSMCPAgentClient] | None = None
        self._failure: tuple[float, SMCPError] | None = None
        self._release: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @property
    def current(self) -> AsyncSMCPAgentClient | None:
        """The Agent, if the seat is taken."""
        return self._agent

    @asynccontextmanager
    async def used(self) -> AsyncGenerator[None]:
        """Keep the seat for as long as the block runs."""
        self._hosts += 1
        if self._release is not None:
            self._release.cancel()
            self._release = None
        try:
            yield
        finally:
            self._hosts -= 1
            if not self._hosts and not self._is_closed:
                self._release = asyncio.get_running_loop().call_later(self._linger, self._give_up)

    async def agent(self) -> AsyncSMCPAgentClient:
        """The Agent in the seat, after taking it if necessary.

        Raises:
            OfficeFullError: another Agent has the seat.
            SMCPError: the seat cannot be taken for another reason.
        """
        if self._agent is not None:
            return self._agent
        if self._failure is not None:
            failed_at, error = self._failure
            if time.monotonic() - failed_at < RETRY:
                raise error
        if self._taking is None:
            self._taking = asyncio.create_task(self._take(), name="take the Agent's seat")
        # Shielded: the task belongs to all hosts that wait for it, and goes on if one of them is gone.
        return await asyncio.shield(self._taking)

    async def _take(self) -> AsyncSMCPAgentClient:
        try:
            async with asyncio.timeout(TAKE_SECONDS):
                agent = await self._connect()
            self._agent, self._failure = agent, None
            await self._on_taken(agent)
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

    def _give_up(self) -> None:
        """Release the seat: no host has used it for a while."""
        self._release = None
        if self._agent is not None:
            task = asyncio.create_task(self._leave(), name="release the Agent's seat")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _leave(self) -> None:
        agent, self._agent = self._agent, None
        if agent is not None:
            with contextlib.suppress(SMCPError):
                await agent.disconnect()

    async def aclose(self) -> None:
        """Release the seat for good."""
        self._is_closed = True
        if self._release is not None:
            self._release.cancel()
        if self._taking is not None:
            self._taking.cancel()
            await asyncio.gather(self._taking, return_exceptions=True)
        await self._leave()
        if self._closing:
            await asyncio.wait(self._closing)
