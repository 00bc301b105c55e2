"""JSON with comments and trailing commas, as people write configuration, with the line of every value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

Path = tuple[str | int, ...]

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<comment>//|/\*)', re.DOTALL)
_scan_string: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
MAX_DEPTH = 100
_STRING_MISTAKES = {
    "Unterminated": "the text in double quotes does not end",
    "Invalid control": "a line break or another control character stands in a text; write \\n for a line break",
    "Invalid \\": 'after a \\ in a text, one of " \\ / b f n r t or u and four hexadecimal digits is expected',
}
"""What the standard library says of a string, and what we say."""


class JSONCError(ValueError):
    """Text that is no JSON, and where it stops being so."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.message = message
        self.line = line


def parse(text: str) -> tuple[Any, dict[Path, int]]:
    """The value, and the line on which the value at each path starts.

    Raises:
        JSONCError: it is not JSON, or an object has a key twice.
    """
    reader = _Reader(text)
    value, at = reader.value(reader.skip(0), ())
    at = reader.skip(at)
    if at != len(text):
        raise reader.error("one value is expected, and nothing after it", at)
    return value, reader.lines


def has_comments(text: str) -> bool:
    """Whether there are comments in a text that can be read."""
    return any(found["comment"] for found in _STRING_OR_COMMENT.finditer(text))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.lines: dict[Path, int] = {}

    def line(self, at: int) -> int:
        low, high = 0, len(self._starts)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._starts[middle] <= at else (low, middle)
        return low

    def error(self, message: str, at: int) -> JSONCError:
        return JSONCError(message, self.line(at))

    def skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        at = found.end() if found is not None else at
        if self._text.startswith("/*", at):
            raise self.error("the comment does not end", at)
        return at

    def value(self, at: int, path: Path) -> tuple[Any, int]:
        self.lines[path] = self.line(at)
        if len(path) > MAX_DEPTH:
            raise self.error("nested too deep", at)
        start = self._text[at : at + 1]
        if start == "{":
            return self._object(at, path)
        if start == "[":
            return self._array(at, path)
        if start == '"':
            return self._string(at)
        found = _WORD.match(self._text, at)
        if found is None:
            raise self.error("a value is expected" if start else "the text ends where a value is expected", at)
        try:
            value = json.loads(found[0])
        except ValueError:
            raise self.error("the number is too long", at) from None
        if isinstance(value, float) and math.isinf(value):
            raise self.error("the number is too large", at)
        return value, found.end()

    def _string(self, at: int) -> tuple[str, int]:
        try:
            return _scan_string(self._text, at + 1, True)
        except json.JSONDecodeError as error:
            message = next((said for start, said in _STRING_MISTAKES.items() if error.msg.startswith(start)), error.msg)
            raise self.error(message, error.pos) from None

    def _object(self, at: int, path: Path) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = self.skip(at + 1)
        while self._text[at : at + 1] != "}":
            if self._text[at : at + 1] != '"':
                raise self.error('a name in double quotes, or "}", is expected', at)
            key_at = at
            key, at = self._string(at)
            if key in found:
                raise self.error(f"{json.dumps(key)} is there twice", key_at)
            at = self.skip(at)
            if self._text[at : at + 1] != ":":
                raise self.error('":" is expected', at)
            found[key], at = self.value(self.skip(at + 1), (*path, key))
            at = self._comma(self.skip(at), "}")
        return found, at + 1

    def _array(self, at: int, path: Path) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self.skip(at + 1)
        while self._text[at : at + 1] != "]":
            value, at = self.value(at, (*path, len(found)))
            found.append(value)
            at = self._comma(self.skip(at), "]")
        return found, at + 1

    def _comma(self, at: int, end: str) -> int:
        if self._text[at : at + 1] == ",":
            return self.skip(at + 1)
        if self._text[at : at + 1] != end:
            raise self.error(f'"," or "{end}" is expected', at)
        return at
