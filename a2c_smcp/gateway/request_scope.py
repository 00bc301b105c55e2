"""What the HTTP transport tells the handlers of a request: the user behind the host, and whether the host is gone."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Generator
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext

from a2c_smcp.utils.tracing import active_traceparent, is_traceparent

PRINCIPAL, GONE, WRITTEN, OPENED = "a2c.principal", "a2c.gone", "a2c.written", "a2c.opened"
"""Keys in the scope of a request."""


class Written:
    """JSON that is written already, for the response to a request.

    MCP's library writes every response anew, which takes 5 to 15 milliseconds for 400 tools. So the library gets a text
    in place of the list, and the response gets the list in place of the text. The text is random: no tool can have it.
    """

    def __init__(self) -> None:
        self._parts: dict[bytes, bytes] = {}

    def __bool__(self) -> bool:
        return bool(self._parts)

    def put(self, json: bytes) -> str:
        """The text that stands for this JSON."""
        mark = f"a2c-{secrets.token_hex(16)}"
        self._parts[b'"%b"' % mark.encode()] = json
        return mark

    def insert(self, body: bytes) -> bytes:
        """A part of the response, with the JSON in place of its text."""
        for mark, json in list(self._parts.items()):
            if mark in body:
                del self._parts[mark]
                body = body.replace(mark, json, 1)
        return body


class Gone:
    """Whether the host of a request has closed its connection."""

    def __init__(self) -> None:
        self._is_set = False
        self._callbacks: set[Callable[[], None]] = set()

    def set(self) -> None:
        """The host closed the connection."""
        self._is_set = True
        for callback in list(self._callbacks):
            callback()

    @contextlib.contextmanager
    def cancelling(self) -> Generator[None]:
        """Cancel the block when the host is gone: nobody would get its result."""
        with anyio.CancelScope() as scope:
            if self._is_set:
                scope.cancel()
            self._callbacks.add(scope.cancel)
            try:
                yield
            finally:
                self._callbacks.discard(scope.cancel)


def gone_of(ctx: ServerRequestContext[Any, Any]) -> Gone:
    """Whether the host of a request is gone. Over standard input and output, the library finds out by itself."""
    return _scope(ctx).get(GONE) or Gone()


def principal_of(ctx: ServerRequestContext[Any, Any]) -> str | None:
    """The user behind a host; None where the transport does not tell."""
    return _scope(ctx).get(PRINCIPAL)


def note_opened(ctx: ServerRequestContext[Any, Any]) -> None:
    """The request has opened a session, which is counted from now on."""
    opened: Callable[[], None] | None = _scope(ctx).get(OPENED)
    if opened is not None:
        opened()


def traceparent_of(ctx: ServerRequestContext[Any, Any]) -> str | None:
    """The trace that a request belongs to: of its metadata, or else of its HTTP headers."""
    # The library takes the metadata, and begins a span with it.
    if (active := active_traceparent()) is not None:
        return active
    given = next((value for name, value in _scope(ctx).get("headers", ()) if name == b"traceparent"), b"")
    text = given.decode("latin-1")
    return text if is_traceparent(text) else None


def ready(ctx: ServerRequestContext[Any, Any], json: bytes, value: Any) -> Any:
    """A value for a result, of which the JSON is written already."""
    written = _scope(ctx).get(WRITTEN)
    return value if written is None else written.put(json)


def _scope(ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    return getattr(ctx.request, "scope", None) or {}
