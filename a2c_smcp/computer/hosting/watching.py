"""The resources of one connected MCP server: listed, listed again when the list changes, and watched for updates.

The layer above, the `Audience`, decides which resources are shown and when their contents are read.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol

import anyio
import anyio.abc
import mcp_types as types
from mcp.client.subscriptions import ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.hosting.listening import Wanted, keep_listening
from a2c_smcp.computer.hosting.templates import Templates
from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.mcp.listing import Listing
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.utils.backoff import Backoff

logger = logging.getLogger(__name__)

LIST_TIMEOUT = 30.0
"""Seconds after which a page of the list has failed."""
AT_ONCE = 500
"""Resources of a list that are sorted before other work gets its turn."""
WATCHERS = 8
"""Subscriptions that are requested at a time."""
WATCH_TIMEOUT = 10.0


class Watched(Enum):
    """Whether the server announces the changes of a resource."""

    NO = auto()
    SOON = auto()
    """It has been asked to."""
    YES = auto()


class Audience(Protocol):
    """The windows and documents of one connected server, as the layer above shows them."""

    def take(self, listing: Listing) -> None:
        """The server lists these."""
        ...

    def updated(self, uri: str) -> None:
        """The content of a resource changed."""
        ...

    def templates_changed(self) -> None:
        """The list of templates may have changed since it was read."""
        ...

    def prompts_changed(self) -> None:
        """The list of prompts may have changed since it was read; also called when the server begins or ends to offer
        prompts."""
        ...

    def watch(self, uris: Iterable[str], state: Watched) -> None:
        """Changes of these resources are announced from now on, will be soon, or are not."""
        ...

    async def look_again(self) -> None:
        """Read what was read before its changes were announced: it may have changed unnoticed."""
        ...

    def close(self) -> None:
        """The connection has ended."""
        ...


@dataclass(eq=False, slots=True)
class _Batch:
    """Resources whose changes the server was asked to announce, together."""

    uris: Sequence[str]
    watched: set[str] = field(default_factory=set[str])
    """Those that it agreed to."""
    problem: Exception | None = None
    """Why it did not agree to others."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it has answered."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """Ends the subscription (2026-07-28)."""


