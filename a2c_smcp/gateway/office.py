"""An office as hosts see it: the shared seat, the names that its tools have, what hosts watch, and who hears of
changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Iterable
from typing import Protocol
from weakref import WeakSet

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.types import Change
from a2c_smcp.errors import SMCPError
from a2c_smcp.gateway import builtin
from a2c_smcp.gateway.addresses import Address
from a2c_smcp.gateway.naming import Names
from a2c_smcp.gateway.seat import LINGER, Connect, SharedSeat

logger = logging.getLogger(__name__)

COALESCE = 0.1
"""Seconds in which changes are collected before hosts hear of them."""


class Listener(Protocol):
    """Hears of changes of an office."""

    async def on_changes(self, changes: list[Change]) -> None:
        """Some changes, in their order."""
        ...


class Office:
    """One office. All of it belongs to one event loop."""

    def __init__(self, office_id: str, connect: Connect, *, linger: float = LINGER) -> None:
        self.id = office_id
        self.seat = SharedSeat(connect, self._taken, linger=linger)
        self.names, self.prompt_names = Names(), Names()
        for name in builtin.NAMES:
            self.names.reserve(name)
        self.version = 0
        """Counts changes: what was made of an older version has to be made again."""
        self._listeners: WeakSet[Listener] = WeakSet()
        self._watched: Counter[Address] = Counter()
        self._following: asyncio.Task[None] | None = None

    def hear(self, listener: Listener) -> None:
        """Tell a listener of changes, for as long as it lives."""
        self._listeners.add(listener)

    # ---------------------------------------------------------------------------------------------------------- changes

    async def _taken(self, agent: AsyncSMCPAgentClient) -> None:
        """The seat was taken: follow the changes of the office, and watch again what hosts watch."""
        await self._stop_following()
        self.version += 1
        self._following = asyncio.create_task(self._follow(agent), name=f"changes of {self.id}")
        for address in list(self._watched):
            await self._tell_watch(agent, address, is_watched=True)
        # What hosts know is from the time before: everything may have changed.
        await self._tell([Change("rejoined")])

    async def _follow(self, agent: AsyncSMCPAgentClient) -> None:
        changes = agent.changes()
        async for change in changes:
            collected = [change]
            # A Computer that starts reports one server after another. Hosts fetch a whole list for each notification,
            # so a few moments are worth waiting for.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(COALESCE):
                    async for further in changes:
                        collected.append(further)  # noqa: PERF401 - what came before the timeout must not be lost
            self.version += 1
            await self._tell(collected)

    async def _tell(self, changes: list[Change]) -> None:
        for listener in list(self._listeners):
            try:
                await listener.on_changes(changes)
            except Exception:  # one listener must not keep the others from hearing
                logger.exception("a listener of office %s failed", self.id)

    async def _stop_following(self) -> None:
        following, self._following = self._following, None
        if following is not None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    # ---------------------------------------------------------------------------------------------------------- watches

    async def watch(self, address: Address) -> None:
        """Watch a resource for one more host.

        Raises:
            SMCPError: it cannot be watched.
        """
        self._watched[address] += 1
        if self._watched[address] == 1:
            try:
                agent = await self.seat.agent()
                await agent.watch_resource(address.computer, address.uri, mcp_server=address.server or None)
            except BaseException:
                self._drop(address)
                raise

    async def unwatch(self, addresses: Iterable[Address]) -> None:
        """Stop watching resources for one host. Others may go on."""
        for address in addresses:
            if self._drop(address) and (agent := self.seat.current) is not None:
                await self._tell_watch(agent, address, is_watched=False)

    def _drop(self, address: Address) -> bool:
        self._watched[address] -= 1
        if self._watched[address] > 0:
            return False
        del self._watched[address]
        return True

    async def _tell_watch(self, agent: AsyncSMCPAgentClient, address: Address, *, is_watched: bool) -> None:
        try:
            await agent.watch_resource(
                address.computer, address.uri, mcp_server=address.server or None, watch=is_watched
            )
        except SMCPError as error:  # the Computer left, or the resource is gone
            logger.info("%s: %s", address, error.message)

    async def aclose(self) -> None:
        """Release the seat."""
        await self._stop_following()
        await self.seat.aclose()
