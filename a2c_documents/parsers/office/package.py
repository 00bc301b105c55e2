"""Zip archives of parts: the container of Office, OpenDocument and EPUB files, and the relations between their parts.

Each read has its own limit: a part that becomes a tree is limited by its bytes, a long sheet by the rows of a page.
Opening checks only whether the archive is plausible.
"""

from __future__ import annotations

import lzma
import mimetypes
import posixpath
import struct
import zipfile
import zlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO
from urllib.parse import unquote

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.office.compound import MAGIC
from a2c_documents.parsers.office.xml import MAX_XML, DamagedPartError, Node, attribute, parse_xml

# Text compresses to a tenth or a twentieth of its size. An archive with a better ratio than this is a zip bomb.
MAX_RATIO = 100
# A small sheet of equal rows has such a ratio too. A ratio alone does not make a bomb.
HARMLESS = 400_000_000
"""Unpacked bytes that are accepted at any compression ratio: unpacking them takes a second or two."""
MAX_MEMBERS = 50_000


def open_archive(path: Path, what: str, *, may_be_locked: bool = False) -> zipfile.ZipFile:
    """Open an archive; `what` names the format in error messages. `may_be_locked` accepts parts with a password.

    Raises:
        UnreadableFileError: it is damaged, encrypted or a zip bomb.
    """
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, struct.error) as error:
        with path.open("rb") as file:
            # The registry finds the format of those that can be read: encrypted documents, and old ones whose suffix
            # is that of the current format.
            if file.read(len(MAGIC)) == MAGIC:
                problem = f"this {what} is damaged, or saved in an old format"
                raise UnreadableFileError(f"{problem}; save it in the current format") from None
        raise UnreadableFileError(f"this file is damaged or not a valid {what}: {error}") from None
    if is_inside(archive, path):
        archive.close()
        # The list of parts is at the end of an archive. What was found is that of an archive embedded in this one.
        raise UnreadableFileError(f"this {what} is damaged: its end is missing, as after an incomplete download")
    if problem := _problem(archive, path.stat().st_size, may_be_locked):
        archive.close()
        raise UnreadableFileError(f"this {what} {problem}")
    return archive


def is_inside(archive: zipfile.ZipFile, path: Path) -> bool:
    """Whether an archive is only a part of the file, which begins with another one."""
    # Python takes the last list of parts in a file, and what is before its first part for a program that unpacks it.
    if not archive.infolist() or not min(member.header_offset for member in archive.infolist()):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


def unpacked_size(archive: zipfile.ZipFile) -> int:
    """The unpacked bytes of all parts."""
    return sum(member.file_size for member in archive.infolist())


def _problem(archive: zipfile.ZipFile, packed: int, may_be_locked: bool) -> str:
    members = archive.infolist()
    if not may_be_locked and any(member.flag_bits & 1 for member in members):
        return "is protected by a password"
    if len(members) > MAX_MEMBERS:
        return f"has {len(members):,} parts; the limit is {MAX_MEMBERS:,}"
    # zipfile never unpacks more of a member than the size that the archive states for it, so that a bomb cannot hide
    # behind small numbers.
    unpacked = unpacked_size(archive)
    if unpacked > max(HARMLESS, MAX_RATIO * packed):
        return f"unpacks to {unpacked // 1_000_000:,} MB, which is more than {MAX_RATIO} times its size"
    return ""


# ------------------------------------------------------------------------------------------------------------- packages


