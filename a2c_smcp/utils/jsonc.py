"""JSON with comments and trailing commas, as people write configuration.

It reads the value and the line of each part, and changes one value without touching the rest of the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, cast

Path = tuple[str | int, ...]

# The byte order mark counts as space: some editors on Windows write one at the start of a file.
_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*.*?\*/)*(?://[^\r\n]*)?(?=\r?\n)", re.DOTALL)
_INDENTED = re.compile(r"^([ \t]+)\S", re.MULTILINE)
# The numbers of JSON only. `json.loads` alone also accepts NaN and Infinity.
_WORD = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<comment>//|/\*)', re.DOTALL)
_scan_string: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
MAX_DEPTH = 100
"""Levels of nesting. The reader recurses, three calls for each level, and Python allows a thousand calls."""
WIDTH = 100
"""Characters beyond which a new value is written in several lines."""
_STRING_MISTAKES = {
    "Unterminated": "the text in double quotes does not end",
    "Invalid control": "a line break or another control character stands in a text; write \\n for a line break",
    "Invalid \\": 'after a \\ in a text, one of " \\ / b f n r t or u and four hexadecimal digits is expected',
}
"""Messages for mistakes in strings, by the start of the standard library's message."""


class JSONCError(ValueError):
    """The text is not valid JSON; `line` is the line of the mistake."""

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
    return reader.read(), reader.lines


def with_value(text: str, path: Path, value: Any) -> str:
    """The text with this value at a path; comments, order and layout of everything else stay.

    Objects that are missing on the path are created. In a list, the index after the last one adds an item.

    Raises:
        JSONCError: the text is not JSON, or an object has a key twice.
    """
    reader = _Reader(text)
    found = reader.read()
    for depth, step in enumerate(path):
        if path[: depth + 1] in reader.spans:
            found = found[step]
            continue
        below = _nested(path[depth + 1 :], value)
        if isinstance(found, dict) or (isinstance(found, list) and step == len(cast("list[Any]", found))):
            return _with_member(reader, path[:depth], cast("dict[str, Any] | list[Any]", found), step, below)
        # Neither an object nor the end of a list, such as null: an object with the rest of the path replaces it.
        path, value = path[:depth], {step: below}
        break
    start, end = reader.spans[path]
    # A value that has several lines keeps them.
    written = _dump(value, reader.unit) if "\n" in text[start:end] else _dump(value)
    return text[:start] + written.replace("\n", reader.newline + reader.margin(start)) + text[end:]


def without_item(text: str, path: Path) -> str:
    """The text without the item of a list at a path; unchanged if there is none. A comment behind the item goes with
    it, all others stay.

    Raises:
        JSONCError: the text is not JSON, or an object has a key twice.
    """
    reader = _Reader(text)
    reader.read()
    index = path[-1]
    if path not in reader.spans or not isinstance(index, int):
        return text
    start, end = reader.spans[path]
    comma: int | None = None
    if text[(after := reader.skip(end))] == ",":
        end = after + 1
    elif index > 0:  # the last one, without a comma: the one before it goes
        comma = reader.skip(reader.spans[*path[:-1], index - 1][1])
    rest = reader.end_of_line(end)
    if reader.indent(start) is not None and text.startswith(("\n", "\r\n"), rest):  # it has its lines to itself
        start -= len(reader.margin(start))
        end = text.index("\n", rest) + 1
    elif comma is not None and not text[comma + 1 : start].strip():
        start, comma = comma, None
    else:
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    text = text[:start] + text[end:]
    return text if comma is None else text[:comma] + text[comma + 1 :]


def has_comments(text: str) -> bool:
    """Whether a valid text has comments."""
    return any(found["comment"] for found in _STRING_OR_COMMENT.finditer(text))


def _nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = {step: value}
    return value


