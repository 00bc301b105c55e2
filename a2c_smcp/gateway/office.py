"""An office as hosts see it: the shared seat, the tools of its Computers, what hosts watch, and changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakSet

from a2c_smcp.agent.client import AsyncSMCPAgentClient, Changes
from a2c_smcp.agent.types import Change
from a2c_smcp.errors import SMCPError
from a2c_smcp.gateway.addresses import Address
from a2c_smcp.gateway.described import Offers, Reader
from a2c_smcp.gateway.seat import LINGER, RETRY, Connect, SharedSeat
from a2c_smcp.smcp import SMCPTool
from a2c_smcp.utils.backoff import Backoff

logger = logging.getLogger(__name__)

RETRY_LONGEST = 15.0
"""The longest pause between two attempts to take a seat that another Agent has."""
COALESCE = 0.1
"""Seconds in which changes are collected before hosts are notified."""
_OF_LISTS = frozenset(("enter", "leave", "tools", "config", "prompts", "rejoined"))
"""Changes after which tools or prompts may be different."""


class Listener(Protocol):
    """Hears of changes of an office."""

    def on_changes(self, changes: list[Change]) -> None:
        """Some changes, in their order. Must not wait."""
        ...


@dataclass(eq=False, slots=True)
class _Watch:
    """A resource that hosts watch."""

    request: asyncio.Task[None]
    """The request to the Computer."""
    hosts: int = 0


class Office:
    """One office. All of it belongs to one event loop."""

    def __init__(self, office_id: str, connect: Connect, *, linger: float = LINGER) -> None:
        self.id = office_id
        self.seat = SharedSeat(connect, self._taken, linger=linger)
        self.version = 0
        """Counts changes of tools and prompts: what was made of an older version has to be made again."""
        self.building = asyncio.Lock()
        """Held while a list of tools is made: it takes a thread, and one is enough."""
        self._reader = Reader()
        self._listeners: WeakSet[Listener] = WeakSet()
        self._watched: dict[Address, _Watch] = {}
        self._following: asyncio.Task[None] | None = None
        self._retrying: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def hear(self, listener: Listener) -> None:
        """Tell a listener of changes, for as long as it lives."""
        self._listeners.add(listener)

    def describe(self, offered: Mapping[str, Sequence[SMCPTool]]) -> Offers:
        """The tools of all Computers. Called with `building` held, in any thread."""
        return self._reader.read(offered)

    # ------------------------------------------------------------------------------------------------------------- seat

    async def agent(self) -> AsyncSMCPAgentClient:
        """The Agent in the seat, after taking it if necessary. If it cannot be taken now, it is tried again for as long
        as hosts are there: they are notified when they can use the office.

        Raises:
            OfficeFullError: another Agent has the seat.
            SMCPError: the seat cannot be taken for another reason.
        """
        try:
            return await self.seat.agent()
        except SMCPError:
            self._retry_later()
            raise

    def _retry_later(self) -> None:
        if self._retrying is None or self._retrying.done():
            self._retrying = asyncio.create_task(self._retry(), name=f"seat of {self.id}")

    async def _retry(self) -> None:
        backoff = Backoff(RETRY, RETRY_LONGEST)
        while True:
            await asyncio.sleep(backoff.next())
            if not self.seat.is_used:
                return
            try:
                await self.seat.agent()
                return
            except SMCPError as error:
                logger.debug("office %s: %s", self.id, error.message)

    # ---------------------------------------------------------------------------------------------------------- changes

    def _taken(self, agent: AsyncSMCPAgentClient) -> None:
        """The seat was taken: follow the changes of the office, and watch again what hosts watch."""
        self._stop_following()
        self.version += 1
        changes = agent.changes()  # from now on: the task begins later
        self._following = asyncio.create_task(self._follow(agent, changes), name=f"changes of {self.id}")
        self._watch_again(agent, list(self._watched))
        # What hosts know is from the time before: everything may have changed.
        self._tell([Change("rejoined")])

    async def _follow(self, agent: AsyncSMCPAgentClient, changes: Changes) -> None:
        async for change in changes:
            collected = [change]
            self._outdate(change)
            # A Computer that starts reports one server after another. Hosts fetch a whole list for each notification,
            # so a few moments are worth waiting for.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(COALESCE):
                    async for further in changes:
                        collected.append(further)
                        self._outdate(further)
            self._watch_lost(agent, collected)
            self._tell(collected)
        # The Agent is disconnected. Hosts that are connected still need notifications of changes.
        self._retry_later()

    def _outdate(self, change: Change) -> None:
        # At once, and not with the notification: a host may call a tool that has just come. Not for a window that
        # changes every second: to list thousands of tools again takes a tenth of a second.
        if change.kind in _OF_LISTS:
            self.version += 1

    def _tell(self, changes: list[Change]) -> None:
        for listener in list(self._listeners):
            try:
                listener.on_changes(changes)
            except Exception:  # one listener must not keep the others from hearing
                logger.exception("a listener of office %s failed", self.id)

    def _stop_following(self) -> list[asyncio.Task[None]]:
        following, self._following = self._following, None
        if following is None or following is asyncio.current_task():
            return []
        following.cancel()
        return [following]

    # ---------------------------------------------------------------------------------------------------------- watches

    async def watch(self, address: Address) -> None:
        """Watch a resource for one more host.

        Raises:
            SMCPError: it cannot be watched.
        """
        agent = await self.agent()
        watch = self._watched.get(address)
        if watch is None:
            request = self._in_background(_watch(agent, address))
            watch = self._watched[address] = _Watch(request)
        watch.hosts += 1
        try:
            # Shielded: other hosts may wait for it, too.
            await asyncio.shield(watch.request)
        except BaseException:
            self._drop(address)
            raise

    async def unwatch(self, addresses: Iterable[Address]) -> None:
        """Stop watching resources for one host. Others may go on."""
        for address in addresses:
            self._drop(address)

    def _drop(self, address: Address) -> None:
        """One host less watches a resource."""
        watch = self._watched.get(address)
        if watch is not None:
            watch.hosts -= 1
            if not watch.hosts:
                del self._watched[address]
                self._in_background(self._end(address, watch))

    async def _end(self, address: Address, watch: _Watch) -> None:
        # The Computer must not get the requests in another order.
        with contextlib.suppress(SMCPError):
            await watch.request
        agent = self.seat.current
        if agent is not None and address not in self._watched:
            with contextlib.suppress(SMCPError):  # the Computer left, or the resource is gone
                await _watch(agent, address, is_watched=False)

    def _watch_again(self, agent: AsyncSMCPAgentClient, addresses: Iterable[Address]) -> None:
        """Watch resources that an Agent before this one watched, or that a Computer had not yet."""
        for address in addresses:
            self._watched[address].request = self._in_background(_watch(agent, address))

    def _watch_lost(self, agent: AsyncSMCPAgentClient, changes: Iterable[Change]) -> None:
        """Request again the watches that a Computer rejected: it may have the resources now."""
        computers = {change.computer for change in changes if change.kind in ("enter", "tools", "resources")}
        self._watch_again(
            agent,
            [
                address
                for address, watch in self._watched.items()
                if address.computer in computers and watch.request.done() and watch.request.exception() is not None
            ],
        )

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=f"watches of {self.id}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.info("office %s: %s", self.id, error)

    async def aclose(self) -> None:
        """Release the seat."""
        ended = [*self._stop_following(), *self._tasks, *([self._retrying] if self._retrying is not None else [])]
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)
        await self.seat.aclose()


async def _watch(agent: AsyncSMCPAgentClient, address: Address, *, is_watched: bool = True) -> None:
    server = address.server or None
    await agent.watch_resource(address.computer, address.uri, mcp_server=server, watch=is_watched)
