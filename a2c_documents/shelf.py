"""Which documents there are: the files of the folder as they were last looked at, and what happened since."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from a2c_documents.document import Document
from a2c_documents.folder import Folder, Stamp, refer_to
from a2c_documents.store import Known, Store


@dataclass(slots=True)
class Sighting:
    """What a look at the folder found."""

    is_list_changed: bool = False
    edited: list[Document] = field(default_factory=list[Document])
    suspected: list[Document] = field(default_factory=list[Document])
    """Files that may have been replaced, or merely got a new mode or name: only their content tells."""


class Shelf:
    """The documents. Files are not opened here."""

    def __init__(self, folder: Folder, store: Store) -> None:
        self.folder = folder
        self._store = store
        self.documents: dict[str, Document] = {}
        """By reference."""
        self._by_path: dict[Path, Document] = {}
        self._looking = asyncio.Lock()

    def knows(self, path: Path) -> bool:
        """Whether a file is one of the documents."""
        return path in self._by_path

    async def look(self) -> Sighting:
        """Look at the whole folder."""
        async with self._looking:
            found = await asyncio.to_thread(self.folder.scan) or {}
            known = await asyncio.to_thread(self._store.files) if found and not self._by_path else {}
            gone = [path for path in self._by_path if path not in found]
            if found:  # an empty folder may be a disk that comes back: nothing is forgotten
                here = {self._relative(path) for path in found}
                forgotten = [name for name in known if name not in here]
                await self._forget([*forgotten, *map(self._relative, gone)])
            return self._note(found, gone, known)

    async def look_at(self, paths: Iterable[Path]) -> Sighting:
        """Look at some files."""
        async with self._looking:
            wanted = list(paths)
            stamps = await asyncio.to_thread(lambda: {path: self.folder.stamp(path) for path in wanted})
            found = {path: stamp for path, stamp in stamps.items() if stamp is not None}
            gone = [path for path in stamps if path not in found and path in self._by_path]
            await self._forget(list(map(self._relative, gone)))
            return self._note(found, gone, {})

    def _note(self, found: dict[Path, Stamp], gone: list[Path], known: dict[str, Known]) -> Sighting:
        sighting = Sighting(bool(gone))
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
        relative, name = self._relative(path), path.relative_to(self.folder.root).as_posix()
        document = Document(path, relative, refer_to([name], self.documents)[name], stamp)
        before = known.get(relative)
        if before is not None and before.stamp == stamp:
            document.read_at = document.tried_at = stamp
            document.digest = document.told = before.digest
            document.facts = before.facts
        self._by_path[path] = self.documents[document.ref] = document

    async def _forget(self, names: list[str]) -> None:
        if names:
            await asyncio.to_thread(self._store.forget_files, names)

    def _relative(self, path: Path) -> str:
        """The name of a file in its folder, as a text whatever its bytes are."""
        return os.fsencode(path.relative_to(self.folder.root).as_posix()).decode("utf-8", "backslashreplace")
