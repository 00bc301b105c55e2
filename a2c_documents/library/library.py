"""The documents of a folder at the four levels of `dpe://`: catalogue, document, page, element.

`Library` joins the list of documents, their contents and the search index. Everything is read on request and kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from a2c_documents.folder.files import DEEPEST, Folder
from a2c_documents.library.archives import Inside
from a2c_documents.library.attempts import RETRY_SECONDS
from a2c_documents.library.backlog import Backlog
from a2c_documents.library.contents import Contents
from a2c_documents.library.documents import Document, DocumentList, FolderChanges
from a2c_documents.library.freshness import coverage, freshness, written_time
from a2c_documents.library.scans import PATIENCE
from a2c_documents.library.search import Hit, SearchIndex
from a2c_documents.recognition.choice import NONE, Choice
from a2c_documents.registry import suffix_of
from a2c_documents.render import page_of_element, position_of
from a2c_documents.store.store import Store
from a2c_documents.workers.failures import ReadingFailed
from a2c_documents.workers.pool import Progress, Workers
from a2c_smcp.errors import DocumentNotFoundError, ElementNotFoundError, PageOutOfRangeError
from a2c_smcp.utils.dpe_uri import build_dpe_uri

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 0.5
"""Between two rounds of slow reading."""
BLOBS = ("picture", "file")
"""Binary data that an element may have besides its content; read with `?as=`."""


@dataclass(frozen=True, slots=True)
class News:
    """The changes to announce to clients."""

    is_list_changed: bool
    updated: frozenset[str]
    """The documents whose content changed."""

    def __add__(self, other: News) -> News:
        return News(self.is_list_changed or other.is_list_changed, self.updated | other.updated)

    def __bool__(self) -> bool:
        return self.is_list_changed or bool(self.updated)


NOTHING_NEW = News(False, frozenset())


class Library:
    """The documents of a folder. `host` is the first part of their addresses."""

    def __init__(
        self,
        folder: Folder,
        host: str,
        store: Store,
        workers: Workers,
        retry_seconds: float = RETRY_SECONDS,
        *,
        archives: bool = True,
        ocr: Choice = NONE,
        patience: float = PATIENCE,
    ) -> None:
        self.folder = folder
        self.host = host
        self._store = store
        self._workers = workers
        self._list = DocumentList(folder, store, workers.passwords, archives=archives)
        self._in_archives = NOTHING_NEW
        self._contents = Contents(folder, store, workers, retry_seconds, ocr)
        self._index = SearchIndex(self._list.documents, self._contents, store.words, workers, self._unfold)
        self._backlog = Backlog(self._index, self._contents, store.words, is_worked_off=ocr.in_background)
        self._patience = patience
        self.documents = self._list.documents
        """By reference."""

    # ------------------------------------------------------------------------------------------------------- the folder

    async def look(self) -> News:
        """Scan the whole folder. Only files that may have been replaced are opened."""
        return await self._tell(await self._list.look())

    async def look_at(self, paths: Iterable[Path]) -> News:
        """Look at some files."""
        return await self._tell(await self._list.look_at(paths))

    async def _tell(self, sighting: FolderChanges) -> News:
        # Edits are announced at once. Files that may only have a new mode or name are opened first, by the workers.
        updated = {document.ref for document in sighting.edited}

        async def suspect(document: Document) -> None:
            if await self._contents.is_replaced(document):
                updated.add(document.ref)

        await self._workers.for_each(sighting.suspected, suspect)
        return News(sighting.is_list_changed, frozenset(updated))

    async def read_all(self, progress: Progress | None = None, *, with_slow: bool = False) -> int:
        """Read the facts of every document that needs it, on all processors. Returns how many were read.

        Documents that wait for a conversion keep waiting, unless `with_slow` says otherwise.
        """
        tried: set[str] = set()
        while True:
            # Archives name further documents. A document that cannot be read is tried once, or this would never end.
            await self._unfold()
            todo = [each for each in self.documents.values() if each.is_unread and each.ref not in tried]
            tried.update(document.ref for document in todo)
            await self._read_facts(todo, progress, with_slow=with_slow)
            if not todo or not self._list.any_archives:
                break
        await self._tidy_if_crowded()
        return len(tried)

    async def _read_facts(
        self, todo: Sequence[Document], progress: Progress | None = None, *, with_slow: bool = False
    ) -> None:
        know = self._contents.know_in_full if with_slow else self._contents.know

        async def read(document: Document) -> None:
            try:
                await know(document)
            except DocumentNotFoundError as error:
                logger.info("%s: %s", document.relative, error)
            except Exception:  # one document must not stop the others
                logger.exception("%s could not be read", document.relative)

        await self._workers.for_each(todo, read, progress)

    async def _unfold(self) -> None:
        """Add the documents of archives that were read."""
        changes = await self._list.unfold()
        self._in_archives += News(changes.is_list_changed, frozenset(document.ref for document in changes.edited))

    def take_news(self) -> News:
        """The changes inside archives since the last call: they show when an archive was read."""
        news, self._in_archives = self._in_archives, NOTHING_NEW
        return news

    async def look_into_archives(self, ref: str) -> None:
        """If no document has this reference, read the archives that were not read yet: one of them may have it."""
        for _ in range(DEEPEST + 1):
            if ref in self.documents:
                break
            await self._unfold()
            await self._read_facts(self._list.unread_archives())

    async def read_slow(self, announce: Callable[[News], Awaitable[None]]) -> None:
        """Read documents that wait for a conversion, one after another, until cancelled; announce and index each."""
        while True:
            await self._contents.some_wait.wait()
            self._contents.some_wait.clear()
            for document in [each for each in self.documents.values() if each.waits_for is not None]:
                try:
                    await self._contents.know_in_full(document)
                except DocumentNotFoundError as error:
                    logger.info("%s: %s", document.relative, error)
                    continue
                await announce(News(True, frozenset((document.ref,))))
                await self.make_searchable()
            # A document whose file is written all the time waits on. Without a pause, it would be copied all the time.
            await asyncio.sleep(PAUSE_SECONDS)

    def knows(self, path: Path) -> bool:
        """Whether a file is one of the documents."""
        return self._list.knows(path)

    @property
    def has_worked(self) -> bool:
        """Whether any file was opened."""
        return self._workers.has_worked

    async def tidy(self) -> None:
        """Delete the entries of the store that no document needs any more."""
        needed = {document.digest for document in self.documents.values() if document.digest is not None}
        await asyncio.to_thread(self._store.tidy, needed)

    async def _tidy_if_crowded(self) -> None:
        if self._store.is_crowded:
            await self.tidy()

    async def close(self) -> None:
        """End the worker processes and close the store."""
        await self._backlog.close()
        await self._index.close()
        await self._contents.scans.close()
        await self._workers.close()
        self._store.close()

    # ------------------------------------------------------------------------------------------------------- level 0, 1

    def find(self, ref: str) -> Document:
        """The document with a reference.

        Raises:
            DocumentNotFoundError: no document has this reference.
        """
        document = self.documents.get(ref)
        if document is None:
            raise DocumentNotFoundError(f"there is no document {ref}", details={"doc_ref": ref})
        return document

    async def catalogue(self) -> dict[str, Any]:
        """Level 0: all documents."""
        await self.read_all()
        # A file that was deleted while the others were read has no facts, and disappears with the next scan.
        listed = [self.summary(document) for document in self.documents.values() if document.facts is not None]
        return {"documents": listed, "total_count": len(listed)}

    async def document(self, ref: str) -> dict[str, Any]:
        """Level 1: the summary and the facts of a document.

        Besides the fields that the protocol lists, `author`, `created` and `details` (page size, sheet names, length of
        a film …) are included if the file has them. Clients that do not know these optional fields ignore them.
        """
        document = self.find(ref)
        facts = await self._contents.know_in_full(document)
        extra = {key: facts[key] for key in ("author", "created", "details") if facts.get(key)}
        return self.summary(document) | extra

    async def pages(self, ref: str, offset: int, limit: int) -> dict[str, Any]:
        """Level 1 with `depth=pages`: the document and its pages."""
        body = await self.document(ref)
        document = self.find(ref)
        titles = document.page_titles
        numbers = range(min(offset, len(titles)), min(offset + limit, len(titles)))
        # Each entry has an element count, which only the page itself shows. The limit of the request bounds the work.
        read = await asyncio.gather(*(self._contents.page(document, number) for number in numbers))
        pages = [
            {
                "page_index": number,
                "title": _page_title(document, number, page),
                "element_count": len(page["elements"]),
                "uri": self.address(ref, f"pages/{number}"),
                "doc_ref": ref,
            }
            for number, page in zip(numbers, read, strict=True)
        ]
        await self._tidy_if_crowded()
        return {**body, "pages": pages, "page_offset": offset, "page_limit": limit, "page_total": len(titles)}

    def summary(self, document: Document) -> dict[str, Any]:
        """A document in the catalogue."""
        facts = document.facts or {}
        summary: dict[str, Any] = {
            "doc_ref": document.ref,
            "uri": self.address(document.ref),
            "file_uri": document.path.as_uri()
            if document.inside is None
            else _uri_inside(document.path, document.inside),
            "file_type": suffix_of(document.path),
            "title": document.title,
            "page_count": len(document.page_titles),
            "keywords": list(facts.get("keywords") or ()),
            "summary": facts.get("summary") or "",
        }
        inside = document.inside.modified if document.inside is not None else ""
        if modified := inside or written_time(document.stamp.modified_ns // 10**9):
            summary["last_modified"] = modified
        return summary

    def address(self, ref: str | None = None, sub_path: str | None = None, **params: str) -> str:
        """The address of something in this library."""
        return build_dpe_uri(self.host, ref, sub_path, params or None)

    # ------------------------------------------------------------------------------------------------------- level 2, 3

    async def page(self, ref: str, number: int, *, is_patient: bool = True) -> dict[str, Any]:
        """Level 2: a page, with all that is known about its elements.

        The text of a scan is recognized, unless the caller is not patient.

        Raises:
            PageOutOfRangeError: the document has no such page.
        """
        document = self.find(ref)
        page = await self._contents.page(document, number, self._patience if is_patient else None)
        await self._tidy_if_crowded()
        elements = [self._with_address(document, element) for element in page["elements"]]
        title = _page_title(document, number, page)
        return {"title": title, "elements": elements, "continues": bool(page.get("continues"))}

    async def element(self, ref: str, element_id: str) -> tuple[int, dict[str, Any]]:
        """Level 3: an element, and the number of its page.

        A position beyond the end of a page counts on over the pages that continue it. Addresses from a time when all
        of them were one page, or when the page ended later, therefore lead to the same element.

        Raises:
            ElementNotFoundError: the document has no such element.
        """
        number = page_of_element(element_id)
        self.find(ref)  # an unknown document is reported before an invalid id
        if number is not None:
            category, position = position_of(element_id)
            # Pictures are there before their text is recognized.
            is_patient = category != "image"
            # A request for an element gets an error about the element, even if its id names a page beyond the end.
            with contextlib.suppress(PageOutOfRangeError):
                page = await self.page(ref, number, is_patient=is_patient)
                while True:
                    elements = [element for element in page["elements"] if element["category"] == category]
                    if position <= len(elements):
                        return number, elements[position - 1]
                    number, position = number + 1, position - len(elements)
                    page = await self.page(ref, number, is_patient=is_patient)
                    if not page["continues"]:
                        break
        raise ElementNotFoundError(f"{ref} has no element {element_id}", details={"element_id": element_id})

    async def blob(self, ref: str, element_id: str, form: str) -> tuple[str, str]:
        """MIME type and base64 of an element's picture or file; `form` says which.

        Raises:
            ElementNotFoundError: there is none.
        """
        number, element = await self.element(ref, element_id)
        # A worker returns whichever data an element has, so the requested form is checked here.
        if not element.get(f"has_{form}"):
            raise ElementNotFoundError(f"{element_id} has no {form}", details={"element_id": element_id})
        try:
            answer = await self._contents.blob(self.find(ref), number, element["element_id"])
        except ReadingFailed as error:
            raise ElementNotFoundError(f"{element_id}: {error}", details={"element_id": element_id}) from None
        return answer["mime_type"], answer["data"]

    def blob_address(self, ref: str, element: dict[str, Any]) -> str | None:
        """The address of an element's picture or attachment; None if it has none."""
        form = next((form for form in BLOBS if element.get(f"has_{form}")), None)
        return form and self.address(ref, f"elements/{element['element_id']}", **{"as": form})

    def _with_address(self, document: Document, element: dict[str, Any]) -> dict[str, Any]:
        """The element, with the address of its picture or attachment if it has one."""
        url, source = self.blob_address(document.ref, element), str(element["content"].get("url") or "")
        # A picture on the web keeps its own address.
        if url is None or "://" in source:
            return element
        metadata = {**element["metadata"], **({"source": source} if source else {})}  # its name inside the file
        return {**element, "content": {**element["content"], "url": url}, "metadata": metadata}

    # -------------------------------------------------------------------------------------------------------- searching

    async def make_searchable(self, progress: Progress | None = None) -> bool:
        """Read and index all documents that are not indexed. Returns whether any got its title, or a better one."""
        before = self._index.titles_read
        await self._index.update(progress)
        await self._tidy_if_crowded()
        return self._index.titles_read > before

    @property
    def titles_read(self) -> int:
        """How many times a document got its title, or a better one, from being indexed."""
        return self._index.titles_read

    async def recognize_all(self, progress: Progress | None = None) -> None:
        """Recognize the text of all scans that are indexed, unless only those are recognized that are read."""
        await self._backlog.work(progress)

    async def recognized(self) -> tuple[int, int]:
        """How many scanned pages have been recognized, and how many there are."""
        return await self._backlog.how_far()

    async def newly_recognized(self) -> frozenset[str]:
        """Wait for text that clients asked for and did not get in time; return the documents."""
        return await self._contents.scans.finished()

    async def search(self, query: str, limit: int, seconds: float | None = None) -> list[dict[str, Any]]:
        """The best places for a query. Documents that are not indexed are indexed first, for at most `seconds`."""
        hits = await self._find(query, limit, seconds)
        return [{"title": hit.documents[0].title, **self._place(hit)} for hit in hits]

    async def survey(self, query: str, limit: int, seconds: float | None) -> dict[str, Any]:
        """The best places for a query, with all that is needed to rank them together with those of other libraries:
        which documents they are in, how fresh these are, how many are indexed, and how frequent the terms are."""
        hits = await self._find(query, limit, seconds)
        statistics, indexed = await self._index.statistics(query), await self._index.indexed()
        found = list({hit.documents[0].ref: hit for hit in hits}.values())
        stamps = await asyncio.to_thread(lambda: [self.folder.stamp(hit.documents[0].path) for hit in found])
        documents: list[dict[str, Any]] = []
        for hit, stamp in zip(found, stamps, strict=True):
            if stamp is not None:  # else its file was deleted a moment ago
                fresh = freshness(hit, stamp, indexed.get(hit.match.digest))
                documents.append({**self.summary(hit.documents[0]), **fresh, **self._copies(hit)})
        here: set[str] = {document["doc_ref"] for document in documents}
        places = [
            {"doc_ref": ref, **self._place(hit), "counts": hit.match.counts, "length": hit.match.length}
            for hit in hits
            if (ref := hit.documents[0].ref) in here
        ]
        return {
            "query": query,
            "documents": documents,
            "total_count": len(documents),
            "hits": places,
            "coverage": await self.coverage(),
            "statistics": asdict(statistics),
        }

    async def coverage(self) -> dict[str, int]:
        """How many documents there are, how many of them a search can find, and how many scanned pages it cannot find:
        their text is not recognized yet."""
        recognized, scanned = await self._backlog.how_far()
        counts = coverage(self.documents.values(), await self._index.indexed())
        return {**counts, "unrecognized_pages": scanned - recognized}

    async def _find(self, query: str, limit: int, seconds: float | None) -> list[Hit]:
        found = await self._index.search(query, limit, seconds)
        self._backlog.begin()
        return found

    def _place(self, hit: Hit) -> dict[str, Any]:
        ref, match = hit.documents[0].ref, hit.match
        return {
            "page_index": match.page,
            "page_uri": self.address(ref, f"pages/{match.page}"),
            "element_uri": self.address(ref, f"elements/{match.element}"),
            "snippet": match.snippet,
        }

    def _copies(self, hit: Hit) -> dict[str, list[str]]:
        copies = [self.address(document.ref) for document in hit.documents[1:]]
        return {"copies": copies} if copies else {}


def _page_title(document: Document, number: int, page: dict[str, Any]) -> str:
    """The page's own title, else the one from the document's list of pages, else the document's."""
    titles = document.page_titles
    return page["title"] or (titles[number] if number < len(titles) else "") or document.title


def _uri_inside(path: Path, inside: Inside) -> str:
    """The address of a file in an archive: that of the archive, with the path in it as the fragment."""
    return f"{inside.file.as_uri()}#{quote(path.relative_to(inside.file).as_posix())}"
