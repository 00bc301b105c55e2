"""A Socket.IO client that stays in its office: it sends requests, and joins again after every reconnection.

A program asks for a seat once. The client keeps it (`_seat`) through all connections, and takes it again whenever the
Server admits it, however often that fails: the Server may hold the seat for the broken connection until it notices.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from types import CoroutineType
from typing import Any

from socketio.exceptions import BadNamespaceError
from socketio.exceptions import ConnectionError as SocketIOConnectionError
from socketio.exceptions import DisconnectedError as SocketIODisconnectedError
from socketio.exceptions import TimeoutError as SocketIOTimeoutError

from a2c_smcp import errors
from a2c_smcp.protocol.client_effects import ClientBackend, Seat
from a2c_smcp.protocol.flow import Flow, ResultT, run_async
from a2c_smcp.protocol.seat import check_seconds, enter, join, leave, rejoin
from a2c_smcp.transport.async_connection import AsyncConnection
from a2c_smcp.transport.base import TRANSPORTS, arguments, check_server_url
from a2c_smcp.transport.connect_errors import NotConnectedError, explain
from a2c_smcp.transport.pending import AsyncPending
from a2c_smcp.transport.together import beside_async, together_async


class AsyncOfficeClient(AsyncConnection):
    """A `socketio.AsyncClient` that is a member of an office. The options are those of `AsyncConnection`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._office_lock = asyncio.Lock()
        """Held while the client joins or leaves an office: the order of requests must be the order of changes."""

    # ------------------------------------------------------------------------------------------------------- connecting

    async def reach(self, url: str, *, office_id: str | None = None, **options: Any) -> None:
        """Connect over WebSocket, or over HTTP where WebSocket is blocked.

        `office_id` is the office that the client is going to join. A proxy before several Servers can choose one by it.

        Raises:
            NotAuthenticatedError: the Server requires another key.
            ForbiddenError: the Server rejects this client.
            VersionRefusedError: the Server speaks only versions of the protocol that this client does not.
            NotConnectedError: the Server cannot be reached, or accepts no further connection. The message says why.
        """
        check_server_url(url)
        if self.connected:
            raise NotConnectedError("already connected")
        self._destination = office_id
        self._chose_transports = options.get("transports") is None
        problems: list[SocketIOConnectionError] = []
        for transports in TRANSPORTS if self._chose_transports else [options["transports"]]:
            try:
                await self.connect(url, **{**options, "transports": transports})
                return
            except SocketIOConnectionError as error:
                problems.append(error)
                # The Server itself rejected the client. It would do so over another transport as well.
                if (refusal := self._why_refused(url)) is not None:
                    raise refusal from None
        raise NotConnectedError(f"cannot reach {url}: {explain(problems, self.ca_file)}")

    async def disconnect(self) -> None:
        """Disconnect, and do not reconnect."""
        # Set first, because the end of the connection would otherwise start a reconnection. Without an office, it is
        # not announced as a loss either.
        self._leaving = True
        self.office_id = None
        self._seat = None
        self._stop_rejoining()
        await self._stop_reconnecting()
        await self._hang_up()

    async def shutdown(self) -> None:
        """Disconnect, and do not reconnect."""
        await self.disconnect()

    # ---------------------------------------------------------------------------------------------------------- sending

    async def emit(self, event: str, data: Any = None, namespace: str | None = None, callback: Any = None) -> None:
        """Send an event.

        Raises:
            ValueError: this role may not send the event.
        """
        self._check_event(event)
        await super().emit(event, data, namespace=namespace or self.namespace, callback=callback)

    async def call(self, event: str, data: Any = None, namespace: str | None = None, timeout: float = 60) -> Any:
        """Send an event and wait for its ack, as `socketio.AsyncClient.call`; fail at once if the connection breaks.

        Raises:
            ValueError: this role may not send the event.
            socketio.exceptions.TimeoutError: no ack within `timeout` seconds.
            socketio.exceptions.DisconnectedError: the connection broke.
        """
        self._check_event(event)
        if namespace not in (None, self.namespace):
            return await super().call(event, data, namespace=namespace, timeout=timeout)
        if self.namespace not in self.namespaces:
            raise BadNamespaceError(f"{self.namespace} is not a connected namespace.")
        try:
            return await self._ask(event, data, timeout)
        except errors.TimedOutError:
            raise SocketIOTimeoutError from None
        except errors.NotConnectedError as error:
            raise SocketIODisconnectedError(error.message) from None

    async def _ask(self, event: str, data: Any, timeout: float) -> Any:
        """Send a request and wait for its ack; several ack arguments come as a tuple.

        Raises:
            TimedOutError: no ack within `timeout` seconds.
            NotConnectedError: there is no connection, or it broke.
        """
        seconds = check_seconds(timeout)
        number = next(self._numbers)
        pending = self._pending[number] = AsyncPending()
        try:
            # Check the connection after the request is registered. If it breaks in between, `_on_disconnected` either
            # has emptied `namespaces` before this check, or finds the request and fails it.
            if self.namespace not in self.namespaces:
                raise errors.NotConnectedError
            await self._send_event(event, arguments(data), number)
            return await pending.wait(seconds, event)
        finally:
            del self._pending[number]

    async def _tell(self, event: str, data: Any) -> None:
        """Send an event that needs no ack.

        Raises:
            NotConnectedError: there is no connection.
        """
        if self.namespace not in self.namespaces:
            raise errors.NotConnectedError
        await super().emit(event, data, namespace=self.namespace)

    # Not `async`, which would be another coroutine in the stack of every request.
    def _run(self, flow: Flow[ClientBackend, ResultT]) -> CoroutineType[Any, Any, ResultT]:
        return run_async(flow, self._backend)

    async def _together(self, flows: Sequence[Flow[ClientBackend, None]]) -> None:
        await together_async(flows, self._backend)

    async def _work(self, function: Callable[[], Any]) -> Any:
        return await beside_async(function)

    # ---------------------------------------------------------------------------------------------------------- offices

    async def _join(self, office_id: str, name: str) -> None:
        """Take a seat, and take it again after every reconnection.

        Raises:
            OfficeRefusedError: the Server rejects the join, or gives no valid answer.
        """
        seat = Seat(office_id, name, self.role)
        async with self._office_lock:
            await self._run(join(seat))
            self._seat = seat  # afterwards: a rejected move to another office leaves the client its seat

    async def _leave(self, office_id: str) -> None:
        """Leave the office, even if the Server answers an error."""
        self._stop_rejoining()  # it may hold the lock while it waits for the Server
        async with self._office_lock:
            self._seat = None  # before the request: if that fails or is interrupted, the client must not rejoin
            await self._run(leave(office_id))

    async def _retake(self, seat: Seat) -> bool:
        """Take a seat again; False if the program has left it, or the client is in the office.

        Raises:
            OfficeRefusedError: the Server rejects the join, or gives no valid answer.
        """
        async with self._office_lock:
            if self._seat is not seat or self.office_id == seat.office_id:
                return False
            await self._run(enter(seat))
            # Under the lock: a program that leaves at this moment must not be told afterwards that it is back.
            self._on_rejoined()
            return True

    async def _rejoin(self) -> None:
        with contextlib.suppress(errors.NotConnectedError):  # the next connection starts this again
            await self._run(rejoin())
