"""Options that several commands share, as the fields of a dataclass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeAlias, cast, get_type_hints

Command: TypeAlias = Callable[..., None]


def takes(group: type[Any], name: str) -> Callable[[Command], Command]:
    """Give a command an option for each field of the dataclass `group`, in place of its parameter `name`, which gets
    the object. The command's own keyword-only options come after them."""
    kinds = get_type_hints(group, include_extras=True)
    options = [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=kinds[each.name])
        for each in fields(group)
    ]

    def give(command: Command) -> Command:
        @wraps(command)
        def run(*arguments: Any, **values: Any) -> None:
            found = group(**{each.name: values.pop(each.name) for each in options})
            command(*arguments, **{name: found}, **values)

        hints = get_type_hints(command, include_extras=True)
        own = [
            each.replace(annotation=hints[parameter])
            for parameter, each in signature(command).parameters.items()
            if parameter != name
        ]
        first = [each for each in own if each.kind is not Parameter.KEYWORD_ONLY]
        # Typer reads the signature.
        cast("Any", run).__signature__ = Signature([*first, *options, *(each for each in own if each not in first)])
        return run

    return give
