"""A text file read whole and safely: neither empty, nor endless, nor something else under a text's name."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.common.decoding import decode

MAX_READ = 64_000_000
"""Bytes of a text file that is parsed as a whole."""

_SNIFFED = 4_096
_BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BINARY = ((b"%PDF-", "a PDF"), (b"PK\x03\x04", "a zip archive or an office document"), (b"\x89PNG", "a picture"))
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_CHARSETS = frozenset(("idna", "punycode", "unicode_escape", "raw_unicode_escape"))
"""Codecs of Python that are none for texts."""
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "euc_kr": "cp949",
}
"""Encodings that are named where people mean the larger one."""


def read_bytes(path: Path, what: str, limit: int = MAX_READ, *, cut: bool = False) -> bytes:
    """The bytes of a file; `what` is what a person would call it.

    `cut` allows files above the limit; then one byte more than the limit is given.

    Raises:
        UnreadableFileError: it is empty, too large, or cannot be opened.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(limit + 1)
    except OSError as error:
        raise UnreadableFileError(f"this {what} cannot be opened: {error.strerror or error}") from None
    if not raw.strip(b" \t\r\n\x00\xef\xbb\xbf\xff\xfe"):
        raise UnreadableFileError("the file is empty")
    if len(raw) > limit and not cut:
        raise UnreadableFileError(f"this {what} is larger than {limit // 1_000_000} MB, which is too much")
    return raw


def read_text(path: Path, what: str, limit: int = MAX_READ) -> tuple[str, str]:
    """The text of a file, and the name of its encoding.

    Raises:
        UnreadableFileError: it is empty, too large, or no text.
    """
    raw = read_bytes(path, what, limit)
    check_text(raw, what)
    return decode(raw)


def check_text(raw: bytes, what: str) -> None:
    """Nothing, where these bytes are a text.

    Raises:
        UnreadableFileError: they are something else.
    """
    start = raw[:_SNIFFED]
    if start.startswith(_BOMS):
        return
    if known := next((name for magic, name in _BINARY if start.startswith(magic)), ""):
        raise UnreadableFileError(f"this is no {what} but {known} under a wrong name")
    # The escape character (27) belongs to texts: ISO-2022-JP and coloured logs are full of it.
    odd = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in start)
    if start.count(0) * 20 > len(start) or odd * 10 > len(start):
        raise UnreadableFileError(f"this is no {what}: it holds binary data")


def decode_as(raw: bytes, declared: str) -> tuple[str, str]:
    """The text as its declared encoding says; guessed where that is unknown or wrong."""
    encoding = _known(declared)
    if encoding and not raw.startswith(_BOMS):
        try:
            return raw.decode(encoding), encoding
        except UnicodeDecodeError:
            pass
    words, guessed = decode(raw)
    if encoding and guessed != "utf-8" and not raw.startswith(_BOMS):
        return raw.decode(encoding, "replace"), encoding
    return words, guessed


def clean(words: str) -> str:
    """Without halves of characters: JSON can escape them, but nobody can send them on."""
    return _SURROGATE.sub("\ufffd", words)


def _known(name: str) -> str:
    try:
        encoding = codecs.lookup(name.strip().strip("\"'")).name
        "".encode(encoding)  # not base64 and the like
    except (LookupError, ValueError):
        return ""
    return "" if encoding.replace("-", "_") in _NO_CHARSETS else _WIDER.get(encoding, encoding)
