"""Notifications for the hosts of a view: which lists they know, and whether those have changed.

A host fetches a whole list after each notification, so a list is compared with the one that hosts know before they are
notified.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.types import Change
from a2c_smcp.errors import MalformedRequestError, SMCPError
from a2c_smcp.gateway.addresses import Address
from a2c_smcp.gateway.hosts import LISTS, MAX_WATCHES, HostSessions, ListName, addresses_of
from a2c_smcp.gateway.office import Office

logger = logging.getLogger(__name__)

Digest: TypeAlias = Callable[[str, AsyncSMCPAgentClient], Awaitable[str | None]]
"""A hash of a list as it is now; None if it cannot be compared."""

_EVERYTHING = frozenset(("enter", "leave", "rejoined", "config"))
"""Changes after which any list may be different."""
_EVENTS: dict[ListName, ServerEvent] = {
    "tools": ToolsListChanged(),
    "resources": ResourcesListChanged(),
    "prompts": PromptsListChanged(),
}
_UNCOMPARED = ""
"""In place of a hash: the list is too long to be compared, or changed while there was nobody to notify."""


class _Bus:
    """Carries events to the streams of hosts that listen."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[ServerEvent], None]] = {}

    def tell(self, event: ServerEvent) -> None:
        """Hand an event to every stream. Each has a buffer of its own."""
        for listener in list(self._listeners.values()):
            listener(event)

    async def publish(self, event: ServerEvent) -> None:
        """The same, as the library calls it."""
        self.tell(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Add a stream; the result removes it."""
        key = object()
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe


class News:
    """The hosts that want to hear of changes, and what they know."""

    def __init__(self, office: Office, digest: Digest) -> None:
        self._office = office
        self._digest = digest
        self.sessions = HostSessions(office.id, office.unwatch)
        self._bus = _Bus()
        # The library's limit is one for all hosts of a view, which one user could use up. `Principals` limits each.
        self._streams = ListenHandler(self._bus, max_subscriptions=sys.maxsize)
        self._listening: dict[object, dict[str, Address]] = {}
        """What the hosts watch that listen on a stream, by the address that each used."""
        self._known: dict[ListName, str] = {}
        """The hashes of the lists that hosts know."""
        self._due: dict[ListName, None] = {}
        """The lists to compare."""
        self._comparing: asyncio.Task[None] | None = None

    @property
    def has_audience(self) -> bool:
        """Whether there are hosts to notify."""
        return bool(len(self.sessions) or self._listening)

    def close(self) -> None:
        """End the streams of hosts that listen."""
        self._streams.close()
        if self._comparing is not None:
            self._comparing.cancel()

    # -------------------------------------------------------------------------------------------------------- the lists

    def knows(self, name: ListName, digest: str) -> None:
        """A host is about to get a list."""
        # Others may know an older one. They are notified by `_compare`, which is on its way if this one is newer.
        self._known.setdefault(name, digest)

    def missed(self, name: ListName) -> None:
        """A host asked for a list, and did not get it: any list is news."""
        self._known[name] = _UNCOMPARED

    async def learn(self, name: ListName) -> None:
        """A host is about to get a list that is not kept: note what it looks like."""
        agent = self._office.seat.current
        if name not in self._known and agent is not None:
            self.knows(name, await self._digest(name, agent) or _UNCOMPARED)

    def hear(self, changes: Iterable[Change]) -> None:
        """The office changed."""
        kinds = {change.kind for change in changes}
        is_anything = bool(kinds & _EVERYTHING)
        for name in LISTS:
            if is_anything or name in kinds:
                if self.has_audience:
                    self._due[name] = None
                elif name in self._known:
                    self._known[name] = _UNCOMPARED
        # In a task: a Computer that does not answer must not delay other news.
        if self._due and (self._comparing is None or self._comparing.done()):
            self._comparing = asyncio.create_task(self._compare(), name=f"lists of {self._office.id}")
        for change in changes:
            if change.kind == "resource" and change.computer is not None:
                self._tell_updated(change.computer, cast("Mapping[str, Any]", change.data))

    async def _compare(self) -> None:
        while self._due:
            name = next(iter(self._due))
            del self._due[name]  # a change from here on has to be compared again
            agent = self._office.seat.current
            if name not in self._known or agent is None:
                continue
            try:
                digest = await self._digest(name, agent) or _UNCOMPARED
            except SMCPError as error:  # the Computer left, or fails; there will be another change
                logger.debug("the %s of office %s cannot be compared: %s", name, self._office.id, error)
                digest = _UNCOMPARED
            if digest == _UNCOMPARED or digest != self._known.get(name):
                self._known[name] = digest
                self.sessions.tell_changed(name)
                self._bus.tell(_EVENTS[name])

    # ---------------------------------------------------------------------------------------------------- the resources

    def _tell_updated(self, computer: str, notice: Mapping[str, Any]) -> None:
        uri, server = str(notice.get("uri", "")), notice.get("mcp_server")
        self.sessions.tell_updated(computer, uri, server)
        watched = [entry for each in self._listening.values() for entry in each.items()]
        for theirs in dict.fromkeys(addresses_of(watched, computer, uri, server)):
            self._bus.tell(ResourceUpdated(uri=theirs))

    async def listen(
        self,
        ctx: ServerRequestContext[Any, Any],
        params: types.SubscriptionsListenRequestParams,
        find: Callable[[str], Awaitable[Address]],
    ) -> types.SubscriptionsListenResult:
        """A stream of notifications, for a host of 2026-07-28, until it closes it.

        What cannot be watched is left out of the acknowledgement.

        Raises:
            MalformedRequestError: it wants to watch too many resources.
        """
        wanted = dict.fromkeys(params.notifications.resource_subscriptions or ())
        if len(wanted) > MAX_WATCHES:
            raise MalformedRequestError(f"{len(wanted)} resources: a host can watch at most {MAX_WATCHES}")
        key = object()
        watched = self._listening[key] = {}
        try:
            for uri in wanted:
                try:
                    address = await find(uri)
                    await self._office.watch(address)
                    watched[uri] = address
                except SMCPError as error:
                    logger.info("%s is not watched: %s", uri, error.message)
            honored = params.notifications.model_copy(update={"resource_subscriptions": list(watched) or None})
            return await self._streams(ctx, params.model_copy(update={"notifications": honored}))
        finally:
            del self._listening[key]
            await self._office.unwatch(watched.values())
