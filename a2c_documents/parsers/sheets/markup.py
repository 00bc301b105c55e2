"""How spreadsheets write things in XML: start tags in bytes, runs of text, signs that XML cannot hold, switches."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from a2c_documents.parsers.office.xml import found

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_ATTRIBUTE = re.compile(rb"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def attributes(raw: bytes) -> dict[str, str]:
    """The attributes of a start tag in bytes."""
    return {
        name.decode("ascii", "replace"): unescape((one or other).decode("utf-8", "replace"))
        for name, one, other in _ATTRIBUTE.findall(raw)
    }


def runs_of(node: Any | None) -> str:
    """The text of the `t` and `v` nodes below one."""
    return "".join(one.text or "" for one in found(node, "t", "v"))


def unescaped(words: str) -> str:
    """Characters that XML cannot hold are written `_x000D_` in spreadsheets."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), words) if "_x" in words else words


def is_on(value: str) -> bool:
    """Whether an attribute says yes."""
    return value.lower() in ("1", "true", "on")
