"""The documents of a folder at the four levels of `dpe://`: catalogue, document, page, element.

Nothing is read that nobody asked for, and nothing twice. A file that is being written, or was replaced by one that
cannot be read, keeps its last good state.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from a2c_smcp.documents.folder import Folder, Stamp, refer_to
from a2c_smcp.documents.memory import Memory
from a2c_smcp.documents.registry import suffix_of
from a2c_smcp.documents.shapes import page_of_element
from a2c_smcp.documents.store import Store
from a2c_smcp.documents.workers import FileGone, ReadingFailed, Workers
from a2c_smcp.errors import DocumentNotFoundError, ElementNotFoundError, PageOutOfRangeError
from a2c_smcp.utils.dpe_uri import build_dpe_uri

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]

ATTEMPTS = 3
PAGES_AT_ONCE = 25
MAX_SEARCHED_CHARACTERS = 5_000_000
"""Text of one document that can be searched."""


@dataclass(eq=False, slots=True)
class Document:
    """A file of the folder, and what is known of it."""

    path: Path
    relative: str
    ref: str
    stamp: Stamp
    """The file as it was last looked at: what differs from it is news."""
    read_at: Stamp | None = None
    """The file as it was read."""
    digest: str | None = None
    facts: dict[str, Any] | None = None
    """Digest and facts are of the last good state."""
    is_outdated: bool = False
    """The file has changed since."""
    problem_now: str | None = None
    """Why it cannot be read as it is now, though it could be before."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    @property
    def title(self) -> str:
        """What it is called: by itself, or else by its name."""
        return (self.facts or {}).get("title") or Path(self.relative).stem

    @property
    def page_titles(self) -> list[str]:
        """One for each page."""
        return (self.facts or {}).get("page_titles") or [""]


@dataclass(frozen=True, slots=True)
class News:
    """What a look at the folder found."""

    is_list_changed: bool
    updated: frozenset[str]
    """The documents whose content changed."""


