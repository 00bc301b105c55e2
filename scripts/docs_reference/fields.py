"""The fields of a model: type, bounds, default, and the docstring that follows each."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from a2c_smcp.computer.config.model import PickOption, Placeholder, ToolMeta

from .markdown import code
from .source import members_of

_WORDS: dict[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "whole number",
    float: "number",
    timedelta: "duration",
    Path: "file",
    SecretStr: "text, kept secret",
    Any: "anything",
}


def docs_of(model: type) -> dict[str, str]:
    """Return the docstring after each attribute of a class and of its bases."""
    kinds = [kind for kind in reversed(model.__mro__) if kind.__module__.startswith("a2c_smcp")]
    return {name: each.doc for kind in kinds for name, each in members_of(kind).items() if each.doc}


def rows_of(model: type[BaseModel]) -> Iterator[tuple[str, str, str, str]]:
    """Return name, type, default and meaning of each field."""
    docs = docs_of(model)
    for name, field in model.model_fields.items():
        yield code(name), type_of(field), default_of(field), docs.get(name, "")


def default_of(field: FieldInfo) -> str:
    """Return the default as it is written in a file."""
    if field.is_required():
        return "**required**"
    plain = to_jsonable_python(field.get_default(call_default_factory=True))
    return "" if plain is None else code(json.dumps(plain))


def type_of(field: FieldInfo) -> str:
    """Describe the type and its bounds."""
    words = _words(field.annotation)
    limits = bounds_of(field.metadata)
    return f"{words}; {limits}" if limits else words


def bounds_of(metadata: list[Any]) -> str:
    """Describe the bounds of a value."""
    limits: list[str] = []
    for rule in metadata:
        match rule:
            case Ge(ge=least):
                limits.append(f"≥\u00a0{least}")
            case Gt(gt=edge):
                limits.append(f">\u00a0{0 if edge == timedelta(0) else edge}")
            case Le(le=most):
                limits.append(f"≤\u00a0{most}")
            case MinLen(min_length=1):
                limits.append("not empty")
            case MaxLen(max_length=most):
                limits.append(f"at most {most} characters")
            case _:
                if (pattern := getattr(rule, "pattern", None)) is not None:
                    limits.append(f"like `{pattern}`")
    return ", ".join(limits)


def _words(annotation: Any) -> str:
    if annotation == Placeholder:
        return "a placeholder"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner, limits = _words(arguments[0]), bounds_of(_rules(arguments[1:]))
        return f"{inner} {limits}" if limits and limits != "not empty" else inner
    if origin in (Union, types.UnionType):
        return " or ".join(_words(choice) for choice in arguments if choice is not type(None))
    if origin is Literal:
        return ", ".join(code(str(choice)) for choice in arguments)
    if origin is list:
        return f"list of {_words(arguments[0])}"
    if origin is dict:
        return f"object of {_words(arguments[1])}"
    if annotation is ToolMeta:
        return "[tool metadata](#tool-metadata)"
    if annotation is PickOption:
        return "object of `label` and `value`"
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return "object, below"
    return _WORDS[annotation]


def _rules(metadata: tuple[Any, ...]) -> list[Any]:
    """Yield the constraints of nested annotations, which a field can contain."""
    return [rule for item in metadata for rule in (item.metadata if isinstance(item, FieldInfo) else [item])]
