"""Requests and responses of ASGI, in the form that the hub reads and writes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, TypeAlias

from a2c_smcp.server.http import TOO_LARGE, TOO_SLOW, Header, Request, Response, announced_size

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def request_of(scope: Scope) -> Request:
    """An ASGI request in the form that the hub reads."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
    method, query, client = scope.get("method", "GET"), scope.get("query_string", b""), scope.get("client")
    environ = {
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
        "REQUEST_METHOD": method,
        "PATH_INFO": scope.get("path", ""),
        "QUERY_STRING": query.decode("latin-1"),
        "REMOTE_ADDR": client[0] if client else "",
        "asgi.scope": scope,
    }
    return Request(method, query, headers, scope.get("scheme", "http"), environ, scope["type"] == "websocket")


async def respond(send: Send, response: Response, headers: Iterable[Header] = ()) -> None:
    """Answer an HTTP request."""
    await _respond(send, "http.response", response, headers)


async def deny(scope: Scope, send: Send, response: Response) -> None:
    """Reject a WebSocket, with an HTTP response if the ASGI server supports that."""
    if "websocket.http.response" in scope.get("extensions", {}):
        await _respond(send, "websocket.http.response", response)
    else:
        await send({"type": "websocket.close", "code": response.close_code})


async def _respond(send: Send, kind: str, response: Response, headers: Iterable[Header] = ()) -> None:
    fields = [*response.headers, *headers]
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in fields]
    await send({"type": f"{kind}.start", "status": response.status.value, "headers": raw})
    await send({"type": f"{kind}.body", "body": response.body})


async def hung_up(receive: Receive) -> None:
    """Wait until the client of a request hangs up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def read_body(headers: Mapping[str, str], most: int, seconds: float, receive: Receive) -> bytes | Response:
    """The body of a request, or the response if it is too large or too slow."""
    # A body that announces its size is rejected before it is read.
    if (announced_size(headers) or 0) > most:
        return TOO_LARGE
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return TOO_SLOW  # it hung up
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > most:
                    return TOO_LARGE
                parts.append(part)
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        return TOO_SLOW
