"""Bytes as text, whatever they are encoded in."""

from __future__ import annotations

import codecs

from a2c_documents.parsers.common.guessing import guess

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LONGEST_LETTER = 4
"""Bytes of a letter in UTF-8."""


def decode(raw: bytes, *, is_cut: bool = False) -> tuple[str, str]:
    """The text, and the name of its encoding. It never fails: what cannot be read is replaced.

    `is_cut` says that the bytes end anywhere: a letter that is cut in two is no reason to guess.
    """
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return raw.decode(encoding, "replace"), encoding.removesuffix("-sig")
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        if is_cut and error.end == len(raw) and len(raw) - error.start < _LONGEST_LETTER:
            return raw[: error.start].decode("utf-8"), "utf-8"
    encoding = guess(raw)
    return raw.decode(encoding, "replace"), encoding
