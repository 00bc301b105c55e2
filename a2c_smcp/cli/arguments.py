"""Reads the parameters of a tool from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from a2c_smcp.cli.errors import did_you_mean
from a2c_smcp.cli.schema import properties_of, required_by, takes, types_of


def read_arguments(
    words: Iterable[str], params: str | None = None, schema: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Parameters from `key=value` words and JSON objects.

    A value is text if the tool's schema says so, otherwise JSON if it is valid JSON, otherwise text. `key:=value` is
    always JSON.

    Raises:
        ValueError: a word or its JSON is invalid, a required parameter is missing, or the tool has no such parameter.
    """
    schema = schema or {}
    properties = properties_of(schema)
    found: dict[str, Any] = {}
    if params is not None:
        found |= _object(params)
    for word in words:
        if word.startswith("{"):
            found |= _object(word)
            continue
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise ValueError(f"{word}: invalid parameter; write key=value or a JSON object")
        if key.endswith(":"):
            found[key[:-1]] = _json(value, f"{key}={value}")
        else:
            found[key] = value if _is_text(types_of(properties.get(key), schema), value) else _value(value)
    for name in found:
        if not takes(schema, name):
            hint = did_you_mean(name, properties) or f"; there are {', '.join(properties)}"
            raise ValueError(f"no such parameter: {name}{hint}")
    missing = [name for name in required_by(schema) if name not in found]
    if missing:
        raise ValueError(f"missing: {', '.join(missing)}")
    return found


def _is_text(kinds: list[str], value: str) -> bool:
    """Whether a value for these types is text as it is typed."""
    # Without this, a text such as 007, true or [draft] would arrive as a number, a boolean or a list.
    return kinds == ["string"] or (set(kinds) == {"string", "null"} and value != "null")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(text: str, shown: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{shown}: invalid JSON: {error}") from None


def _object(text: str) -> dict[str, Any]:
    found = _json(text, "the parameters")
    if not isinstance(found, dict):
        raise ValueError("the parameters must be a JSON object")
    return cast("dict[str, Any]", found)
