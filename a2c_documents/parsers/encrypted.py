"""Office documents that are encrypted as a whole (ECMA-376): decrypted with a password, then read like others."""

from __future__ import annotations

import contextlib
import io
import logging
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.parsers.expat import ExpatError

from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError, ParseError
from msoffcrypto.format.ooxml import OOXMLFile

from a2c_documents.model import PROTECTED, Page, Source, UnreadableFileError
from a2c_documents.parsers.common.passwords import candidates, refusal
from a2c_documents.parsers.office.compound import streams_of
from a2c_documents.parsers.office.xml import DamagedPartError
from a2c_documents.registry import ENCRYPTED, format_of

MAX_BYTES = 300_000_000
"""The largest file that is decrypted, which takes several times its size of memory."""
_DAMAGE = (
    DecryptionError, FileFormatError, ParseError, ExpatError, OSError, ValueError, LookupError, struct.error,
    TypeError, AttributeError,
)  # fmt: skip
"""Exceptions that a damaged file can raise in the library."""

# The library logs passwords and keys for debugging.
logging.getLogger("msoffcrypto").setLevel(logging.CRITICAL)


def open_encrypted(path: Path) -> Source:
    """A document of Office with a password.

    Raises:
        PasswordNeededError: no candidate is its password.
        UnreadableFileError: it is damaged.
    """
    if path.stat().st_size > MAX_BYTES:
        raise UnreadableFileError(f"this encrypted document is larger than {MAX_BYTES // 1_000_000} MB")
    raw = path.read_bytes()
    try:
        # Follows every chain of sectors, before the library does.
        streams_of(raw)
        decrypted = _decrypted(raw)
    except DamagedPartError as error:
        raise UnreadableFileError(f"this encrypted document is damaged: {error}") from None
    except _DAMAGE:
        # Without the words of the library, which could be about the password.
        raise UnreadableFileError("this encrypted document is damaged, or encrypted in an unknown way") from None
    if decrypted is None:
        raise refusal("document")
    return _DecryptedSource(path, decrypted)


def _decrypted(raw: bytes) -> bytes | None:
    """The document; None if no candidate is its password."""
    file = OOXMLFile(io.BytesIO(raw))
    for password in filter(None, candidates()):
        try:
            file.load_key(password, verify_password=True)
        except InvalidKeyError:
            continue
        decrypted = io.BytesIO()
        file.decrypt(decrypted, verify_integrity=True)
        return decrypted.getvalue()
    return None


class _DecryptedSource:
    """A document that was decrypted into a file, which is deleted when it is closed or its process ends."""

    def __init__(self, path: Path, decrypted: bytes) -> None:
        with contextlib.ExitStack() as held:
            folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="a2c-decrypted-")))
            copy = folder / path.name
            copy.write_bytes(decrypted)
            if (kind := format_of(copy)) is ENCRYPTED:
                raise UnreadableFileError("this document is encrypted twice")
            self._source = kind.parser(copy)
            held.callback(self._source.close)
            self._held = held.pop_all()
        self.facts = self._source.facts
        self.facts.details = {**self.facts.details, PROTECTED: True}

    @property
    def page_titles(self) -> Sequence[str]:
        """One title for each page."""
        return self._source.page_titles

    def page(self, index: int) -> Page:
        """One page."""
        return self._source.page(index)

    def close(self) -> None:
        """Close the document and delete it."""
        self._held.close()
