"""What one MCP server shows: its windows and documents, listed and watched as long as it is connected."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from itertools import islice

import anyio
import anyio.abc
from mcp.client.subscriptions import ResourceUpdated, SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from a2c_smcp.computer.mcp.listing import Listing
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.computer.offer.budget import ByteBudget
from a2c_smcp.computer.offer.desktop.windows import Windows
from a2c_smcp.computer.offer.finder.documents import DocumentItem, Documents, Room
from a2c_smcp.computer.offer.items import READ_TIMEOUT, RETRY_PAUSE, Item, Reading, now
from a2c_smcp.computer.offer.templates import Templates
from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.utils.backoff import Backoff
from a2c_smcp.utils.dpe_uri import ParsedDPEUri, parse_dpe_uri

logger = logging.getLogger(__name__)

LIST_PAUSE = 0.1
"""Seconds between two readings of a list that keeps changing."""
LONGEST_PAUSE = 30.0
AT_ONCE = 500
"""Resources of a list that are sorted before other work gets its turn."""
WATCHERS = 8
WATCH_TIMEOUT = 10.0
MAX_NOTES = 10
MAX_SKIPPED = 100


class ResourceView:
    """The windows and documents of one connected server.

    `on_change` is told which kind changed: "windows" or "documents", and whether the set of them did. `on_list` is told
    of a list with something else in it than before, once.
    """

    def __init__(
        self,
        server: str,
        session: Session,
        *,
        require_subscribe: bool,
        budget: ByteBudget,
        room: Room,
        on_change: Callable[[str, bool], None],
        on_list: Callable[[], None],
        redact: Callable[[str], str],
        list_pause: float = LIST_PAUSE,
        retry_pause: float = RETRY_PAUSE,
    ) -> None:
        self.server = server
        self._session = session
        self._on_change = on_change
        self._on_list = on_list
        self._list_pause = list_pause
        self._reading = Reading(server, session, redact, retry_pause)
        self._stale_list = asyncio.Event()
        self._listed = asyncio.Event()
        self._tasks: anyio.abc.TaskGroup | None = None
        capabilities = session.server_capabilities
        resources = capabilities.resources if capabilities is not None else None
        self._has_resources = resources is not None
        self._tells = resources is not None and bool(resources.subscribe)
        self.templates = Templates(
            session, is_offered=self._has_resources, is_told=resources is not None and bool(resources.list_changed)
        )
        self.is_gated = require_subscribe and not self._tells
        self.windows = Windows(server, self._reading, budget, lambda: on_change("windows", False))
        self.documents = Documents(server, session, self._reading, room, lambda: on_change("documents", False))
        self.others: frozenset[str] = frozenset()
        self.hosts: frozenset[str] = frozenset()
        """The hosts that its addresses and templates name, in lower case; known as long as it is connected."""
        self._skipped: dict[str, str] = {}
        """Windows and documents that are listed and cannot be shown, with the reason: their addresses are invalid."""
        self._list_problem: str | None = None
        self.gated_count = 0
        """Windows and documents that are there and not shown, for want of `resources.subscribe`."""

    # ----------------------------------------------------------------------------------------------------------- asking

    def holds(self, uri: str) -> bool:
        """Whether the server lists this resource."""
        return uri in self.windows.items or uri in self.documents.items or uri in self.others

    def document_of(self, address: ParsedDPEUri) -> DocumentItem | None:
        """The listed document that an address is about."""
        return self.documents.find(address)

    def problems(self) -> list[str]:
        """What its owner should know."""
        windows = [item for item in self.windows.items.values() if item.problem is not None]
        failing = [(item, item.pane is not None) for item in windows]
        failing += [(item, item.filed is not None) for item in self.documents.failing]
        found = [f"{uri} is not shown: {reason}" for uri, reason in islice(self._skipped.items(), MAX_SKIPPED)]
        if len(self._skipped) > MAX_SKIPPED:
            found.append(f"{len(self._skipped) - MAX_SKIPPED} more are not shown: their addresses are invalid")
        found += [
            f"{item.uri} cannot be read: {item.problem}{'; its last content is shown' if is_shown else ''}"
            for item, is_shown in failing[:MAX_NOTES]
        ]
        if len(failing) > MAX_NOTES:
            found.append(f"{len(failing) - MAX_NOTES} more cannot be read")
        if self.documents.left_out:
            found.append(
                f"{self.documents.left_out} of its {len(self.documents.items)} documents are not in the Finder, whose "
                "index is full (index_bytes); they can be read by their addresses"
            )
        if self._list_problem is not None:
            found.append(f"its resources cannot be listed: {self._list_problem}")
        if self.gated_count:
            found.append(
                f"its {self.gated_count} windows and documents are not shown: it does not advertise "
                "resources.subscribe; require_subscribe=False (--no-require-subscribe) shows them"
            )
        return found

    # ----------------------------------------------------------------------------------------------------- what changes

    def on_notice(self, method: str, uri: object) -> None:
        """The server says that something changed."""
        if method == "notifications/resources/list_changed":
            self.list_changed()
        elif method == "notifications/resources/updated" and isinstance(uri, str):
            self.updated(uri)

    def list_changed(self) -> None:
        """Resources came or went, or may have."""
        self.templates.outdate()
        self._stale_list.set()

    def updated(self, uri: str) -> None:
        """A resource changed: announced at once, read when somebody asks."""
        if self.is_gated:
            return
        if uri.startswith("window://"):
            self.windows.outdate(uri)
            self._on_change("windows", False)
        elif uri.startswith("dpe://"):
            self._outdate_documents(uri)
            self._on_change("documents", False)

    def _outdate_documents(self, uri: str) -> None:
        document = self.documents.items.get(uri)
        try:
            address = parse_dpe_uri(uri)
        except InvalidDPEUriError:
            return
        if document is None and address.doc_ref is not None:
            document = self.document_of(address)
        if document is not None:
            self.documents.outdate(document)
        elif address.doc_ref is None:
            self.documents.outdate_all(address.host)

    async def run(self) -> None:
        """List, and list again whenever the server says so, as long as the connection lives."""
        if not self._has_resources:
            self._listed.set()
            return
        async with anyio.create_task_group() as self._tasks:
            self._stale_list.set()
            backoff = Backoff(self._list_pause, LONGEST_PAUSE)
            while True:
                await self._stale_list.wait()
                self._stale_list.clear()
                if await self._list():
                    backoff.reset()
                else:
                    self._stale_list.set()
                self._listed.set()
                await anyio.sleep(backoff.next())

    async def _list(self) -> bool:
        """Read the list; whether that worked."""
        listing = Listing()
        try:
            number = 0
            async with contextlib.aclosing(self._session.resources(READ_TIMEOUT)) as resources:
                async for resource in resources:
                    listing.add(resource)
                    number += 1
                    if number % AT_ONCE == 0:
                        await asyncio.sleep(0)
        except (MCPError, TimeoutError) as error:  # whether the connection lives is for others to find out
            problem = self._reading.in_words(error)
            if problem != self._list_problem:
                logger.warning("the resources of %s cannot be listed: %s", self.server, problem)
            self._list_problem = problem
            return False
        self._list_problem = None
        self._take(listing)
        return True

    def _take(self, listing: Listing) -> None:
        self.others = frozenset(listing.others)
        if self.is_gated:
            gated_count, self.gated_count = self.gated_count, len(listing.windows) + len(listing.documents)
            if self.gated_count != gated_count:
                self._on_list()
            return
        self.hosts |= listing.hosts
        skips_others = self._skip(listing.skipped)
        has_other_windows = self.windows.take(listing.windows)
        has_other_documents = self.documents.take(listing.documents)
        self._watch_new()
        for kind, has_changed in (("windows", has_other_windows), ("documents", has_other_documents)):
            if has_changed:
                self._on_change(kind, True)
            else:
                logger.debug("%s lists the same %s as before: no notification", self.server, kind)
        if has_other_windows or has_other_documents or skips_others:
            self._on_list()

    def _skip(self, skipped: dict[str, str]) -> bool:
        """Remember what cannot be shown, and warn of what is new; whether it is something else than before."""
        for uri in [uri for uri in skipped if uri not in self._skipped][:MAX_SKIPPED]:
            logger.warning("%s of %s is not shown: %s", uri, self.server, skipped[uri])
        before, self._skipped = self._skipped, skipped
        return before != skipped

    # --------------------------------------------------------------------------------------------------------- watching

    def _watch_new(self) -> None:
        """Have the server tell of the changes of what is new."""
        items: list[Item] = [*self.windows.items.values(), *self.documents.items.values()]
        new = [item for item in items if not item.is_watched and not item.is_being_watched]
        if not new or not self._tells or self._tasks is None:
            return
        for item in new:
            item.is_being_watched = True
        if self._session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            self._tasks.start_soon(self._listen_for, new)
        else:
            self._tasks.start_soon(self._subscribe, new)

    async def _subscribe(self, items: list[Item]) -> None:
        async def work() -> None:
            for item in queue:
                try:
                    with anyio.fail_after(WATCH_TIMEOUT):
                        await self._session.watch(item.uri)
                    watched.append(item)
                except (MCPError, TimeoutError) as error:
                    logger.debug("%s cannot be watched: %s", item.uri, self._reading.in_words(error))

        for item in items:
            item.is_subscribed_soon = True
        watched: list[Item] = []
        queue = iter(items)
        async with anyio.create_task_group() as tasks:
            for _ in range(min(WATCHERS, len(items))):
                tasks.start_soon(work)
        for item in items:
            item.is_being_watched = item.is_subscribed_soon = False
        for item in watched:  # together: one by one, each request meanwhile would read a catalogue for a few of them
            self._be_watched(item)
        await self.windows.look_again()
        self.documents.look_again()

    async def _listen_for(self, items: list[Item]) -> None:
        """A 2026-07-28 server tells only those who listen, and those only of what they named."""
        backoff = Backoff(self._list_pause, LONGEST_PAUSE)
        while items := [item for item in items if self._is_listed(item)]:
            try:
                async with listen(self._session, resource_subscriptions=[item.uri for item in items]) as subscription:
                    honored = set(subscription.honored.resource_subscriptions or ())
                    for item in items:
                        if item.uri in honored:
                            self._be_watched(item)
                    async for event in subscription:
                        backoff.reset()
                        if isinstance(event, ResourceUpdated):
                            self.updated(event.uri)
            except (MCPError, SubscriptionLost, TimeoutError) as error:
                logger.debug("nobody tells of changes of %s any more: %s", self.server, self._reading.in_words(error))
            for item in items:
                item.is_watched = False
                self._outdate(item)
            await anyio.sleep(backoff.next())

    def _is_listed(self, item: Item) -> bool:
        return item.uri in self.windows.items or item.uri in self.documents.items

    def _be_watched(self, item: Item) -> None:
        """From now on changes are told; what was read before that may have changed untold."""
        item.is_watched = True
        self._outdate(item)

    def _outdate(self, item: Item) -> None:
        if not isinstance(item, DocumentItem):
            item.outdate()
        elif self.documents.items.get(item.uri) is item:
            self.documents.outdate(item)

    # ---------------------------------------------------------------------------------------------------------- waiting

    async def wait_listed(self) -> None:
        """Wait until the server has been asked what it has."""
        await self._listed.wait()

    async def be_listed(self, deadline: float) -> None:
        """Wait until the server has been asked what it has; if it does not tell of changes, ask it again."""
        with anyio.move_on_after(max(deadline - now(), 0)):
            await self._listed.wait()
            if not self._tells and not self.is_gated and self._has_resources:
                await self._list()

    async def learn_hosts(self, deadline: float) -> None:
        """Know the hosts that its templates name, also while it lists no document there."""
        if self.is_gated:
            return
        with anyio.move_on_after(max(deadline - now(), 0)):
            found = await self.templates.hosts()
            self.hosts |= found  # read after the wait: a list may have been taken meanwhile

    def close(self) -> None:
        """The connection has ended."""
        had_windows, had_documents = bool(self.windows.items), bool(self.documents.items)
        self.windows.close()
        self.documents.close()
        self.others, self.hosts = frozenset(), frozenset()
        self._listed.set()
        if had_windows:
            self._on_change("windows", True)
        if had_documents:
            self._on_change("documents", True)