MAX_PART = 60_000_000
"""Limit for the bytes of a part that is read in one piece."""
# A damaged archive fails in the module that happens to read the damaged byte: the container, one of the decompressors,
# or the file below them.
DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, NotImplementedError, RuntimeError,
)  # fmt: skip
"""Exceptions that unpacking a damaged archive can raise."""
_TYPES = {
    "emf": "image/emf", "wmf": "image/wmf", "svg": "image/svg+xml", "webp": "image/webp", "wdp": "image/vnd.ms-photo",
    "m4a": "audio/mp4", "m4v": "video/mp4", "wmv": "video/x-ms-wmv", "wma": "audio/x-ms-wma",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two parts: the last word of its type, and its target."""

    kind: str
    target: str
    external: bool


class Package:
    """An open archive. The case of part names is ignored, as in Office.

    Raises:
        UnreadableFileError: it is not an archive, or it is damaged, encrypted or a zip bomb.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self._archive = open_archive(path, what)
        # If a name occurs twice, the last entry counts, as in zipfile itself: it is the one that was appended by an
        # update of the archive.
        self._members = {_plain(member.filename): member for member in self._archive.infolist()}
        self._relations: dict[str, dict[str, Relation]] = {}
        self.lost: dict[str, str] = {}
        """Parts whose relations cannot be read, with the reason."""

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._members

    @property
    def unpacked(self) -> int:
        """The unpacked bytes of all parts."""
        return unpacked_size(self._archive)

    @property
    def is_encrypted(self) -> bool:
        """Whether an OpenDocument file needs a password: its manifest describes the encryption of each part."""
        manifest = self.optional("META-INF/manifest.xml")
        # OpenDocument encrypts the parts, not the archive: the archive has no encryption flag, and only the manifest
        # states it. Without this check, the encrypted bytes would be reported as damaged XML.
        return manifest is not None and next(manifest.iter("{*}encryption-data"), None) is not None

    def size(self, name: str) -> int:
        """The unpacked bytes of a part; 0 if it is missing."""
        member = self._members.get(name.lower())
        return member.file_size if member is not None else 0

    def open(self, name: str) -> IO[bytes]:
        """Open a part for reading in pieces. Reading can raise any exception in `DAMAGE`.

        Raises:
            DamagedPartError: it is missing, or cannot be unpacked.
        """
        member = self._members.get(name.lower())
        if member is None:
            raise DamagedPartError(f"{name or 'a part'} is missing from the file")
        try:
            return self._archive.open(member)
        except DAMAGE as error:
            raise DamagedPartError(f"{name} cannot be unpacked: {error}") from None

    def read(self, name: str, limit: int = MAX_PART) -> bytes:
        """Read a part in one piece.

        Raises:
            DamagedPartError: it is missing, cannot be unpacked, or has more bytes than the limit.
        """
        with self.open(name) as file:
            try:
                raw = file.read(limit + 1)
            except DAMAGE as error:
                raise DamagedPartError(f"{name} cannot be unpacked: {error}") from None
        if len(raw) > limit:
            raise DamagedPartError(f"{name} is larger than {limit // 1_000_000} MB")
        return raw

    def xml(self, name: str, *, recover: bool = False) -> Node:
        """Parse a part.

        Raises:
            DamagedPartError: it is missing, or its XML is invalid.
        """
        return parse_xml(self.read(name, MAX_XML), recover=recover)

    def optional(self, name: str) -> Node | None:
        """Parse a part that is optional; None if it is missing or damaged."""
        try:
            return self.xml(name) if name in self else None
        except DamagedPartError:
            return None

    def relations(self, name: str) -> dict[str, Relation]:
        """The relations of a part, by id; empty if they are `lost`."""
        if name not in self._relations:
            self._relations[name] = self._read_relations(name)
        return self._relations[name]

    def _read_relations(self, name: str) -> dict[str, Relation]:
        folder, file = posixpath.split(name)
        where = posixpath.join(folder, "_rels", f"{file}.rels")
        found: dict[str, Relation] = {}
        try:
            root = self.xml(where) if where in self else ()
        except DamagedPartError as error:
            # A damaged list of relations must not hide the text of a document. The document is read without it, and
            # states what may be missing.
            self.lost[name] = str(error)
            return found
        for entry in root:
            target, external = attribute(entry, "Target"), attribute(entry, "TargetMode").lower() == "external"
            # The type is an address that differs between strict and transitional files except for its last word.
            kind = attribute(entry, "Type").rpartition("/")[2]
            found[attribute(entry, "Id")] = Relation(kind, target if external else resolve(name, target), external)
        return found

    def related(self, name: str, kind: str) -> str:
        """The first related part of a type; empty if there is none."""
        relations = self.relations(name).values()
        return next((one.target for one in relations if one.kind == kind and not one.external), "")

    def main_part(self, usual: str) -> str:
        """The main part; `usual` if the file does not name an existing one."""
        main = self.related("", "officeDocument")
        return main if main in self else usual

    def picture(self, name: str) -> partial[tuple[str, bytes]]:
        """A function that returns type and bytes of a picture, also after the package is closed."""
        # Elements outlive the package: a client can ask for the picture long after the page was read, so the function
        # opens the file again.
        return partial(_read_picture, self.path, name)

    def close(self) -> None:
        """Close the file."""
        self._archive.close()


def resolve(base: str, target: str) -> str:
    """The part that a path in the part `base` refers to."""
    # Targets are relative to the folder of the part, or absolute with a slash in front. Joining with "/" and
    # normalizing keeps a target with too many ".." inside the archive.
    target = unquote(target.partition("#")[0])
    if not target:
        return base
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), target)).lstrip("/")


def type_of(name: str) -> str:
    """The MIME type that the name of a part suggests."""
    suffix = name.rpartition(".")[2].lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(f"x.{suffix}")[0] or "application/octet-stream"


def _plain(name: str) -> str:
    # Some programs write paths with backslashes or a slash in front.
    return name.lower().replace("\\", "/").lstrip("/")


def _read_picture(path: Path, name: str) -> tuple[str, bytes]:
    """Type and bytes of a picture in an archive.

    Raises:
        UnreadableFileError: the file changed, or it is damaged.
    """
    try:
        package = Package(path, "file")
    except OSError as error:
        raise UnreadableFileError(f"the picture {name} cannot be read: {error}") from None
    try:
        return type_of(name), package.read(name)
    except DamagedPartError as error:
        raise UnreadableFileError(f"the picture {name} cannot be read: {error}") from None
    finally:
        package.close()
