"""Which encoding a text without any sign of it is in.

Statistics of letters tell alphabets apart, but hardly the languages of western Europe, in which most such files are
written: those are known by what they do not have.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

GUESSED_BYTES = 200_000
WESTERN, TURKISH = "cp1252", "cp1254"
_USUAL = [
    "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r", "cp866", "cp874",
    "cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "cp949", "mac_roman",
]  # fmt: skip
"""What files are written in. Others are so rare that a guess at one is mostly wrong."""
_FOREIGN = re.compile(
    r"[A-Za-zß-ÿ][^\x00-\x7fA-Za-zÀ-ÿŒœŠšŽžŸ’‘´·–—…\xad-][A-Za-zß-ÿ]"  # a sign inside a word
    r"|[a-zß-ÿ][À-ÖØ-ÞŒŠŽŸ]"  # a capital inside a word
)
_TURKISH = ("ýþðÝÞ", "üç")
_EASTERN = (("šžŠŽ", "èìøòùæðï"), ("õûÕÛ", "öü", "áé"), ("þÞ", "ãâî"))
"""Slavic, Hungarian, Romanian: letters which, read as western ones, do not occur together; one of each."""


def guess(raw: bytes) -> str:
    """The name of an encoding; the usual one of western Europe where nothing speaks against it."""
    sample = raw[:GUESSED_BYTES]
    try:
        words = sample.decode(WESTERN)
    except UnicodeDecodeError:
        return _by_letters(sample)
    letters = [character for character in words if character.isalpha()]
    if sum(character > "\x7f" for character in letters) * 5 > len(letters) * 2:
        return _by_letters(sample)  # another alphabet
    if _has(words, _TURKISH):
        return TURKISH
    is_eastern = _FOREIGN.search(words) or any(_has(words, sets) for sets in _EASTERN)
    return _by_letters(sample) if is_eastern else WESTERN


def _has(words: str, sets: tuple[str, ...]) -> bool:
    return all(any(letter in words for letter in letters) for letters in sets)


def _by_letters(raw: bytes) -> str:
    guessing: Any = importlib.import_module("charset_normalizer")
    best = guessing.from_bytes(raw, cp_isolation=_USUAL).best()
    return str(best.encoding) if best is not None else WESTERN
