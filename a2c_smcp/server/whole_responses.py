"""How the response to a request is written: its head together with what follows it at once.

uvicorn writes the head of a response by itself. The head then is a packet of its own: it costs a system call more, and
wakes the client twice.
"""

from __future__ import annotations

import asyncio
from typing import Any


class WholeResponse:
    """The transport of a connection, as the response to one request sees it."""

    __slots__ = ("_head", "_is_begun", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head: bytes | None = None
        self._is_begun = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write a part of the response; the first waits for the second, but not for the next turn of the event loop."""
        head, self._head = self._head, None
        if head is not None:
            self._transport.writelines((head, data))
        elif self._is_begun:
            self._transport.write(data)
        else:
            self._is_begun = True
            self._head = data
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        """Close the connection after what was written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        head, self._head = self._head, None
        if head is not None and not self._transport.is_closing():
            self._transport.write(head)
