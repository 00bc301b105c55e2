"""What one MCP server shows: its windows and documents, read when they are asked for, kept until they change.

A view lives as long as a connection. It lists the server's resources, has the server tell of their changes, and reads
each at most once for every change, however many ask. Whoever asks gets what is there within their patience; what comes
later is announced as a change.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, TypeVar

import anyio
import anyio.abc
import mcp_types as types
from mcp.client.subscriptions import ResourceUpdated, SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from a2c_smcp.computer.cache import ByteBudget
from a2c_smcp.computer.desktop.organize import Pane, Window, render
from a2c_smcp.computer.finder.organize import Filed
from a2c_smcp.computer.finder.summaries import is_complete, read_catalogue, read_document
from a2c_smcp.computer.listing import sort_resources
from a2c_smcp.computer.mcp_clients.session import Session
from a2c_smcp.computer.templates import Templates
from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.smcp import ResourceContents
from a2c_smcp.utils.dpe_uri import ParsedDPEUri, build_dpe_uri, parse_dpe_uri

logger = logging.getLogger(__name__)

READERS = 16
"""Reads of one server that run at a time."""
READ_TIMEOUT = 30.0
"""Seconds after which a read has failed."""
RETRY_PAUSE = 5.0
"""Seconds before a failed read is tried again, unless the server says that something changed."""
LIST_PAUSE = 0.1
"""Seconds between two readings of a list that keeps changing."""
LONGEST_PAUSE = 30.0
SLOT_SECONDS = 1.0
"""After this a read that still runs does not count among the readers any more: it may hang."""
WATCHERS = 8
WATCH_TIMEOUT = 10.0
MAX_NOTES = 10
MAX_SKIPPED = 100
CATALOGUE_PAYS = 3
"""Documents to be read above which their host's catalogue is asked first."""

T = TypeVar("T")


@dataclass(eq=False)
class Item(Generic[T]):
    """One resource: what is known of it, and whether that still holds."""

    uri: str
    name: str
    description: str | None
    shown: T | None = None
    """The last good content, made ready to be shown."""
    is_fresh: bool = False
    is_watched: bool = False
    is_being_watched: bool = False
    was_missed: bool = False
    """Whether somebody left before it was read: then its content is news."""
    changes: int = 0
    problem: str | None = None
    failed_at: float = float("-inf")
    reading: asyncio.Task[T | None] | None = None
    address: ParsedDPEUri | None = field(default=None, repr=False)


