"""What is in documents: read when somebody asks, once, and kept by content.

A file that is being written, or was replaced by one that cannot be read, keeps its last good state.
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
from a2c_documents.library.documents import Document, gone
from a2c_documents.store.store import Known, Memory, Store
from a2c_documents.store.words import Passage
from a2c_documents.workers.pool import Cause, FileGone, ReadingFailed, Reply, Workers
from a2c_smcp.errors import DocumentNotFoundError, PageOutOfRangeError

logger = logging.getLogger(__name__)

ATTEMPTS = 3
BEING_WRITTEN = "it is being written"
_TICK_NS = 20_000_000
"""What changes twice within this time may look the same: the clocks of file systems tick."""

T = TypeVar("T")


class Contents:
    """Facts, pages and pictures of documents."""

    def __init__(self, folder: Folder, store: Store, workers: Workers, retry_seconds: float = RETRY_SECONDS) -> None:
        self._folder = folder
        self._store = store
        self._workers = workers
        self.retry_seconds = retry_seconds
        """After which what failed for no clear reason may be tried again."""
        self._attempts = Attempts(folder, store, workers, retry_seconds)
        self._memory = Memory()
        self._page_locks: WeakValueDictionary[tuple[str, int], asyncio.Lock] = WeakValueDictionary()

    # ------------------------------------------------------------------------------------------------------------ facts

    async def know(self, document: Document) -> dict[str, Any]:
        """What a document says of itself; read if it is not known, or has changed, though nobody looked since.

        Raises:
            DocumentNotFoundError: its file is not there any more.
        """
        async with document.reading:
            if not document.is_unread:
                document.expect(await self._stamp(document))
            if document.facts is not None and not document.is_unread:
                return document.facts
            for _ in range(ATTEMPTS):
                with contextlib.suppress(FileChanged):
                    return await self._read_facts(document)
            return self._put_off(document, None, BEING_WRITTEN, Cause.MACHINE)

    async def is_replaced(self, document: Document) -> bool:
        """Whether a file that looks different has another content than those who listen know of."""
        async with document.reading:
            try:
                stamp = await self._settled_stamp(document)
                digest = await self._digest(document)
                if digest == document.digest and document.facts is not None:
                    content = Content(document.path, stamp, digest)
                    await self._attempts.check(content)
                    await self._accept(document, content, document.facts)
            except (DocumentNotFoundError, ReadingFailed, FileChanged):
                return False  # it stays outdated: who reads it next is told why
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
            if content is None or error.cause is not Cause.FILE:
                return self._put_off(document, stamp, str(error), error.cause)
            facts = _problem_facts(str(error))
        return await self._accept(document, content, facts)

    async def _stamp(self, document: Document) -> Stamp:
        stamp = await asyncio.to_thread(self._folder.stamp, document.path)
        if stamp is None:
            raise gone(document)
        return stamp

    async def _settled_stamp(self, document: Document) -> Stamp:
        """What a file looks like before it is read; any later change shows."""
        stamp = await self._stamp(document)
        age = time.time_ns() - stamp.changed_ns
        if 0 <= age < _TICK_NS:
            await asyncio.sleep((_TICK_NS - age) / 1e9)
        return stamp

    async def _digest(self, document: Document) -> str:
        return (await self._workers.do("digest", document.path)).value["digest"]

    async def _kept_facts(self, document: Document, digest: str) -> dict[str, Any] | None:
        if digest == document.digest:
            return document.facts
        return await asyncio.to_thread(self._store.facts, digest)

    async def _accept(self, document: Document, content: Content, facts: dict[str, Any]) -> dict[str, Any]:
        """Take facts for a document's own, unless it was better before."""
        document.tried_at, document.retry_at = content.stamp, None
        document.is_outdated = document.stamp.changed_ns > content.stamp.changed_ns  # it was looked at meanwhile
        if document.is_good and facts.get("problem"):
            logger.info("%s cannot be read now; its last good state stays", document.relative)
            document.problem_now = facts["problem"]
        else:
            document.read_at, document.digest, document.facts = content.stamp, content.digest, facts
            document.problem_now = None
            document.told = document.told or content.digest
        known = Known(content.stamp, content.digest, facts)
        await asyncio.to_thread(self._store.keep, document.relative, known)
        return document.facts or facts

    def _put_off(self, document: Document, stamp: Stamp | None, problem: str, cause: Cause) -> dict[str, Any]:
        """Speak of a problem that may pass; nothing is kept of it."""
        document.tried_at = stamp
        document.is_outdated = cause is not Cause.UNCLEAR
        document.retry_at = time.monotonic() + self.retry_seconds if cause is Cause.UNCLEAR else None
        if document.is_good:
            document.problem_now = problem
        else:
            document.read_at, document.digest, document.facts = None, None, _problem_facts(problem)
        return document.facts or {}

    async def name(self, document: Document, digest: str, title: str, summary: str) -> None:
        """Give a document the title and summary that the words of a content showed, if it still has that."""
        if document.facts is not None and document.digest == digest:
            document.facts = {**document.facts, "title": title, "summary": summary}
            await asyncio.to_thread(self._store.keep_facts, digest, document.facts)

    # ---------------------------------------------------------------------------------------------------------- content

    async def page(self, document: Document, number: int) -> dict[str, Any]:
        """A page, with all that is known of its elements.

        Raises:
            DocumentNotFoundError: the file is not there any more.
            PageOutOfRangeError: the document has no such page.
        """
        try:
            return await self._steadily(document, lambda: self._page(document, number))
        except ReadingFailed as error:
            return problem_page(str(error), number)

    async def blob(self, document: Document, number: int, element_id: str) -> dict[str, Any]:
        """The picture or file of an element, as its reader gives it.

        Raises:
            DocumentNotFoundError: the file is not there any more.
            ReadingFailed: it cannot be read.
        """
        read = await self._steadily(document, lambda: self._read(document, document.digest, "blob", number, element_id))
        return read.value

    async def passages(self, document: Document, digest: str, start: int, stop: int) -> list[Passage]:
        """What is written on some pages of a content.

        Raises:
            DocumentNotFoundError: the file is not there any more.
            FileChanged: it is not any more what is known.
            ReadingFailed: it cannot be read.
        """
        words = (await self._read(document, digest, "words", start, stop)).value["words"]
        return [(page, element, text) for page, element, text in words]

    async def _steadily(self, document: Document, act: Callable[[], Awaitable[T]]) -> T:
        """Do something with a file that may change meanwhile; then with the changed one."""
        for _ in range(ATTEMPTS):
            await self.know(document)
            with contextlib.suppress(FileChanged):
                return await act()
        raise ReadingFailed(BEING_WRITTEN, Cause.MACHINE)

    async def _page(self, document: Document, number: int) -> dict[str, Any]:
        count, digest = len(document.page_titles), document.digest
        if number >= count:
            raise PageOutOfRangeError(
                f"{document.ref} has {count} pages, from 0 to {count - 1}",
                details={"page_index": number, "page_count": count},
            )
        if digest is None or not document.is_good:
            raise ReadingFailed(document.problem or BEING_WRITTEN, Cause.FILE)
        lock = self._page_locks.setdefault((digest, number), asyncio.Lock())
        async with lock:  # who asks for the same at the same time waits for the same
            body = self._memory.get((digest, number))
            if body is None:
                body = await asyncio.to_thread(self._store.page, digest, number)
            if body is not None:
                page = json.loads(body)
            else:  # the bytes that the worker wrote are kept as they are, and what they say was parsed once already
                read = await self._read(document, digest, "page", number)
                page, body = read.value, read.body
                await asyncio.to_thread(self._store.keep_page, digest, number, body)
            self._memory.put((digest, number), body)
        return page

    async def _read(self, document: Document, digest: str | None, act: str, *details: Any) -> Reply:
        """Read something of a content, as long as the document has that one."""
        if digest is None or document.read_at is None or document.problem_now is not None:
            raise ReadingFailed(document.problem or BEING_WRITTEN, Cause.MACHINE)
        if document.digest != digest:
            raise FileChanged
        content = Content(document.path, document.read_at, digest)
        try:
            return await self._attempts.read(content, act, *details)
        except FileGone:
            raise gone(document) from None


def _problem_facts(problem: str) -> dict[str, Any]:
    return {"problem": problem, "summary": problem, "page_titles": [""]}


def problem_page(problem: str, number: int) -> dict[str, Any]:
    """A page that says why there is none."""
    words = f"This file cannot be read: {problem}"
    element = {
        "element_id": f"p{number}-annotation-1",
        "category": "annotation",
        "summary": words[:200],
        "content": {"text": words},
        "metadata": {},
    }
    return {"title": "", "elements": [element]}
