"""Facts, pages and pictures of documents: read on request, once for each content.

A file can change at any moment, also while a worker reads it. Every request therefore follows the same steps: note the
file's stamp (size, times, inode), identify the content by its digest, read, then compare the stamp again. If it
differs, the result may mix two states of the file and is thrown away, and the request starts over. A document whose
file is being written, or was replaced by a file that cannot be read, keeps its last good state.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from a2c_documents.folder.files import Folder, Stamp
from a2c_documents.library.attempts import RETRY_SECONDS, Attempts, Content, FileChanged
from a2c_documents.library.documents import Document, gone, may_show
from a2c_documents.library.scans import Scans
from a2c_documents.recognition.choice import NONE, Choice
from a2c_documents.store.store import Known, Memory, Store
from a2c_documents.store.words import Passage
from a2c_documents.workers.failures import Cause, FileGone, NotYet, ReadingFailed
from a2c_documents.workers.pool import Reply, Workers
from a2c_smcp.errors import DocumentNotFoundError, PageOutOfRangeError

logger = logging.getLogger(__name__)

ATTEMPTS = 3
"""How often a request starts over because the file changed meanwhile."""
BEING_WRITTEN = "it is being written"
_TICK_NS = 20_000_000
"""File systems store times in steps, and two changes within one step leave the same stamp. A file that changed this
recently is read only after the step is over, so that any later change shows in its stamp."""

T = TypeVar("T")


class Contents:
    """Facts, pages and pictures of documents."""

    def __init__(
        self, folder: Folder, store: Store, workers: Workers, retry_seconds: float = RETRY_SECONDS, ocr: Choice = NONE
    ) -> None:
        self._folder = folder
        self._store = store
        self._workers = workers
        self.retry_seconds = retry_seconds
        """When a request that failed for an unclear reason may be retried."""
        self._attempts = Attempts(folder, store, workers, retry_seconds)
        self.scans = Scans(self._attempts, store, workers, ocr)
        self._memory = Memory()
        self.some_wait = asyncio.Event()
        """Set when a document begins to wait for a conversion."""
        self._page_locks: WeakValueDictionary[tuple[str, int], asyncio.Lock] = WeakValueDictionary()

    # ------------------------------------------------------------------------------------------------------------ facts

    async def know_in_full(self, document: Document) -> dict[str, Any]:
        """The facts of a document, as `know` gives them, after the conversion that it may need.

        Raises:
            DocumentNotFoundError: its file does not exist any more.
        """
        facts = await self.know(document)
        for _ in range(ATTEMPTS):
            if document.waits_for is None:
                break
            # Outside of the lock, so that those who do not want to wait learn that the document has to.
            await self._workers.converter.convert(document.waits_for)
            document.retry_now()
            facts = await self.know(document)
        return facts

    async def know(self, document: Document) -> dict[str, Any]:
        """The facts of a document, read if they are not known or the file has changed.

        The file is checked on every call, because a change may not have been reported yet.

        Raises:
            DocumentNotFoundError: its file does not exist any more.
        """
        # One reader per document: requests that arrive together read a changed file once, and none of them replaces the
        # facts of a newer content by those of an older one.
        async with document.reading:
            if not document.is_unread:
                document.expect(await self._stamp(document))
            if document.facts is not None and not document.is_unread:
                return document.facts
            for _ in range(ATTEMPTS):
                with contextlib.suppress(FileChanged):
                    return await self._read_facts(document)
            return self._put_off(document, None, ReadingFailed(BEING_WRITTEN, Cause.MACHINE))

    async def is_replaced(self, document: Document) -> bool:
        """Whether a file with a new stamp has another content than the one last announced to clients.

        A new mode, a rename or a backup program changes the stamp but not the content. Clients should not be told to
        read the document again for that, so the content decides.
        """
        async with document.reading:
            try:
                stamp = await self._settled_stamp(document)
                digest = await self._digest(document)
                if digest == document.digest and document.facts is not None:
                    content = Content(document.path, stamp, digest)
                    await self._attempts.check(content)
                    await self._accept(document, content, document.facts)
            except (DocumentNotFoundError, ReadingFailed, FileChanged):
                return False  # it stays outdated: the next read reports the reason
            is_other, document.told = digest != document.told, digest
            return is_other

    async def _read_facts(self, document: Document) -> dict[str, Any]:
        stamp = await self._settled_stamp(document)
        content: Content | None = None
        try:
            content = Content(document.path, stamp, await self._digest(document))
            facts = await self._kept_facts(document, content.digest)
            if facts is None:
                facts = (await self._attempts.read(content, "facts")).value
            else:
                await self._attempts.check(content)
        except FileGone:
            raise gone(document) from None
        except ReadingFailed as error:
            # Without a digest there is no content that the failure could be stored for.
            if content is None or error.cause is not Cause.FILE:
                return self._put_off(document, stamp, error)
            facts = _problem_facts(str(error))
        return await self._accept(document, content, facts)

    async def _stamp(self, document: Document) -> Stamp:
        stamp = await asyncio.to_thread(self._folder.stamp, document.path)
        if stamp is None:
            raise gone(document)
        return stamp

    async def _settled_stamp(self, document: Document) -> Stamp:
        """The stamp of a file before it is read, taken so that any later change gives another one."""
        stamp = await self._stamp(document)
        age = time.time_ns() - stamp.changed_ns
        # A time in the future is from another clock, such as that of a file server, and waiting for it could take
        # forever.
        if 0 <= age < _TICK_NS:
            await asyncio.sleep((_TICK_NS - age) / 1e9)
        return stamp

    async def _digest(self, document: Document) -> str:
        return (await self._workers.do("digest", document.path)).value["digest"]

    async def _kept_facts(self, document: Document, digest: str) -> dict[str, Any] | None:
        if digest == document.digest:
            return document.facts
        facts = await asyncio.to_thread(self._store.facts, digest)
        return facts if facts is not None and may_show(facts, document.path, self._workers.passwords) else None

    async def _accept(self, document: Document, content: Content, facts: dict[str, Any]) -> dict[str, Any]:
        """Make facts those of a document, unless they report a problem and the document has a good earlier state."""
        # A file with a problem counts as tried as well: until it changes, no request reads it again.
        document.tried_at, document.retry_at, document.waits_for = content.stamp, None, None
        document.is_outdated = document.stamp.changed_ns > content.stamp.changed_ns  # it changed while it was read
        if document.is_good and facts.get("problem"):
            logger.info("%s cannot be read now; its last good state stays", document.relative)
            document.problem_now = facts["problem"]
        else:
            document.read_at, document.digest, document.facts = content.stamp, content.digest, facts
            document.problem_now = None
            # `told` is None after an edit was announced (`Document.note`). The content that is read first is then the
            # announced one.
            document.told = document.told or content.digest
        known = Known(content.stamp, content.digest, facts)
        await asyncio.to_thread(self._store.keep, document.relative, known)
        return document.facts or facts

    def _put_off(self, document: Document, stamp: Stamp | None, error: ReadingFailed) -> dict[str, Any]:
        """Report a problem that may pass. Nothing is stored."""
        document.tried_at, problem = stamp, str(error)
        document.waits_for = error.conversion if isinstance(error, NotYet) else None
        if document.waits_for is not None:
            self.some_wait.set()
        # A problem of the machine may pass at any moment, so the next request tries again. The others wait: each
        # attempt may take the full time limit of a worker, or nothing has been provided since the last one.
        document.is_outdated = error.cause in (Cause.MACHINE, Cause.FILE)
        document.retry_at = None if document.is_outdated else time.monotonic() + self.retry_seconds
        if document.is_good:
            document.problem_now = problem
        else:
            document.read_at, document.digest, document.facts = None, None, _problem_facts(problem)
        return document.facts or {}

    async def name(self, document: Document, digest: str, title: str, summary: str) -> None:
        """Set the title and summary found while indexing a content, if the document still has that content."""
        if document.facts is not None and document.digest == digest:
            document.facts = {**document.facts, "title": title, "summary": summary}
            await asyncio.to_thread(self._store.keep_facts, digest, document.facts)

    # ---------------------------------------------------------------------------------------------------------- content

    async def page(self, document: Document, number: int, patience: float | None = None) -> dict[str, Any]:
        """A page, with all that is known about its elements.

        The text of a scan is recognized, and waited for, if `patience` says how many seconds.

        Raises:
            DocumentNotFoundError: the file does not exist any more.
            PageOutOfRangeError: the document has no such page.
        """
        try:
            return await self._steadily(document, lambda: self._page(document, number, patience))
        except ReadingFailed as error:
            return problem_page(str(error), number)

    async def blob(self, document: Document, number: int, element_id: str) -> dict[str, Any]:
        """The picture or attachment of an element, in base64.

        Raises:
            DocumentNotFoundError: the file does not exist any more.
            ReadingFailed: it cannot be read.
        """
        read = await self._steadily(document, lambda: self._read(document, document.digest, "blob", number, element_id))
        return read.value

    async def recognize(self, document: Document, digest: str, number: int) -> None:
        """Recognize the text of a scanned page of a content, when no client waits for another one.

        Raises:
            DocumentNotFoundError: the file does not exist any more.
            FileChanged: the file has another content now.
            ReadingFailed: it cannot be read.
        """
        try:
            await self.scans.recognize(self._content(document, digest), number)
        except FileGone:
            raise gone(document) from None

    async def passages(self, document: Document, digest: str, start: int, stop: int) -> tuple[list[Passage], list[int]]:
        """The text of some pages of a content, and which of them are scans.

        Raises:
            DocumentNotFoundError: the file does not exist any more.
            FileChanged: the file has another content now.
            ReadingFailed: it cannot be read.
        """
        read = (await self._read(document, digest, "words", start, stop)).value
        return [(page, element, text) for page, element, text in read["words"]], read["scans"]

    async def _steadily(self, document: Document, act: Callable[[], Awaitable[T]]) -> T:
        """Run `act`, and run it again with the new content if the file changes meanwhile."""
        for _ in range(ATTEMPTS):
            await self.know_in_full(document)
            try:
                return await act()
            except FileChanged:
                continue
            except NotYet as error:  # the result of an earlier conversion was deleted
                await self._workers.converter.convert(error.conversion)
        raise ReadingFailed(BEING_WRITTEN, Cause.MACHINE)

    async def _page(self, document: Document, number: int, patience: float | None) -> dict[str, Any]:
        count, digest = len(document.page_titles), document.digest
        if number >= count:
            raise PageOutOfRangeError(
                f"{document.ref} has {count} pages, from 0 to {count - 1}",
                details={"page_index": number, "page_count": count},
            )
        if digest is None or not document.is_good:
            raise ReadingFailed(document.problem or BEING_WRITTEN, Cause.FILE)
        lock = self._page_locks.setdefault((digest, number), asyncio.Lock())
        # Clients ask for the same page at the same time, for example after a notification. The first request reads it,
        # the others wait for the lock and find it in memory. Unused locks disappear from the weak dictionary.
        async with lock:
            body = self._memory.get((digest, number))
            if body is None:
                body = await asyncio.to_thread(self._store.page, digest, number)
            if body is not None:
                page = json.loads(body)
            else:  # the worker's bytes are stored unchanged, and were parsed already
                read = await self._read(document, digest, "page", number)
                page, body = read.value, read.body
                await asyncio.to_thread(self._store.keep_page, digest, number, body)
            self._memory.put((digest, number), body)
        if not page.get("is_scan"):
            return page
        try:
            return await self.scans.complete(
                document.ref, digest, number, page, patience, lambda: self._content(document, digest)
            )
        except FileGone:
            raise gone(document) from None

    async def _read(self, document: Document, digest: str | None, act: str, *details: Any) -> Reply:
        """Read something from a content, as long as the document has that content."""
        try:
            return await self._attempts.read(self._content(document, digest), act, *details)
        except FileGone:
            raise gone(document) from None

    def _content(self, document: Document, digest: str | None) -> Content:
        """A content, if the document has it."""
        # With `problem_now`, the file has been replaced by one that cannot be read. Pages of the last good state can
        # only come from the store: the file itself has another content.
        if digest is None or document.read_at is None or document.problem_now is not None:
            raise ReadingFailed(document.problem or BEING_WRITTEN, Cause.MACHINE)
        if document.digest != digest:
            raise FileChanged
        return Content(document.path, document.read_at, digest)


def _problem_facts(problem: str) -> dict[str, Any]:
    return {"problem": problem, "summary": problem, "page_titles": [""]}


def problem_page(problem: str, number: int) -> dict[str, Any]:
    """A page that says why the document cannot be read."""
    words = f"This file cannot be read: {problem}"
    element = {
        "element_id": f"p{number}-annotation-1",
        "category": "annotation",
        "summary": words[:200],
        "content": {"text": words},
        "metadata": {},
    }
    return {"title": "", "elements": [element]}
