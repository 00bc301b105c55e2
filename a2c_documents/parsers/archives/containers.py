"""The containers of files: zip, tar, compressed tar, and a single compressed file.

Opening lists the files. Each is unpacked on its own and on request, into a file that the caller names: names in an
archive are never used as paths. Links, devices and files with a password are listed, but not unpacked.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Protocol

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.archives.names import decoded, names_in_zip, path_of
from a2c_documents.parsers.office.package import DAMAGE, MAX_MEMBERS, MAX_RATIO, open_archive

MAX_FILE = 100_000_000
"""Bytes of the largest file that is unpacked."""
MAX_UNPACKED = 500_000_000
"""Bytes that a compressed tar may have: to read one file of it, all of it is unpacked."""
HARMLESS = 50_000_000
"""Bytes that it may have at any compression ratio."""
_BLOCK = 1 << 20
_NOT_FILES = "__MACOSX/"
"""The folder in which macOS keeps its own data of each file."""
_DAMAGE = (*DAMAGE, tarfile.TarError)
_LOCKED, _LARGE, _LINK, _OUTSIDE, _OTHER = (
    "needs a password", f"larger than {MAX_FILE // 1_000_000} MB", "a link", "a name that leads out of the archive",
    "no file",
)  # fmt: skip
_COMPRESSIONS = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in an archive."""

    name: str
    """Its path below the archive; the name as it is if it cannot be unpacked."""
    size: int
    modified: str = ""
    """ISO 8601, without a time zone if the archive has none."""
    mark: str = ""
    """Changes with the content, as far as the archive shows it."""
    place: int = 0
    problem: str = ""
    """Why it is not unpacked; empty if it can be."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Container(Protocol):
    """An open archive."""

    @property
    def entries(self) -> Sequence[Entry]:
        """The files in it, in its order."""
        ...

    @property
    def on_disk(self) -> int:
        """Bytes that are unpacked on the disk as long as it is open."""
        ...

    def unpack(self, entry: Entry, target: IO[bytes]) -> None:
        """Write the content of a file to `target`.

        Raises:
            UnreadableFileError: it is damaged.
        """
        ...

    def close(self) -> None:
        """Close the archive."""
        ...


def open_container(path: Path) -> Container:
    """Open an archive.

    Raises:
        UnreadableFileError: it is damaged, too large, or no archive.
    """
    with path.open("rb") as file:
        start = file.read(6)
    if start.startswith(b"PK"):
        return _Zip(path)
    opener = next((opener for magic, opener in _COMPRESSIONS if start.startswith(magic)), None)
    with ExitStack() as held:
        if opener is None:
            content: IO[bytes] = held.enter_context(path.open("rb"))
            # Without files, it has nothing but zeros.
            if not _is_tar(content):
                raise UnreadableFileError("this archive is damaged, or not a valid archive")
            container = _Tar(content)
        else:
            content = held.enter_context(tempfile.TemporaryFile())
            with opener(path, "rb") as packed:
                size, mark = _unpack_all(packed, content, max(HARMLESS, MAX_RATIO * path.stat().st_size))
            if not _is_tar(content) and path.name.lower().endswith((".tgz", ".tbz2", ".txz")):
                raise UnreadableFileError("this archive is damaged: there is no tar archive in it")
            container = _Tar(content, size) if _is_tar(content) else _Single(content, size, path.stem, mark)
        held.pop_all()
        return container


def _unpack_all(packed: _Readable, target: IO[bytes], limit: int) -> tuple[int, str]:
    """Unpack a compressed file. Returns the size, and a checksum."""
    size = checksum = 0
    limit = min(limit, MAX_UNPACKED)
    try:
        while block := packed.read(_BLOCK):
            size += len(block)
            if size > limit:
                raise UnreadableFileError(
                    f"this archive unpacks to more than {limit // 1_000_000} MB; unpack it into the folder"
                )
            target.write(block)
            checksum = zlib.crc32(block, checksum)
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk is full
        raise UnreadableFileError(f"this archive is damaged: {error}") from None
    return size, f"{checksum:08x}"


def _is_tar(content: IO[bytes]) -> bool:
    content.seek(0)
    try:
        with tarfile.open(fileobj=content, mode="r:"):
            return True
    except _DAMAGE:
        return False
    finally:
        content.seek(0)


def _copied(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy, up to the largest file: a damaged archive may have more than it states."""
    left = MAX_FILE
    while left >= 0 and (block := source.read(min(_BLOCK, left + 1))):
        left -= len(block)
        target.write(block)
    if left < 0:
        raise UnreadableFileError(f"it is {_LARGE}")


