"""What our client needs of the inside of python-socketio's client.

Our clients are `socketio` clients, so that programs can use them as such. The class here turns the library's private
hooks into those of `OfficeClientBase`: not the library's events, for which a program may have handlers of its own.
`tests/transport/test_internals.py` checks that each name used here exists with the signature that is relied on, and
that each override is called on a live connection.
"""

from __future__ import annotations

import asyncio
from typing import Any

import socketio
from socketio.exceptions import ConnectionError as SocketIOConnectionError
from socketio.packet import DISCONNECT, EVENT

from a2c_smcp.transport.async_engine import AsyncEngine
from a2c_smcp.transport.base import OfficeClientBase

NO_ANSWER = "the Server does not answer"
BROKEN = "the connection broke"
REFUSED = "refused"


class AsyncInternals(OfficeClientBase, socketio.AsyncClient):
    """A `socketio.AsyncClient` with our hooks. To come back after a loss is for the subclass."""

    _is_over: asyncio.Event
    """Set when the connection it was made for is over; every connection has its own."""

    async def _come_back(self) -> None:
        """Connect again and again. The library asks for it where a program wants the first attempt to be repeated."""

    async def _wait_for_admission(self, namespaces: set[str], is_over: asyncio.Event, seconds: float) -> None:
        """Wait until the Server has let us into these namespaces or refused it, or the connection is over."""

    async def _dial(self, url: str, *args: Any, seconds: float | None, **options: Any) -> None:
        """Connect, and wait to be let in; not if `seconds` is None.

        Raises:
            socketio.exceptions.ConnectionError: that failed; there is no connection.
        """
        namespaces = options["namespaces"]
        wanted = {namespaces} if isinstance(namespaces, str) else set(namespaces)
        self._refusal = None
        is_over = self._is_over = asyncio.Event()
        # The wait is our own: the library's way to give up is to disconnect for good.
        await super().connect(url, *args, wait=False, **options)
        if seconds is None:
            return
        self.connected = False  # not before we are let in
        try:
            await self._wait_for_admission(wanted, is_over, seconds)
        except BaseException:
            await self._hang_up()
            raise
        if wanted <= set(self.namespaces) and not is_over.is_set():
            self.connected = True
            return
        problem = REFUSED if self.failed_namespaces else BROKEN if is_over.is_set() else NO_ANSWER
        await self._hang_up()
        raise SocketIOConnectionError(problem)

    async def _dial_again(self) -> None:
        """Connect as before."""
        await self.connect(
            self.connection_url,
            headers=self.connection_headers,
            auth=self.connection_auth,
            transports=self.connection_transports,
            namespaces=self.connection_namespaces,
            socketio_path=self.socketio_path,
        )

    async def _hang_up(self) -> None:
        """End the connection, or what there is of it."""
        for namespace in list(self.namespaces):
            await self._send_packet(self.packet_class(DISCONNECT, namespace=namespace))
        is_reader = asyncio.current_task() is self.eio.read_loop_task
        await self.eio.disconnect(abort=is_reader)  # an attempt that failed leaves its HTTP session open
        self.namespaces = {}
        self.connected = False

    async def _send_event(self, event: str, arguments: list[Any], number: int) -> None:
        """Send an event whose ack comes to `_on_ack` with this number."""
        packet = self.packet_class(EVENT, namespace=self.namespace, data=[event, *arguments], id=number)
        await self._send_packet(packet)

    def _has_answer(self, namespaces: set[str]) -> bool:
        """Whether the Server has let us into these namespaces, or refused it."""
        return namespaces <= {*self.namespaces, *self.failed_namespaces}

    def _stop_waiting(self) -> None:
        """End an attempt to connect, which may be under way elsewhere."""
        self._is_over.set()
        if self._connect_event is not None:
            self._connect_event.set()

    # --------------------------------------------------------------------------------------------------- of the library

    def _engineio_client_class(self) -> type[AsyncEngine]:
        return AsyncEngine

    async def _handle_reconnect(self) -> None:
        await self._come_back()

    async def _handle_connect(self, namespace: str | None, data: Any) -> None:
        await super()._handle_connect(namespace, data)
        if namespace == self.namespace:
            self._on_admitted()

    async def _handle_error(self, namespace: str | None, data: Any) -> None:
        if namespace == self.namespace:
            self._refusal = data
        await super()._handle_error(namespace, data)

    async def _handle_disconnect(self, namespace: str | None) -> None:
        is_entering = not self.connected
        await super()._handle_disconnect(namespace)
        if namespace == self.namespace and (is_entering or self.connected):
            await self.eio.disconnect()  # other namespaces may be left; without ours they are of no use

    async def _handle_eio_disconnect(self, reason: Any) -> None:
        wanted, self.reconnection = self.reconnection, False  # to come back is our own affair
        try:
            await super()._handle_eio_disconnect(reason)
        finally:
            self.reconnection = wanted
        self.namespaces = {}
        self.connected = False
        self._stop_waiting()
        self._on_disconnected()
