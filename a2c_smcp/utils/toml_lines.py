"""The lines of the keys in a TOML file, which `tomllib` does not report."""

from __future__ import annotations

import re
import tomllib
from typing import Any, cast

_QUOTED = r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\''
_KEY = rf"(?:[A-Za-z0-9_-]+|{_QUOTED})(?:[ \t]*\.[ \t]*(?:[A-Za-z0-9_-]+|{_QUOTED}))*"
# Strings and comments come first, so that the brackets and line ends in them do not count. A multi-line string may end
# with five quotation marks: up to two of them belong to its text.
_TOKEN = re.compile(
    rf'(?P<text>"""(?:[^\\]|\\.)*?"{{3,5}}|\'\'\'.*?\'{{3,5}}|{_QUOTED})'
    rf"|(?P<comment>\#[^\n]*)|(?P<open>[\[{{])|(?P<close>[\]}}])|(?P<end>\n)",
    re.DOTALL,
)
_START = re.compile(rf"[ \t\r\n]*(?:\[\[?[ \t]*(?P<table>{_KEY})[ \t]*\]\]?|(?P<key>{_KEY})[ \t]*=)")


def lines_of(text: str) -> dict[tuple[str | int, ...], int]:
    """The line on which each key of a valid TOML text is, by the keys that lead to it. A key in an inline table is on
    the line of that table, and tables of an array share a path."""
    lines: dict[tuple[str | int, ...], int] = {(): 1}
    table: tuple[str, ...] = ()
    at = 0
    while at < len(text):
        if (start := _START.match(text, at)) is not None:
            is_key = start["key"] is not None
            path = (*(table if is_key else ()), *_parts(start["key"] if is_key else start["table"]))
            lines.setdefault(path, text.count("\n", 0, start.start("key" if is_key else "table")) + 1)
            table = table if is_key else path
            at = start.end()
        at = _end_of_statement(text, at)
    return lines


def _end_of_statement(text: str, at: int) -> int:
    """The start of the line after a value, which may have several lines."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        depth += (token["open"] is not None) - (token["close"] is not None)
        if token["end"] is not None and depth <= 0:
            return token.end()
    return len(text)


def _parts(key: str) -> tuple[str, ...]:
    """The parts of a dotted key, read as TOML reads them."""
    found: Any = tomllib.loads(f"{key} = 0")
    parts: list[str] = []
    while isinstance(found, dict):
        ((part, found),) = cast("dict[str, Any]", found).items()
        parts.append(part)
    return tuple(parts)
