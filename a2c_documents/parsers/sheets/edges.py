"""Header and footer of a printed sheet, with the codes that Excel has for what is computed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from a2c_documents.model import Element, note

_EDGE = re.compile(rb"<(?:[\w.-]+:)?odd(Header|Footer)\b[^>]*>([^<]*)<")
_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|K[0-9]{2}[+-][0-9]{3}|[0-9]{1,3}|[BIUESXYOHG])')
_WORDS = {"&P": "[page]", "&N": "[pages]", "&D": "[date]", "&T": "[time]", "&F": "[file]", "&A": "[sheet]"}


def edges_of(tail: bytes) -> list[Element]:
    """Header and footer, from what stands behind the rows of a sheet."""
    told = ((kind.decode().lower(), unescape(raw.decode("utf-8", "replace"))) for kind, raw in _EDGE.findall(tail))
    return [element for kind, words in told for element in edge_elements(kind, words)]


def edge_elements(category: str, words: str) -> Iterator[Element]:
    """A header or a footer; left, middle and right are divided by bars."""
    shown = " | ".join(filter(None, map(_part, re.split(r"(?<!&)&[LCR]", words))))
    if shown:
        yield note(category, shown)


def _part(words: str) -> str:
    for code, shown in _WORDS.items():
        words = words.replace(code, shown)
    return _CODE.sub("", words).replace("&&", "&").strip()
