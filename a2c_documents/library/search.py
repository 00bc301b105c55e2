"""Full-text search: reads the words of each content once, and finds them again.

The words live in an FTS5 table of the store. They are read in the background, the newest files first. A search waits a
limited time for files that are not indexed, and finds what is indexed then: one slow file must not keep the others from
being found.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from a2c_documents.library.attempts import FileChanged
from a2c_documents.library.contents import Contents
from a2c_documents.library.documents import Document
from a2c_documents.store.words import Indexed, Match, Passage, Statistics, Words
from a2c_documents.workers.failures import Cause, ReadingFailed
from a2c_documents.workers.pool import Progress, Workers
from a2c_smcp.errors import DocumentNotFoundError

logger = logging.getLogger(__name__)

PAGES_AT_ONCE = 25
"""Pages in one request to a worker, which must finish within its time limit."""
MAX_CHARACTERS = 5_000_000
"""Characters of one document that are indexed."""
MAX_FAILURES = 3
"""Pages of one document that may fail before the rest of it is skipped."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where the query occurs."""

    documents: tuple[Document, ...]
    """The document, and those with the same content."""
    match: Match


@dataclass(slots=True)
class _Reading:
    """The words read from a document so far."""

    passages: list[Passage]
    scans: list[int] = field(default_factory=list[int])
    """Pages whose words are in a picture."""
    characters: int = 0
    failures: int = 0
    is_complete: bool = True
    """Whether another attempt would give nothing more."""

    def add(self, passages: list[Passage], scans: list[int]) -> None:
        self.passages += passages
        self.scans += scans
        self.characters += sum(len(text) for _, _, text in passages)

    @property
    def is_enough(self) -> bool:
        return self.characters >= MAX_CHARACTERS or self.failures >= MAX_FAILURES


