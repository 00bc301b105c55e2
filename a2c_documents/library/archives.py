"""Which documents are in which archive. The archives are read by the workers, like every document."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from a2c_documents.folder.files import DEEPEST
from a2c_documents.registry import ARCHIVE, FORMATS, suffix_of

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from a2c_documents.library.documents import Document

MAX_DOCUMENTS = 5_000
"""Documents in one file of the folder, with those in the archives in it."""
MAX_ALL = 20_000
"""Documents in all archives: a folder of backups must not fill the list of a client."""


@dataclass(frozen=True, slots=True)
class Inside:
    """Where a document is that is a file in an archive, and what the archive states about it."""

    file: Path
    """The file of the folder."""
    depth: int
    """How many archives are around the document."""
    modified: str
    mark: str
    """Changes with the content."""


class Archives:
    """The archives that were read, and the documents in them."""

    def __init__(self) -> None:
        self._archives: dict[Path, Document] = {}
        """All archives, read or not. Folders have few of them, and most requests concern none."""
        self._members: dict[Path, list[Path]] = {}
        """The documents directly in an archive, by its path."""
        self._read: dict[Path, Any] = {}
        """The facts from which they are known."""

    def __bool__(self) -> bool:
        return bool(self._archives)

    def add(self, document: Document) -> None:
        """Note a new document that may be an archive."""
        if FORMATS.get(suffix_of(document.path)) is ARCHIVE:
            self._archives[document.path] = document

    def unread(self) -> list[Document]:
        """The archives that were not read yet."""
        return [document for document in self._archives.values() if document.facts is None]

    def start_over(self) -> None:
        """Let all archives count as changed: which of their files are documents may be another question now."""
        self._read.clear()

    def changed(self) -> list[Document]:
        """The archives that were read since the last time."""
        return [
            document
            for document in self._archives.values()
            if document.facts is not None
            and document.facts is not self._read.get(document.path)
            and ("members" in document.facts or document.path in self._members)
        ]

    def members_of(self, archive: Document) -> dict[Path, Inside]:
        """The files that an archive has, up to the number of documents that one file of the folder may be."""
        self._read[archive.path] = archive.facts
        file, depth = (archive.inside.file, archive.inside.depth) if archive.inside is not None else (archive.path, 0)
        if depth >= DEEPEST:
            return {}
        own = len(self.inside([archive.path]))
        everything = sum(map(len, self._members.values()))
        room = own + min(MAX_DOCUMENTS - len(self.inside([file])), MAX_ALL - everything)
        members: list[tuple[str, int, str, str]] = (archive.facts or {}).get("members") or []
        if len(members) > room:
            logger.info("%s: %d of %d files are documents", archive.relative, max(0, room), len(members))
        return {
            archive.path / name: Inside(file, depth + 1, modified, f"{size}:{mark}")
            for name, size, modified, mark in members[: max(0, room)]
        }

    def replace(self, archive: Path, members: Collection[Path]) -> list[Path]:
        """Note the documents that an archive has now. Returns those that it does not have any more."""
        gone = [path for path in self._members.get(archive, ()) if path not in members]
        self._members[archive] = list(members)
        return gone + self.inside(gone)

    def inside(self, archives: Iterable[Path]) -> list[Path]:
        """The documents in some archives, and in the archives in them."""
        if not self._members:
            return []
        waiting, found = list(archives), list[Path]()
        while waiting:
            members = self._members.get(waiting.pop(), ())
            found += members
            waiting += members
        return found

    def drop(self, archive: Path) -> None:
        """Forget a document that does not exist any more."""
        self._archives.pop(archive, None)
        self._members.pop(archive, None)
        self._read.pop(archive, None)
