"""WebSocket under WSGI servers: the library's own, which ends at a frame that is not Engine.IO, and always ends."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from engineio.async_drivers.threading import SimpleWebSocketWSGI
from simple_websocket import ConnectionClosed
from simple_websocket.ws import Base
from wsproto.utilities import LocalProtocolError

from a2c_smcp.server.connections import LAST_SECONDS
from a2c_smcp.transport.packet import is_engine_packet

LOOK_EVERY = 1.0
"""Seconds. The library does not wake its reader when a message is too large, nor when the session is over."""


class GuardedWebSocket(SimpleWebSocketWSGI):
    """Ends at a bad frame as at a close: the library would leave its session half open. Ends even if the peer neither
    reads nor hangs up: the library would leave its threads behind."""

    def __init__(self, handler: Any, server: Any) -> None:
        super().__init__(handler, server, max_message_size=server.max_http_buffer_size)
        self._session = handler.__self__

    @classmethod
    def install(cls, sio: Any) -> None:
        """Use this class for the WebSockets of a `socketio.Server`."""
        sio.eio._async = {**sio.eio._async, "websocket": cls}

    def close(self) -> None:
        """Say goodbye and end the TCP stream: a WSGI server may keep it open, and the client would wait for its end."""
        if self.ws.connected:
            with contextlib.suppress(OSError, ConnectionClosed, LocalProtocolError):  # the client was faster
                Base.close(self.ws)
            with contextlib.suppress(OSError):
                self.ws.sock.shutdown(socket.SHUT_WR)

    def wait(self) -> str | bytes | None:
        """The next frame, or None at the end."""
        frame = self._next_frame()
        if frame is None and self._session.upgraded:
            self._session.close(wait=False, abort=True, reason=self._session.server.reason.TRANSPORT_CLOSE)
            self._see_off()
        return frame

    def _next_frame(self) -> str | bytes | None:
        while self.ws.connected and not self._session.closed:
            try:
                frame = self.ws.receive(timeout=LOOK_EVERY)
            except ConnectionClosed:
                return None
            if frame is not None:
                return None if isinstance(frame, str) and not is_engine_packet(frame) else frame
        return None

    def _see_off(self) -> None:
        """Give the peer some time to read the rest and to hang up."""
        self.ws.thread.join(LAST_SECONDS)
        with contextlib.suppress(OSError):  # it did
            self.ws.sock.shutdown(socket.SHUT_RDWR)
