"""Files that are archives, looked at before anything is unpacked."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

from a2c_smcp.documents.model import UnreadableFileError

MAX_UNPACKED = 400_000_000
MAX_MEMBERS = 50_000


def check_archive(path: Path, what: str) -> list[str]:
    """The names in an archive; `what` is what a person would call the file.

    Raises:
        UnreadableFileError: it is damaged, encrypted, or would take too much room unpacked.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, struct.error) as error:
        with path.open("rb") as file:
            start = file.read(8)
        if start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            raise UnreadableFileError(f"this {what} is protected by a password, or of an older kind") from None
        raise UnreadableFileError(f"this is no {what}, or a damaged one: {error}") from None
    if any(member.flag_bits & 1 for member in members):
        raise UnreadableFileError(f"this {what} is protected by a password")
    unpacked = sum(member.file_size for member in members)
    if unpacked > MAX_UNPACKED or len(members) > MAX_MEMBERS:
        raise UnreadableFileError(f"this {what} would take {unpacked // 1_000_000} MB unpacked, which is too much")
    return [member.filename for member in members]
