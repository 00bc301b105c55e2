"""The documents of a folder at the four levels of `dpe://`: catalogue, document, page, element.

Nothing is read that nobody asked for, and nothing twice. A file that is being written, or was replaced by one that
cannot be read, keeps its last good state.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from a2c_smcp.documents.folder import Folder, Stamp, refer_to
from a2c_smcp.documents.memory import Memory
from a2c_smcp.documents.registry import suffix_of
from a2c_smcp.documents.shapes import page_of_element
from a2c_smcp.documents.store import Store
from a2c_smcp.documents.workers import FileGone, ReadingFailed, Workers
from a2c_smcp.errors import DocumentNotFoundError, ElementNotFoundError, PageOutOfRangeError
from a2c_smcp.utils.dpe_uri import build_dpe_uri

logger = logging.getLogger(__name__)

T = TypeVar("T")

Progress = Callable[[int, int], None]

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
        return (self.facts or {}).get("title") or self.path.stem

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
        if not self._known:
            self._known, self._facts = await asyncio.to_thread(lambda: (self.store.digests(), self.store.facts()))
        found = await asyncio.to_thread(self.folder.scan)
        gone = [path for path in self._by_path if path not in found]
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
            del self.documents[document.ref]
            self._known.pop(document.relative, None)
        if gone:
            names = [path.relative_to(self.folder.root).as_posix() for path in gone]
            await asyncio.to_thread(self.store.forget_files, names)
        self._add(new, found)
        for path, stamp in changed.items():
            self._by_path[path].stamp = stamp
            self._by_path[path].is_outdated = True
        updated = frozenset(self._by_path[path].ref for path in changed)
        return News(bool(new or gone), updated)

    def _add(self, paths: list[Path], stamps: dict[Path, Stamp]) -> None:
        relatives = {path: path.relative_to(self.folder.root).as_posix() for path in paths}
        everything = sorted({document.relative for document in self._by_path.values()} | set(relatives.values()))
        references = refer_to(everything) if paths else {}
        for path, relative in relatives.items():
            document = Document(path, relative, references[relative], stamps[path])
            known = self._known.get(relative)
            if known is not None and known[0] == stamps[path]:
                document.digest = known[1]
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
                except (DocumentNotFoundError, ReadingFailed) as error:
                    logger.warning("%s: %s", document.relative, error)
                done += 1
                if progress is not None:
                    progress(done, total)

        if progress is not None:
            progress(0, total)
        await asyncio.gather(*(work() for _ in range(self._workers.count)))
        return total

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
        modified = datetime.fromtimestamp(document.stamp.modified_ns / 1e9, UTC)
        return {
            "doc_ref": document.ref,
            "uri": self.address(document.ref),
            "file_uri": document.path.as_uri(),
            "file_type": suffix_of(document.path),
            "title": document.title,
            "page_count": len(document.page_titles),
            "keywords": list(facts.get("keywords") or ()),
            "summary": facts.get("summary") or "",
            "last_modified": modified.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

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
        answer = await self._workers.do("picture", self.find(ref).path, number, element_id)
        return answer["mime_type"], answer["data"]

    # ---------------------------------------------------------------------------------------------------------- reading

    async def _know(self, document: Document) -> dict[str, Any]:
        """What a document says of itself; read if it is not known, or has changed."""
        async with document.reading:
            if document.facts is not None and not document.is_outdated:
                return document.facts
            stamp = await asyncio.to_thread(self.folder.stamp, document.path)
            if stamp is None:
                raise DocumentNotFoundError(f"{document.ref} is not there any more", details={"doc_ref": document.ref})
            digest = (await self._ask("digest", document))["digest"]
            facts = self._facts.get(digest)
            if facts is None:
                facts = await self._read_facts(document)
                if facts.get("problem") and document.facts is not None and not document.facts.get("problem"):
                    logger.info("%s cannot be read now; its last good state stays", document.relative)
                    document.stamp, document.is_outdated, document.problem_now = stamp, False, facts["problem"]
                    return document.facts
                if not facts.get("is_passing"):
                    await asyncio.to_thread(self.store.keep_facts, digest, facts)
                    self._facts[digest] = facts
            document.stamp, document.digest, document.facts = stamp, digest, facts
            document.is_outdated, document.problem_now = False, None
            self._known[document.relative] = stamp, digest
            await asyncio.to_thread(self.store.keep_files, [(document.relative, stamp, digest)])
            return facts

    async def _read_facts(self, document: Document) -> dict[str, Any]:
        try:
            return await self._workers.do("facts", document.path)
        except FileGone:
            raise DocumentNotFoundError(f"{document.ref} is not there any more") from None
        except ReadingFailed as error:
            return {"problem": str(error), "summary": str(error), "page_titles": [""], "is_passing": True}

    async def _ask(self, what: str, document: Document) -> dict[str, Any]:
        try:
            return await self._workers.do(what, document.path)
        except FileGone:
            raise DocumentNotFoundError(
                f"{document.ref} is not there any more", details={"doc_ref": document.ref}
            ) from None

    async def _page(self, document: Document, number: int) -> dict[str, Any]:
        digest, facts = document.digest, document.facts or {}
        if problem := facts.get("problem"):
            return _problem_page(problem)
        if digest is None:
            return _problem_page("the file is being changed; try again")
        kept = self._memory.get((digest, number))
        if kept is None:
            kept = await asyncio.to_thread(self.store.page, digest, number)
        if kept is None and document.problem_now is not None:
            return _problem_page(document.problem_now)
        if kept is None:
            kept = await self._read_page(document, digest, number)
        self._memory.put((digest, number), kept)
        return self._with_addresses(document, kept)

    async def _read_page(self, document: Document, digest: str, number: int) -> dict[str, Any]:
        try:
            page = await self._workers.do("page", document.path, number)
        except FileGone:
            raise DocumentNotFoundError(
                f"{document.ref} is not there any more", details={"doc_ref": document.ref}
            ) from None
        except ReadingFailed as error:
            return _problem_page(str(error))
        if await asyncio.to_thread(self.folder.stamp, document.path) == document.stamp and document.digest == digest:
            await asyncio.to_thread(self.store.keep_page, digest, number, page)
        return page

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

    async def make_searchable(self, progress: Progress | None = None) -> None:
        """Read the words of all documents whose words are not known."""
        async with self._indexing:
            await self._read_words(progress)

    async def _read_words(self, progress: Progress | None) -> None:
        missing = await asyncio.to_thread(self.store.without_words)
        todo = {known.digest: known for known in self.documents.values() if known.digest in missing}
        total, done = len(todo), 0
        waiting = iter(todo.items())

        async def work() -> None:
            nonlocal done
            for digest, document in waiting:
                words = await self._words(document)
                if document.digest == digest and not document.is_outdated:
                    await asyncio.to_thread(self.store.keep_words, digest, words)
                done += 1
                if progress is not None:
                    progress(done, total)

        await asyncio.gather(*(work() for _ in range(self._workers.count)))

    async def _words(self, document: Document) -> list[Any]:
        """All words, some pages at a time: the time to read has bounds, and a document may have none."""
        words: list[Any] = []
        room = MAX_SEARCHED_CHARACTERS
        for start in range(0, len(document.page_titles), PAGES_AT_ONCE):
            try:
                some = (await self._workers.do("words", document.path, start, start + PAGES_AT_ONCE))["words"]
            except ReadingFailed as error:
                logger.info("%s: pages from %d on cannot be searched: %s", document.relative, start, error)
                continue
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


def _problem_page(problem: str) -> dict[str, Any]:
    words = f"This file cannot be read: {problem}"
    element = {
        "element_id": "p0-annotation-1",
        "category": "annotation",
        "summary": words[:200],
        "content": {"text": words},
        "metadata": {},
    }
    return {"title": "", "elements": [element]}
