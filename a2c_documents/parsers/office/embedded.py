"""Embedded files: their type, their name and their bytes."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from a2c_documents.model import Element, UnreadableFileError, link
from a2c_documents.parsers.office.compound import MAGIC, streams_of
from a2c_documents.parsers.office.package import Package, Relation, type_of
from a2c_documents.parsers.office.xml import DamagedPartError
from a2c_documents.wording import size_words

MAX_OBJECT = 20_000_000
"""Largest object that is unpacked for its name, or returned to a client."""
_PROGRAMS = {
    "Excel": "Excel worksheet", "Word": "Word document", "PowerPoint": "PowerPoint presentation",
    "Visio": "Visio drawing", "AcroExch": "PDF document", "Acrobat": "PDF document", "Equation": "equation",
    "Package": "file", "MSGraph": "chart", "Paint": "picture", "Outlook": "message", "MSProject": "project plan",
    "opendocument.WriterDocument": "OpenDocument text", "opendocument.CalcDocument": "OpenDocument spreadsheet",
    "opendocument.ImpressDocument": "OpenDocument presentation", "opendocument.DrawDocument": "OpenDocument drawing",
    "opendocument.MathDocument": "equation", "Forms": "control", "SoundRec": "sound",
}  # fmt: skip
_GENERIC = frozenset((
    "acrobat", "adobe", "bitmap", "chart", "document", "drawing", "equation", "excel", "file", "image", "microsoft",
    "object", "package", "packager", "pdf", "picture", "powerpoint", "presentation", "shell", "slide", "visio", "word",
    "worksheet",
))  # fmt: skip
"""Names that programs give to objects by default; they are not shown."""
_PACKED = "\x01ole10native"
"""The stream that holds a file of any type together with its name."""
_DESCRIBED = "\x01compobj"
"""The stream that states the type of an object."""
_WHOLE = ("package", "contents")
"""Streams that can hold a complete document."""
_SUFFIXES = {"Word": "docx", "Excel": "xlsx", "PowerPoint": "pptx"}
_MAX_COUNTED = 2_000
"""Limit for the bytes of a text in an object."""


def embedded_element(
    package: Package, relation: Relation | None, program: str = "", called: str = "", **metadata: Any
) -> Element:
    """An embedded or linked file; `program` opens it, `called` is its name in the document around it."""
    if relation is not None and relation.external:
        return link(f"Linked {_what(program)}", relation.target, **metadata)
    part = relation.target if relation is not None else ""
    known = _seen.setdefault(package, {})
    if part not in known:
        known[part] = _look_into(package, part)
    packed = known[part]
    program = program or packed.program
    name = packed.name or ("" if _GENERIC.issuperset(re.findall(r"[^\W\d_]+", called.lower())) else called)
    size = packed.size or package.size(part)
    # The name of the part (oleObject1.bin) is all that distinguishes two objects without names.
    about = ", ".join(filter(None, ("" if packed.name else posixpath.basename(part), size_words(size) if size else "")))
    words = f"Embedded {_what(program)}{f' “{name}”' if name else ''}{f' ({about})' if about else ''}"
    told = {"kind": "embedded", "program": program, "name": name or posixpath.basename(part), "bytes": size}
    shown = link(words, "", **metadata, **{key: value for key, value in told.items() if value})
    # Like a picture, the file can be requested after the package is closed, so it is read from the path again.
    if 0 < size <= MAX_OBJECT:
        shown.file = partial(_read_file, package.path, part)
    return shown


def _what(program: str) -> str:
    return next((name for start, name in _PROGRAMS.items() if program.startswith(start)), program or "object")


def _read_file(path: Path, part: str) -> tuple[str, bytes]:
    """Type and bytes of an embedded file.

    Raises:
        UnreadableFileError: the file changed, or it is damaged.
    """
    try:
        package = Package(path, "file")
    except OSError as error:
        raise UnreadableFileError(f"the embedded file cannot be read: {error}") from None
    try:
        packed = _open_object(package, part)
        return (type_of(packed.file), packed.data) if packed.data else (type_of(part), package.read(part))
    except DamagedPartError as error:
        raise UnreadableFileError(f"the embedded file cannot be read: {error}") from None
    finally:
        package.close()


# -------------------------------------------------------------------------------------------------------------- objects


@dataclass(frozen=True, slots=True)
class _Look:
    """The facts that are shown of an object: its program, and the name and size of the file in it."""

    program: str
    name: str
    size: int


_seen: WeakKeyDictionary[Package, dict[str, _Look]] = WeakKeyDictionary()
"""Facts of the objects of each open package: an object that occurs often is unpacked once."""


@dataclass(frozen=True, slots=True)
class _Object:
    """An object: the program that opens it, and the file that it wraps, if any."""

    program: str = ""
    name: str = ""
    data: bytes = b""

    @property
    def file(self) -> str:
        """A file name whose suffix states the type."""
        if self.name or self.data.startswith(b"%PDF"):
            return self.name or "embedded.pdf"
        return next((f"embedded.{suffix}" for start, suffix in _SUFFIXES.items() if self.program.startswith(start)), "")


def _look_into(package: Package, part: str) -> _Look:
    found = _open_object(package, part)
    return _Look(found.program, found.name, len(found.data))


def _open_object(package: Package, part: str) -> _Object:
    """Unpack an object. Most embedded files are plain documents, and nothing more is known of them."""
    if not 0 < package.size(part) <= MAX_OBJECT:
        return _Object()
    try:
        raw = package.read(part)
        # An object is one of four things: a plain document (docx, xlsx …), a compound file that wraps a file of any
        # type together with its name, one that holds a complete document in a stream, or one that only states its
        # program.
        streams = streams_of(raw, _PACKED, _DESCRIBED, *_WHOLE) if raw.startswith(MAGIC) else {}
    except DamagedPartError:
        return _Object()
    name, data = _unpacked(streams.get(_PACKED, b""))
    if name:
        return _Object("Package", name, data)
    # A stream named “contents” can hold data that only the program of the object reads. The start of a zip archive or
    # of a PDF shows that it is a complete file.
    whole = next((data for data in map(streams.get, _WHOLE) if data and data.startswith((b"PK", b"%PDF"))), b"")
    return _Object(_program(streams.get(_DESCRIBED, b"")), data=whole)


def _unpacked(stream: bytes) -> tuple[str, bytes]:
    """Name and bytes of a wrapped file."""
    # Four bytes of size and two of flags; label and path, each with a zero at its end; four bytes; the path of a
    # temporary copy and the file, each with its length in front.
    label, _, rest = stream[6:].partition(b"\0")
    path, _, rest = rest.partition(b"\0")
    _, rest = _counted(rest[4:])
    size = int.from_bytes(rest[:4], "little")
    return posixpath.basename(_words(label or path).replace("\\", "/")), rest[4 : 4 + size]


def _program(stream: bytes) -> str:
    """The program of an object, from the texts for its type and clipboard format; or the display name of its type."""
    kind, rest = _counted(stream[28:])
    size = int.from_bytes(rest[:4], "little")
    # The clipboard format is a text with its length in front, or a mark and a number if it is one of Windows.
    rest = rest[8:] if size >= 0xFFFFFFFE else rest[4 + size :]
    return _words(_counted(rest)[0]) or _words(kind)


def _counted(raw: bytes) -> tuple[bytes, bytes]:
    """A text with its length in front, and the bytes after it."""
    end = 4 + int.from_bytes(raw[:4], "little")
    return (raw[4:end], raw[end:]) if end < _MAX_COUNTED else (b"", b"")


def _words(raw: bytes) -> str:
    raw = raw.partition(b"\0")[0][:_MAX_COUNTED]
    # The format does not state an encoding. Bytes that are not ASCII are hardly ever valid UTF-8 by accident.
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")
