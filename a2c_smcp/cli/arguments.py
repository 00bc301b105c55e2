"""Tool parameters as a person types them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast


def read_arguments(
    words: Iterable[str], params: str | None = None, schema: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """`key=value` words, or a JSON object, as parameters.

    A value is text where the tool's schema says so, else JSON if it can be read as JSON, else text; `key:=value` is
    always JSON.

    Raises:
        ValueError: a word is neither, the JSON is no object, or a parameter is missing that the tool requires.
    """
    schema = schema or {}
    properties = cast("dict[str, Any]", listed) if isinstance(listed := schema.get("properties"), dict) else {}
    found: dict[str, Any] = {}
    if params is not None:
        found |= _object(params)
    for word in words:
        if word.startswith("{"):
            found |= _object(word)
            continue
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise ValueError(f"{word}: key=value is expected")
        if key.endswith(":"):
            found[key[:-1]] = _json(value, f"{key}={value}")
        else:
            found[key] = value if _is_text(properties.get(key)) else _value(value)
    required = cast("list[Any]", listed) if isinstance(listed := schema.get("required"), list) else []
    missing = [str(name) for name in required if name not in found]
    if missing:
        raise ValueError(f"missing: {', '.join(missing)}")
    return found


def _is_text(schema: Any) -> bool:
    kind: Any = cast("dict[str, Any]", schema).get("type") if isinstance(schema, dict) else None
    return kind == "string"


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(text: str, shown: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{shown}: that is no JSON: {error}") from None


def _object(text: str) -> dict[str, Any]:
    found = _json(text, "the parameters")
    if not isinstance(found, dict):
        raise ValueError("the parameters must be a JSON object")
    return cast("dict[str, Any]", found)
