"""The list of documents: the files of the folder at the last scan, and the facts about each."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from a2c_documents.folder.files import Folder, Stamp, refer_to
from a2c_documents.library.archives import Archives, Inside
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
    inside: Inside | None = None
    """The archive that it is in."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    @property
    def is_unread(self) -> bool:
        """Whether it must be read before its facts are used."""
        is_due = self.retry_at is not None and time.monotonic() >= self.retry_at
        return self.facts is None or self.is_outdated or is_due

    @property
    def file(self) -> Path:
        """The file of the folder: its own, or the archive that it is in."""
        return self.path if self.inside is None else self.inside.file

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

    def __add__(self, other: FolderChanges) -> FolderChanges:
        return FolderChanges(
            self.is_list_changed or other.is_list_changed, self.edited + other.edited, self.suspected + other.suspected
        )


class DocumentList:
    """The documents by reference and by path. Files are not opened here.

    What is in an archive is a document, too. Which files it has is known when the archive was read: see `unfold`.
    """

    def __init__(self, folder: Folder, store: Store, passwords: Passwords, *, archives: bool = True) -> None:
        self.folder = folder
        self._store = store
        self._passwords = passwords
        self.has_archives = archives
        """Whether the files in archives are documents."""
        self._archives = Archives()
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
            # What is in an archive that is still there is looked at below: the rules may have changed.
            gone = [path for path, document in self._by_path.items() if document.file not in found]
            self._archives.start_over()
            # An empty folder may be a disk that is not mounted at the moment. What is stored about its files is kept,
            # so that nothing has to be read again when it comes back.
            shown: dict[str, Known] = {}
            if found:
                here = {self._relative(path) for path in found}
                shown = {
                    name: each
                    for name, each in known.items()
                    if (name in here or _is_below(name, here))
                    and may_show(each.facts, self.folder.root / name, self._passwords)
                }
                forgotten = [name for name in known if name not in shown]
                await self._forget([*forgotten, *map(self._relative, gone)])
            changes = self._note(found, gone, shown)
            return changes + await self._unfold(shown)

    async def look_at(self, paths: Iterable[Path]) -> FolderChanges:
        """Check some files."""
        async with self._looking:
            wanted = list(paths)
            wanted += self._archives.inside(wanted)
            found = await self._stamps(wanted)
            gone = [path for path in wanted if path not in found and path in self._by_path]
            await self._forget(list(map(self._relative, gone)))
            return self._note(found, gone, {})

    @property
    def any_archives(self) -> bool:
        """Whether there are any archives whose files are documents."""
        return self.has_archives and bool(self._archives)

    def unread_archives(self) -> list[Document]:
        """The archives that were not read yet."""
        return self._archives.unread() if self.has_archives else []

    async def unfold(self) -> FolderChanges:
        """Add the files in archives that were read since the last time, and drop those that they do not have now."""
        if not self.any_archives:
            return FolderChanges()
        # A request that arrives while another one adds them waits for them, too.
        async with self._looking:
            return await self._unfold({})

    async def _unfold(self, known: dict[str, Known]) -> FolderChanges:
        changes = FolderChanges()
        # An archive in an archive is found in the next round.
        while self.any_archives and (archives := self._archives.changed()):
            for archive in archives:
                changes += await self._unfold_one(archive, known)
        return changes

    async def _unfold_one(self, archive: Document, known: dict[str, Known]) -> FolderChanges:
        if archive.path not in self._by_path:  # the archive around it does not have it any more
            return FolderChanges()
        wanted = self._archives.members_of(archive)
        self.folder.in_archives.update(wanted)
        found = await self._stamps(wanted)
        self.folder.in_archives.difference_update(set(wanted) - set(found))
        gone = self._archives.replace(archive.path, found)
        await self._forget(list(map(self._relative, gone)))
        changes = self._note(found, gone, known)
        for path in found:
            document, before = self._by_path[path], self._by_path[path].inside
            document.inside = wanted[path]
            if before is not None and before.mark != wanted[path].mark:
                document.told = None if document.is_outdated else document.digest
                changes.edited.append(document)
        return changes

    async def _stamps(self, paths: Iterable[Path]) -> dict[Path, Stamp]:
        wanted = list(paths)
        if not wanted:
            return {}
        stamps = await asyncio.to_thread(lambda: {path: self.folder.stamp(path) for path in wanted})
        return {path: stamp for path, stamp in stamps.items() if stamp is not None}

    def _note(self, found: dict[Path, Stamp], gone: list[Path], known: dict[str, Known]) -> FolderChanges:
        sighting = FolderChanges(bool(gone))
        for path in gone:
            del self.documents[self._by_path.pop(path).ref]
            self._archives.drop(path)
            self.folder.in_archives.discard(path)
        for path, stamp in found.items():
            document = self._by_path.get(path)
            if document is None:
                self._add(path, stamp, known)
                sighting.is_list_changed = True
            elif document.stamp != stamp and document.inside is not None:
                # The archive was edited. What that means for each file in it is known when it was read (`_unfold`).
                document.stamp = stamp
                document.expect(stamp)
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
        self._archives.add(document)

    async def _forget(self, names: list[str]) -> None:
        if names:
            await asyncio.to_thread(self._store.forget_files, names)

    def _relative(self, path: Path) -> str:
        """The path inside the folder as text. File names may be any bytes; those that are not UTF-8 are escaped."""
        return os.fsencode(path.relative_to(self.folder.root).as_posix()).decode("utf-8", "backslashreplace")


def _is_below(name: str, archives: Collection[str]) -> bool:
    """Whether a path is that of a file in one of the archives."""
    return any(parent.as_posix() in archives for parent in PurePosixPath(name).parents)
