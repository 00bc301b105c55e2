"""JSON schemas of tool parameters in a form that the APIs of all model vendors accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from a2c_smcp.utils.json_schema import as_object, referred

_COMBINATORS = ("anyOf", "oneOf", "allOf")
_CHOICE_NAMES = ("computer", "target_computer", "a2c_computer")


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of type object, without alternatives (`anyOf`, …) at the top: the APIs reject those."""
    # Some APIs reject keywords that they do not know, among them `$schema` and `$id`.
    fitting = {key: value for key, value in schema.items() if key not in ("$schema", "$id", *_COMBINATORS)}
    # The properties of all alternatives are offered together, and none of them is required; the MCP server checks which
    # combinations it accepts. A property outside the alternatives applies to all of them, so it wins.
    properties = as_object(fitting.get("properties"))
    for combinator in _COMBINATORS:
        branches = schema.get(combinator)
        for branch in cast("list[Any]", branches) if isinstance(branches, list) else []:
            properties = as_object(_resolved(branch, schema).get("properties")) | properties
    fitting["type"] = "object"
    fitting["properties"] = properties
    required = fitting.get("required")
    if required is not None:
        listed = cast("list[Any]", required) if isinstance(required, list) else []
        fitting["required"] = [name for name in listed if name in properties]
    return fitting


def with_choice(
    schema: dict[str, Any], computers: tuple[str, ...], *, must_choose: bool = True
) -> tuple[dict[str, Any], str | None]:
    """Add a parameter that chooses a Computer; return the schema and the parameter's name (None for one Computer)."""
    if len(computers) < 2:
        return schema, None
    # The tool may have a parameter `computer` of its own, which must reach it unchanged.
    properties = schema["properties"]
    key = next((name for name in _CHOICE_NAMES if name not in properties), _free_name(properties))
    choice = {"type": "string", "enum": list(computers), "description": "The computer to use."}
    return {
        **schema,
        "properties": {key: choice, **properties},
        "required": [*([key] if must_choose else []), *(schema.get("required") or ())],
    }, key


def _free_name(properties: Mapping[str, Any]) -> str:
    number = 2
    while f"computer_{number}" in properties:
        number += 1
    return f"computer_{number}"


def _resolved(branch: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """An alternative, or the part of the same schema that it refers to."""
    found = as_object(branch)
    target = referred(found, schema)
    return found if target is None else target
