"""Bytes as text, whatever they are encoded in."""

from __future__ import annotations

import codecs
import importlib
from typing import Any

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GUESSED_BYTES = 200_000


def decode(raw: bytes) -> tuple[str, str]:
    """The text, and the name of its encoding. It never fails: what cannot be read is replaced."""
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return raw.decode(encoding, "replace"), encoding.removesuffix("-sig")
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    encoding = _guess(raw[:_GUESSED_BYTES])
    return raw.decode(encoding, "replace"), encoding


def _guess(raw: bytes) -> str:
    guessing: Any = importlib.import_module("charset_normalizer")
    best = guessing.from_bytes(raw).best()
    return str(best.encoding) if best is not None else "cp1252"
