"""Full-text search: reads the words of each content once, and finds them again.

The words live in an FTS5 table of the store. They are read in the background after start, and completed before every
search, so that a search never misses a document that is in the list.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from a2c_documents.library.attempts import FileChanged
from a2c_documents.library.contents import Contents
from a2c_documents.library.documents import Document
from a2c_documents.store.words import Passage, Words
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

    document: Document
    page: int
    element_id: str
    snippet: str


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

    def __init__(self, documents: Mapping[str, Document], contents: Contents, words: Words, workers: Workers) -> None:
        self._documents = documents
        self._contents = contents
        self._words = words
        self._workers = workers
        self._retry_at: dict[str, float] = {}
        """Contents with pages that failed, and when to retry them."""
        self._updating = asyncio.Lock()

    async def update(self, progress: Progress | None = None) -> bool:
        """Index all documents that are not indexed. Returns whether any got a better title."""
        # A search that arrives during the indexing in the background waits for it, and then finds nothing left to do.
        async with self._updating:
            holders = self.holders()
            # Contents that no document has any more are dropped, or edits would make the dictionary grow without end.
            self._retry_at = {digest: at for digest, at in self._retry_at.items() if digest in holders}
            complete = await asyncio.to_thread(self._words.complete)
            now = time.monotonic()
            todo = [each for each in holders if each not in complete and self._retry_at.get(each, 0) <= now]
            named = False

            async def read(digest: str) -> None:
                nonlocal named
                named |= await self._read(digest, holders[digest])

            await self._workers.for_each(todo, read, progress)
            return named

    async def search(self, query: str, limit: int) -> list[Hit]:
        """The best places for a query. Documents that are not indexed are indexed first."""
        while True:
            losses = self._words.losses
            await self.update()
            holders = self.holders()
            found = await asyncio.to_thread(self._words.search, query, limit, list(holders))
            # If the database was lost meanwhile, an empty one was searched: index and search again.
            if losses == self._words.losses:
                break
        return [Hit(holders[digest][0], page, element, snippet) for digest, page, element, snippet in found]

    def holders(self) -> dict[str, list[Document]]:
        """The documents of each content. Copies of a file share one."""
        holders: dict[str, list[Document]] = {}
        for document in self._documents.values():
            if document.digest is not None and document.is_good:
                holders.setdefault(document.digest, []).append(document)
        return holders

    async def _read(self, digest: str, holders: list[Document]) -> bool:
        """Index a content. Returns whether it got a better title."""
        reading = _Reading([])
        document = holders[0]
        try:
            for start in range(0, len(document.page_titles), PAGES_AT_ONCE):
                stop = min(start + PAGES_AT_ONCE, len(document.page_titles))
                await self._read_some(document, digest, range(start, stop), reading)
                if reading.is_enough:
                    break
        except (FileChanged, DocumentNotFoundError):
            return False  # the new content is indexed once its facts are known
        if not reading.is_complete:
            self._retry_at[digest] = time.monotonic() + self._contents.retry_seconds
        # Incomplete words are stored as well: the pages that could be read can be found until the retry.
        await asyncio.to_thread(
            self._words.keep, digest, reading.passages, scans=reading.scans, is_complete=reading.is_complete
        )
        return await self._name(digest, holders, reading.passages)

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

    async def _name(self, digest: str, holders: list[Document], passages: list[Passage]) -> bool:
        """Title and summary from the first page, for files without metadata.

        A format that is read page by page (PDF, spreadsheets) has no text when its facts are read. Indexing reads the
        first page anyway, so its first heading and paragraph come for free.
        """
        facts = holders[0].facts or {}
        if facts.get("title") and facts.get("summary"):
            return False
        # In reverse order, so that the first element of each category wins.
        first = {element.rpartition("-")[0]: text for page, element, text in reversed(passages) if page == 0}
        title = facts.get("title") or " ".join(first.get("p0-heading", "").split())[:200]
        summary = facts.get("summary") or " ".join(first.get("p0-text", "").split())[:300]
        if (title, summary) == (facts.get("title") or "", facts.get("summary") or ""):
            return False
        for document in holders:
            await self._contents.name(document, digest, title, summary)
        return True