# ------------------------------------------------------------------------------------------------------------------ zip


class _Zip:
    on_disk = 0

    def __init__(self, path: Path) -> None:
        self._archive = open_archive(path, "archive", may_be_locked=True)
        self._members = self._archive.infolist()
        names = names_in_zip(self._members)
        self.entries = _unique(self._entry(place, name) for place, name in enumerate(names) if not name.endswith("/"))

    def _entry(self, place: int, name: str) -> Entry:
        member = self._members[place]
        mode = member.external_attr >> 16
        kind = stat.S_IFMT(mode)
        problem = ""
        if kind and not stat.S_ISREG(mode):
            problem = _LINK if stat.S_ISLNK(mode) else _OTHER
        elif member.flag_bits & 1:
            problem = _LOCKED
        return _checked(name, member.file_size, _zip_time(member), f"{member.CRC:08x}", place, problem)

    def unpack(self, entry: Entry, target: IO[bytes]) -> None:
        try:
            with self._archive.open(self._members[entry.place]) as source:
                _copied(source, target)
        except _DAMAGE as error:
            raise _failure(entry, error) from None

    def close(self) -> None:
        self._archive.close()


def _zip_time(member: zipfile.ZipInfo) -> str:
    try:
        # 1980 is the first year that ZIP has: programs without a time write it.
        return datetime(*member.date_time).isoformat() if member.date_time[0] > 1980 else ""
    except ValueError:
        return ""


# ------------------------------------------------------------------------------------------------------------------ tar


class _Tar:
    def __init__(self, content: IO[bytes], on_disk: int = 0) -> None:
        self._content, self.on_disk = content, on_disk
        try:
            self._archive = tarfile.open(fileobj=content, mode="r:", encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
            self._members = list(self._listed())
        except _DAMAGE as error:
            raise UnreadableFileError(f"this archive is damaged: {error}") from None
        raw = [member.name.encode("utf-8", "surrogateescape") for member in self._members]
        self.entries = _unique(self._entry(place, name) for place, name in enumerate(decoded(raw)))

    def _listed(self) -> Iterator[tarfile.TarInfo]:
        for count, member in enumerate(self._archive):
            if count >= MAX_MEMBERS:
                raise UnreadableFileError(f"this archive has more than {MAX_MEMBERS:,} entries")
            if not member.isdir():
                yield member

    def _entry(self, place: int, name: str) -> Entry:
        member = self._members[place]
        problem = "" if member.isreg() else _LINK if member.issym() or member.islnk() else _OTHER
        try:
            modified = datetime.fromtimestamp(int(member.mtime), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (OverflowError, ValueError, OSError):
            modified = ""
        return _checked(name, member.size, modified, f"{member.size}:{member.mtime}", place, problem)

    def unpack(self, entry: Entry, target: IO[bytes]) -> None:
        try:
            source = self._archive.extractfile(self._members[entry.place])
            if source is None:
                raise UnreadableFileError("it is no file")
            with source:
                _copied(source, target)
        except _DAMAGE as error:
            raise _failure(entry, error) from None

    def close(self) -> None:
        self._archive.close()
        self._content.close()


class _Single:
    """A compressed file, such as a log: an archive with one file."""

    def __init__(self, content: IO[bytes], on_disk: int, name: str, mark: str) -> None:
        self._content, self.on_disk = content, on_disk
        self.entries = [_checked(name, on_disk, "", mark, 0, "")]

    def unpack(self, entry: Entry, target: IO[bytes]) -> None:
        self._content.seek(0)
        shutil.copyfileobj(self._content, target)

    def close(self) -> None:
        self._content.close()


# -------------------------------------------------------------------------------------------------------------- entries


def _checked(name: str, size: int, modified: str, mark: str, place: int, problem: str) -> Entry:
    path = path_of(name)
    if not problem:
        problem = _OUTSIDE if not path else _LARGE if size > MAX_FILE else ""
    return Entry(path or "".join(filter(str.isprintable, name))[:200], size, modified, mark, place, problem)


def _unique(entries: Iterator[Entry]) -> list[Entry]:
    """One entry for each name: the last, as when an archive is unpacked."""
    return list({entry.name: entry for entry in entries if not entry.name.startswith(_NOT_FILES)}.values())


def _failure(entry: Entry, error: Exception) -> Exception:
    if isinstance(error, OSError) and error.errno is not None:
        return error  # of the disk
    return UnreadableFileError(f"{entry.name} cannot be unpacked: {error or type(error).__name__}")
