"""The inside of Office files and books: parts of an archive, and what they say about each other."""

from __future__ import annotations

import lzma
import mimetypes
import posixpath
import zipfile
import zlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from a2c_smcp.documents.model import UnreadableFileError
from a2c_smcp.documents.parsers.office.archive import check_archive
from a2c_smcp.documents.parsers.office.xml import MAX_XML, DamagedPartError, attribute, parse_xml

_TYPES = {
    "emf": "image/emf", "wmf": "image/wmf", "svg": "image/svg+xml", "webp": "image/webp", "wdp": "image/vnd.ms-photo",
    "m4a": "audio/mp4", "m4v": "video/mp4", "wmv": "video/x-ms-wmv", "wma": "audio/x-ms-wma",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Relation:
    """What one part says about another: the last word of the relation's type, and where it leads."""

    kind: str
    target: str
    external: bool


class Package:
    """An open archive. Names of parts are compared as Office compares them, without case."""

    def __init__(self, path: Path, what: str) -> None:
        check_archive(path, what)
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, ValueError) as error:
            raise UnreadableFileError(f"this is no {what}, or a damaged one: {error}") from None
        self._members = {member.filename.lower().lstrip("/"): member for member in self._archive.infolist()}
        self._relations: dict[str, dict[str, Relation]] = {}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._members

    def size(self, name: str) -> int:
        """The bytes of a part, unpacked; 0 if it is not there."""
        member = self._members.get(name.lower())
        return member.file_size if member is not None else 0

    def read(self, name: str) -> bytes:
        """A part.

        Raises:
            DamagedPartError: it is missing, or cannot be unpacked.
        """
        member = self._members.get(name.lower())
        if member is None:
            raise DamagedPartError(f"{name or 'a part'} is missing from the file")
        return _unpack(self._archive, member)

    def xml(self, name: str, *, recover: bool = False) -> Any:
        """The tree of a part.

        Raises:
            DamagedPartError: it is missing, or no XML.
        """
        if self.size(name) > MAX_XML:
            raise DamagedPartError(f"{name} is too large to read")
        return parse_xml(self.read(name), recover=recover)

    def relations(self, name: str) -> dict[str, Relation]:
        """What a part says about others, by id. Nothing, where it says nothing that can be read."""
        if name not in self._relations:
            self._relations[name] = self._read_relations(name)
        return self._relations[name]

    def _read_relations(self, name: str) -> dict[str, Relation]:
        folder, file = posixpath.split(name)
        where = posixpath.join(folder, "_rels", f"{file}.rels")
        try:
            root = self.xml(where) if where in self else ()
        except DamagedPartError:
            root = ()
        found: dict[str, Relation] = {}
        for entry in root:
            target, external = attribute(entry, "Target"), attribute(entry, "TargetMode") == "External"
            kind = attribute(entry, "Type").rpartition("/")[2]
            found[attribute(entry, "Id")] = Relation(kind, target if external else resolve(name, target), external)
        return found

    def picture(self, name: str) -> partial[tuple[str, bytes]]:
        """How to get a picture's type and bytes, whether this is still open or not."""
        return partial(read_picture, self.path, name)

    def close(self) -> None:
        """Let go of the file."""
        self._archive.close()


def resolve(base: str, target: str) -> str:
    """Where a path leads that stands in the part `base`."""
    target = unquote(target.partition("#")[0])
    if not target:
        return base
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), target)).lstrip("/")


def type_of(name: str) -> str:
    """The MIME type that a part's name suggests."""
    suffix = name.rpartition(".")[2].lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(f"x.{suffix}")[0] or "application/octet-stream"


def read_picture(path: Path, name: str) -> tuple[str, bytes]:
    """Type and bytes of a picture in an archive.

    Raises:
        UnreadableFileError: it is not there any more, or damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            member = next(item for item in archive.infolist() if item.filename.lower().lstrip("/") == name.lower())
            return type_of(name), _unpack(archive, member)
    except (OSError, zipfile.BadZipFile, StopIteration, DamagedPartError) as error:
        raise UnreadableFileError(f"the picture {name} cannot be read: {error}") from None


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(member)
    except (
        zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, NotImplementedError, RuntimeError
    ) as error:  # fmt: skip
        raise DamagedPartError(f"{member.filename} cannot be unpacked: {error}") from None
