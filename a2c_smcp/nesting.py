"""How deep the arrays and objects of a JSON text are nested.

Deep nesting is an attack, or an accident. It crashes recursive parsers, if not here, then in the peer that gets the
text.
"""

from __future__ import annotations

import re

MOST_PARTS = 1_000_000
"""Brackets and strings of a text that is cut: more would take the event loop for seconds."""

_STRING = re.compile(rb'"[^"]*"?')
_NO_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))
_BLOCK = 256
# The last quote is optional, so that the pattern fails nowhere: a text with a string that does not end would otherwise
# take quadratic time.
_PART = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)


def is_deeper(text: str, limit: int) -> bool:
    """Whether the arrays and objects of a JSON text are nested deeper than `limit`, in time linear in its length."""
    # Almost every text has fewer brackets than the limit, and is done after two counts at the speed of C.
    if text.count("[") + text.count("{") <= limit:
        return False
    brackets = _brackets(text.encode(errors="replace"))
    # Block by block: a block can exceed the limit only if its opening brackets would, even if all of them came first.
    # Only such a block is read bracket by bracket, in Python; the others are counted in C.
    depth = 0
    for start in range(0, len(brackets), _BLOCK):
        block = brackets[start : start + _BLOCK]
        opened = block.count(b"[") + block.count(b"{")
        if depth + opened > limit and _peak(block, depth) > limit:
            return True
        depth += 2 * opened - len(block)
    return False


def cut(text: str, limit: int) -> str | None:
    """A JSON text with null in place of each array and object that is deeper than `limit`; None if it is too long."""
    kept: list[str] = []
    start = depth = 0
    for number, part in enumerate(_PART.finditer(text)):
        if number == MOST_PARTS:
            return None
        begins = part.start()
        match text[begins]:
            case "[" | "{":
                if depth == limit:
                    kept += text[start:begins], "null"
                depth += 1
            case "]" | "}":
                depth -= 1
                if depth == limit:
                    start = part.end()
            case _:
                pass
    return "".join((*kept, text[start:] if depth <= limit else ""))


def _brackets(data: bytes) -> bytes:
    """The brackets outside strings, with bytes methods, which run at the speed of C."""
    # Escaped backslashes first: in the JSON string `"\\"`, the second backslash does not escape the quote.
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    data = data.translate(None, _NO_BRACKETS).replace(b'""', b"")  # what is left of a string without brackets
    return _STRING.sub(b"", data) if b'"' in data else data


def _peak(block: bytes, depth: int) -> int:
    peak = depth
    for bracket in block:
        depth += 1 if bracket in b"[{" else -1
        peak = max(peak, depth)
    return peak
