"""The notation of spreadsheet files: start tags in bytes, runs of text, escaped characters, switches, header codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from a2c_documents.model import Element, note
from a2c_documents.parsers.office.xml import Node, found

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
# Both kinds of quotes are valid XML. Excel writes double quotes, some libraries single ones.
_ATTRIBUTE = re.compile(rb"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def attributes(raw: bytes) -> dict[str, str]:
    """The attributes of a start tag in bytes."""
    return {
        name.decode("ascii", "replace"): unescape((one or other).decode("utf-8", "replace"))
        for name, one, other in _ATTRIBUTE.findall(raw)
    }


def runs_of(node: Node | None) -> str:
    """The text of the `t` and `v` nodes below a node."""
    return "".join(one.text or "" for one in found(node, "t", "v"))


def unescaped(words: str) -> str:
    """Decode characters that XML cannot hold: `_x000D_`."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), words) if "_x" in words else words


def is_on(value: str) -> bool:
    """Whether an attribute is true."""
    return value.lower() in ("1", "true", "on")


# -------------------------------------------------------------------------------------------------- headers and footers


# The header for odd pages is the one for all pages, unless a sheet has others for even pages or for the first.
_EDGE = re.compile(rb"<(?:[\w.-]+:)?odd(Header|Footer)\b[^>]*>([^<]*)<")
_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|K[0-9]{2}[+-][0-9]{3}|[0-9]{1,3}|[BIUESXYOHGLCRPNDTFA&])')
_NEXT = "\0"
"""Stands for the start of the left, middle or right part."""
# Page numbers, dates and names are computed when the sheet is printed; a word in brackets stands for them. Other codes
# only set fonts and colours.
_WORDS = {
    "&P": "[page]", "&N": "[pages]", "&D": "[date]", "&T": "[time]", "&F": "[file]", "&A": "[sheet]", "&&": "&",
    "&L": _NEXT, "&C": _NEXT, "&R": _NEXT,
}  # fmt: skip


def edges_of(tail: bytes) -> list[Element]:
    """Header and footer, from the bytes after the rows of a sheet."""
    told = ((kind.decode().lower(), unescape(raw.decode("utf-8", "replace"))) for kind, raw in _EDGE.findall(tail))
    return [element for kind, words in told for element in edge_elements(kind, words)]


def edge_elements(category: str, words: str) -> Iterator[Element]:
    """A header or footer; bars separate its left, middle and right part."""
    # All codes are replaced in one pass from left to right. A doubled `&&` is a plain ampersand, so that `&&L` begins
    # no part and `R&&D` has no date.
    parts = _CODE.sub(lambda code: _WORDS.get(code[0], ""), words).split(_NEXT)
    if shown := " | ".join(filter(None, map(str.strip, parts))):
        yield note(category, shown)