class ResourceWatch:
    """The list of one server's resources, and the subscriptions: to windows and documents in it, and to what is wanted
    beside them."""

    def __init__(self, server: str, session: Session, policy: Policy, redact: Callable[[str], str]) -> None:
        self.server = server
        self.session = session
        self._policy = policy
        self._redact = redact
        capabilities = session.server_capabilities
        resources = capabilities.resources if capabilities is not None else None
        self.has_resources = resources is not None
        self.announces_updates = resources is not None and bool(resources.subscribe)
        """Whether the server offers subscriptions."""
        self.templates = Templates(
            session, is_offered=self.has_resources, is_told=resources is not None and bool(resources.list_changed)
        )
        self.problem: str | None = None
        """Why the resources cannot be listed."""
        self._stale = asyncio.Event()
        self._listed = asyncio.Event()
        self._running = asyncio.Event()
        self._on_show: frozenset[str] = frozenset()
        """The windows and documents of the newest list."""
        self._wanted: set[str] = set()
        """The resources whose changes are wanted beside those."""
        self._asked: dict[str, _Batch] = {}
        """The resources whose changes the server announces, or has been asked to announce; each with the batch in which
        it was asked."""
        self._leaving: dict[str, asyncio.Event] = {}
        """The requests to unsubscribe that are under way."""
        self._audience: Audience | None = None
        self._tasks: anyio.abc.TaskGroup | None = None

    def outdate(self) -> None:
        """The lists of resources and templates may have changed."""
        # MCP has one notification for both.
        if self.templates.outdate() and self._audience is not None:
            self._audience.templates_changed()
        self._stale.set()

    def want_again(self, uris: Iterable[str]) -> None:
        """These were wanted of an earlier connection to the server. Called before `run`."""
        self._wanted.update(uris)

    async def run(self, audience: Audience) -> None:
        """List, and list again when the server announces a change, as long as the connection lives."""
        self._audience = audience
        if not self.has_resources:
            self._listed.set()
            return
        backoff = self._backoff()
        async with anyio.create_task_group() as self._tasks:
            self._running.set()
            # What was wanted of an earlier connection. Not only after the first list, which may fail.
            if wanted := [uri for uri in self._wanted if uri not in self._asked]:
                self._begin(wanted)
            self._stale.set()
            while True:
                await self._stale.wait()
                self._stale.clear()
                if await self._list(audience):
                    backoff.reset()
                else:
                    self._stale.set()
                # Also after a failure: requests wait for this once, at the start. A server that cannot list its
                # resources must not delay every request until its list works.
                self._listed.set()
                await anyio.sleep(backoff.next())

    async def wait_listed(self) -> None:
        """Wait until the server has listed its resources for the first time, or failed to."""
        await self._listed.wait()

    async def list_again(self) -> None:
        """Read the list again, unless the server announces its changes."""
        if not self.announces_updates and self.has_resources and self._audience is not None:
            await self._list(self._audience)

    def close(self) -> None:
        """The connection has ended: nothing more is listed, and nothing more announced."""
        self._listed.set()
        self._tasks = None
        self._running.set()
        for batch in self._asked.values():
            batch.watched.clear()
            batch.settled.set()

    async def _list(self, audience: Audience) -> bool:
        """Read the list; whether that worked."""
        listing = Listing()
        try:
            number = 0
            async with contextlib.aclosing(self.session.resources(LIST_TIMEOUT)) as resources:
                async for resource in resources:
                    listing.add(resource)
                    # A list may hold hundreds of thousands of resources. Calls to other servers must not wait until the
                    # addresses of all of them are parsed.
                    number += 1
                    if number % AT_ONCE == 0:
                        await asyncio.sleep(0)
        except (MCPError, TimeoutError) as error:  # if the connection has ended, its owner finds out
            problem = in_words(error, self._redact)
            if problem != self.problem:
                logger.warning("the resources of %s cannot be listed: %s", self.server, problem)
            self.problem = problem
            return False
        self.problem = None
        audience.take(listing)
        self._watch(listing)
        return True

    # --------------------------------------------------------------------------------------------------------- watching

    # Content that is read before its changes are announced may be outdated, and no notification will ever say so. So
    # the audience learns of each step: `SOON` when the server is asked (what is read from now on is used, once), `YES`
    # when it has agreed (what was read before is read again), `NO` when a subscription is lost (every request reads
    # again).

    async def want(self, uri: str) -> None:
        """Have the server announce the changes of a resource, shown or not, and wait until it has agreed.

        Raises:
            MCPError, TimeoutError, SubscriptionLost: the server does not agree, or the connection has ended.
        """
        self._wanted.add(uri)
        await self._running.wait()
        # One subscription for each resource, whoever wants it: windows and documents have one already.
        batch = self._asked.get(uri) or self._begin([uri])
        await batch.settled.wait()
        if uri not in batch.watched:
            refusal = MCPError(code=types.INTERNAL_ERROR, message="it announces no changes of this resource")
            raise batch.problem or refusal

    def unwant(self, uri: str) -> None:
        """Nobody needs the changes of a resource any more, unless it is shown."""
        self._wanted.discard(uri)
        if uri in self._on_show:
            return
        batch = self._asked.pop(uri, None)
        if batch is None or self._tasks is None:
            return
        if self.session.is_modern:
            if not self._current(batch):
                batch.scope.cancel()
        elif uri not in self._leaving:
            self._leaving[uri] = asyncio.Event()
            self._tasks.start_soon(self._unsubscribe, uri)

    def _watch(self, listing: Listing) -> None:
        """Have the server announce the changes of windows and documents that are new in its list."""
        if not self.announces_updates:
            return
        self._on_show = frozenset((*listing.windows, *listing.documents))
        # A resource that went and came back is a new one to its server, which may have dropped the subscription. It is
        # asked for again, in a batch of its own; whatever becomes of the old batch does not concern it.
        for uri in [uri for uri in self._asked if uri not in self._on_show and uri not in self._wanted]:
            del self._asked[uri]
        new = [uri for uri in (*listing.windows, *listing.documents) if uri not in self._asked]
        if new:
            self._begin(new)

    def _begin(self, uris: Sequence[str]) -> _Batch:
        """Ask the server to announce the changes of these resources."""
        batch = _Batch(uris)
        if self._tasks is None:  # the connection has just ended
            batch.settled.set()
            return batch
        self._asked.update(dict.fromkeys(uris, batch))
        self._tasks.start_soon(self._listen if self.session.is_modern else self._subscribe, batch)
        return batch

    def _current(self, batch: _Batch) -> list[str]:
        """Those of a batch that are still wanted, and were not asked for again."""
        return [uri for uri in batch.uris if self._asked.get(uri) is batch]

    async def _subscribe(self, batch: _Batch) -> None:
        """Subscribe to each resource, as before 2026-07-28."""
        audience = self._audience
        assert audience is not None

        # MCP before 2026-07-28 has one request for each resource. A few at a time keep a folder with thousands of
        # documents from delaying the calls that go over the same pipe. All workers take from one iterator.
        async def work() -> None:
            for uri in queue:
                # A request to unsubscribe that is under way must not arrive after the new request to subscribe.
                if (left := self._leaving.get(uri)) is not None:
                    await left.wait()
                try:
                    with anyio.fail_after(WATCH_TIMEOUT):
                        await self.session.watch(uri)
                    batch.watched.add(uri)
                except (MCPError, TimeoutError) as error:
                    batch.problem = error
                    logger.debug("%s cannot be watched: %s", uri, in_words(error, self._redact))

        audience.watch(batch.uris, Watched.SOON)
        queue = iter(batch.uris)
        async with anyio.create_task_group() as tasks:
            for _ in range(min(WATCHERS, len(batch.uris))):
                tasks.start_soon(work)
        current = self._current(batch)
        failed = [uri for uri in current if uri not in batch.watched]
        for uri in failed:
            del self._asked[uri]  # the next list tries again
        audience.watch(failed, Watched.NO)
        # All at once: one by one, each request meanwhile would read a whole catalogue for a few documents.
        audience.watch([uri for uri in current if uri in batch.watched], Watched.YES)
        batch.settled.set()
        await audience.look_again()

    async def _unsubscribe(self, uri: str) -> None:
        try:
            with anyio.fail_after(WATCH_TIMEOUT):
                await self.session.watch(uri, on=False)
        except (MCPError, TimeoutError) as error:
            logger.debug("%s is still watched: %s", uri, in_words(error, self._redact))
        finally:
            self._leaving.pop(uri).set()

    async def _listen(self, batch: _Batch) -> None:
        """Listen for the changes of these resources, as of 2026-07-28, as long as any of them is wanted."""
        tasks, audience = self._tasks, self._audience
        assert tasks is not None
        assert audience is not None

        def wanted() -> Wanted | None:
            current = self._current(batch)
            return {"resource_subscriptions": current} if current else None

        def on_open(honored: types.SubscriptionFilter) -> None:
            batch.watched = set(honored.resource_subscriptions or ())
            batch.settled.set()
            audience.watch(batch.watched, Watched.YES)
            # In a task of its own: the loop that reads events calls this function, and must not wait for reads.
            tasks.start_soon(audience.look_again)

        def on_event(event: ServerEvent) -> None:
            if isinstance(event, ResourceUpdated):
                audience.updated(event.uri)

        def on_end(problem: Exception | None) -> None:
            if problem is not None:
                words = in_words(problem, self._redact)
                logger.debug("%s does not announce changes of resources any more: %s", self.server, words)
            # A subscription that was open is opened again, and a caller that wants it meanwhile waits for that.
            if batch.watched:
                batch.settled.clear()
            else:
                batch.settled.set()
            batch.problem, batch.watched = problem, set()
            audience.watch(self._current(batch), Watched.NO)

        with batch.scope:
            await keep_listening(
                self.session, self._backoff(), wanted, on_open=on_open, on_event=on_event, on_end=on_end
            )

    def _backoff(self) -> Backoff:
        return Backoff(self._policy.list_pause, self._policy.longest_delay)