class Library:
    """The documents. `host` is what their addresses begin with."""

    def __init__(self, folder: Folder, host: str, store: Store, workers: Workers) -> None:
        self.folder = folder
        self.host = host
        self.store = store
        self._workers = workers
        self._memory = Memory()
        self.documents: dict[str, Document] = {}
        """By reference."""
        self._by_path: dict[Path, Document] = {}
        self._known: dict[str, tuple[Stamp, str]] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._indexing = asyncio.Lock()

    # ------------------------------------------------------------------------------------------------------- the folder

    async def look(self) -> News:
        """Look at the whole folder; files are not opened."""
        if not self._by_path:
            self._known, self._facts = await asyncio.to_thread(lambda: (self.store.digests(), self.store.facts()))
        found = await asyncio.to_thread(self.folder.scan)
        gone = [path for path in self._by_path if path not in found]
        here = {_relative(path, self.folder) for path in found}
        forgotten = [name for name in self._known if name not in here]
        if forgotten and found:  # files that went while nobody looked
            await asyncio.to_thread(self.store.forget_files, forgotten)
            for name in forgotten:
                del self._known[name]
        return await self._note(found, gone)

    async def look_at(self, paths: Iterable[Path]) -> News:
        """Look at some files."""
        wanted = list(paths)
        stamps = await asyncio.to_thread(lambda: {path: self.folder.stamp(path) for path in wanted})
        gone = [path for path, stamp in stamps.items() if stamp is None and path in self._by_path]
        return await self._note({path: stamp for path, stamp in stamps.items() if stamp is not None}, gone)

    async def _note(self, found: dict[Path, Stamp], gone: list[Path]) -> News:
        new = [path for path in found if path not in self._by_path]
        changed = {path: at for path, at in found.items() if path in self._by_path and self._by_path[path].stamp != at}
        for path in gone:
            document = self._by_path.pop(path)
            self.documents.pop(document.ref, None)
            self._known.pop(document.relative, None)
        if gone:
            names = [_relative(path, self.folder) for path in gone]
            await asyncio.to_thread(self.store.forget_files, names)
        self._add(new, found)
        for path, stamp in changed.items():
            document = self._by_path[path]
            document.stamp = stamp
            document.is_outdated = document.read_at != stamp  # somebody may have read it before we looked
        updated = frozenset(self._by_path[path].ref for path in changed)
        return News(bool(new or gone), updated)

    def _add(self, paths: list[Path], stamps: dict[Path, Stamp]) -> None:
        for path in paths:
            relative = _relative(path, self.folder)
            document = Document(path, relative, refer_to([relative], self.documents)[relative], stamps[path])
            known = self._known.get(relative)
            if known is not None and known[0] == stamps[path]:
                document.read_at, document.digest = known
                document.facts = self._facts.get(known[1])
            self._by_path[path] = self.documents[document.ref] = document

    async def read_all(self, progress: Progress | None = None) -> int:
        """Know what every document says of itself; on all processors. How many had to be read."""
        todo = [document for document in self.documents.values() if document.facts is None or document.is_outdated]
        total, done = len(todo), 0
        waiting = iter(todo)

        async def work() -> None:
            nonlocal done
            for document in waiting:
                try:
                    await self._know(document)
                except DocumentNotFoundError as error:
                    logger.info("%s: %s", document.relative, error)
                except Exception:  # one document must not keep the others from being known
                    logger.exception("%s could not be read", document.relative)
                done += 1
                if progress is not None:
                    progress(done, total)

        if progress is not None:
            progress(0, total)
        await asyncio.gather(*(work() for _ in range(self._workers.count)))
        return total

    def knows(self, path: Path) -> bool:
        """Whether a file is one of the documents."""
        return path in self._by_path

    @property
    def has_worked(self) -> bool:
        """Whether any file had to be opened."""
        return self._workers.has_worked

    def problem_of(self, document: Document) -> str | None:
        """Why a document cannot be read; None when it can."""
        if document.facts is None:
            return "it could not be read"
        return document.problem_now or document.facts.get("problem")

    async def tidy(self) -> None:
        """Forget what is kept on disk and not needed any more."""
        await asyncio.to_thread(self.store.tidy)

    async def close(self) -> None:
        """End the processes that read, and let go of the disk."""
        await self._workers.close()
        self.store.close()

    # ------------------------------------------------------------------------------------------------------- level 0, 1

    def find(self, ref: str) -> Document:
        """A document.

        Raises:
            DocumentNotFoundError: there is none of this reference.
        """
        document = self.documents.get(ref)
        if document is None:
            raise DocumentNotFoundError(f"there is no document {ref}", details={"doc_ref": ref})
        return document

    async def catalogue(self) -> dict[str, Any]:
        """All documents."""
        await self.read_all()
        listed = [self.summary(document) for document in self.documents.values() if document.facts is not None]
        return {"documents": listed, "total_count": len(listed)}

    async def document(self, ref: str) -> dict[str, Any]:
        """What a document is."""
        document = self.find(ref)
        facts = await self._know(document)
        extra = {key: facts[key] for key in ("author", "created", "details") if facts.get(key)}
        return self.summary(document) | extra

    async def pages(self, ref: str, offset: int, limit: int) -> dict[str, Any]:
        """What a document is, and which pages it has."""
        body = await self.document(ref)
        document = self.find(ref)
        titles = document.page_titles
        numbers = range(min(offset, len(titles)), min(offset + limit, len(titles)))
        read = await asyncio.gather(*(self._page(document, number) for number in numbers))
        pages = [
            {
                "page_index": number,
                "title": page["title"] or titles[number],
                "element_count": len(page["elements"]),
                "uri": self.address(ref, f"pages/{number}"),
                "doc_ref": ref,
            }
            for number, page in zip(numbers, read, strict=True)
        ]
        return {**body, "pages": pages, "page_offset": offset, "page_limit": limit, "page_total": len(titles)}

    def summary(self, document: Document) -> dict[str, Any]:
        """A document in the catalogue."""
        facts = document.facts or {}
        summary: dict[str, Any] = {
            "doc_ref": document.ref,
            "uri": self.address(document.ref),
            "file_uri": document.path.as_uri(),
            "file_type": suffix_of(document.path),
            "title": document.title,
            "page_count": len(document.page_titles),
            "keywords": list(facts.get("keywords") or ()),
            "summary": facts.get("summary") or "",
        }
        with contextlib.suppress(OverflowError, ValueError, OSError):  # a clock that is anywhere
            modified = datetime.fromtimestamp(document.stamp.modified_ns // 10**9, UTC)
            summary["last_modified"] = modified.strftime("%Y-%m-%dT%H:%M:%SZ")
        return summary

    def address(self, ref: str | None = None, sub_path: str | None = None, **params: str) -> str:
        """The address of something in this library."""
        return build_dpe_uri(self.host, ref, sub_path, params or None)

    # ------------------------------------------------------------------------------------------------------- level 2, 3

    async def page(self, ref: str, number: int) -> dict[str, Any]:
        """A page, with all that is known of its elements.

        Raises:
            PageOutOfRangeError: the document has no such page.
        """
        document = self.find(ref)
        await self._know(document)
        count = len(document.page_titles)
        if number >= count:
            raise PageOutOfRangeError(
                f"{ref} has {count} pages, from 0 to {count - 1}", details={"page_index": number, "page_count": count}
            )
        page = await self._page(document, number)
        return {**page, "title": page["title"] or document.page_titles[number] or document.title}

    async def element(self, ref: str, element_id: str) -> tuple[int, dict[str, Any]]:
        """An element, and the page it is on.

        Raises:
            ElementNotFoundError: the document has no such element.
        """
        number = page_of_element(element_id)
        self.find(ref)
        if number is not None:
            elements: list[dict[str, Any]] = []
            with contextlib.suppress(PageOutOfRangeError):
                elements = (await self.page(ref, number))["elements"]
            for element in elements:
                if element["element_id"] == element_id:
                    return number, element
        raise ElementNotFoundError(f"{ref} has no element {element_id}", details={"element_id": element_id})

    async def picture(self, ref: str, element_id: str) -> tuple[str, str]:
        """MIME type and base64 of a picture.

        Raises:
            ElementNotFoundError: there is none.
        """
        number, element = await self.element(ref, element_id)
        if not element.get("has_picture"):
            raise ElementNotFoundError(f"{element_id} is no picture", details={"element_id": element_id})
        try:
            answer = await self._workers.do("picture", self.find(ref).path, number, element_id)
        except FileGone:
            raise _gone(self.find(ref)) from None
        except ReadingFailed as error:
            raise ElementNotFoundError(f"{element_id}: {error}", details={"element_id": element_id}) from None
        return answer["mime_type"], answer["data"]

    # ---------------------------------------------------------------------------------------------------------- reading

    async def _know(self, document: Document) -> dict[str, Any]:
        """What a document says of itself; read if it is not known, or has changed."""
        async with document.reading:
            if document.facts is not None and not document.is_outdated:
                return document.facts
            stamp = document.stamp
            for _ in range(ATTEMPTS):
                found = await asyncio.to_thread(self.folder.stamp, document.path)
                if found is None:
                    raise _gone(document)
                stamp = found
                digest, facts = await self._read_facts(document)
                if await asyncio.to_thread(self.folder.stamp, document.path) == stamp:
                    break  # it did not change meanwhile: these are facts of this content
            else:
                digest, facts = None, {"problem": "it is being written", "summary": "", "page_titles": [""]}
            return await self._accept(document, stamp, digest, facts)

    async def _accept(
        self, document: Document, stamp: Stamp, digest: str | None, facts: dict[str, Any]
    ) -> dict[str, Any]:
        """Take facts for a document's own, unless it was better before."""
        problem = facts.get("problem")
        if problem and document.facts is not None and not document.facts.get("problem"):
            logger.info("%s cannot be read now; its last good state stays", document.relative)
            document.problem_now = problem
            document.is_outdated = digest is None  # what may pass is tried again
            return document.facts
        document.read_at, document.digest, document.facts = stamp, digest, facts
        document.is_outdated, document.problem_now = digest is None, None
        if digest is not None:
            self._known[document.relative], self._facts[digest] = (stamp, digest), facts
            await asyncio.to_thread(self.store.keep_facts, digest, facts)
            await asyncio.to_thread(self.store.keep_files, [(document.relative, stamp, digest)])
        return facts

    async def _read_facts(self, document: Document) -> tuple[str | None, dict[str, Any]]:
        """Digest and facts. No digest: it failed for a reason that may pass."""
        try:
            digest = (await self._workers.do("digest", document.path))["digest"]
            return digest, self._facts.get(digest) or await self._workers.do("facts", document.path)
        except FileGone:
            raise _gone(document) from None
        except ReadingFailed as error:
            return None, {"problem": str(error), "summary": str(error), "page_titles": [""]}

    async def _page(self, document: Document, number: int) -> dict[str, Any]:
        digest, facts = document.digest, document.facts or {}
        if problem := facts.get("problem"):
            return _problem_page(problem, number)
        if digest is None:
            return _problem_page("it is being written", number)
        kept = self._memory.get((digest, number))
        if kept is None:
            kept = await asyncio.to_thread(self.store.page, digest, number)
            if kept is not None:
                self._memory.put((digest, number), kept)
        if kept is None and document.problem_now is not None:
            return _problem_page(document.problem_now, number)
        if kept is None:
            kept = await self._read_page(document, digest, number)
        return self._with_addresses(document, kept)

    async def _read_page(self, document: Document, digest: str, number: int) -> dict[str, Any]:
        """A page from the file; kept only if the file is still what its digest says."""
        try:
            page = await self._workers.do("page", document.path, number)
        except FileGone:
            raise _gone(document) from None
        except ReadingFailed as error:
            return _problem_page(str(error), number)
        if await self._is_unchanged(document, digest):
            self._memory.put((digest, number), page)
            await asyncio.to_thread(self.store.keep_page, digest, number, page)
        return page

    async def _is_unchanged(self, document: Document, digest: str) -> bool:
        if document.digest != digest or document.is_outdated or document.problem_now is not None:
            return False
        return await asyncio.to_thread(self.folder.stamp, document.path) == document.read_at

    def _with_addresses(self, document: Document, page: dict[str, Any]) -> dict[str, Any]:
        """Pictures that can be had get the address they can be had at."""
        elements = [
            {**element, "content": {**element["content"], "url": self.picture_address(document.ref, element)}}
            if element.get("has_picture") and not element["content"].get("url")
            else element
            for element in page["elements"]
        ]
        return {**page, "elements": elements}

    def picture_address(self, ref: str, element: dict[str, Any]) -> str:
        """Where the picture itself is."""
        return self.address(ref, f"elements/{element['element_id']}", **{"as": "picture"})

    # -------------------------------------------------------------------------------------------------------- searching

    async def make_searchable(self, progress: Progress | None = None) -> bool:
        """Read the words of all documents whose words are not known; whether any got a better title by it."""
        async with self._indexing:
            return await self._read_words(progress)

    async def _read_words(self, progress: Progress | None) -> bool:
        missing = await asyncio.to_thread(self.store.without_words)
        todo = {known.digest: known for known in self.documents.values() if known.digest in missing}
        total, done, named = len(todo), 0, False
        waiting = iter(todo.items())

        async def work() -> None:
            nonlocal done, named
            for digest, document in waiting:
                words = await self._words(document)
                if words is not None and await self._is_unchanged(document, digest):
                    named |= await self._name(document, digest, words)
                    await asyncio.to_thread(self.store.keep_words, digest, words)
                done += 1
                if progress is not None:
                    progress(done, total)

        await asyncio.gather(*(work() for _ in range(self._workers.count)))
        return named

    async def _name(self, document: Document, digest: str, words: list[Any]) -> bool:
        """Title and summary from the first page, where the file says nothing and nobody had read it yet."""
        facts = document.facts or {}
        if facts.get("title") and facts.get("summary"):
            return False
        first = {str(element).rpartition("-")[0]: str(text) for page, element, text in reversed(words) if page == 0}
        title = facts.get("title") or " ".join(first.get("p0-heading", "").split())[:200]
        summary = facts.get("summary") or " ".join(first.get("p0-text", "").split())[:300]
        if (title, summary) == (facts.get("title") or "", facts.get("summary") or ""):
            return False
        document.facts = self._facts[digest] = {**facts, "title": title, "summary": summary}
        await asyncio.to_thread(self.store.keep_facts, digest, document.facts)
        return True

    async def _words(self, document: Document) -> list[Any] | None:
        """All words, some pages at a time, since the time to read has bounds. None: they cannot be read now."""
        words: list[Any] = []
        room = MAX_SEARCHED_CHARACTERS
        for start in range(0, len(document.page_titles), PAGES_AT_ONCE):
            try:
                some = (await self._workers.do("words", document.path, start, start + PAGES_AT_ONCE))["words"]
            except ReadingFailed as error:
                logger.info("%s: pages from %d on cannot be searched: %s", document.relative, start, error)
                return None
            words += some
            room -= sum(len(text) for _, _, text in some)
            if room <= 0:
                break
        return words

    async def search(self, query: str, limit: int) -> list[dict[str, Any]]:
        """The places where something is written, the best first."""
        await self.read_all()
        await self.make_searchable()
        found = await asyncio.to_thread(self.store.search, query, limit * 2)
        holders = {document.digest: document for document in self.documents.values() if document.digest is not None}
        hits: list[dict[str, Any]] = []
        for digest, page, element, snippet in found:
            document = holders.get(digest)
            if document is not None and len(hits) < limit:
                hits.append(
                    {
                        "title": document.title,
                        "page_index": page,
                        "page_uri": self.address(document.ref, f"pages/{page}"),
                        "element_uri": self.address(document.ref, f"elements/{element}"),
                        "snippet": snippet,
                    }
                )
        return hits


def _relative(path: Path, folder: Folder) -> str:
    """The name of a file in its folder; bytes that are no text are replaced."""
    return os.fsencode(path.relative_to(folder.root).as_posix()).decode("utf-8", "replace")


def _gone(document: Document) -> DocumentNotFoundError:
    return DocumentNotFoundError(f"{document.ref} is not there any more", details={"doc_ref": document.ref})


def _problem_page(problem: str, number: int) -> dict[str, Any]:
    words = f"This file cannot be read: {problem}"
    element = {
        "element_id": f"p{number}-annotation-1",
        "category": "annotation",
        "summary": words[:200],
        "content": {"text": words},
        "metadata": {},
    }
    return {"title": "", "elements": [element]}
