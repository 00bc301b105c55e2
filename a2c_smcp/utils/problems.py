"""Mistakes in configuration, for the person who corrects them: where each is, and which name may be meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from pydantic import BaseModel, ValidationError

Path = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""


@dataclass(frozen=True)
class Problem:
    """A mistake in a configuration: its place, and a message."""

    path: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        return f"{where}{self.path}: {self.message}" if self.path else f"{where}{self.message}"


def problem_at(path: Path, message: str, lines: Mapping[Path, int]) -> Problem:
    """A problem with its line. A value that is missing has the line of the object in which it is missing."""
    known = next((path[:end] for end in range(len(path), -1, -1) if path[:end] in lines), None)
    return Problem(".".join(map(str, path)), message, lines[known] if known is not None else None)


def meant(name: str, known: Iterable[str]) -> str:
    """A suggestion for a mistyped name; an empty string if no known name is similar."""
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def mistakes_in(data: Any, error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[Path, str]]:
    """The path and a message in plain words for each mistake that a model found in data."""
    seen: set[Path] = set()
    # Without the input: values may be secret, so no message repeats one.
    for mistake in error.errors(include_url=False, include_input=False):
        where = _place_in(data, mistake["loc"])
        # Where a value may have several types, pydantic reports a mistake for each of them. The first is enough.
        if where not in seen:
            seen.add(where)
            yield where, _in_plain_words(cast("Any", mistake), model, where)


def _place_in(data: Any, loc: Path) -> Path:
    """The part of a mistake's path that is a path in the data."""
    # pydantic adds the name of the alternative that it tried, which is no key of the data.
    steps: list[str | int] = []
    for step in loc:
        if isinstance(data, Mapping):
            steps.append(step)
            data = cast("Mapping[Any, Any]", data).get(step)
        elif isinstance(data, list) and isinstance(step, int):
            steps.append(step)
            data = cast("list[Any]", data)[step] if step < len(cast("list[Any]", data)) else None
        else:
            break
    return tuple(steps)


def _in_plain_words(mistake: dict[str, Any], model: type[BaseModel], where: Path) -> str:
    kind: str = mistake["type"]
    if kind == "extra_forbidden" and where:
        return "unknown key" + meant(str(where[-1]), _fields_at(model, where[:-1]))
    words = _PLAIN_WORDS.get(kind)
    if words is not None:
        return words.format_map({name: _plain(value) for name, value in mistake.get("ctx", {}).items()})
    message: str = mistake["msg"]
    return message.removeprefix("Value error, ").removeprefix("Input ").strip()


def _fields_at(model: type[BaseModel], path: Path) -> Iterable[str]:
    """The keys that the model knows at a path."""
    for step in path:
        field = model.model_fields.get(str(step))
        inner = field.annotation if field is not None else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return ()
        model = inner
    return model.model_fields


def _plain(value: Any) -> str:
    if value == repr(timedelta(0)):  # pydantic gives a bound that is a duration as text
        return "0"
    return f"{value:g}" if isinstance(value, float) else str(value)


_PLAIN_WORDS = {
    "missing": "is missing",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be a list",
    "path_type": "must be a path",
    "too_short": "must not be empty",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "time_delta_type": "must be a duration, e.g. 30 or PT30S",
    "time_delta_parsing": "must be a duration, e.g. 30 or PT30S",
}
