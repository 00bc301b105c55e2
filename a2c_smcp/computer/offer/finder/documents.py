"""The documents of one connected MCP server: their summaries, read on request, kept until they change.

The summaries of all servers form the index of the Finder. Its memory limit is separate from the cache of windows, and
nothing is ever dropped from it to make room: a search needs every summary, so each request would read again what the
last one dropped. Documents that do not fit are left out, and counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from a2c_smcp.computer.hosting.subscriptions import Watched
from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.mcp.listing import ListedDocument
from a2c_smcp.computer.offer.finder.index import DocumentIndex, Filed
from a2c_smcp.computer.offer.finder.summaries import is_complete, read_catalogue, read_document
from a2c_smcp.computer.offer.items import Item, Reading, Turn, now, text_of
from a2c_smcp.smcp import ResourceContents
from a2c_smcp.utils.dpe_uri import ParsedDPEUri, build_dpe_uri

logger = logging.getLogger(__name__)

INDEX_BYTES = 256_000_000
"""The memory for the summaries of all documents of a Computer: enough for about 250,000."""
CATALOGUE_PAYS = 3
"""With more unread documents than this, the catalogue of their host is read first: one request instead of many."""
TELLING_PAUSE = 1.0
"""Seconds between two notices about documents that were read after a request had been answered."""
CATALOGUE_SECONDS = 10.0
"""Time limit for reading a catalogue."""
AT_ONCE = 500
"""Entries of a catalogue that are filed before the event loop does other work."""
SMALLEST = 1_000
"""Bytes that the smallest document needs."""
REFILL = 0.02
"""Part of the room that must be free before documents that were left out are read. With a lower limit, each document
that is removed would lead to a round that reads one other document."""


class Room:
    """The memory of the index, shared by all servers of a Computer."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    @property
    def free(self) -> int:
        """Free bytes."""
        return self.limit - self.used

    def take(self, size: int) -> bool:
        """Reserve memory; whether there was enough."""
        if size > self.free:
            return False
        self.used += size
        return True


@dataclass(eq=False, slots=True, kw_only=True)
class DocumentItem(Item):
    """A listed document."""

    host: str
    doc_ref: str
    place: int
    filed: Filed | None = None
    is_being_read: bool = False


