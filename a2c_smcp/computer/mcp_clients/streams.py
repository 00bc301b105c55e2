"""The two ends of a connection between a transport of ours and the `mcp` session."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from anyio import ClosedResourceError, EndOfStream
from mcp.shared.message import SessionMessage

Received = SessionMessage | Exception

HIGH_WATER = 256
"""Messages that wait unread before the sender is asked to pause."""
LOW_WATER = 64


class _Stream:
    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        raise NotImplementedError


class Inbox(_Stream):
    """Messages from a server, put in by callbacks and taken out by the session, one reader."""

    def __init__(self, pause: Callable[[], None] | None = None, resume: Callable[[], None] | None = None) -> None:
        self._messages: deque[Received] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._ended = False
        self._pause, self._resume = pause, resume
        self._paused = False

    def put(self, message: Received) -> None:
        """Add a message; after the end it is dropped."""
        if self._ended:
            return
        self._messages.append(message)
        self._wake()
        if self._pause is not None and not self._paused and len(self._messages) >= HIGH_WATER:
            self._paused = True
            self._pause()

    def end(self) -> None:
        """Nothing more comes; what is there can still be read."""
        self._ended = True
        self._wake()

    async def receive(self) -> Received:
        """The next message.

        Raises:
            EndOfStream: there is none and never will be.
        """
        while not self._messages:
            if self._ended:
                raise EndOfStream
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        message = self._messages.popleft()
        if self._paused and len(self._messages) <= LOW_WATER:
            self._paused = False
            if self._resume is not None:
                self._resume()
        return message

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Received:
        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """The reader is gone."""
        self._ended = True
        self._messages.clear()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


class Outbox(_Stream):
    """Messages to a server."""

    def __init__(
        self, send: Callable[[SessionMessage], Awaitable[None]], close: Callable[[], None] | None = None
    ) -> None:
        self._send = send
        self._close = close
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Hand a message to the transport.

        Raises:
            ClosedResourceError: the connection has ended.
        """
        if self._closed:
            raise ClosedResourceError
        await self._send(item)

    async def aclose(self) -> None:
        """The session is done with this end."""
        if not self._closed:
            self._closed = True
            if self._close is not None:
                self._close()
