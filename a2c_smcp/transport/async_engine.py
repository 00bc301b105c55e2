"""Engine.IO of the asynchronous clients: events and acks take the short way of `transport.direct`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import engineio

from a2c_smcp.transport.direct import ACK, EVENT, Outbox, Outlet
from a2c_smcp.transport.membership import FAREWELL_SECONDS

logger = logging.getLogger(__name__)


class AsyncEngine(engineio.AsyncClient):
    """An `engineio.AsyncClient` that sends at once what its WebSocket takes.

    An ack is handled by the reader itself: its handler must not wait for anything.
    """

    queue: Outbox
    ws: Any

    def create_queue(self, *args: Any, **options: Any) -> Outbox:
        """The packets for the Server, through all connections."""
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
        if self.state != "connected" or not self.queue.post(pkt.encode()):
            await super()._send_packet(pkt)


class _WebSocket:
    """One WebSocket, for the library's tasks that read from it and write to it."""

    def __init__(self, engine: AsyncEngine, socket: Any) -> None:
        self._engine = engine
        self._socket = socket
        self._outlet = Outlet(engine.queue, self._send)

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
            if not isinstance(text, str) or not text.startswith((EVENT, ACK)):
                return message
            try:
                await self._engine._trigger_event("message", text[1:], run_async=text.startswith(EVENT))
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
