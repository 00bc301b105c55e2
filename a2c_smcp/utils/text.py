"""Text from elsewhere, made fit for a terminal or a log line."""

from __future__ import annotations

import re

# Control characters, and those that turn the direction of text around: either can make a screen say what nobody said.
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str, limit: int | None = None) -> str:
    """The same in one line: a line end is shown as an escape too, so that nothing looks like a line of its own."""
    return printable(text, limit).replace("\n", "\\n")


def printable(text: str, limit: int | None = None) -> str:
    """The text with harmful characters shown as escapes, cut after `limit` characters."""
    cut = ""
    if limit is not None and len(text) > limit:
        text, cut = text[:limit], f"… ({len(text):,} characters in all)"
    return _HARMFUL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + cut
