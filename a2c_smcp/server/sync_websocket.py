"""WebSocket under WSGI servers: the library's own, stopped at the first frame that is not Engine.IO."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from engineio.async_drivers.threading import SimpleWebSocketWSGI
from simple_websocket import ConnectionClosed
from simple_websocket.ws import Base

from a2c_smcp.transport.packet import is_engine_packet

LOOK_EVERY = 1.0
"""Seconds. The library does not wake its reader when a message is too large and the connection ends."""


class GuardedWebSocket(SimpleWebSocketWSGI):
    """Ends at a bad frame as at a close; the library would leave its session half open."""

    def __init__(self, handler: Any, server: Any) -> None:
        super().__init__(handler, server, max_message_size=server.max_http_buffer_size)

    @classmethod
    def install(cls, sio: Any) -> None:
        """Use this class for the WebSockets of a `socketio.Server`."""
        sio.eio._async = {**sio.eio._async, "websocket": cls}

    def close(self) -> None:
        """Say goodbye and end the TCP stream: a WSGI server may keep it open, and the client would wait for its end."""
        if self.ws.connected:
            Base.close(self.ws)
            with contextlib.suppress(OSError):  # the client was faster
                self.ws.sock.shutdown(socket.SHUT_WR)
            self.ws.sock.close()

    def wait(self) -> str | bytes | None:
        """The next frame, or None at the end."""
        while self.ws.connected:
            try:
                frame = self.ws.receive(timeout=LOOK_EVERY)
            except ConnectionClosed:
                return None
            if frame is not None:
                return None if isinstance(frame, str) and not is_engine_packet(frame) else frame
        return None
