"""A Socket.IO client that stays in its office: it reconnects whatever ended the connection, and joins again.

What the library leaves out: a connection that the Server ended (it restarts, say) is not tried again, an attempt gets
one second, a request waits for its time-out even when the connection is gone, and a room is forgotten.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
from functools import partial
from typing import Any

import socketio
from socketio.exceptions import ConnectionError as SocketIOConnectionError
from socketio.exceptions import DisconnectedError as SocketIODisconnectedError
from socketio.exceptions import TimeoutError as SocketIOTimeoutError
from socketio.packet import EVENT

from a2c_smcp.errors import InvalidAnswerError, NotConnectedError, TimedOutError
from a2c_smcp.protocol.client import ClientWorld, Seat, enter, leave, rejoin
from a2c_smcp.protocol.flow import Flow, ResultT, run_async
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.transport.membership import (
    CONNECT_SECONDS,
    WEBSOCKET_FIRST,
    CannotConnectError,
    Membership,
    arguments,
    in_plain_words,
    with_defaults,
)
from a2c_smcp.transport.packet import Unreadable

logger = logging.getLogger(__name__)


class OfficeClient(Membership, socketio.AsyncClient):
    """A `socketio.AsyncClient` that is a member of an office. `max_message_bytes` is the most that the Server takes."""

    office_id: str | None

    def __init__(self, *args: Any, max_message_bytes: int = Limits().message_bytes, **options: Any) -> None:
        options.setdefault("websocket_extra_options", {"max_msg_size": 0})
        super().__init__(*args, **with_defaults(options, max_message_bytes))
        self._take_no_seat()
        self._pending: set[asyncio.Future[Any]] = set()
        self._rejoining: asyncio.Task[None] | None = None
        self._moving = asyncio.Lock()
        self._leaving = False

    # ------------------------------------------------------------------------------------------------------- connecting

    async def connect(self, url: str, *args: Any, **options: Any) -> None:
        """Connect; see `socketio.AsyncClient.connect`."""
        self._leaving = False
        self._refusal = None
        options.setdefault("wait_timeout", CONNECT_SECONDS)
        options.setdefault("namespaces", [self.namespace])
        await super().connect(url, *args, **options)

    async def reach(self, url: str, **options: Any) -> None:
        """Connect, over WebSocket or else over HTTP, and say in plain words why not.

        Raises:
            NotAuthenticatedError: the Server wants another key.
            ForbiddenError: the Server does not want us.
            NotConnectedError: the Server cannot be reached, or takes no further connection now.
        """
        problem = ""
        for transports in WEBSOCKET_FIRST if options.get("transports") is None else [options["transports"]]:
            try:
                await self.connect(url, **{**options, "transports": transports})
                return
            except SocketIOConnectionError as error:
                problem = str(error)
                if (refusal := self._why_refused(url)) is not None:
                    raise refusal from None
            except ValueError as error:
                raise CannotConnectError(f"{url}: {error}") from None
        raise CannotConnectError(f"cannot reach {url}: {in_plain_words(problem)}")

    async def disconnect(self) -> None:
        """Disconnect, and stay disconnected."""
        self._leaving = True
        self.office_id = None
        self._seat = None
        self._stop_rejoining()
        if not self.connected:
            await self.shutdown()  # an attempt to come back may be under way, and may succeed
            self._reconnect_task = None
        if self.connected:
            await super().disconnect()
        else:
            await self.eio.disconnect()  # an attempt that failed leaves its HTTP session open

    # ---------------------------------------------------------------------------------------------------------- sending

    async def emit(self, event: str, data: Any = None, namespace: str | None = None, callback: Any = None) -> None:
        """Send an event.

        Raises:
            ValueError: this role may not send it.
        """
        self._check_event(event)
        await super().emit(event, data, namespace=namespace or self.namespace, callback=callback)

    async def call(self, event: str, data: Any = None, namespace: str | None = None, timeout: float = 60) -> Any:
        """Send an event and wait for its ack, as `socketio.AsyncClient.call`; a lost connection ends it at once.

        Raises:
            ValueError: this role may not send it.
            socketio.exceptions.TimeoutError: there is no ack in time.
            socketio.exceptions.DisconnectedError: there is no connection, or it broke.
        """
        self._check_event(event)
        if namespace not in (None, self.namespace):
            return await super().call(event, data, namespace=namespace, timeout=timeout)
        try:
            return await self.ask(event, data, timeout)
        except TimedOutError:
            raise SocketIOTimeoutError from None
        except NotConnectedError as error:
            raise SocketIODisconnectedError(error.message) from None

    async def ask(self, event: str, data: Any, timeout: float) -> Any:
        """Send a request and wait for its ack; several ack arguments come as a tuple.

        Raises:
            TimedOutError: no ack within `timeout` seconds.
            NotConnectedError: there is no connection, or it broke.
        """
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        ack_id = self._generate_ack_id(self.namespace, partial(_settle, answered))
        acks = self.callbacks[self.namespace]
        self._pending.add(answered)
        try:
            if self.namespace not in self.namespaces:
                raise NotConnectedError
            packet = self.packet_class(EVENT, namespace=self.namespace, data=[event, *arguments(data)], id=ack_id)
            await self._send_packet(packet)
            async with asyncio.timeout(timeout):
                return await answered
        except TimeoutError:
            raise TimedOutError(f"no answer to {event} within {timeout:g} s") from None
        finally:
            self._pending.discard(answered)
            acks.pop(ack_id, None)

    async def tell(self, event: str, data: Any) -> None:
        """Send an event that needs no ack.

        Raises:
            NotConnectedError: there is no connection.
        """
        if self.namespace not in self.namespaces:
            raise NotConnectedError
        await super().emit(event, data, namespace=self.namespace)

    async def pause(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def load(self, module: str) -> Any:
        """Import a module in a thread, unless it is there."""
        return sys.modules.get(module) or await asyncio.to_thread(importlib.import_module, module)

    async def _run(self, flow: Flow[ClientWorld, ResultT]) -> ResultT:
        return await run_async(flow, self)

    # ---------------------------------------------------------------------------------------------------------- offices

    async def take(self, seat: Seat) -> None:
        """Enter an office; one at a time.

        Raises:
            OfficeRefusedError: the Server refuses, or gives no valid answer.
        """
        async with self._moving:
            await self._run(enter(seat))

    async def _join(self, office_id: str, name: str) -> None:
        """Take a seat, and take it again after every reconnection.

        Raises:
            OfficeRefusedError: the Server refuses, or gives no valid answer.
        """
        seat = Seat(office_id, name)
        await self.take(seat)
        self._seat = seat

    async def _leave(self, office_id: str) -> None:
        """Leave; whatever the Server says, we are out."""
        self._stop_rejoining()
        async with self._moving:
            self._seat = None
            await self._run(leave(office_id))

    async def _rejoin(self) -> None:
        if await self._run(rejoin()):
            await self._on_rejoined()

    def _stop_rejoining(self) -> None:
        if self._rejoining is not None:
            self._rejoining.cancel()
            self._rejoining = None

    async def _on_rejoined(self) -> None:
        """For subclasses: what to do once back."""

    def _on_lost(self) -> None:
        """For subclasses: what to do when the connection is gone."""

    # The library's own hooks rather than its events: a program may have handlers of its own for those.

    async def _handle_connect(self, namespace: str | None, data: Any) -> None:
        await super()._handle_connect(namespace, data)
        if self._seat is not None and namespace == self.namespace:
            self._stop_rejoining()  # the question it waits for went down with the old connection
            self._rejoining = asyncio.create_task(self._rejoin(), name="rejoin")

    async def _handle_error(self, namespace: str | None, data: Any) -> None:
        self._refusal = data
        await super()._handle_error(namespace, data)

    async def _handle_eio_disconnect(self, reason: Any) -> None:
        await super()._handle_eio_disconnect(reason)
        self._lose_connection()

    async def _handle_disconnect(self, namespace: str | None) -> None:
        await super()._handle_disconnect(namespace)
        self._lose_connection()
        if self.reconnection and not self._leaving and not self.connected and not self._reconnect_task:
            self._reconnect_task = self.start_background_task(self._handle_reconnect)

    def _lose_connection(self) -> None:
        self._stop_rejoining()
        for answered in self._pending:
            if not answered.done():
                answered.set_exception(NotConnectedError("the connection to the Server broke before the answer came"))
        if self.office_id is not None:
            self.office_id = None
            logger.warning("the connection to the Server is lost; trying to come back")
            self._on_lost()


def _settle(answered: asyncio.Future[Any], *ack: Any) -> None:
    """Hand an ack over to whoever waits for it."""
    if answered.done():
        return
    value = ack[0] if len(ack) == 1 else ack or None
    if isinstance(value, Unreadable):
        answered.set_exception(InvalidAnswerError(value.error.message))
    else:
        answered.set_result(value)