class SearchIndex:
    """The words of all documents, by content: copies of a file are read once."""

    def __init__(
        self,
        documents: Mapping[str, Document],
        contents: Contents,
        words: Words,
        workers: Workers,
        unfold: Callable[[], Awaitable[None]],
    ) -> None:
        """`unfold` adds the documents of archives that were read."""
        self._documents = documents
        self._contents = contents
        self._words = words
        self._workers = workers
        self._unfold = unfold
        self._retry_at: dict[str, float] = {}
        """Contents with pages that failed, and when to retry them."""
        self._updating = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None
        """The update that follows the running one."""
        self._tasks: set[asyncio.Task[None]] = set()
        self.titles_read = 0
        """How many documents got their title, or a better one."""

    # --------------------------------------------------------------------------------------------------------- updating

    async def update(self, progress: Progress | None = None) -> None:
        """Read and index all documents for which that was not done, the newest first."""
        async with self._updating:
            await self._update(progress)

    async def catch_up(self, seconds: float | None) -> None:
        """Wait until all documents are indexed, but at most `seconds`. The indexing goes on in the background."""
        # The update that is running may have begun before the newest change, so another one follows it. Searches that
        # arrive meanwhile share it.
        task = self._next
        if task is None:
            task = self._next = asyncio.create_task(self._follow())
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        await asyncio.wait([task], timeout=seconds)

    async def _follow(self) -> None:
        async with self._updating:
            self._next = None  # a later search needs an update of its own
            await self._update(None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("indexing failed", exc_info=error)

    async def settle(self) -> None:
        """Wait for the updates that searches have begun."""
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    async def close(self) -> None:
        """End the updates in the background."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _update(self, progress: Progress | None) -> None:
        tried: set[str] = set()
        while True:
            # Archives name further documents. Each document is tried once, or this would never end.
            await self._unfold()
            complete = {digest for digest, state in (await self.indexed()).items() if state.is_complete}
            due = (each for each in self._documents.values() if each.is_unread or self._is_due(each, complete))
            todo = [document for document in due if document.ref not in tried]
            if not todo:
                break
            tried.update(document.ref for document in todo)
            todo.sort(key=lambda document: document.stamp.modified_ns, reverse=True)
            await self._index_all(todo, complete, progress)

    async def _index_all(self, todo: Sequence[Document], complete: set[str], progress: Progress | None) -> None:
        holders = self.holders()
        # Contents that no document has any more are dropped, or edits would make the dictionary grow without end.
        self._retry_at = {digest: at for digest, at in self._retry_at.items() if digest in holders}

        async def index(document: Document) -> None:
            try:
                await self._index(document, holders, complete)
            except (DocumentNotFoundError, FileChanged) as error:  # the new content is indexed by the next update
                logger.debug("%s: %s", document.relative, error)
            except Exception:  # one document must not stop the others
                logger.exception("%s cannot be searched", document.relative)

        await self._workers.for_each(todo, index, progress)

    def _is_due(self, document: Document, complete: set[str]) -> bool:
        """Whether the words of its content have to be read."""
        digest = document.digest
        if digest is None or not document.is_good or digest in complete:
            return False
        return self._retry_at.get(digest, 0) <= time.monotonic()

    def holders(self) -> dict[str, list[Document]]:
        """The documents of each content. Copies of a file share one."""
        holders: dict[str, list[Document]] = {}
        for document in self._documents.values():
            if document.digest is not None and document.is_good:
                holders.setdefault(document.digest, []).append(document)
        return holders

    async def _index(self, document: Document, holders: dict[str, list[Document]], complete: set[str]) -> None:
        """Read the facts of a document, and the words of its content unless another document has the same."""
        if document.is_unread:
            await self._contents.know(document)
            self.titles_read += 1
        digest = document.digest
        if digest is None or not self._is_due(document, complete):
            return
        complete.add(digest)  # before anything is awaited: a copy that is read meanwhile finds it done
        others = holders.setdefault(digest, [])
        if document not in others:
            others.append(document)
        await self._read(document, digest, others)

    async def _read(self, document: Document, digest: str, holders: list[Document]) -> None:
        """Index a content."""
        reading = _Reading([])
        for start in range(0, len(document.page_titles), PAGES_AT_ONCE):
            stop = min(start + PAGES_AT_ONCE, len(document.page_titles))
            await self._read_some(document, digest, range(start, stop), reading)
            if reading.is_enough:
                break
        if not reading.is_complete:
            self._retry_at[digest] = time.monotonic() + self._contents.retry_seconds
        # Incomplete words are stored as well: the pages that could be read can be found until the retry.
        await asyncio.to_thread(
            self._words.keep, digest, reading.passages, scans=reading.scans, is_complete=reading.is_complete
        )
        await self._name(digest, holders, reading.passages)

    async def _read_some(self, document: Document, digest: str, pages: range, reading: _Reading) -> None:
        """Read some pages. If one cannot be read, read them one by one, so that a bad page costs only itself."""
        try:
            reading.add(*await self._contents.passages(document, digest, pages.start, pages.stop))
        except ReadingFailed as error:
            if len(pages) > 1:
                for number in pages:
                    if not reading.is_enough:
                        await self._read_some(document, digest, range(number, number + 1), reading)
                return
            logger.info("%s: page %d cannot be searched: %s", document.relative, pages.start, error)
            reading.failures += 1
            # A damaged page stays damaged. Any other failure may pass, and makes the index of this document incomplete.
            reading.is_complete &= error.cause is Cause.FILE

    async def _name(self, digest: str, holders: list[Document], passages: list[Passage]) -> None:
        """Title and summary from the first page, for files without metadata.

        A format that is read page by page (PDF, spreadsheets) has no text when its facts are read. Indexing reads the
        first page anyway, so its first heading and paragraph come for free.
        """
        facts = holders[0].facts or {}
        if facts.get("title") and facts.get("summary"):
            return
        # In reverse order, so that the first element of each category wins.
        first = {element.rpartition("-")[0]: text for page, element, text in reversed(passages) if page == 0}
        title = facts.get("title") or " ".join(first.get("p0-heading", "").split())[:200]
        summary = facts.get("summary") or " ".join(first.get("p0-text", "").split())[:300]
        if (title, summary) == (facts.get("title") or "", facts.get("summary") or ""):
            return
        for document in holders:
            await self._contents.name(document, digest, title, summary)
        self.titles_read += 1

    # -------------------------------------------------------------------------------------------------------- searching

    async def search(self, query: str, limit: int, seconds: float | None) -> list[Hit]:
        """The best places for a query. Documents that are not indexed are indexed first, for at most `seconds`."""
        ends_at = None if seconds is None else time.monotonic() + seconds
        while True:
            losses = self._words.losses
            await self.catch_up(None if ends_at is None else max(ends_at - time.monotonic(), 0))
            holders = self.holders()
            found = await asyncio.to_thread(self._words.search, query, limit, list(holders))
            # If the database was lost meanwhile, an empty one was searched: index and search again.
            if losses == self._words.losses:
                return [Hit(tuple(holders[match.digest]), match) for match in found]

    async def indexed(self) -> dict[str, Indexed]:
        """The contents that are indexed."""
        return await asyncio.to_thread(self._words.indexed)

    async def statistics(self, query: str) -> Statistics:
        """How frequent the terms of a query are."""
        return await asyncio.to_thread(self._words.statistics, query)
