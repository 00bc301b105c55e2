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

logger = logging.getLogger(__name__)

COALESCE = 0.1
"""Seconds in which changes are collected before hosts hear of them."""


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
        """Counts changes: what was made of an older version has to be made again."""
        self.building = asyncio.Lock()
        """Held while a list of tools is made: it takes a thread, and one is enough."""
        self._reader = Reader()
        self._listeners: WeakSet[Listener] = WeakSet()
        self._watched: dict[Address, _Watch] = {}
        self._following: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def hear(self, listener: Listener) -> None:
        """Tell a listener of changes, for as long as it lives."""
        self._listeners.add(listener)

    def describe(self, offered: Mapping[str, Sequence[SMCPTool]]) -> Offers:
        """The tools of all Computers. Called with `building` held, in any thread."""
        return self._reader.read(offered)

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
            # A Computer that starts reports one server after another. Hosts fetch a whole list for each notification,
            # so a few moments are worth waiting for.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(COALESCE):
                    async for further in changes:
                        collected.append(further)  # noqa: PERF401 - what came before the timeout must not be lost
            self.version += 1
            self._watch_lost(agent, collected)
            self._tell(collected)
        # The Agent is disconnected. If hosts are there, they still want to hear of changes.
        while self.seat.is_used:
            try:
                await self.seat.agent()
                return
            except SMCPError as error:
                logger.info("office %s: %s", self.id, error.message)
                await asyncio.sleep(RETRY)

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
        agent = await self.seat.agent()
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
        """Watch resources of which a Computer said that it has them not: it may have them now."""
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
        ended = [*self._stop_following(), *self._tasks]
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)
        await self.seat.aclose()


async def _watch(agent: AsyncSMCPAgentClient, address: Address, *, is_watched: bool = True) -> None:
    server = address.server or None
    await agent.watch_resource(address.computer, address.uri, mcp_server=server, watch=is_watched)