WindowItem = Item[Pane]
DocumentItem = Item[Filed]


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
        on_change: Callable[[str, bool], None],
        on_list: Callable[[], None],
        redact: Callable[[str], str],
    ) -> None:
        self.server = server
        self._session = session
        self._budget = budget
        self._on_change = on_change
        self._on_list = on_list
        self._redact = redact
        self._readers = asyncio.Semaphore(READERS)
        self._stale_list = asyncio.Event()
        self._listed = asyncio.Event()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._no_catalogue: set[str] = set()
        capabilities = session.server_capabilities
        resources = capabilities.resources if capabilities is not None else None
        self._has_resources = resources is not None
        self._tells = resources is not None and bool(resources.subscribe)
        self.templates = Templates(
            session, is_offered=self._has_resources, is_told=resources is not None and bool(resources.list_changed)
        )
        self.is_gated = require_subscribe and not self._tells
        self.windows: dict[str, WindowItem] = {}
        self.documents: dict[str, DocumentItem] = {}
        self.others: frozenset[str] = frozenset()
        self.hosts: frozenset[str] = frozenset()
        """The hosts that its addresses and templates name, in lower case; known as long as it is connected."""
        self._skipped: dict[str, str] = {}
        """Windows and documents that are listed and cannot be shown, with the reason: their addresses are invalid."""
        self._by_address: dict[tuple[str, str | None], DocumentItem] = {}
        self._list_problem: str | None = None
        self._catalogues: dict[str, asyncio.Task[dict[str, dict[str, Any]] | None]] = {}
        self.gated_count = 0
        """Windows and documents that are there and not shown, for want of `resources.subscribe`."""
        self.documents_are_settled = False
        """Whether all documents have been read since the last change: `filed` would give what it gave."""
        self.revision = 0
        """Grows whenever what `filed` holds changes."""

    # ----------------------------------------------------------------------------------------------------------- asking

    async def panes(self, patience: float, uri: str | None = None) -> list[Pane]:
        """The windows that can be shown, in listing order."""
        deadline = _now() + patience
        await self.be_listed(deadline)
        held = await self._refresh(self._chosen(uri), self._read_window, deadline)
        panes: list[Pane] = []
        for item in self._chosen(uri):
            self._budget.use(item)
            if (pane := item.shown or held.get(item)) is not None:
                panes.append(pane)
        return panes

    def _chosen(self, uri: str | None) -> list[WindowItem]:
        return [item for item in self.windows.values() if uri in (None, item.uri)]

    async def filed(self, patience: float) -> tuple[int, list[Filed]]:
        """The documents that can be found, in listing order, and the revision this is."""
        deadline = _now() + patience
        await self.be_listed(deadline)
        stale = [item for item in self.documents.values() if self._needs_reading(item)]
        held: dict[DocumentItem, Filed] = {}
        if len(stale) > CATALOGUE_PAYS:
            held = await self._read_catalogues(stale, deadline)
        unread = [item for item in self.documents.values() if item not in held]
        held |= await self._refresh(unread, self._read_document, deadline)
        items = self.documents.values()  # as they are now: the list may have changed meanwhile
        self.documents_are_settled = self._tells and all(item.is_fresh and item.is_watched for item in items)
        found = [filed for item in items if (filed := item.shown or held.get(item)) is not None]
        return self.revision, found

    def holds(self, uri: str) -> bool:
        """Whether the server lists this resource."""
        return uri in self.windows or uri in self.documents or uri in self.others

    def document_of(self, address: ParsedDPEUri) -> DocumentItem | None:
        """The listed document that an address is about."""
        return self._by_address.get(_key(address))

    def problems(self) -> list[str]:
        """What its owner should know."""
        items: list[Item[Any]] = [*self.windows.values(), *self.documents.values()]
        failing = [item for item in items if item.problem is not None]
        found = [f"{uri} is not shown: {reason}" for uri, reason in islice(self._skipped.items(), MAX_SKIPPED)]
        if len(self._skipped) > MAX_SKIPPED:
            found.append(f"{len(self._skipped) - MAX_SKIPPED} more are not shown: their addresses are invalid")
        found += [
            f"{item.uri} cannot be read: {item.problem}{'; its last content is shown' if item.shown else ''}"
            for item in failing[:MAX_NOTES]
        ]
        if len(failing) > MAX_NOTES:
            found.append(f"{len(failing) - MAX_NOTES} more cannot be read")
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
            if (window := self.windows.get(uri)) is not None:
                self._outdate(window)
            self._on_change("windows", False)
        elif uri.startswith("dpe://"):
            self._outdate_documents(uri)
            self._on_change("documents", False)

    def _outdate_documents(self, uri: str) -> None:
        document = self.documents.get(uri)
        try:
            address = parse_dpe_uri(uri)
        except InvalidDPEUriError:
            return
        if document is None and address.doc_ref is not None:
            document = self.document_of(address)
        if document is not None:
            self._outdate(document)
        elif address.doc_ref is None:  # a whole catalogue
            for item in self.documents.values():
                if item.address is not None and item.address.host.lower() == address.host.lower():
                    self._outdate(item)

    async def run(self) -> None:
        """List, and list again whenever the server says so, as long as the connection lives."""
        if not self._has_resources:
            self._listed.set()
            return
        async with anyio.create_task_group() as self._tasks:
            self._stale_list.set()
            pause = LIST_PAUSE
            while True:
                await self._stale_list.wait()
                self._stale_list.clear()
                if await self._list():
                    pause = LIST_PAUSE
                else:
                    self._stale_list.set()
                    pause = min(2 * pause, LONGEST_PAUSE)
                self._listed.set()
                await anyio.sleep(pause)

    async def _list(self) -> bool:
        """Read the list; whether that worked."""
        try:
            with anyio.fail_after(READ_TIMEOUT):
                resources = await self._session.all_resources()
        except (MCPError, TimeoutError) as error:  # whether the connection lives is for others to find out
            problem = self._in_words(error)
            if problem != self._list_problem:
                logger.warning("the resources of %s cannot be listed: %s", self.server, problem)
            self._list_problem = problem
            return False
        self._list_problem = None
        self._take(resources)
        return True

    def _take(self, resources: list[types.Resource]) -> None:
        listing = sort_resources(resources)
        self.others = frozenset(listing.others)
        if self.is_gated:
            gated_count, self.gated_count = self.gated_count, len(listing.windows) + len(listing.documents)
            if self.gated_count != gated_count:
                self._on_list()
            return
        old_windows, old_documents = self.windows, self.documents
        self.windows = {each.uri: _renamed(old_windows.get(each.uri), each) for each in listing.windows}
        self.documents = {
            resource.uri: _renamed(old_documents.get(resource.uri), resource, address)
            for resource, address in listing.documents
        }
        self._by_address = {_key(address): self.documents[each.uri] for each, address in listing.documents}
        self.hosts |= listing.hosts
        skips_others = self._skip(listing.skipped)
        self.documents_are_settled = False
        self.revision += 1
        self._drop(item for uri, item in old_windows.items() if uri not in self.windows)
        self._drop(item for uri, item in old_documents.items() if uri not in self.documents)
        self._watch_new()
        has_other_windows = old_windows.keys() != self.windows.keys()
        has_other_documents = old_documents.keys() != self.documents.keys()
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
        items: list[Item[Any]] = [*self.windows.values(), *self.documents.values()]
        new = [item for item in items if not item.is_watched and not item.is_being_watched]
        if not new or not self._tells or self._tasks is None:
            return
        for item in new:
            item.is_being_watched = True
        if self._session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            self._tasks.start_soon(self._listen_for, new)
        else:
            self._tasks.start_soon(self._subscribe, new)

    async def _subscribe(self, items: list[Item[Any]]) -> None:
        async def one(item: Item[Any]) -> None:
            async with limit:
                try:
                    with anyio.fail_after(WATCH_TIMEOUT):
                        await self._session.watch(item.uri)
                    self._be_watched(item)
                except (MCPError, TimeoutError) as error:
                    logger.debug("%s cannot be watched: %s", item.uri, self._in_words(error))
                finally:
                    item.is_being_watched = False

        limit = asyncio.Semaphore(WATCHERS)
        async with anyio.create_task_group() as tasks:
            for item in items:
                tasks.start_soon(one, item)

    async def _listen_for(self, items: list[Item[Any]]) -> None:
        """A 2026-07-28 server tells only those who listen, and those only of what they named."""
        pause = LIST_PAUSE
        while items := [item for item in items if item.uri in self.windows or item.uri in self.documents]:
            try:
                async with listen(self._session, resource_subscriptions=[item.uri for item in items]) as subscription:
                    honored = set(subscription.honored.resource_subscriptions or ())
                    for item in items:
                        if item.uri in honored:
                            self._be_watched(item)
                    async for event in subscription:
                        pause = LIST_PAUSE
                        if isinstance(event, ResourceUpdated):
                            self.updated(event.uri)
            except (MCPError, SubscriptionLost, TimeoutError) as error:
                logger.debug("nobody tells of changes of %s any more: %s", self.server, self._in_words(error))
            for item in items:
                item.is_watched = False
                self._outdate(item)
            pause = min(2 * pause, LONGEST_PAUSE)
            await anyio.sleep(pause)

    # ---------------------------------------------------------------------------------------------------------- reading

    async def wait_listed(self) -> None:
        """Wait until the server has been asked what it has."""
        await self._listed.wait()

    async def be_listed(self, deadline: float) -> None:
        """Wait until the server has been asked what it has; if it does not tell of changes, ask it again."""
        with anyio.move_on_after(max(deadline - _now(), 0)):
            await self._listed.wait()
            if not self._tells and not self.is_gated and self._has_resources:
                await self._list()

    async def learn_hosts(self, deadline: float) -> None:
        """Know the hosts that its templates name, also while it lists no document there."""
        if self.is_gated:
            return
        with anyio.move_on_after(max(deadline - _now(), 0)):
            found = await self.templates.hosts()
            self.hosts |= found  # read after the wait: a list may have been taken meanwhile

    def _needs_reading(self, item: Item[Any]) -> bool:
        if item.is_fresh and item.is_watched:
            return False
        return item.problem is None or _now() - item.failed_at >= RETRY_PAUSE

    async def _refresh(
        self, items: Iterable[Item[T]], read: Callable[[Item[T]], Coroutine[Any, Any, T | None]], deadline: float
    ) -> dict[Item[T], T]:
        """Read what changed, each once, side by side; wait for it, but not beyond the deadline.

        What was read is given back too: there may not be room to keep all of it.
        """
        reads: dict[asyncio.Task[T | None], Item[T]] = {}
        held: dict[Item[T], T] = {}
        for item in items:
            if self._needs_reading(item):
                if item.reading is None:
                    item.reading = asyncio.create_task(self._read_one(item, read), name=f"read {item.uri}")
                reads[item.reading] = item
            elif item.shown is not None:
                held[item] = item.shown
        if not reads:
            return held
        done, late = await asyncio.wait(reads, timeout=max(deadline - _now(), 0))
        for task in late:
            reads[task].was_missed = True
        for task in done:
            if not task.cancelled() and (shown := task.result()) is not None:
                held[reads[task]] = shown
        return held

    async def _read_one(self, item: Item[T], read: Callable[[Item[T]], Coroutine[Any, Any, T | None]]) -> T | None:
        before, changes = item.shown, item.changes
        await self._readers.acquire()
        slot = asyncio.get_running_loop().call_later(SLOT_SECONDS, self._readers.release)
        try:
            changes = item.changes
            with anyio.fail_after(READ_TIMEOUT):
                shown = await read(item)
            item.problem = None
            item.is_fresh = item.changes == changes  # it may have changed while we read
            if item.was_missed and shown != before:
                self._on_change("windows" if item.address is None else "documents", False)
            return shown
        except Exception as error:  # of a server, in whatever it answers: it costs this one resource
            if item.changes == changes:  # else there is something new to be read
                item.problem = self._in_words(error)
                item.failed_at = _now()
                logger.warning("%s of %s cannot be read: %s", item.uri, self.server, item.problem)
            return None
        finally:
            item.was_missed = False
            item.reading = None
            if not slot.cancelled() and slot.when() > _now():
                slot.cancel()
                self._readers.release()  # a slow read gave its place away long ago

    async def _read_window(self, item: WindowItem) -> Pane | None:
        contents = await self._session.read(item.uri)
        item.shown = pane = render(Window(self.server, item.uri, contents))
        self._keep(item, sys.getsizeof(pane.rendered) if pane is not None else 0)
        return pane

    async def _read_document(self, item: DocumentItem) -> Filed:
        contents = await self._session.read(item.uri)
        filed = read_document(self.server, item.uri, item.name, item.description, _text(contents))
        self._file(item, filed)
        return filed

    async def _read_catalogues(self, items: list[DocumentItem], deadline: float) -> dict[DocumentItem, Filed]:
        """Level 0 of a host tells of many documents at once, where the host has one."""
        by_host: dict[str, list[tuple[DocumentItem, int]]] = {}
        for item in items:
            if item.address is not None and item.address.host not in self._no_catalogue and item.reading is None:
                by_host.setdefault(item.address.host, []).append((item, item.changes))
        if not by_host:
            return {}
        tasks = {host: self._catalogue_of(host) for host in by_host}
        await asyncio.wait(tasks.values(), timeout=max(deadline - _now(), 0))
        held: dict[DocumentItem, Filed] = {}
        for host, task in tasks.items():
            catalogue = task.result() if task.done() and not task.cancelled() else None
            for item, changes in by_host[host] if catalogue is not None else ():
                data = catalogue.get(item.address.doc_ref or "") if catalogue and item.address is not None else None
                if data is None or not is_complete(data) or self.documents.get(item.uri) is not item:
                    continue  # level 1 says more
                try:
                    filed = read_document(self.server, item.uri, item.name, item.description, data)
                except ValueError:
                    continue
                self._file(item, filed)
                item.problem = None
                item.is_fresh = item.changes == changes
                held[item] = filed
        return held

    def _catalogue_of(self, host: str) -> asyncio.Task[dict[str, dict[str, Any]] | None]:
        """The reading of a host's catalogue, one for all who ask."""
        task = self._catalogues.get(host)
        if task is None:
            task = self._catalogues[host] = asyncio.create_task(self._read_catalogue(host), name=f"catalogue {host}")
            task.add_done_callback(lambda _: self._catalogues.pop(host, None))
        return task

    async def _read_catalogue(self, host: str) -> dict[str, dict[str, Any]] | None:
        try:
            with anyio.fail_after(READ_TIMEOUT):
                catalogue = read_catalogue(_text(await self._session.read(build_dpe_uri(host))))
            if catalogue and not any(map(is_complete, catalogue.values())):
                logger.debug("the catalogue of %s says too little: its documents are read one by one", host)
                self._no_catalogue.add(host)
            return catalogue
        except TimeoutError:
            return None
        except Exception as error:  # of a server, in whatever it answers: then document by document
            logger.debug("%s has no catalogue: %s", host, self._in_words(error))
            self._no_catalogue.add(host)
            return None

    def _in_words(self, error: Exception) -> str:
        """What went wrong, without the secrets that a server may have put into it."""
        return self._redact(str(error)) or "no answer in time"

    def _file(self, item: DocumentItem, filed: Filed) -> None:
        item.shown = filed
        self.revision += 1
        self._keep(item, 2 * sys.getsizeof(filed.words) + sum(map(sys.getsizeof, filed.document.values())) + 1_000)

    def _keep(self, item: Item[Any], size: int) -> None:
        def forget() -> None:
            item.shown = None
            item.is_fresh = False
            self._unsettle(item)
            self.revision += 1

        self._budget.keep(item, size, forget)

    def _outdate(self, item: Item[Any]) -> None:
        item.changes += 1
        item.is_fresh = False
        item.problem = None
        self._unsettle(item)

    def _unsettle(self, item: Item[Any]) -> None:
        if item.address is not None:
            self.documents_are_settled = False

    def _be_watched(self, item: Item[Any]) -> None:
        """From now on changes are told; what was read before that may have changed untold."""
        item.is_watched = True
        self._outdate(item)

    def close(self) -> None:
        """The connection has ended."""
        self._drop(self.windows.values())
        self._drop(self.documents.values())
        had_windows, had_documents = bool(self.windows), bool(self.documents)
        self.windows, self.documents, self._by_address = {}, {}, {}
        self.others, self.hosts = frozenset(), frozenset()
        self.revision += 1
        for task in self._catalogues.values():
            task.cancel()
        self._listed.set()
        if had_windows:
            self._on_change("windows", True)
        if had_documents:
            self._on_change("documents", True)

    def _drop(self, items: Iterable[Item[Any]]) -> None:
        for item in items:
            self._budget.release(item)
            if item.reading is not None:
                item.reading.cancel()


def _renamed(item: Item[Any] | None, resource: types.Resource, address: ParsedDPEUri | None = None) -> Item[Any]:
    if item is None:
        return Item(resource.uri, resource.name, resource.description, address=address)
    if (item.name, item.description) != (resource.name, resource.description):
        item.name, item.description = resource.name, resource.description
        item.changes += 1
        item.is_fresh = False
    return item


def _now() -> float:
    return asyncio.get_running_loop().time()


def _key(address: ParsedDPEUri) -> tuple[str, str | None]:
    return address.host.lower(), address.doc_ref


def _text(contents: list[ResourceContents]) -> str:
    text = next((text for part in contents if isinstance(text := part.get("text"), str)), None)
    if text is None:
        raise ValueError("it has no text")
    return text
