"""WebSocket under ASGI servers: events and acks take the short way of `transport.direct`, the rest the library's."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from a2c_smcp.transport.direct import ACK, EVENT, Outlet, can_begin
from a2c_smcp.transport.packet import is_engine_packet

logger = logging.getLogger(__name__)

LARGE = 2_000
"""Characters. A longer message is handled before the next is read: many of them in memory at a time would be slow."""
GOODBYE_SECONDS = 2.0
"""For a peer that may not read it."""
IN_A_ROW = 8
"""Messages of one client, after which others have their turn."""


class DirectWebSocket:
    """One WebSocket, in the place of the library's own. It ends at a frame that is not Engine.IO as at a close; the
    library would leave its session half open."""

    def __init__(self, handler: Any, engine: Any) -> None:
        self._handler = handler
        self._session = handler.__self__
        self._engine = engine

    @classmethod
    def install(cls, sio: Any) -> None:
        """Use this class for the WebSockets of a `socketio.AsyncServer`."""
        sio.eio._async = {**sio.eio._async, "websocket": cls}

    async def __call__(self, environ: dict[str, Any]) -> str:
        """Carry a session until the connection ends."""
        self._receive, self._send = environ["asgi.receive"], environ["asgi.send"]
        await self._send({"type": "websocket.accept"})
        self._outlet = Outlet(self._session.queue, self._send_frame, can_begin(self._send))
        try:
            await self._handler(self)
        finally:
            self._outlet.close()
        return ""

    async def wait(self) -> str | bytes:
        """The next frame that is for the library; events and acks are handled here.

        Raises:
            OSError: the connection has ended.
        """
        in_a_row = 0
        while True:
            message = await self._receive()
            if self._session.closed:
                raise OSError
            text: str | None = message.get("text")
            if text is None:
                data: bytes | None = message.get("bytes")
                if data is None:
                    raise OSError
                return data
            if not is_engine_packet(text):
                raise OSError
            if not self._session.upgraded:
                self._outlet.take_over()  # until now, long-polling took from the queue
                return text
            if not text.startswith((EVENT, ACK)) or len(text) > self._engine.max_http_buffer_size:
                return text
            try:
                await self._engine.handlers["message"](self._session.sid, text[1:])
            except Exception:
                logger.exception("a message could not be handled")
            in_a_row += 1
            if in_a_row == IN_A_ROW or len(text) > LARGE:
                in_a_row = 0
                await asyncio.sleep(0)

    async def send(self, message: str | bytes) -> None:
        """Send a frame of the library's."""
        await self._outlet.send(message)

    async def close(self) -> None:
        """Say goodbye."""
        self._outlet.close()
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self._send({"type": "websocket.close"})
        except Exception as error:
            logger.debug("no goodbye: %s", error)

    async def _send_frame(self, frame: str | bytes) -> None:
        await self._send({"type": "websocket.send", "text" if isinstance(frame, str) else "bytes": frame})
