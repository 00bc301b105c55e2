"""Names of files in archives: decoded, and as paths below the archive. A name that leads elsewhere is no name."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Sequence

from a2c_documents.parsers.common.decoding import clean, decode

_LONGEST, _DEEPEST = 1_000, 50
_UTF_8 = 0x800
"""The flag of names in UTF-8."""
_UNICODE_PATH = 0x7075
_HIGH = re.compile(rb"[\x80-\xff]+")
_ACCENTS = frozenset(bytes([code]) for code in (*range(0x80, 0xA6), 0xE1))
"""The letters beyond ASCII of the code pages that Windows uses in western Europe and America for DOS."""


def path_of(name: str) -> str:
    """A name as a path below the archive; empty if it leads out of it, or is none."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    path = "/".join(parts)
    if ".." in parts or not parts or len(path) > _LONGEST or len(parts) > _DEEPEST:
        return ""
    return path if all(character >= " " for character in path) else ""


def names_in_zip(members: Sequence[zipfile.ZipInfo]) -> list[str]:
    """The names of the files in a ZIP archive."""
    names = [_unicode_name(member) for member in members]
    # Without the flag, a name is in the encoding of the machine that made the archive. All names together show which.
    unknown = [place for place, name in enumerate(names) if name is None]
    guessed = decoded([_raw(members[place]) for place in unknown], is_dos=True)
    for place, name in zip(unknown, guessed, strict=True):
        names[place] = name
    return [name or "" for name in names]


def decoded(raw: Sequence[bytes], *, is_dos: bool = False) -> list[str]:
    """Names in one encoding, which is guessed from all of them: a single name is too short for that.

    `is_dos` says that a name with a few accents has those of DOS, which Windows still writes into ZIP archives.
    """
    everything = b"\n".join(raw)
    encoding = "cp437" if is_dos and _has_accents_of_dos(everything) else decode(everything)[1]
    return [clean(name.decode(encoding, "replace")) for name in raw]


def _has_accents_of_dos(raw: bytes) -> bool:
    found = _HIGH.findall(raw)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        # Scripts other than Latin have several such bytes in a row.
        return all(len(run) == 1 and run in _ACCENTS for run in found)
    return False


def _unicode_name(member: zipfile.ZipInfo) -> str | None:
    if member.flag_bits & _UTF_8 or member.orig_filename.isascii():
        return member.orig_filename
    return _extra_name(member)


def _raw(member: zipfile.ZipInfo) -> bytes:
    # Python decodes names without the flag by the first encoding of ZIP, which has a character for every byte.
    return member.orig_filename.encode("cp437", "replace")


def _extra_name(member: zipfile.ZipInfo) -> str | None:
    """The name in UTF-8 that some programs add, if it belongs to the other name."""
    extra = member.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        body, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == _UNICODE_PATH and len(body) > 5 and int.from_bytes(body[1:5], "little") == zlib.crc32(_raw(member)):
            return clean(body[5:].decode("utf-8", "replace"))
    return None
