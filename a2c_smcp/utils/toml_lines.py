"""The lines of the keys in a TOML file, which `tomllib` does not report, and the text of each statement."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

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


class Statement(NamedTuple):
    """A table header, or a key with its value, in a TOML text."""

    path: tuple[str, ...]
    start: int
    """Where its first line starts."""
    end: int
    """Where the line after it starts."""
    line: int
    is_table: bool


def statements_of(text: str) -> Iterator[Statement]:
    """The statements of a valid TOML text. Comments and empty lines between them belong to none."""
    table: tuple[str, ...] = ()
    at = 0
    while at < len(text):
        start = _START.match(text, at)
        end = _end_of_statement(text, at if start is None else start.end())
        if start is not None:
            is_table = start["table"] is not None
            name = "table" if is_table else "key"
            path = (*(() if is_table else table), *_parts(start[name]))
            begins = text.rfind("\n", 0, start.start(name)) + 1
            yield Statement(path, begins, end, text.count("\n", 0, begins) + 1, is_table)
            table = path if is_table else table
        at = end


def lines_of(text: str) -> dict[tuple[str | int, ...], int]:
    """The line on which each key of a valid TOML text is, by the keys that lead to it. A key in an inline table is on
    the line of that table, and tables of an array share a path."""
    lines: dict[tuple[str | int, ...], int] = {(): 1}
    for statement in statements_of(text):
        lines.setdefault(statement.path, statement.line)
    return lines


def has_comment(text: str) -> bool:
    """Whether a part of a TOML text has a comment."""
    return any(token["comment"] is not None for token in _TOKEN.finditer(text))


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
