"""Placeholders such as `${input:token}` in configuration values: finding them and filling them in. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

INPUT = re.compile(r"\$\{input:([^{}]+)\}")


def strings(value: Any) -> Iterator[str]:
    """Every string in a value, however deep; keys are not values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in cast("Mapping[Any, Any]", value).values():
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            yield from strings(item)


def input_ids(value: Any) -> list[str]:
    """The inputs that a value refers to, in order, each once."""
    return list(dict.fromkeys(found for text in strings(value) for found in INPUT.findall(text)))


def fill(value: Any, values: Mapping[str, Any]) -> Any:
    """Fill in the known values. A string that is only a placeholder becomes the value itself, even a number."""

    def in_text(text: str) -> Any:
        whole = INPUT.fullmatch(text)
        if whole is not None:
            return values.get(whole[1], text)
        return INPUT.sub(lambda found: str(values.get(found[1], found[0])), text)

    return map_strings(value, in_text)


def map_strings(value: Any, change: Callable[[str], Any]) -> Any:
    """A copy of a value in which every string is changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: map_strings(item, change) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [map_strings(item, change) for item in cast("list[Any]", value)]
    return value
