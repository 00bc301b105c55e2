"""The JSON schema of a tool, reduced to what a person needs: names, types, limits, and which parameters are required.

Schemas come from MCP servers and may be invalid. Everything here ignores values of the wrong type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from a2c_smcp.utils.json_schema import as_object, referred

_ALTERNATIVES = ("anyOf", "oneOf")
_COMBINATORS = (*_ALTERNATIVES, "allOf", "$ref", "if")
_LIMITS = ("format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
DEEPEST = 4
"""Levels of objects inside objects that are shown; a schema may refer to itself."""


@dataclass(frozen=True)
class Parameter:
    """One parameter, or one field of a parameter that is an object."""

    name: str
    depth: int
    """How many objects it is in."""
    facts: tuple[str, ...]
    """Its type, whether it is required, its default, its values, its limits."""
    description: str
    is_required: bool


def properties_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters by name, each with its schema."""
    return as_object(schema.get("properties"))


def required_by(schema: Mapping[str, Any]) -> list[str]:
    """The names of the parameters that must be given."""
    return [str(name) for name in _list(schema.get("required"))]


def takes(schema: Mapping[str, Any], name: str) -> bool:
    """Whether the tool accepts a parameter of this name."""
    # By JSON schema, a schema without `additionalProperties` allows any other name. Here it counts as complete, because
    # nearly every such schema is, and a misspelt name that the tool ignores is worse than an error. A schema that is
    # combined from others may have its parameters elsewhere, and counts as open.
    known = properties_of(schema)
    is_open = schema.get("additionalProperties", False) is not False or any(key in schema for key in _COMBINATORS)
    return not known or is_open or name in known or any(_matches(each, name) for each in _patterns(schema))


def types_of(schema: Any, root: Mapping[str, Any]) -> list[str]:
    """The types that a value may have, by their names in JSON schema; empty if any type is allowed."""
    found = _resolved(schema, root)
    for key in _ALTERNATIVES:
        if branches := _list(found.get(key)):
            each = [types_of(branch, root) or ["any"] for branch in branches]
            return list(dict.fromkeys(kind for kinds in each for kind in kinds))
    kind = found.get("type")
    kinds = [kind] if isinstance(kind, str) else [str(each) for each in _list(kind)]
    items = types_of(found.get("items"), root) if kinds == ["array"] else []
    return [f"list of {' or '.join(items)}"] if items else kinds


def parameters(schema: Mapping[str, Any]) -> Iterator[Parameter]:
    """All parameters; those that are objects are followed by their fields."""
    yield from _parameters(schema, schema, 0)


def _parameters(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Iterator[Parameter]:
    required = required_by(schema)
    for name, entry in properties_of(schema).items():
        found = _resolved(entry, root)
        is_required = name in required
        facts = tuple(_facts(found, root, is_required))
        yield Parameter(name, depth, facts, str(found.get("description") or ""), is_required)
        inner = next((each for each in _variants(found, root) if properties_of(each)), None)
        if inner is not None and depth < DEEPEST:
            yield from _parameters(inner, root, depth + 1)


def _facts(schema: dict[str, Any], root: Mapping[str, Any], is_required: bool) -> Iterator[str]:
    yield " or ".join(types_of(schema, root)) or "any"
    if is_required:
        yield "required"
    for variant in _variants(schema, root):
        if values := _list(variant.get("enum")):
            yield f"one of {', '.join(map(_shown, values))}"
        if "const" in variant:
            yield f"always {_shown(variant['const'])}"
        yield from (f"{limit} {_shown(variant[limit])}" for limit in _LIMITS if limit in variant)
    if schema.get("default") is not None:
        yield f"default {_shown(schema['default'])}"


def _variants(schema: dict[str, Any], root: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema, its alternatives, and those of the items of a list."""
    yield schema
    for key in _ALTERNATIVES:
        yield from (_resolved(branch, root) for branch in _list(schema.get(key)))
    if "items" in schema:
        yield _resolved(schema["items"], root)


def _resolved(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """A schema, merged with the one that it refers to in the same document. Its own keys take precedence."""
    found = as_object(schema)
    target = referred(found, root)
    return found if target is None else {**{key: value for key, value in target.items() if key != "$ref"}, **found}


def _patterns(schema: Mapping[str, Any]) -> list[str]:
    return list(as_object(schema.get("patternProperties")))


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:  # JSON schema has the regular expressions of JavaScript, which differ from Python's
        return True


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
