"""Tool parameters as a person types them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast


def read_arguments(words: Iterable[str], params: str | None = None) -> dict[str, Any]:
    """`key=value` words, or a JSON object, as parameters.

    Raises:
        ValueError: a word is neither, or the JSON is no object.
    """
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
        found[key.removesuffix(":")] = value if key.endswith(":") else _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"the parameters are no JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError("the parameters must be a JSON object")
    return cast("dict[str, Any]", found)
