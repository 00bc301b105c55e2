"""Text from other programs, made safe for a terminal or a log line."""

from __future__ import annotations

import re

# Control characters can move the cursor and overwrite what is on the screen. Characters that change the direction of
# text make it read differently from what it says. Lone surrogates cannot be written as UTF-8 at all.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def one_line(text: str, limit: int | None = None) -> str:
    """The text in one line. Line ends are shown as escapes, so that no part of it looks like a separate line."""
    return printable(text, limit).replace("\n", "\\n")


def printable(text: str, limit: int | None = None) -> str:
    """The text with harmful characters shown as escapes, cut after `limit` characters."""
    cut = ""
    if limit is not None and len(text) > limit:
        text, cut = text[:limit], f"… ({len(text):,} characters in all)"
    return _HARMFUL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + cut
