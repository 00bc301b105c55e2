"""The Engine.IO client on an event loop, over aiohttp."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import Any

import engineio

from a2c_smcp.transport.connect_errors import raise_understood
from a2c_smcp.transport.fast_path import FastWebSocket, Outbox

FAREWELL_SECONDS = 2.0
"""How long a client that disconnects waits for its last packets to be sent over HTTP."""


def _http_answer() -> type[Exception]:
    # Imported here, and not at the top: aiohttp takes a tenth of a second, and a program may never connect.
    from aiohttp import ClientResponseError

    return ClientResponseError


class AsyncEngine(engineio.AsyncClient):
    """An `engineio.AsyncClient` with a fast path over a WebSocket, and with errors that say why a connection failed."""

    queue: Outbox
    ws: Any
    trust: ssl.SSLContext | None = None
    """Verifies the Server's certificate; None for the library's default."""
    _is_answered = False
    """Whether a program answered the latest HTTP request."""

    def create_queue(self, *args: Any, **options: Any) -> Outbox:
        """Make the queue of packets for the Server; it serves all connections of this client."""
        return Outbox(*args, **options)

    async def disconnect(self, abort: bool = False, reason: Any = None) -> None:
        """Disconnect, after the packets in the queue have been sent.

        Over long-polling, the library would drop them, including the packet that says goodbye, and the Server would
        hold the open GET request until its next heartbeat.
        """
        if self.state == "connected" and self.current_transport == "polling" and not abort:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.queue.join(), FAREWELL_SECONDS)
        await super().disconnect(abort, reason)

    def _open_session(self) -> None:
        """Give the library an HTTP session that uses `trust`: its options reach some of its connections only."""
        if self.trust is not None and (self.http is None or self.http.closed):
            from aiohttp import ClientSession, TCPConnector

            self.http = ClientSession(connector=TCPConnector(ssl=self.trust))

    async def _connect_polling(self, url: str, headers: Any, engineio_path: str) -> None:
        self._is_answered = False
        self._open_session()
        try:
            await super()._connect_polling(url, headers, engineio_path)
        except Exception as error:
            await self._reset()
            raise_understood(error, _http_answer(), self._is_answered)

    async def _connect_websocket(self, url: str, headers: Any, engineio_path: str) -> bool:
        is_upgrade = bool(self.sid)
        self._open_session()
        try:
            is_connected = await super()._connect_websocket(url, headers, engineio_path)
        except Exception as error:
            if is_upgrade:
                return False  # the connection goes on over long-polling
            await self._reset()
            raise_understood(error, _http_answer())
        if is_connected:  # the reader and writer tasks have not started, so none of them holds the plain socket
            self.ws = FastWebSocket(self.ws, self.queue, self._trigger_event)
        return is_connected

    async def _send_request(self, *args: Any, **options: Any) -> Any:
        response = await super()._send_request(*args, **options)
        self._is_answered = response is not None and not isinstance(response, str)
        return response

    async def _send_packet(self, pkt: Any) -> None:
        if self.state != "connected" or not self.queue.post(pkt.encode()):
            await super()._send_packet(pkt)
