"""The body of a request, which is read before MCP's library gets the request: within a size, a time and a depth.

The library reads without a time limit, so a host could hold a request for ever by sending a byte now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from a2c_smcp.errors import MalformedRequestError, NotConnectedError, TimedOutError, TooLargeError
from a2c_smcp.gateway.head import Scope, header
from a2c_smcp.nesting import is_deeper

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]

NESTING = 200
"""Levels of arrays and objects in a message, as many as MCP's library reads. Deeper ones crash parsers of peers."""


async def read_body(scope: Scope, receive: Receive, most: int, seconds: float) -> bytes:
    """The body of a request.

    Raises:
        TooLargeError: it has more bytes.
        TimedOutError: it does not arrive in time.
        MalformedRequestError: it is nested too deeply.
        NotConnectedError: the host hung up.
    """
    announced = header(scope, b"content-length") or ""
    # 18 digits are enough to compare, and `int` raises for texts of thousands of digits.
    if announced.isascii() and announced.isdigit() and int(announced[:18]) > most:
        raise TooLargeError(f"more than {most} bytes")
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise NotConnectedError("the host hung up")
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > most:
                    raise TooLargeError(f"more than {most} bytes")
                parts.append(part)
                if not message.get("more_body"):
                    break
    except TimeoutError:
        raise TimedOutError(f"the request did not arrive within {seconds:g} s") from None
    body = b"".join(parts)
    if is_deeper(body.decode("utf-8", "replace"), NESTING):
        raise MalformedRequestError(f"nested deeper than {NESTING} levels")
    return body


def replaying(body: bytes, receive: Receive) -> Receive:
    """Receives a body that was read, then what follows it."""
    is_read = False

    async def again() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