class Documents:
    """`on_change` is called when documents have been read too late for a request."""

    def __init__(self, reading: Reading, room: Room, on_change: Callable[[], None]) -> None:
        self._reading = reading
        self._server = reading.server
        self._room = room
        self._on_change = on_change
        self.items: dict[str, DocumentItem] = {}
        self.index = DocumentIndex()
        self._by_host: dict[str, dict[str, DocumentItem]] = {}
        self._stale: dict[DocumentItem, None] = {}
        """Documents that must be read, or whose changes are not announced. A request looks at these only, so its cost
        does not depend on the number of the others."""
        self._left_out: dict[DocumentItem, int] = {}
        """Documents that do not fit into the index, with the bytes that each needs, as far as known."""
        self._rounds: set[asyncio.Task[None]] = set()
        self._missed_at: int | None = None
        """The revision of the index with which a request was answered while documents were still being read."""
        self._told_at = float("-inf")
        self._no_catalogue: set[str] = set()

    # ---------------------------------------------------------------------------------------------------- what is there

    def take(self, listed: Mapping[str, ListedDocument]) -> bool:
        """Take a new list; whether it has other documents than the last one."""
        before, self.items, self._by_host = self.items, {}, {}
        for place, (uri, (name, description, host, doc_ref)) in enumerate(listed.items()):
            item = before.get(uri)
            if item is None:
                item = DocumentItem(uri, name, description, host=host, doc_ref=doc_ref, place=place)
                self._stale[item] = None
            elif item.rename(name, description):
                self._stale[item] = None
            item.place = place
            if item.filed is not None:
                item.filed.place = place
            self.items[uri] = item
            self._by_host.setdefault(host, {})[doc_ref] = item
        for uri, item in before.items():
            if uri not in self.items:
                self._drop(item)
        self.index.reorder()
        return before.keys() != self.items.keys()

    def find(self, address: ParsedDPEUri) -> DocumentItem | None:
        """The listed document that an address is about."""
        return self._by_host.get(address.host.lower(), {}).get(address.doc_ref or "")

    @property
    def failing(self) -> list[DocumentItem]:
        """Documents that cannot be read."""
        return [item for item in self._stale if item.problem is not None]

    @property
    def left_out(self) -> int:
        """The number of documents that are not in the index, because it is full."""
        return len(self._left_out)

    def close(self) -> None:
        """The connection has ended."""
        for item in self.items.values():
            self._drop(item)
        self.items, self._by_host, self._stale, self._left_out = {}, {}, {}, {}
        for task in self._rounds:
            task.cancel()

    # ----------------------------------------------------------------------------------------------------- what changes

    def outdate(self, item: DocumentItem) -> None:
        """A document changed."""
        item.outdate()
        self._stale[item] = None

    def outdate_all(self, host: str) -> None:
        """The whole catalogue of a host changed."""
        for item in self._by_host.get(host.lower(), {}).values():
            self.outdate(item)

    # ---------------------------------------------------------------------------------------------------------- reading

    async def refresh(self, deadline: float) -> None:
        """Read what changed, and wait for it until the deadline. What is read later is announced."""
        self._start_reading()
        if self._rounds:
            _, late = await asyncio.wait(self._rounds, timeout=max(deadline - now(), 0))
            # The oldest revision that an Agent got counts. A later request must not hide a change that an earlier one
            # missed.
            if late and self._missed_at is None:
                self._missed_at = self.index.revision

    def look_again(self) -> None:
        """Read the documents that an Agent saw before their changes were announced."""
        if any(item.filed is not None for item in self._stale):
            self._start_reading()
            if self._rounds and self._missed_at is None:
                self._missed_at = self.index.revision

    def _start_reading(self) -> None:
        self._let_in()
        if wanted := [item for item in self._stale if item.needs_reading and not item.is_being_read]:
            for item in wanted:
                item.is_being_read = True
            task = asyncio.create_task(self._read_all(wanted), name=f"documents of {self._server}")
            self._rounds.add(task)
            task.add_done_callback(self._end_round)

    def _let_in(self) -> None:
        """Have documents that were left out read, once there is room for them."""
        if self._left_out and self._room.free > REFILL * self._room.limit:
            free = self._room.free  # what this round may use, since nothing of it is filed yet
            for item, size in list(self._left_out.items()):
                if free < SMALLEST:
                    return
                if size <= free:  # a larger one would be read for every request, and never fit
                    free -= size
                    del self._left_out[item]
                    self.outdate(item)

    async def _read_all(self, wanted: list[DocumentItem]) -> None:
        try:
            unread = await self._read_catalogues(wanted) if len(wanted) > CATALOGUE_PAYS else wanted
            async with anyio.create_task_group() as tasks:
                for item in unread:
                    if self._has_room_for(item):
                        tasks.start_soon(self._read, item, await self._reading.turn())
        finally:
            for item in wanted:
                item.is_being_read = False

    async def _read(self, item: DocumentItem, turn: Turn) -> None:
        def take(contents: list[ResourceContents]) -> Filed:
            return read_document(self._server, item.uri, item.name, item.description, text_of(contents))

        filed = await self._reading.read(item, turn, take)
        if filed is not None and self.items.get(item.uri) is item:
            self._file(item, filed)

    async def _read_catalogues(self, wanted: list[DocumentItem]) -> list[DocumentItem]:
        """File what the catalogues of the hosts (level 0) say; the documents that must still be read one by one."""
        # The counts are taken before the catalogues are read. A document that changes during the reading is filed as
        # the catalogue has it, and stays marked to be read again.
        hosts = {item.host for item in wanted} - self._no_catalogue
        changes = {item: item.changes for item in wanted}
        found = dict(zip(hosts, await asyncio.gather(*map(self._read_catalogue, hosts)), strict=True))
        unread: list[DocumentItem] = []
        for number, item in enumerate(wanted, 1):
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
            filed = self._from_catalogue(item, found.get(item.host))
            if filed is None:
                unread.append(item)
            elif self.items.get(item.uri) is item:
                item.problem = None
                item.is_fresh = item.changes == changes[item]
                self._file(item, filed)
        return unread

    def _from_catalogue(self, item: DocumentItem, catalogue: dict[str, dict[str, Any]] | None) -> Filed | None:
        data = catalogue.get(item.doc_ref) if catalogue is not None else None
        if data is None or not is_complete(data):
            return None  # the document itself (level 1) may say more
        try:
            return read_document(self._server, item.uri, item.name, item.description, data)
        except ValueError:
            return None

    async def _read_catalogue(self, host: str) -> dict[str, dict[str, Any]] | None:
        try:
            with anyio.fail_after(CATALOGUE_SECONDS):
                catalogue = read_catalogue(text_of(await self._reading.session.read(build_dpe_uri(host))))
            if catalogue and not any(map(is_complete, catalogue.values())):
                logger.debug("the catalogue of %s says too little: its documents are read one by one", host)
                self._no_catalogue.add(host)
            return catalogue
        except TimeoutError:
            return None  # the server may only be busy: the next round asks for the catalogue again
        except Exception as error:  # servers send anything; the documents are read one by one instead
            logger.debug("%s has no catalogue: %s", host, in_words(error, self._reading.redact))
            self._no_catalogue.add(host)
            return None

    # ----------------------------------------------------------------------------------------------------------- filing

    def _file(self, item: DocumentItem, filed: Filed) -> None:
        """Put a summary into the index, unless it is there already."""
        item.is_being_read = False
        # Only a document whose changes are announced leaves `_stale`: any other must be read again for each request.
        if item.is_fresh and item.watched is Watched.YES:
            self._stale.pop(item, None)
        if item.filed is not None and item.filed.written == filed.written:
            return
        filed.place = item.place
        # The old summary goes first: in a full index, a new one of the same size must find its room again.
        self._take_out(item)
        if not self._room.take(filed.size):
            self._leave_out(item, filed.size)
            return
        self._left_out.pop(item, None)
        item.filed = filed
        self.index.put(filed)
        # A large folder takes minutes to read. An Agent that asked at the start gets a notice now and then, not one for
        # each document.
        if self._missed_at is not None and now() - self._told_at >= TELLING_PAUSE:
            self._tell()

    def _take_out(self, item: DocumentItem) -> None:
        if item.filed is not None:
            self.index.remove(item.filed)
            self._room.used -= item.filed.size
            item.filed = None

    def _has_room_for(self, item: DocumentItem) -> bool:
        """Whether the summary of a document could be filed."""
        if self.items.get(item.uri) is not item:
            return False
        if item.filed is None and self._room.free < SMALLEST:
            self._leave_out(item, SMALLEST)
            return False
        return True

    def _leave_out(self, item: DocumentItem, size: int) -> None:
        if not self._left_out:
            logger.warning(
                "the Finder is full: documents of %s are left out (its index is limited to %d MB, index_bytes)",
                self._server,
                self._room.limit // 1_000_000,
            )
        self._left_out[item] = size
        self._stale.pop(item, None)

    def _drop(self, item: DocumentItem) -> None:
        self._take_out(item)
        self._stale.pop(item, None)
        self._left_out.pop(item, None)

    def _end_round(self, task: asyncio.Task[None]) -> None:
        self._rounds.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("the documents of %s cannot be read", self._server, exc_info=error)
        # The last notice: after it, everything that the request missed is in the index. Without a difference there is
        # none, or an Agent that asks again on each notice would never stop.
        if not self._rounds and self._missed_at is not None:
            if self.index.revision != self._missed_at:
                self._tell()
            self._missed_at = None

    def _tell(self) -> None:
        self._told_at = now()
        self._missed_at = self.index.revision
        self._on_change()
