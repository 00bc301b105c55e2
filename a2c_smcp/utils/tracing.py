"""W3C trace context: the trace that a tool call belongs to, on its way from a program to an MCP server."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Final

TRACEPARENT: Final = "traceparent"
"""The field of a tool call, and the key in the `_meta` of an MCP request."""

# Version, trace, span and flags. Traces and spans of zeros are invalid, and so is the version ff.
_VALID = re.compile("(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_current: ContextVar[str | None] = ContextVar("a2c_traceparent", default=None)
_NO_TRACE = nullcontext()


def is_traceparent(text: str) -> bool:
    """Whether a text is a valid `traceparent`."""
    return _VALID.fullmatch(text) is not None


def active_traceparent() -> str | None:
    """The `traceparent` of the span that is active in the program; None without OpenTelemetry, or without a span."""
    # OpenTelemetry is not imported here, because that takes a while: as long as no other module has imported it, no
    # span can be active. While another thread is importing it, the function may be missing.
    get_current_span: Any = getattr(sys.modules.get("opentelemetry.trace"), "get_current_span", None)
    if get_current_span is None:
        return None
    span = get_current_span().get_span_context()
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}" if span.is_valid else None


# A context variable, as in OpenTelemetry: the task of a call inherits it, so the layers in between do not pass it on.
def in_trace(traceparent: str | None) -> AbstractContextManager[None]:
    """Let what starts in this block belong to a trace; an invalid `traceparent` is ignored."""
    # Most calls belong to no trace. Setting the variable would cost them some microseconds.
    return _NO_TRACE if traceparent is None and _current.get() is None else _in_trace(traceparent)


@contextmanager
def _in_trace(traceparent: str | None) -> Generator[None]:
    token = _current.set(traceparent if traceparent is not None and is_traceparent(traceparent) else None)
    try:
        yield
    finally:
        _current.reset(token)


def traceparent_of_call() -> str | None:
    """The trace that the current call belongs to."""
    return _current.get()
