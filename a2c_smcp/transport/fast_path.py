"""A short way for the messages that calls are made of: over a WebSocket, on an event loop.

The library has a queue, a task and a timer for every message that goes, and tasks and a timer for every one that comes.
Here who has something to say writes it, and who reads it handles it. Handshake, heartbeat and farewell stay its own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from a2c_smcp.utils.eager import begin

logger = logging.getLogger(__name__)

EVENT_FRAME = "42"
"""How a frame begins that carries an event."""
ACK_FRAME = "43"
"""How a frame begins that carries an ack."""
QUEUE_EVERY = 1.0
"""Seconds after which a packet queues for once: the library takes a queue that stays empty for a dead connection."""

SendFrame: TypeAlias = Callable[[Any], Coroutine[Any, Any, None]]
Trigger: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]


class Outbox(asyncio.Queue[Any]):
    """The library's queue of packets for one peer, with a way past it while the peer keeps up."""

    outlet: Outlet | None = None
    """Where they go out now; None where they are fetched."""
    unsent = 0
    """Packets that were put into the queue and have not been sent."""
    _queued_at = 0.0

    def post(self, frame: str | bytes) -> bool:
        """Send now, without waiting for anything; False if the packet has to queue."""
        if self.unsent or self.outlet is None or time.monotonic() - self._queued_at > QUEUE_EVERY:
            return False
        return self.outlet.post(frame)

    def _put(self, item: Any) -> None:
        super()._put(item)
        self.unsent += 1
        self._queued_at = time.monotonic()


class Outlet:
    """The sending half of one WebSocket. It takes over the outbox."""

    def __init__(self, outbox: Outbox, send: SendFrame) -> None:
        self._outbox = outbox
        self._send = send
        self._is_open = True
        self._late: asyncio.Task[None] | None = None
        """The frame that the peer is not ready to take."""
        outbox.outlet = self
        outbox.unsent = outbox.qsize()  # what was taken out of the queue before went out elsewhere

    def close(self) -> None:
        """Nothing goes out here any more."""
        self._is_open = False
        if self._outbox.outlet is self:
            self._outbox.outlet = None
        if self._late is not None:
            self._late.cancel()

    def post(self, frame: str | bytes) -> bool:
        """Send now; False if another frame is late."""
        if self._late is not None:
            return False
        self._start(frame)
        return True

    async def send(self, frame: str | bytes) -> None:
        """Send what was in the queue, after what is late.

        Raises:
            ConnectionError: nothing goes out any more.
        """
        await self._settle()
        if self._is_open:
            self._start(frame)
            await self._settle()
        if not self._is_open:
            raise ConnectionResetError("the connection has ended")
        self._outbox.unsent -= 1

    def _start(self, frame: str | bytes) -> None:
        try:
            late = begin(self._send(frame))
        except Exception as error:
            self._fail(error)
            return
        if late is not None:
            self._late = late
            late.add_done_callback(self._end)

    async def _settle(self) -> None:
        while self._late is not None:
            await asyncio.wait([self._late])

    def _end(self, late: asyncio.Task[None]) -> None:
        self._late = None
        if late.cancelled():
            self.close()
        elif (error := late.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Have the library end the connection."""
        logger.debug("a message could not be sent: %s", error)
        if self._is_open:
            self.close()
            self._outbox.put_nowait(None)


class FastWebSocket:
    """One WebSocket, for the library's tasks that read from it and write to it.

    `trigger` handles a message as the library does: `trigger("message", message, run_async=...)`.
    """

    def __init__(self, socket: Any, outbox: Outbox, trigger: Trigger) -> None:
        self._socket = socket
        self._trigger = trigger
        self._outlet = Outlet(outbox, self._send)

    async def receive(self) -> Any:
        """The next message that is for the library; events and acks are handled here."""
        while True:
            try:
                message = await self._socket.receive()
            except BaseException:  # also when the library's patience ends
                self._outlet.close()
                raise
            text = message.data
            if not isinstance(text, str | bytes):  # the end
                self._outlet.close()
            if not isinstance(text, str) or not text.startswith((EVENT_FRAME, ACK_FRAME)):
                return message
            try:
                await self._trigger("message", text[1:], run_async=text.startswith(EVENT_FRAME))
            except Exception:
                logger.exception("a message could not be handled")

    async def send_str(self, frame: str) -> None:
        """Send a frame of the library's."""
        await self._outlet.send(frame)

    async def send_bytes(self, frame: bytes) -> None:
        """Send a binary frame of the library's."""
        await self._outlet.send(frame)

    async def close(self) -> None:
        """Close it."""
        self._outlet.close()
        await self._socket.close()

    async def _send(self, frame: str | bytes) -> None:
        await (self._socket.send_str(frame) if isinstance(frame, str) else self._socket.send_bytes(frame))
