"""Reads the JSON of MCP servers: also JSON that is not quite valid, or nested too deeply.

One part of a message that is nested too deeply must not cost the rest: a list of tools is read without the tool that
nobody could use. So the text is cut, far enough down that the part can still be recognized.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from a2c_smcp.computer.config.placeholders import map_strings
from a2c_smcp.nesting import cut, is_deeper

WRITTEN_LEVELS = 254
"""Levels of arrays and objects that orjson writes."""
MAX_LEVELS = 150
"""Levels in an item of a list, a result, or the parameters of a call. An Agent gets them inside a message, for which
every Server and library on the way has a limit; the lowest is about 200."""
CUT_LEVELS = 180
"""Levels of a message that are read. Its list or result begins a few levels down, and is still too deep."""
FEW = 1_000
"""Values that are looked at one by one; more are left to orjson."""

TOO_DEEP = f"it is nested more than {MAX_LEVELS} levels deep"


def parse(text: str) -> Any:
    """The value in a JSON text; None if it cannot be read."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    if (shallow := flattened(text)) is not None:
        text = shallow
    try:  # orjson is strict; servers send NaN, a byte order mark, or half of a surrogate pair
        return map_strings(json.loads(text), _without_surrogates)
    except (ValueError, RecursionError):
        return None


def flattened(text: str) -> str | None:
    """A JSON text without the parts that are too deep to be read; None if it has none, or is too long to be cut."""
    return cut(text, CUT_LEVELS) if is_deeper(text, CUT_LEVELS) else None


def flaw(item: Any) -> str | None:
    """Why an item of a list could not be passed on to an Agent; None if it can."""
    # The item is written with as many levels around it as are not its own.
    _inside[0] = item
    try:
        orjson.dumps(_around)
    except TypeError as error:
        return TOO_DEEP if "ecursion" in str(error) else "it holds what JSON cannot express"
    finally:
        _inside[0] = None
    return None


def is_too_deep(value: Any) -> bool:
    """Whether a JSON object or array is nested deeper than `MAX_LEVELS`."""
    # Most values have a few parts on a few levels, which takes a microsecond, however long their texts are.
    level: list[dict[str, Any] | list[Any]] = [value]
    for _ in range(MAX_LEVELS):
        below: list[dict[str, Any] | list[Any]] = []
        for each in level:
            if len(each) > FEW or len(below) > FEW:
                return flaw(value) == TOO_DEEP
            for part in each if isinstance(each, list) else each.values():
                if type(part) in _NESTED:
                    below.append(part)  # noqa: PERF401  # a comprehension costs a call of a function for each part
        if not below:
            return False
        level = below
    return True


def _without_surrogates(text: str) -> str:
    # The answer to an Agent is written by orjson, which rejects a text with half of a surrogate pair.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_NESTED = frozenset((dict, list))
_inside: list[Any] = [None]
_around: list[Any] = _inside
for _ in range(WRITTEN_LEVELS - MAX_LEVELS - 1):
    _around = [_around]
