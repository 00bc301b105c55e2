"""Validates the structured content of a tool result against the tool's output schema, with bounded work.

A schema comes from the MCP server and is not trusted. Regular expressions can take exponential time and `uniqueItems`
quadratic time, so these keywords are ignored; references to other documents are not followed; and validation stops
after a time limit. Content that cannot be validated within these bounds is accepted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import orjson
from jsonschema import Draft202012Validator
from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType]
from referencing import Registry

logger = logging.getLogger(__name__)

MAX_SECONDS = 0.1
"""Validation runs on the event loop, where every other call waits for it."""
MAX_BYTES = 200_000
"""Size of content, and of a schema, above which nothing is validated."""

_LEFT_OUT = ("pattern", "patternProperties", "propertyNames", "format", "uniqueItems", "unevaluatedProperties")


class _Enough(Exception):
    """Validation takes too long."""


class OutputSchema:
    """The schema of one tool's structured content."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._deadline = 0.0
        # The time limit is checked at each keyword. That is enough, because a keyword that could take long by itself is
        # left out, and the size of content and schema is limited.
        keywords: dict[str, Any] = {
            keyword: self._timed(check)
            for keyword, check in Draft202012Validator.VALIDATORS.items()
            if keyword not in _LEFT_OUT
        }
        keywords |= dict.fromkeys(_LEFT_OUT, _ignore)
        checker: Any = cast("Any", extend(Draft202012Validator, keywords))
        nowhere = cast("Any", Registry)()  # an empty registry: no reference is fetched
        try:
            self._validator: Any = checker(schema, registry=nowhere) if _is_small(schema) else None
        except Exception as error:  # as below: one schema must not cost the list of all tools
            logger.debug("an output schema cannot be used: %s", type(error).__name__)
            self._validator = None

    def complaint(self, content: Any) -> str | None:
        """What is wrong with the content; None if it is valid, or cannot be validated."""
        if self._validator is None or not _is_small(content):
            return None
        self._deadline = time.perf_counter() + MAX_SECONDS
        try:
            error: Any = next(self._validator.iter_errors(content), None)
        except _Enough:
            return None
        # A schema that is invalid itself makes jsonschema fail with whatever error its code runs into: `multipleOf: 0`
        # divides by zero, a `minimum` that is a text cannot be compared. The tool worked, so its result is accepted.
        except Exception as fault:
            logger.debug("an output schema cannot be used: %s", type(fault).__name__)
            return None
        if error is None:
            return None
        where = ".".join(map(str, error.absolute_path))
        return f"{where}: {error.message[:200]}" if where else error.message[:200]

    def _timed(self, check: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
        def timed(*arguments: Any) -> Iterator[Any]:
            if time.perf_counter() > self._deadline:
                raise _Enough
            yield from check(*arguments) or ()

        return timed


def _ignore(*_: Any) -> None:
    """Accept anything."""


def _is_small(value: Any) -> bool:
    try:
        return len(orjson.dumps(value)) <= MAX_BYTES
    except TypeError:
        return False
