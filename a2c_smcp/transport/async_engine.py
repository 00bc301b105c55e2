"""The Engine.IO client on an event loop, over aiohttp."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import Any

import engineio

from a2c_smcp.transport.base import FAREWELL_SECONDS
from a2c_smcp.transport.connect_errors import raise_understood
from a2c_smcp.transport.fast_path import FastWebSocket, Outbox


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
        """Disconnect, after the packets in the queue have been sent."""
        # Over long-polling, the library would drop them, including the packet that says goodbye. The Server would then
        # hold the open GET request until its next heartbeat, and the library waits for that request to end.
        if self.state == "connected" and self.current_transport == "polling" and not abort:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.queue.join(), FAREWELL_SECONDS)
        await super().disconnect(abort, reason)

    def _open_session(self) -> None:
        """Give the library an HTTP session that uses `trust`."""
        # The library's options are not enough: `ssl_verify` is on or off, and `websocket_extra_options` does not reach
        # the requests of long-polling. Each `_reset` closes the session, so every attempt needs a new one.
        if self.trust is not None and (self.http is None or self.http.closed):
            from aiohttp import ClientSession, TCPConnector

            self.http = ClientSession(connector=TCPConnector(ssl=self.trust))

    async def _connect_polling(self, url: str, headers: Any, engineio_path: str) -> None:
        self._is_answered = False
        self._open_session()
        try:
            await super()._connect_polling(url, headers, engineio_path)
        except Exception as error:
            # The library resets itself only after failures that it expects. Otherwise the HTTP session stays open, and
            # with a `sid` from half a handshake the next attempt would be taken for an upgrade.
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
        # The library has created its reader and writer tasks, but they have not run: none holds the plain socket.
        if is_connected:
            self.ws = FastWebSocket(self.ws, self.queue, self._trigger_event)
        return is_connected

    async def _send_request(self, *args: Any, **options: Any) -> Any:
        response = await super()._send_request(*args, **options)
        self._is_answered = response is not None and not isinstance(response, str)  # a text is an error's message
        # The library closes the session before it reads the reason in the body, which may still be on its way.
        if self._is_answered:
            await self._read_reason(response)
        return response

    async def _read_reason(self, response: Any) -> None:
        """Read the body of a rejection; the library finds it in the answer."""
        if response.ok:
            return
        from aiohttp import ClientError

        with contextlib.suppress(ClientError, TimeoutError):  # then there is none, as for the library
            await response.read()

    async def _send_packet(self, pkt: Any) -> None:
        if self.state != "connected" or not self.queue.post(pkt.encode()):
            await super()._send_packet(pkt)

    # The library ends its writer when no packet enters the queue for five seconds longer than a heartbeat. That happens
    # when the Server's ping is late, which the reader tolerates for `ping_timeout`, and also when every packet takes
    # the fast path. Nothing would send the next pong, and the Server would disconnect the client.
    async def _write_loop(self) -> None:
        writer = asyncio.current_task()
        while self.state == "connected":
            await super()._write_loop()
            if not self.queue.is_awaited or writer is None or writer.cancelling():
                return
            self.write_loop_task = writer  # the library has set it to None, which ends its reader
