"""Files that are archives, looked at before anything is unpacked.

What is read of an archive is bounded where it is read: a part that becomes a tree by its bytes, a long sheet by the
rows of a page. Here it is only asked whether the archive is what it seems: text packs to a tenth or a twentieth, and
what packs to less than a hundredth was made to harm whoever unpacks it.
"""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

from a2c_documents.model import UnreadableFileError

MAX_RATIO = 100
HARMLESS = 400_000_000
"""Bytes that an archive may have unpacked, however well it is packed: that much is unpacked in a second or two."""
MAX_MEMBERS = 50_000
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def open_archive(path: Path, what: str) -> zipfile.ZipFile:
    """An archive, open; `what` is what a person would call the file.

    Raises:
        UnreadableFileError: it is damaged, encrypted, or a bomb.
    """
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, struct.error) as error:
        with path.open("rb") as file:
            if file.read(len(_COMPOUND)) == _COMPOUND:
                raise UnreadableFileError(f"this {what} is protected by a password, or of an older kind") from None
        raise UnreadableFileError(f"this is no {what}, or a damaged one: {error}") from None
    if problem := _problem(archive, path.stat().st_size):
        archive.close()
        raise UnreadableFileError(f"this {what} {problem}")
    return archive


def unpacked_size(archive: zipfile.ZipFile) -> int:
    """The bytes of all parts together, unpacked."""
    return sum(member.file_size for member in archive.infolist())


def _problem(archive: zipfile.ZipFile, packed: int) -> str:
    members = archive.infolist()
    if any(member.flag_bits & 1 for member in members):
        return "is protected by a password"
    if len(members) > MAX_MEMBERS:
        return f"has {len(members):,} parts, which is too much"
    unpacked = unpacked_size(archive)
    if unpacked > max(HARMLESS, MAX_RATIO * packed):
        return f"would take {unpacked // 1_000_000:,} MB unpacked, which is too much for its size"
    return ""
