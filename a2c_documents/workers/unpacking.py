"""Gives parsers a file on disk for each path: the file itself, or a copy of what is at that path in an archive.

`report.zip/2026/tea.docx` is the path of a file in an archive. Copies are in a folder of this process, at most
`MAX_BYTES` of them; what was not used for longest is deleted first. Names in archives are never used as paths.
"""

from __future__ import annotations

import re
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from a2c_documents.folder.files import DEEPEST, holder_of
from a2c_documents.model import UnreadableFileError

if TYPE_CHECKING:
    from a2c_documents.parsers.archives.containers import Container, Entry

MAX_BYTES = 250_000_000
"""Bytes of all copies, and of all compressed archives but one that are unpacked as a whole."""
MAX_COPIES = 16
MAX_OPEN = 2
"""Archives that stay open: a client that reads one file often reads the next."""
_UNSAFE = re.compile(r"[^\w .()\[\]-]")


@dataclass(slots=True)
class _Opened:
    container: Container
    entries: dict[str, Entry]
    identity: tuple[int, ...]


@dataclass(slots=True)
class _Copy:
    file: Path
    size: int
    identity: tuple[int, ...]
    folder: tempfile.TemporaryDirectory[str]


class Unpacking:
    """The archives and copies of one process. `forget` is told of each path whose copy is deleted."""

    def __init__(self, forget: Callable[[Path], None]) -> None:
        self._forget = forget
        self._archives: OrderedDict[Path, _Opened] = OrderedDict()
        self._copies: OrderedDict[Path, _Copy] = OrderedDict()

    def file(self, path: Path) -> Path:
        """The file to open for a path.

        Raises:
            OSError: there is none, or the disk is full.
            UnreadableFileError: it is in an archive, and cannot be unpacked.
        """
        holder = holder_of(path)
        if holder is None or holder == path:
            return path
        return self._copy(path, holder, holder, identity_of(holder), DEEPEST)

    def _copy(self, path: Path, name: Path, archive: Path, identity: tuple[int, ...], depth: int) -> Path:
        """A copy of a file in an archive. `name` is the path of the archive, `archive` the file to open for it."""
        known = self._copies.get(path)
        if known is not None and known.identity == identity:
            self._copies.move_to_end(path)
            return known.file
        opened = self._open(name, archive, identity)
        parts = path.relative_to(name).parts
        # From the whole path down: with an archive in an archive, a part of it is the path of the inner archive.
        for length in range(len(parts), 0, -1):
            entry = opened.entries.get("/".join(parts[:length]))
            if entry is None:
                continue
            if length == len(parts):
                return self._unpack(path, opened, entry)
            if depth <= 1:
                break
            inner = name.joinpath(*parts[:length])
            return self._copy(path, inner, self._copy(inner, name, archive, identity, depth), identity, depth - 1)
        raise UnreadableFileError("the archive does not contain this file any more")

    def _open(self, name: Path, archive: Path, identity: tuple[int, ...]) -> _Opened:
        from a2c_documents.parsers.archives.containers import open_container  # most folders have no archives

        known = self._archives.pop(name, None)
        if known is not None and known.identity != identity:
            known.container.close()
            known = None
        if known is None:
            container = open_container(archive)
            known = _Opened(container, {one.name: one for one in container.entries if not one.problem}, identity)
        self._archives[name] = known
        while len(self._archives) > MAX_OPEN or (
            len(self._archives) > 1 and sum(one.container.on_disk for one in self._archives.values()) > MAX_BYTES
        ):
            self._archives.popitem(last=False)[1].container.close()
        return known

    def _unpack(self, path: Path, opened: _Opened, entry: Entry) -> Path:
        if path in self._copies:
            self._drop(path)
        while self._copies and (
            len(self._copies) >= MAX_COPIES or sum(copy.size for copy in self._copies.values()) + entry.size > MAX_BYTES
        ):
            self._drop(next(iter(self._copies)))
        folder = tempfile.TemporaryDirectory(prefix="a2c-", ignore_cleanup_errors=True)
        try:
            # Parsers show the name, and take the kind of some files from it.
            file = Path(folder.name) / _name(path)
            with file.open("wb") as target:
                opened.container.unpack(entry, target)
        except BaseException:
            folder.cleanup()
            raise
        self._copies[path] = _Copy(file, entry.size, opened.identity, folder)
        return file

    def _drop(self, path: Path) -> None:
        self._forget(path)
        self._copies.pop(path).folder.cleanup()

    def close(self) -> None:
        """Close the archives and delete the copies."""
        for opened in self._archives.values():
            opened.container.close()
        self._archives.clear()
        for path in list(self._copies):
            self._drop(path)


def identity_of(path: Path) -> tuple[int, ...]:
    """Which file it is, in which state."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _name(path: Path) -> str:
    """The name of a file in an archive, as a name that every file system takes."""
    suffix = _UNSAFE.sub("", path.suffix)[:16]
    return f"{_UNSAFE.sub('_', path.stem)[:60].strip('. ') or 'file'}{suffix}"
