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
"""For what is on its way, over HTTP, when a client disconnects."""


def _http_answer() -> type[Exception]:
    from aiohttp import ClientResponseError

    return ClientResponseError


class AsyncEngine(engineio.AsyncClient):
    """An `engineio.AsyncClient` that sends at once what its WebSocket takes.

    An ack is handled by the reader itself: its handler must not wait for anything.
    """

    queue: Outbox
    ws: Any
    trust: ssl.SSLContext | None = None
    """For the Server's certificate; None for what the library does by itself."""
    _is_answered = False

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

    def _open_session(self) -> None:
        """Have the library's HTTP session, of every connection, trust whom we trust."""
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
                return False  # long-polling goes on
            await self._reset()
            raise_understood(error, _http_answer())
        if is_connected:  # the tasks that read and write have not begun
            self.ws = FastWebSocket(self.ws, self.queue, self._trigger_event)
        return is_connected

    async def _send_request(self, *args: Any, **options: Any) -> Any:
        response = await super()._send_request(*args, **options)
        self._is_answered = response is not None and not isinstance(response, str)
        return response

    async def _send_packet(self, pkt: Any) -> None:
        if self.state != "connected" or not self.queue.post(pkt.encode()):
            await super()._send_packet(pkt)
