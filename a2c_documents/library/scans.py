"""Pages whose words are in a picture: recognized on request, one after the other, and kept by content.

Recognition takes seconds for a page, so a request waits for a while only. Its page then says that its text is being
recognized, and the document is announced as updated when it is. Pages that clients wait for come first, in turns for
each document: whoever reads a book of scans must not block others.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from a2c_documents.library.attempts import Attempts, Content, FileChanged
from a2c_documents.recognition.choice import Choice
from a2c_documents.render import searched_on
from a2c_documents.store.store import Store
from a2c_documents.wording import counted
from a2c_documents.workers.failures import Cause, FileGone, ReadingFailed
from a2c_documents.workers.pool import Reply, Workers

logger = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds that a request waits for the text of its page. A Computer waits 30 seconds for any page."""
_CLOSED = "nothing is read any more"

Page = dict[str, Any]


@dataclass(eq=False, slots=True)
class _Job:
    """A page to be recognized."""

    content: Content
    number: int
    done: asyncio.Future[bytes]
    readers: set[str] = field(default_factory=set[str])
    """The documents of clients that got the page without its text."""


class Scans:
    """Recognizes pages in the background, and keeps them in the store."""

    def __init__(self, attempts: Attempts, store: Store, workers: Workers, choice: Choice) -> None:
        self._attempts = attempts
        self._store = store
        self._workers = workers
        self._choice = choice
        self._jobs: dict[tuple[str, int], _Job] = {}
        self._asked: OrderedDict[str, deque[_Job]] = OrderedDict()
        """Those that clients wait for, by content."""
        self._others: deque[_Job] = deque()
        self._working: asyncio.Task[None] | None = None
        self._finished: set[str] = set()
        self._has_finished = asyncio.Event()

    @property
    def key(self) -> str | None:
        """The key of the recognizer; None if there is none."""
        return self._choice.recognizer.key if self._choice.recognizer is not None else None

    async def complete(
        self, ref: str, digest: str, number: int, page: Page, patience: float | None, content: Callable[[], Content]
    ) -> Page:
        """A page with its recognized text, or with a remark that says why it has none.

        With a `patience` of None, the text is shown if it is known, and not waited for. `content` raises
        `ReadingFailed` if the file has been replaced by one that cannot be read: then only known text can be shown.

        Raises:
            FileChanged, FileGone: the file has another content now, or none.
        """
        if self.key is None:
            return _remarked(page, number, self._choice.reason)
        body = await asyncio.to_thread(self._store.page, digest, number, self.key)
        if body is not None:
            return json.loads(body)
        if patience is None:
            return _remarked(page, number, "The text in this picture has not been recognized yet.")
        try:
            job = self._ask(content(), number)
            # Not cancelled when the time is up, or when one of several readers leaves.
            await asyncio.wait([job.done], timeout=patience)
            if job.done.done():
                return json.loads(job.done.result())
        except FileGone:
            raise
        except ReadingFailed as error:
            return _remarked(page, number, f"The text in this picture could not be recognized: {error}")
        job.readers.add(ref)
        return _remarked(page, number, await self._how_far(digest))

    async def recognize(self, content: Content, number: int) -> None:
        """Recognize a page, when no client waits for another one.

        Raises:
            FileChanged, FileGone, ReadingFailed: it cannot be recognized.
        """
        job = self._job(content, number)
        self._others.append(job)
        self._work()
        await asyncio.wait([job.done])
        job.done.result()

    async def finished(self) -> frozenset[str]:
        """Wait for pages that clients got without their text; return their documents."""
        await self._has_finished.wait()
        self._has_finished.clear()
        refs, self._finished = frozenset(self._finished), set()
        return refs

    async def close(self) -> None:
        """Stop, and end the recognizer."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)
        for job in self._jobs.values():
            if not job.done.done():
                job.done.set_exception(ReadingFailed(_CLOSED, Cause.MACHINE))
        if self._choice.recognizer is not None:
            await self._choice.recognizer.close()

    async def _how_far(self, digest: str) -> str:
        done, total = await asyncio.to_thread(self._store.words.recognized, self.key or "", [digest])
        so_far = f" {done} of {counted(total, 'scanned page')} of this document are done." if total > 1 else ""
        return (
            f"The text in this picture is being recognized.{so_far} Read the page again later: the document is "
            "announced as updated when the text is there."
        )

    # ------------------------------------------------------------------------------------------------------------- jobs

    def _ask(self, content: Content, number: int) -> _Job:
        job = self._job(content, number)
        waiting = self._asked.setdefault(content.digest, deque())
        if job not in waiting:
            waiting.append(job)
        self._work()
        return job

    def _job(self, content: Content, number: int) -> _Job:
        key = content.digest, number
        job = self._jobs.get(key)
        if job is None:
            done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            # A failure that nobody waits for any more is no error.
            done.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            job = self._jobs[key] = _Job(content, number, done)
        return job

    def _next(self) -> _Job | None:
        """The next job: of the document that has waited longest, or of none that anyone waits for."""
        while self._asked or self._others:
            if self._asked:
                digest, waiting = self._asked.popitem(last=False)
                job = waiting.popleft()
                if waiting:
                    self._asked[digest] = waiting
            else:
                job = self._others.popleft()
            # It may be in both queues.
            if not job.done.done():
                return job
        return None

    def _work(self) -> None:
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._do_all())

    async def _do_all(self) -> None:
        while (job := self._next()) is not None:
            try:
                job.done.set_result(await self._recognized(job))
            except (ReadingFailed, FileChanged) as error:
                job.done.set_exception(error)
            except Exception:
                logger.exception("page %d of %s could not be recognized", job.number, job.content.path.name)
                job.done.set_exception(ReadingFailed("it failed", Cause.MACHINE))
            finally:
                del self._jobs[job.content.digest, job.number]
                if not job.done.done():
                    job.done.set_exception(ReadingFailed(_CLOSED, Cause.MACHINE))
            if job.readers:
                self._finished |= job.readers
                self._has_finished.set()

    async def _recognized(self, job: _Job) -> bytes:
        """Recognize a page, and keep it."""
        recognizer, content, number = self._choice.recognizer, job.content, job.number
        if recognizer is None:
            raise ReadingFailed(self._choice.reason, Cause.MACHINE)

        async def work() -> Reply:
            seen = (await self._workers.do("scan", content.path, number)).value
            answers: list[dict[str, Any]] = []
            for piece in seen["pieces"]:
                place = {key: piece[key] for key in ("left", "top", "owned")}
                answers.append(place | await recognizer.read(piece["picture"], piece["type"]))
            return await self._workers.do("recognized", content.path, number, answers, seen["size"], seen["scale"])

        reply = await self._attempts.attempt(content, f"recognize {number} {recognizer.key}", work)
        # The other elements of the page are in the index already.
        found = [element for element in reply.value["elements"] if element["metadata"].get("recognized")]
        texts = searched_on({"elements": found})

        def keep() -> None:
            self._store.keep_page(content.digest, number, reply.body, recognizer.key)
            self._store.words.keep_recognized(content.digest, number, recognizer.key, texts)

        await asyncio.to_thread(keep)
        return reply.body


def _remarked(page: Page, number: int, words: str) -> Page:
    """A page with an annotation at its end."""
    position = sum(element["category"] == "annotation" for element in page["elements"]) + 1
    remark = {
        "element_id": f"p{number}-annotation-{position}",
        "category": "annotation",
        "summary": words[:200],
        "content": {"text": words},
        "metadata": {},
    }
    return {**page, "elements": [*page["elements"], remark]}
