"""Documents and presentations of Office 97-2003: LibreOffice converts them first (see `workers/conversion.py`).

This module only recognizes them. What is read comes from the parsers of the current formats.
"""

from __future__ import annotations

from pathlib import Path

from a2c_documents.model import ConversionNeededError, Source, UnreadableFileError
from a2c_documents.parsers.office.compound import MAGIC, streams_of
from a2c_documents.parsers.office.xml import DamagedPartError

MAX_BYTES = 300_000_000
"""The largest file that is converted."""


_SLIDES = "powerpoint document"
_EDITED = "current user"
_ENCRYPTED_SLIDES = b"\xdf\xc4\xd1\xf3"


def open_old_word(path: Path) -> Source:
    """A document of Word 97-2003.

    Raises:
        UnreadableFileError: it is damaged, of another format, or has a password.
        ConversionNeededError: it can be converted.
    """
    streams = _streams(path, "Word document", "worddocument")
    # The second byte of the flags at 10.
    is_encrypted = bool(int.from_bytes(streams["worddocument"][11:12]) & 1)
    raise _reason(is_encrypted, "Word document", "docx")


def open_old_slides(path: Path) -> Source:
    """A presentation of PowerPoint 97-2003.

    Raises:
        UnreadableFileError: it is damaged, of another format, or has a password.
        ConversionNeededError: it can be converted.
    """
    streams = _streams(path, "presentation", _SLIDES, _EDITED)
    raise _reason(streams.get(_EDITED, b"")[12:16] == _ENCRYPTED_SLIDES, "presentation", "pptx")


def _streams(path: Path, what: str, *names: str) -> dict[str, bytes]:
    if path.stat().st_size > MAX_BYTES:
        raise UnreadableFileError(f"this {what} is larger than {MAX_BYTES // 1_000_000} MB")
    raw = path.read_bytes()
    if not raw.startswith(MAGIC):
        raise UnreadableFileError(f"this file is damaged or not a {what}")
    try:
        streams = streams_of(raw, *names)
    except DamagedPartError as error:
        raise UnreadableFileError(f"this {what} is damaged: {error}") from None
    if names[0] not in streams:
        raise UnreadableFileError(f"this file is damaged or not a {what}")
    return streams


def _reason(is_encrypted: bool, what: str, to: str) -> Exception:
    if not is_encrypted:
        return ConversionNeededError(to)
    problem = f"this {what} is protected by a password in the format of Office 97-2003, which cannot be opened"
    return UnreadableFileError(f"{problem}; save it as {to}")
