"""The list of documents: the files of the folder at the last scan, and the facts about each."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from a2c_documents.folder.files import Folder, Stamp, refer_to
from a2c_documents.model import PROTECTED
from a2c_documents.store.store import Known, Store
from a2c_documents.workers.failures import Conversion
from a2c_documents.workers.passwords import Passwords
from a2c_smcp.errors import DocumentNotFoundError


@dataclass(eq=False, slots=True)
class Document:
    """One file. `digest` and `facts` belong to its last good state."""

    path: Path
    relative: str
    ref: str
    stamp: Stamp
    """The file when it was last seen: a different stamp is a change."""
    read_at: Stamp | None = None
    """The file when `facts` were read."""
    tried_at: Stamp | None = None
    """The file at the last attempt to read it, which may have failed."""
    digest: str | None = None
    facts: dict[str, Any] | None = None
    told: str | None = None
    """The content that was last announced to clients."""
    is_outdated: bool = False
    """The file has changed since it was read, or a temporary problem may have passed."""
    retry_at: float | None = None
    """When a read that failed for an unclear reason may be retried, by the monotonic clock."""
    waits_for: Conversion | None = None
    """The conversion that has to come before it can be read."""
    problem_now: str | None = None
    """Why the current file cannot be read, while an earlier state is still shown."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    @property
    def is_unread(self) -> bool:
        """Whether it must be read before its facts are used."""
        is_due = self.retry_at is not None and time.monotonic() >= self.retry_at
        return self.facts is None or self.is_outdated or is_due

    @property
    def title(self) -> str:
        """Its own title, else the name of the file."""
        return (self.facts or {}).get("title") or Path(self.relative).name

    @property
    def page_titles(self) -> list[str]:
        """One for each page."""
        return (self.facts or {}).get("page_titles") or [""]

    @property
    def is_good(self) -> bool:
        """Whether it has a state that could be read."""
        return self.facts is not None and not self.facts.get("problem")

    @property
    def problem(self) -> str | None:
        """Why it cannot be read; None if it can."""
        if self.facts is None:
            return "it could not be read"
        return self.problem_now or self.facts.get("problem")

    def retry_now(self) -> None:
        """Let the next request read it, if nobody has read it since it began to wait."""
        self.is_outdated |= self.waits_for is not None

    def note(self, stamp: Stamp) -> bool:
        """Record a new stamp. Returns whether the file was edited.

        If size and modification time are unchanged, the file was renamed, got another mode, or was replaced by a file
        of the same size and time. Then its content has to be compared.
        """
        is_edit = stamp.is_edit_of(self.stamp)
        self.stamp = stamp
        self.expect(stamp)
        # An edit is announced without reading the file. If the new state was read before the scan noticed it, its
        # content is known. Otherwise the next read finds out which content was announced (`Contents._accept`).
        if is_edit:
            self.told = None if self.is_outdated else self.digest
        return is_edit

    def expect(self, stamp: Stamp) -> None:
        """Mark the document as outdated if the file was not tried with this stamp."""
        if self.tried_at != stamp:
            self.is_outdated, self.retry_at = True, None


def may_show(facts: dict[str, Any], path: Path, passwords: Passwords) -> bool:
    """Whether stored facts may be used: those of a protected file only as long as a password is given for it."""
    return not facts.get("details", {}).get(PROTECTED) or bool(passwords.candidates(path))


def gone(document: Document) -> DocumentNotFoundError:
    """The error for a document whose file was deleted."""
    return DocumentNotFoundError(f"{document.ref} is not there any more", details={"doc_ref": document.ref})


# -------------------------------------------------------------------------------------------------------- all documents


@dataclass(slots=True)
class FolderChanges:
    """What a scan of the folder found."""

    is_list_changed: bool = False
    edited: list[Document] = field(default_factory=list[Document])
    suspected: list[Document] = field(default_factory=list[Document])
    """Files that were replaced, or only got a new mode or name: their content has to be compared."""


class DocumentList:
    """The documents by reference and by path. Files are not opened here."""

    def __init__(self, folder: Folder, store: Store, passwords: Passwords) -> None:
        self.folder = folder
        self._store = store
        self._passwords = passwords
        self.documents: dict[str, Document] = {}
        """By reference."""
        self._by_path: dict[Path, Document] = {}
        # Scans run in threads. Of two at once, the older might finish last and undo what the newer one found.
        self._looking = asyncio.Lock()

    def knows(self, path: Path) -> bool:
        """Whether a path is the file of a document."""
        return path in self._by_path

    async def look(self) -> FolderChanges:
        """Scan the whole folder."""
        async with self._looking:
            found = await asyncio.to_thread(self.folder.scan) or {}
            # The store is needed only if there are no documents yet: at the start, and when a disk is mounted again.
            known = await asyncio.to_thread(self._store.files) if found and not self._by_path else {}
            gone = [path for path in self._by_path if path not in found]
            # An empty folder may be a disk that is not mounted at the moment. What is stored about its files is kept,
            # so that nothing has to be read again when it comes back.
            shown: dict[str, Known] = {}
            if found:
                here = {self._relative(path) for path in found}
                shown = {
                    name: each
                    for name, each in known.items()
                    if name in here and may_show(each.facts, self.folder.root / name, self._passwords)
                }
                forgotten = [name for name in known if name not in shown]
                await self._forget([*forgotten, *map(self._relative, gone)])
            return self._note(found, gone, shown)

    async def look_at(self, paths: Iterable[Path]) -> FolderChanges:
        """Check some files."""
        async with self._looking:
            wanted = list(paths)
            stamps = await asyncio.to_thread(lambda: {path: self.folder.stamp(path) for path in wanted})
            found = {path: stamp for path, stamp in stamps.items() if stamp is not None}
            gone = [path for path in stamps if path not in found and path in self._by_path]
            await self._forget(list(map(self._relative, gone)))
            return self._note(found, gone, {})

    def _note(self, found: dict[Path, Stamp], gone: list[Path], known: dict[str, Known]) -> FolderChanges:
        sighting = FolderChanges(bool(gone))
        for path in gone:
            del self.documents[self._by_path.pop(path).ref]
        for path, stamp in found.items():
            document = self._by_path.get(path)
            if document is None:
                self._add(path, stamp, known)
                sighting.is_list_changed = True
            elif document.stamp != stamp:
                (sighting.edited if document.note(stamp) else sighting.suspected).append(document)
        return sighting

    def _add(self, path: Path, stamp: Stamp, known: dict[str, Known]) -> None:
        # The reference is a hash of the bytes of the name; `relative` is text, which the database and the log can hold.
        relative, name = self._relative(path), path.relative_to(self.folder.root).as_posix()
        document = Document(path, relative, refer_to([name], self.documents)[name], stamp)
        before = known.get(relative)
        # Unchanged since it was stored: a restart opens no file.
        if before is not None and before.stamp == stamp:
            document.read_at = document.tried_at = stamp
            document.digest = document.told = before.digest
            document.facts = before.facts
        self._by_path[path] = self.documents[document.ref] = document

    async def _forget(self, names: list[str]) -> None:
        if names:
            await asyncio.to_thread(self._store.forget_files, names)

    def _relative(self, path: Path) -> str:
        """The path inside the folder as text. File names may be any bytes; those that are not UTF-8 are escaped."""
        return os.fsencode(path.relative_to(self.folder.root).as_posix()).decode("utf-8", "backslashreplace")
