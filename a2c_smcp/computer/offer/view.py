"""The windows, documents and skills of one connected MCP server, and the problems that its owner should know."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Set
from functools import partial
from itertools import islice

import anyio

from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.hosting.subscriptions import Watched
from a2c_smcp.computer.hosting.templates import Templates
from a2c_smcp.computer.hosting.watching import ResourceWatch
from a2c_smcp.computer.mcp.listing import Listing
from a2c_smcp.computer.offer.announcer import Change
from a2c_smcp.computer.offer.budget import ByteBudget
from a2c_smcp.computer.offer.desktop.windows import Windows
from a2c_smcp.computer.offer.finder.documents import DocumentItem, Documents, Room
from a2c_smcp.computer.offer.items import RETRY_PAUSE, Reading, now
from a2c_smcp.computer.offer.paging import ResourcePages
from a2c_smcp.computer.offer.skills.served import ServedSkills
from a2c_smcp.computer.offer.watches import Watches
from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.utils.dpe_uri import ParsedDPEUri, parse_dpe_uri

logger = logging.getLogger(__name__)

MAX_NOTES = 10
MAX_SKIPPED = 100
MAX_HOSTS = 10_000
"""Hosts that are remembered of earlier lists. A server could list documents on other hosts each time."""


class ResourceView:
    """The windows and documents of one connected server.

    `announce` is called with what changed: the contents of windows or of documents. `on_list` is called once for each
    list that differs from the one before, with the kinds of which the server lists others.
    """

    def __init__(
        self,
        watch: ResourceWatch,
        *,
        require_subscribe: bool,
        budget: ByteBudget,
        room: Room,
        announce: Callable[[Change], None],
        on_list: Callable[[Set[Change]], None],
        watches: Watches,
        redact: Redact,
        retry_pause: float = RETRY_PAUSE,
    ) -> None:
        self.server = watch.server
        self._watch = watch
        self._announce = announce
        self._on_list = on_list
        self._watches = watches
        watch.want_again(watches.of(watch.server))
        self.resource_pages = ResourcePages(watch.session)
        """The resource list as the server wrote it."""
        reading = Reading(watch.server, watch.session, redact, retry_pause)
        # The protocol shows only servers with subscriptions: what an Agent sees of another one may be outdated, and no
        # notification would say so.
        self.is_gated = require_subscribe and not watch.announces_updates
        self.windows = Windows(reading, budget, partial(announce, Change.WINDOWS))
        self.documents = Documents(reading, room, partial(announce, Change.DOCUMENTS))
        self.skills = ServedSkills(watch.server, watch.session, redact)
        self.others: frozenset[str] = frozenset()
        self.hosts: frozenset[str] = frozenset()
        """The hosts in its addresses and templates, in lower case, kept while the server is connected."""
        self._skipped: dict[str, str] = {}
        """Listed windows and documents with invalid addresses, and what is wrong with them."""
        self._listed: int | None = None
        """A hash of everything in the newest list, for comparison with the next; None before the first."""
        self.gated_count = 0
        """The number of windows and documents that are not shown, because the server lacks `resources.subscribe`."""

    # ----------------------------------------------------------------------------------------------------------- asking

    @property
    def templates(self) -> Templates:
        """The resource templates of the server."""
        return self._watch.templates

    @property
    def has_resources(self) -> bool:
        """Whether the server declares that it has resources."""
        return self._watch.has_resources

    def holds(self, uri: str) -> bool:
        """Whether the server lists this resource."""
        return uri in self.windows.items or uri in self.documents.items or uri in self.others

    def document_of(self, address: ParsedDPEUri) -> DocumentItem | None:
        """The listed document that an address is about."""
        return self.documents.find(address)

    def problems(self) -> list[str]:
        """Messages for the owner of the server."""
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
        found += [*self._watch.notes, *self.templates.notes, *self.skills.problems[:MAX_NOTES]]
        if self._watch.problem is not None:
            found.append(f"its resources cannot be listed: {self._watch.problem}")
        if self.gated_count:
            found.append(
                f"its {self.gated_count} windows and documents are not shown: it does not advertise "
                "resources.subscribe; require_subscribe=False (--no-require-subscribe) shows them"
            )
        return found

    # ---------------------------------------------------------------------------------------------------------- waiting

    async def wait_listed(self) -> None:
        """Wait until the server has listed its resources, or failed to."""
        await self._watch.wait_listed()

    async def be_listed(self, deadline: float) -> None:
        """Wait until the server has listed its resources; if it does not announce changes, list them again."""
        with anyio.move_on_after(max(deadline - now(), 0)):
            await self._watch.wait_listed()
            if not self.is_gated:
                await self._watch.list_again()

    async def be_current(self, deadline: float) -> None:
        """As `be_listed`, and wait for the changes that the server announced."""
        with anyio.move_on_after(max(deadline - now(), 0)):
            await self._watch.wait_current()
            if not self.is_gated:
                await self._watch.list_again()

    async def learn_hosts(self, deadline: float) -> None:
        """Learn the hosts in its templates: a server may have documents there that it does not list."""
        if self.is_gated:
            return
        with anyio.move_on_after(max(deadline - now(), 0)):
            found = await self.templates.hosts()
            self.hosts |= found  # a separate line: with `|= await`, hosts that a list adds meanwhile would be lost

    # ---------------------------------------------------------------------------------------------- called by `hosting`

    def take(self, listing: Listing) -> None:
        """The server lists these resources."""
        self.resource_pages.forget()
        self.others = frozenset(listing.others)
        self._compare(listing)
        if self.skills.take(listing.skills):
            self._announce(Change.SKILLS)
        if self.is_gated:
            gated_count, self.gated_count = self.gated_count, len(listing.windows) + len(listing.documents)
            if self.gated_count != gated_count:
                self._on_list(frozenset())
            return
        # Hosts are only added. A document that has just been removed from the list still leads to its server, which
        # then answers that it does not exist.
        if listing.hosts - self.hosts:
            known = self.hosts | listing.hosts
            self.hosts = known if len(known) <= MAX_HOSTS else frozenset(listing.hosts)
        skips_others = self._skip(listing.skipped)
        taken = {
            Change.WINDOWS: self.windows.take(listing.windows),
            Change.DOCUMENTS: self.documents.take(listing.documents),
        }
        changed = {change for change, has_changed in taken.items() if has_changed}
        for change in taken.keys() - changed:
            logger.debug("%s lists the same %s as before: no notification", self.server, change.name.lower())
        if changed or skips_others:
            self._on_list(changed)

    async def want(self, uri: str) -> None:
        """Have the server announce the changes of a resource that an Agent watches.

        Raises:
            MCPError, TimeoutError, SubscriptionLost: the server does not agree.
        """
        await self._watch.want(uri)

    def unwant(self, uri: str) -> None:
        """No Agent watches a resource any more."""
        self._watch.unwant(uri)

    def updated(self, uri: str) -> None:
        """A resource changed: announced at once, read when an Agent asks for it."""
        self._watches.updated(self.server, uri)
        if self.is_gated:
            return
        # Announced even if the resource is not listed: the list may be on its way, and a notice too many does no harm.
        if uri.startswith("window://"):
            self.windows.outdate(uri)
            self._announce(Change.WINDOWS)
        elif uri.startswith("dpe://"):
            self._outdate_documents(uri)
            self._announce(Change.DOCUMENTS)
        elif self.skills.outdate(uri):
            self._announce(Change.SKILLS)

    def templates_changed(self) -> None:
        """The list of templates may have changed since it was read."""
        self._announce(Change.RESOURCES)

    def prompts_changed(self) -> None:
        """The list of prompts may have changed."""
        self._announce(Change.PROMPTS)

    def watch(self, uris: Iterable[str], state: Watched) -> None:
        """Changes of these resources are announced from now on, will be soon, or are not. When that begins or ends,
        what was read before may have changed without a notification."""
        if state is Watched.YES:
            self._watches.opened(self.server, uris)
        for uri in uris:
            item = self.windows.items.get(uri) or self.documents.items.get(uri)
            if item is None:
                continue
            before, item.watched = item.watched, state
            if Watched.YES in (before, state):
                self.documents.outdate(item) if isinstance(item, DocumentItem) else item.outdate()

    async def look_again(self) -> None:
        """Read the windows and documents that an Agent saw before their changes were announced."""
        await self.windows.look_again()
        self.documents.look_again()

    def close(self) -> None:
        """The connection has ended."""
        had = {Change.WINDOWS: bool(self.windows.items), Change.DOCUMENTS: bool(self.documents.items)}
        self.windows.close()
        self.documents.close()
        self.resource_pages.forget()
        self.others, self.hosts = frozenset(), frozenset()
        if self.skills.take(()):
            self._announce(Change.SKILLS)
        if self._listed is not None:
            self._announce(Change.RESOURCES)
        if any(had.values()):
            self._on_list({change for change, has in had.items() if has})

    def _compare(self, listing: Listing) -> None:
        """Announce a list that differs from the one before."""
        # The first one is always announced, also if it is empty: the server has templates, too, which nobody has read.
        windows, documents = frozenset(listing.windows.items()), frozenset(listing.documents.items())
        listed = hash((windows, documents, self.others))
        if listed != self._listed:
            self._listed = listed
            self._announce(Change.RESOURCES)

    # A server may announce a change of a document, of a page or element of it, or of a whole host. The index has only
    # documents, so a page leads to its document, and a host to all documents there.
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

    def _skip(self, skipped: dict[str, str]) -> bool:
        """Take what cannot be shown, and warn about what is new; whether it differs from before."""
        # The list is read again and again: only new entries are logged, and of a broken server not all.
        for uri in [uri for uri in skipped if uri not in self._skipped][:MAX_SKIPPED]:
            logger.warning("%s of %s is not shown: %s", uri, self.server, skipped[uri])
        before, self._skipped = self._skipped, skipped
        return before != skipped
