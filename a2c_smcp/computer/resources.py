"""What one MCP server shows: its windows and documents, read when they are asked for, kept until they change.

A view lives as long as a connection. It lists the server's resources, has the server tell of their changes, and reads
each at most once for every change, however many ask. Whoever asks gets what is there within their patience; what comes
later is announced as a change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable
from dataclasses import dataclass, field
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
from a2c_smcp.computer.finder.summaries import read_catalogue, read_document
from a2c_smcp.computer.mcp_clients.session import Session
from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.smcp import ResourceContents
from a2c_smcp.utils.dpe_uri import ParsedDPEUri, build_dpe_uri, parse_dpe_uri
from a2c_smcp.utils.window_uri import is_window_uri

logger = logging.getLogger(__name__)

READERS = 16
"""Reads of one server that run at a time."""
READ_TIMEOUT = 30.0
"""Seconds after which a read has failed."""
RETRY_PAUSE = 5.0
"""Seconds before a failed read is tried again, unless the server says that something changed."""
LIST_PAUSE = 0.1
"""Seconds between two readings of a list that keeps changing."""
WATCHERS = 8
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
    changes: int = 0
    problem: str | None = None
    failed_at: float = float("-inf")
    reading: asyncio.Task[T | None] | None = None
    address: ParsedDPEUri | None = field(default=None, repr=False)


WindowItem = Item[Pane]
DocumentItem = Item[Filed]


class ResourceView:
    """The windows and documents of one connected server.

    `on_change` is told which kind changed: "windows" or "documents", and whether the set of them did.
    """

    def __init__(
        self,
        server: str,
        session: Session,
        *,
        require_subscribe: bool,
        budget: ByteBudget,
        on_change: Callable[[str, bool], None],
    ) -> None:
        self.server = server
        self._session = session
        self._budget = budget
        self._on_change = on_change
        self._readers = asyncio.Semaphore(READERS)
        self._stale_list = asyncio.Event()
        self._listed = asyncio.Event()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._no_catalogue: set[str] = set()
        capabilities = session.server_capabilities
        resources = capabilities.resources if capabilities is not None else None
        self._has_resources = resources is not None
        self._tells = resources is not None and bool(resources.subscribe)
        self.is_gated = require_subscribe and not self._tells
        self.windows: dict[str, WindowItem] = {}
        self.documents: dict[str, DocumentItem] = {}
        self.others: frozenset[str] = frozenset()
        self.hosts: frozenset[str] = frozenset()
        """The hosts of its documents, in lower case."""
        self._by_address: dict[tuple[str, str | None], DocumentItem] = {}
        self.gated_count = 0
        """Windows and documents that are there and not shown, for want of `resources.subscribe`."""
        self.documents_are_settled = False
        """Whether all documents have been read since the last change: `filed` would give what it gave."""
        self.revision = 0
        """Grows whenever what `filed` holds changes."""

    # ----------------------------------------------------------------------------------------------------------- asking

    async def panes(self, patience: float, uri: str | None = None) -> list[Pane]:
        """The windows that can be shown, in listing order."""
        await self._be_listed(patience)
        wanted = [item for item in self.windows.values() if uri in (None, item.uri)]
        shown = await self._refresh(wanted, self._read_window, patience)
        for item in wanted:
            self._budget.use(item)
        return [shown[item] for item in wanted if item in shown]

    async def filed(self, patience: float) -> list[Filed]:
        """The documents that can be found, in listing order."""
        await self._be_listed(patience)
        stale = [item for item in self.documents.values() if self._needs_reading(item)]
        if len(stale) > CATALOGUE_PAYS:
            await self._read_catalogues(stale, patience)
        items = self.documents.values()
        shown = await self._refresh(items, self._read_document, patience)
        self.documents_are_settled = self._tells and all(item.is_fresh and item.is_watched for item in items)
        return [shown[item] for item in items if item in shown]

    def holds(self, uri: str) -> bool:
        """Whether the server lists this resource."""
        return uri in self.windows or uri in self.documents or uri in self.others

    def document_of(self, address: ParsedDPEUri) -> DocumentItem | None:
        """The listed document that an address is about."""
        return self._by_address.get(_key(address))

    def problems(self) -> list[str]:
        """What its owner should know."""
        found = [
            f"{item.uri} cannot be read: {item.problem}{'; its last content is shown' if item.shown else ''}"
            for item in (*self.windows.values(), *self.documents.values())
            if item.problem is not None
        ]
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
            while True:
                await self._stale_list.wait()
                self._stale_list.clear()
                await self._list()
                self._listed.set()
                await anyio.sleep(LIST_PAUSE)

    async def _list(self) -> None:
        try:
            with anyio.fail_after(READ_TIMEOUT):
                resources = await self._session.all_resources()
        except (MCPError, TimeoutError) as error:
            if isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED:
                raise
            logger.warning("the resources of %s cannot be listed: %s", self.server, str(error) or "no answer")
            return
        windows = [resource for resource in resources if is_window_uri(resource.uri)]
        documents = [(resource, address) for resource in resources if (address := _document_address(resource.uri))]
        if self.is_gated:
            self.gated_count = len(windows) + len(documents)
            return
        taken = {resource.uri for resource in windows} | {resource.uri for resource, _ in documents}
        self.others = frozenset(resource.uri for resource in resources if resource.uri not in taken)
        old_windows, old_documents = self.windows, self.documents
        self.windows = {resource.uri: _renamed(old_windows.get(resource.uri), resource) for resource in windows}
        self.documents = {
            resource.uri: _renamed(old_documents.get(resource.uri), resource, address)
            for resource, address in documents
        }
        self._by_address = {_key(address): self.documents[resource.uri] for resource, address in documents}
        self.hosts = frozenset(host for host, _ in self._by_address)
        self.documents_are_settled = False
        self.revision += 1
        self._drop(item for uri, item in old_windows.items() if uri not in self.windows)
        self._drop(item for uri, item in old_documents.items() if uri not in self.documents)
        self._watch_new()
        if old_windows.keys() != self.windows.keys():
            self._on_change("windows", True)
        if old_documents.keys() != self.documents.keys():
            self._on_change("documents", True)

    # --------------------------------------------------------------------------------------------------------- watching

    def _watch_new(self) -> None:
        """Have the server tell of the changes of what is new."""
        items: list[Item[Any]] = [*self.windows.values(), *self.documents.values()]
        new = [item for item in items if not item.is_watched]
        if not new or not self._tells or self._tasks is None:
            return
        if self._session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            self._tasks.start_soon(self._listen_for, new)
        else:
            self._tasks.start_soon(self._subscribe, new)

    async def _subscribe(self, items: list[Item[Any]]) -> None:
        async def one(item: Item[Any]) -> None:
            async with limit:
                try:
                    await self._session.watch(item.uri)
                    self._be_watched(item)
                except MCPError as error:
                    logger.debug("%s cannot be watched: %s", item.uri, error)

        limit = asyncio.Semaphore(WATCHERS)
        async with anyio.create_task_group() as tasks:
            for item in items:
                tasks.start_soon(one, item)

    async def _listen_for(self, items: list[Item[Any]]) -> None:
        """A 2026-07-28 server tells only those who listen, and those only of what they named."""
        try:
            async with listen(self._session, resource_subscriptions=[item.uri for item in items]) as subscription:
                for item in items:
                    self._be_watched(item)
                async for event in subscription:
                    if isinstance(event, ResourceUpdated):
                        self.updated(event.uri)
        except (MCPError, SubscriptionLost, TimeoutError) as error:
            logger.debug("nobody tells of changes of %s any more: %s", self.server, error)
        for item in items:
            item.is_watched = False
            self._outdate(item)

    # ---------------------------------------------------------------------------------------------------------- reading

    async def _be_listed(self, patience: float) -> None:
        with anyio.move_on_after(patience):
            await self._listed.wait()
        if not self._tells and not self.is_gated and self._has_resources:  # nobody tells us: look again
            with anyio.move_on_after(patience):
                await self._list()

    def _needs_reading(self, item: Item[Any]) -> bool:
        if item.is_fresh and item.is_watched:
            return False
        return item.problem is None or asyncio.get_running_loop().time() - item.failed_at >= RETRY_PAUSE

    async def _refresh(
        self, items: Collection[Item[T]], read: Callable[[Item[T]], Coroutine[Any, Any, T | None]], patience: float
    ) -> dict[Item[T], T]:
        """Read what changed, each once, side by side; wait for it, but not for ever. What there is to show then.

        It is held here while the others are read: there may not be room to keep all of it.
        """
        shown = {item: item.shown for item in items if item.shown is not None}
        reads: dict[asyncio.Task[T | None], Item[T]] = {}
        for item in items:
            if self._needs_reading(item):
                if item.reading is None:
                    item.reading = asyncio.create_task(self._read_one(item, read), name=f"read {item.uri}")
                reads[item.reading] = item
        if not reads:
            return shown
        done, late = await asyncio.wait(reads, timeout=patience)
        for task in late:
            task.add_done_callback(lambda _: self._on_change(self._kind_of(items), False))
        for task in done:
            item = reads[task]
            if task.cancelled() or item.problem is not None:
                continue  # gone, or what was there before stays
            if (read_now := task.result()) is not None:
                shown[item] = read_now
            else:
                shown.pop(item, None)
        return shown

    def _kind_of(self, items: Iterable[Item[Any]]) -> str:
        return "windows" if any(item.address is None for item in items) else "documents"

    async def _read_one(self, item: Item[T], read: Callable[[Item[T]], Coroutine[Any, Any, T | None]]) -> T | None:
        try:
            async with self._readers:
                changes = item.changes
                with anyio.fail_after(READ_TIMEOUT):
                    shown = await read(item)
            item.problem = None
            item.is_fresh = item.changes == changes  # it may have changed while we read
            return shown
        except (MCPError, TimeoutError, ValueError) as error:
            item.problem = str(error) or "no answer in time"
            item.failed_at = asyncio.get_running_loop().time()
            logger.warning("%s of %s cannot be read: %s", item.uri, self.server, item.problem)
            return None
        finally:
            item.reading = None

    async def _read_window(self, item: WindowItem) -> Pane | None:
        contents = await self._session.read(item.uri)
        item.shown = pane = render(Window(self.server, item.uri, contents))
        self._keep(item, len(pane.rendered) if pane is not None else 0)
        return pane

    async def _read_document(self, item: DocumentItem) -> Filed:
        contents = await self._session.read(item.uri)
        filed = read_document(self.server, item.uri, item.name, item.description, _text(contents))
        self._file(item, filed)
        return filed

    async def _read_catalogues(self, items: list[DocumentItem], patience: float) -> None:
        """Level 0 of a host tells of many documents at once, where the host has one."""
        by_host: dict[str, list[DocumentItem]] = {}
        for item in items:
            if item.address is not None and item.address.host not in self._no_catalogue and item.reading is None:
                by_host.setdefault(item.address.host, []).append(item)
        for host, its_items in by_host.items():
            changes = {item: item.changes for item in its_items}
            try:
                with anyio.fail_after(patience):
                    catalogue = read_catalogue(_text(await self._session.read(build_dpe_uri(host))))
            except (MCPError, TimeoutError, ValueError) as error:
                logger.debug("%s has no catalogue: %s", host, error)
                self._no_catalogue.add(host)
                continue
            for item in its_items:
                data = catalogue.get(item.address.doc_ref or "") if item.address is not None else None
                filed = None
                if data is not None:
                    try:
                        filed = read_document(self.server, item.uri, item.name, item.description, data)
                    except ValueError:
                        continue  # level 1 may know better
                if filed is not None:
                    self._file(item, filed)
                    item.problem = None
                    item.is_fresh = item.changes == changes[item]

    def _file(self, item: DocumentItem, filed: Filed) -> None:
        item.shown = filed
        self.revision += 1
        self._keep(item, 4 * len(filed.words) + 1_000)

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


def _document_address(uri: str) -> ParsedDPEUri | None:
    """Taken apart if it is a document; pages and elements are found through theirs."""
    if not uri.startswith("dpe://"):
        return None
    try:
        address = parse_dpe_uri(uri)
    except InvalidDPEUriError:
        return None
    return address if address.level == 1 else None


def _key(address: ParsedDPEUri) -> tuple[str, str | None]:
    return address.host.lower(), address.doc_ref


def _text(contents: list[ResourceContents]) -> str:
    text = next((part["text"] for part in contents if "text" in part), None)
    if text is None:
        raise ValueError("it has no text")
    return text