def _dump(value: Any, indent: str | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _with_member(
    reader: _Reader, path: Path, container: dict[str, Any] | list[Any], step: str | int, value: Any
) -> str:
    """The text with a new member at the end of an object or list, laid out like the member before it."""
    text, newline, unit = reader.text, reader.newline, reader.unit
    start, end = reader.spans[path]
    at, comma, trailing_comma = start + 1, "", ""
    # An `indent` of None means that the container is written in one line. The new member then stays on that line.
    if container:
        last = (*path, next(reversed(container)) if isinstance(container, dict) else len(container) - 1)
        indent = reader.indent(reader.keys.get(last, reader.spans[last][0]))
        at, comma = reader.spans[last][1], ","
        # A trailing comma moves behind the new member, so that the text keeps the style of its author.
        if text[(next_at := reader.skip(at))] == ",":
            at, comma, trailing_comma = next_at + 1, "", ","
    else:
        indent = reader.margin(start) + unit if "\n" in text[start:end] else None
    member = _dump(value)
    if indent is not None and len(indent) + len(member) > WIDTH:
        member = _dump(value, unit).replace("\n", newline + indent)
    if isinstance(container, dict):
        member = f"{_dump(step)}: {member}"
    gap = newline + indent if indent is not None else " " if container else ""
    # A comment in the line of the last member belongs to that member: the comma goes before it, the new member below.
    place = reader.end_of_line(at) if indent is not None else at
    return text[:at] + comma + text[at:place] + gap + member + trailing_comma + text[place:]


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.lines: dict[Path, int] = {}
        self.spans: dict[Path, tuple[int, int]] = {}
        """Where each value starts and ends."""
        self.keys: dict[Path, int] = {}
        """Where the name of each member of an object starts."""

    @property
    def newline(self) -> str:
        """How lines end."""
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def unit(self) -> str:
        """The space of one level."""
        found = _INDENTED.search(self.text)
        return found[1] if found is not None else "  "

    def read(self) -> Any:
        value, at = self.value(self.skip(0), ())
        at = self.skip(at)
        if at != len(self.text):
            raise self.error("one value is expected, and nothing after it", at)
        return value

    def margin(self, at: int) -> str:
        """The space at the start of the line."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def indent(self, at: int) -> str | None:
        """The space at the start of the line, if nothing else is before this place."""
        margin = self.margin(at)
        return margin if self.text.endswith("\n" + margin, 0, at) else None

    def end_of_line(self, at: int) -> int:
        """The end of the line, or this place if more than comments follows it there."""
        found = _REST_OF_LINE.match(self.text, at)
        return found.end() if found is not None else at

    def line(self, at: int) -> int:
        # A binary search, because every value needs its line: to count line ends each time would take quadratic time.
        low, high = 0, len(self._starts)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._starts[middle] <= at else (low, middle)
        return low

    def error(self, message: str, at: int) -> JSONCError:
        return JSONCError(message, self.line(at))

    def skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        at = found.end() if found is not None else at
        if self.text.startswith("/*", at):
            raise self.error("the comment does not end", at)
        return at

    def value(self, at: int, path: Path) -> tuple[Any, int]:
        self.lines[path] = self.line(at)
        value, end = self._value(at, path)
        self.spans[path] = at, end
        return value, end

    def _value(self, at: int, path: Path) -> tuple[Any, int]:
        if len(path) > MAX_DEPTH:
            raise self.error("nested too deep", at)
        start = self.text[at : at + 1]
        if start == "{":
            return self._object(at, path)
        if start == "[":
            return self._array(at, path)
        if start == '"':
            return self._string(at)
        found = _WORD.match(self.text, at)
        if found is None:
            raise self.error("a value is expected" if start else "the text ends where a value is expected", at)
        try:
            value = json.loads(found[0])
        except ValueError:  # Python converts at most 4,300 digits
            raise self.error("the number is too long", at) from None
        if isinstance(value, float) and math.isinf(value):
            raise self.error("the number is too large", at)
        return value, found.end()

    def _string(self, at: int) -> tuple[str, int]:
        try:
            return _scan_string(self.text, at + 1, True)
        except json.JSONDecodeError as error:
            message = next((said for start, said in _STRING_MISTAKES.items() if error.msg.startswith(start)), error.msg)
            raise self.error(message, error.pos) from None

    def _object(self, at: int, path: Path) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = self.skip(at + 1)
        while self.text[at : at + 1] != "}":
            if self.text[at : at + 1] != '"':
                raise self.error('a name in double quotes, or "}", is expected', at)
            key_at = at
            key, at = self._string(at)
            # Most readers silently use the last of equal keys. In a configuration, the other one is a mistake that its
            # author would search for in vain.
            if key in found:
                raise self.error(f"{json.dumps(key)} is there twice", key_at)
            self.keys[*path, key] = key_at
            at = self.skip(at)
            if self.text[at : at + 1] != ":":
                raise self.error('":" is expected', at)
            found[key], at = self.value(self.skip(at + 1), (*path, key))
            at = self._comma(self.skip(at), "}")
        return found, at + 1

    def _array(self, at: int, path: Path) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self.skip(at + 1)
        while self.text[at : at + 1] != "]":
            value, at = self.value(at, (*path, len(found)))
            found.append(value)
            at = self._comma(self.skip(at), "]")
        return found, at + 1

    def _comma(self, at: int, end: str) -> int:
        if self.text[at : at + 1] == ",":
            return self.skip(at + 1)
        if self.text[at : at + 1] != end:
            raise self.error(f'"," or "{end}" is expected', at)
        return at
