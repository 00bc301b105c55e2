"""Engine.IO of the asynchronous clients: events and acks take the short way of `transport.direct`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import engineio
from engineio.packet import MESSAGE

from a2c_smcp.transport.direct import ACK, EVENT, Outbox
from a2c_smcp.transport.membership import FAREWELL_SECONDS

logger = logging.getLogger(__name__)


class AsyncEngine(engineio.AsyncClient):
    """An `engineio.AsyncClient` that sends at once what its WebSocket takes.

    An ack is handled by the reader itself: its handler must not wait for anything.
    """

    queue: Outbox
    ws: Any

    def create_queue(self, *args: Any, **options: Any) -> Outbox:
        """The packets of one connection."""
        return Outbox(*args, **options)

    async def disconnect(self, abort: bool = False, reason: Any = None) -> None:
        """Disconnect. What is on its way is sent first: after that the library would forget to say goodbye, and the
        Server hold our request for news until its next heartbeat."""
        if self.state == "connected" and self.current_transport == "polling" and not abort:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.queue.join(), FAREWELL_SECONDS)
        await super().disconnect(abort, reason)

    async def _connect_websocket(self, url: str, headers: Any, engineio_path: str) -> bool:
        is_connected = await super()._connect_websocket(url, headers, engineio_path)
        if is_connected:  # the tasks that read and write have not begun
            self.ws = _WebSocket(self, self.ws)
        return is_connected

    async def _send_packet(self, pkt: Any) -> None:
        # A pong has to queue: who empties the queue would take a connection without pongs for dead.
        is_ours = self.state == "connected" and pkt.packet_type == MESSAGE and not pkt.binary
        if not is_ours or not self.queue.post(pkt.encode()):
            await super()._send_packet(pkt)


class _WebSocket:
    """One WebSocket, for the library's tasks that read from it and write to it."""

    def __init__(self, engine: AsyncEngine, socket: Any) -> None:
        self._engine = engine
        self._socket = socket
        self._outbox = engine.queue
        self._outbox.open(socket.send_str)

    async def receive(self) -> Any:
        """The next message that is for the library; events and acks are handled here."""
        while True:
            message = await self._socket.receive()
            text = message.data
            if not isinstance(text, str) or not text.startswith((EVENT, ACK)):
                return message
            try:
                await self._engine._trigger_event("message", text[1:], run_async=text.startswith(EVENT))
            except Exception:
                logger.exception("a message could not be handled")

    async def send_str(self, frame: str) -> None:
        """Send a frame of the library's."""
        await self._outbox.send(frame)

    async def close(self) -> None:
        """Close it."""
        self._outbox.close()
        await self._socket.close()
