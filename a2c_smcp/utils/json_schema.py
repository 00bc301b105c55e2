"""References inside JSON schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def as_object(value: Any) -> dict[str, Any]:
    """A copy of an object; an empty one for any other value, such as the schema `true`."""
    return dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else {}


def referred(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema that a `$ref` leads to inside the same document; None if there is no such reference."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    place: Any = root
    for step in reference[2:].split("/"):
        # In this order (RFC 6901): the other way round, `~01`, which stands for `~1`, would become `/`.
        place = as_object(place).get(step.replace("~1", "/").replace("~0", "~"))
    return as_object(place)
