"""The blocking twin of `async_client`: the same member of an office, for programs without an event loop.

Acks are read where they arrive, in the thread that reads the connection, and every other packet is handled in a thread
of its own: a handler may wait for an answer.
"""

from __future__ import annotations

import importlib
import logging
import threading
from functools import partial
from typing import Any

import engineio
import socketio
from socketio.exceptions import ConnectionError as SocketIOConnectionError
from socketio.exceptions import DisconnectedError as SocketIODisconnectedError
from socketio.exceptions import TimeoutError as SocketIOTimeoutError
from socketio.packet import ACK, EVENT

from a2c_smcp.errors import InvalidAnswerError, NotConnectedError, SMCPError, TimedOutError
from a2c_smcp.protocol.client import ClientWorld, Seat, enter, leave, rejoin
from a2c_smcp.protocol.flow import Flow, ResultT, run
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


class _Engine(engineio.Client):
    """Hands messages over in order, in the thread that reads them."""

    def _trigger_event(self, event: str, *args: Any, **options: Any) -> Any:
        if event == "message":
            options["run_async"] = False
        return super()._trigger_event(event, *args, **options)


class _Pending:
    """A request that waits for its ack."""

    __slots__ = ("_done", "_error", "_value")

    def __init__(self) -> None:
        self._done = threading.Event()
        self._value: Any = None
        self._error: SMCPError | None = None

    def settle(self, *ack: Any) -> None:
        """Hand an ack over."""
        self._value = ack[0] if len(ack) == 1 else ack or None
        if isinstance(self._value, Unreadable):
            self._error = InvalidAnswerError(self._value.error.message)
        self._done.set()

    def fail(self, error: SMCPError) -> None:
        """There will be no ack."""
        if not self._done.is_set():
            self._error = error
            self._done.set()

    def wait(self, timeout: float, event: str) -> Any:
        """The ack."""
        if not self._done.wait(timeout):
            raise TimedOutError(f"no answer to {event} within {timeout:g} s")
        if self._error is not None:
            raise self._error
        return self._value


class SyncOfficeClient(Membership, socketio.Client):
    """A `socketio.Client` that is a member of an office. `max_message_bytes` is the most that the Server takes."""

    office_id: str | None

    def __init__(self, *args: Any, max_message_bytes: int = Limits().message_bytes, **options: Any) -> None:
        super().__init__(*args, **with_defaults(options, max_message_bytes))
        self._take_no_seat()
        self._pending: dict[int, _Pending] = {}
        self._numbering = threading.Lock()
        self._rejoining: threading.Thread | None = None
        self._connection = threading.Event()
        """Set when the connection it was made for is over; every connection has its own."""
        self._moving = threading.Lock()
        self._leaving = False

    # ------------------------------------------------------------------------------------------------------- connecting

    def connect(self, url: str, *args: Any, **options: Any) -> None:
        """Connect; see `socketio.Client.connect`."""
        self._leaving = False
        self._refusal = None
        options.setdefault("wait_timeout", CONNECT_SECONDS)
        options.setdefault("namespaces", [self.namespace])
        super().connect(url, *args, **options)

    def reach(self, url: str, **options: Any) -> None:
        """Connect, over WebSocket or else over HTTP, and say in plain words why not.

        Raises:
            NotAuthenticatedError: the Server wants another key.
            ForbiddenError: the Server does not want us.
            NotConnectedError: the Server cannot be reached, or takes no further connection now.
        """
        problem = ""
        for transports in WEBSOCKET_FIRST if options.get("transports") is None else [options["transports"]]:
            try:
                self.connect(url, **{**options, "transports": transports})
                return
            except SocketIOConnectionError as error:
                problem = str(error)
                if (refusal := self._why_refused(url)) is not None:
                    raise refusal from None
            except ValueError as error:
                raise CannotConnectError(f"{url}: {error}") from None
        raise CannotConnectError(f"cannot reach {url}: {in_plain_words(problem)}")

    def disconnect(self) -> None:
        """Disconnect, and stay disconnected."""
        self._leaving = True
        self.office_id = None
        self._seat = None
        self._connection.set()
        if not self.connected:
            self._stop_reconnecting()
        if self.connected:
            super().disconnect()
        else:
            self.eio.disconnect(abort=True)

    def _stop_reconnecting(self) -> None:
        """An attempt to come back may be under way, and may succeed."""
        task = self._reconnect_task
        if task is not None and self._reconnect_abort is not None:
            self._reconnect_abort.set()
            if task is not threading.current_thread():
                task.join(CONNECT_SECONDS)
        self._reconnect_task = None

    # ---------------------------------------------------------------------------------------------------------- sending

    def emit(self, event: str, data: Any = None, namespace: str | None = None, callback: Any = None) -> None:
        """Send an event.

        Raises:
            ValueError: this role may not send it.
        """
        self._check_event(event)
        super().emit(event, data, namespace=namespace or self.namespace, callback=callback)

    def call(self, event: str, data: Any = None, namespace: str | None = None, timeout: float = 60) -> Any:
        """Send an event and wait for its ack, as `socketio.Client.call`; a lost connection ends it at once.

        Raises:
            ValueError: this role may not send it.
            socketio.exceptions.TimeoutError: there is no ack in time.
            socketio.exceptions.DisconnectedError: there is no connection, or it broke.
        """
        self._check_event(event)
        if namespace not in (None, self.namespace):
            return super().call(event, data, namespace=namespace, timeout=timeout)
        try:
            return self.ask(event, data, timeout)
        except TimedOutError:
            raise SocketIOTimeoutError from None
        except NotConnectedError as error:
            raise SocketIODisconnectedError(error.message) from None

    def ask(self, event: str, data: Any, timeout: float) -> Any:
        """Send a request and wait for its ack; several ack arguments come as a tuple.

        Raises:
            TimedOutError: no ack within `timeout` seconds.
            NotConnectedError: there is no connection, or it broke.
        """
        pending = _Pending()
        with self._numbering:
            ack_id = self._generate_ack_id(self.namespace, pending.settle)
            acks = self.callbacks[self.namespace]
            self._pending[id(pending)] = pending
        try:
            if self.namespace not in self.namespaces:
                raise NotConnectedError
            self._send_packet(
                self.packet_class(EVENT, namespace=self.namespace, data=[event, *arguments(data)], id=ack_id)
            )
            return pending.wait(timeout, event)
        finally:
            self._pending.pop(id(pending), None)
            acks.pop(ack_id, None)

    def tell(self, event: str, data: Any) -> None:
        """Send an event that needs no ack.

        Raises:
            NotConnectedError: there is no connection.
        """
        if self.namespace not in self.namespaces:
            raise NotConnectedError
        super().emit(event, data, namespace=self.namespace)

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than the connection lasts.

        Raises:
            NotConnectedError: it is over.
        """
        if self._connection.wait(seconds):
            raise NotConnectedError

    def load(self, module: str) -> Any:
        """Import a module."""
        return importlib.import_module(module)

    def _run(self, flow: Flow[ClientWorld, ResultT]) -> ResultT:
        return run(flow, self)

    # ---------------------------------------------------------------------------------------------------------- offices

    def take(self, seat: Seat) -> None:
        """Enter an office; one at a time.

        Raises:
            OfficeRefusedError: the Server refuses, or gives no valid answer.
        """
        with self._moving:
            self._run(enter(seat))

    def _join(self, office_id: str, name: str) -> None:
        """Take a seat, and take it again after every reconnection.

        Raises:
            OfficeRefusedError: the Server refuses, or gives no valid answer.
        """
        seat = Seat(office_id, name)
        self.take(seat)
        self._seat = seat

    def _leave(self, office_id: str) -> None:
        """Leave; whatever the Server says, we are out."""
        self._seat = None
        with self._moving:
            self._run(leave(office_id))

    def _rejoin(self, connection: threading.Event) -> None:
        try:
            if self._run(rejoin()) and not connection.is_set():
                self._on_rejoined()
        except NotConnectedError:
            pass  # the next connection tries again
        except Exception:
            logger.exception("rejoining failed")

    def _on_rejoined(self) -> None:
        """For subclasses: what to do once back."""

    def _on_lost(self) -> None:
        """For subclasses: what to do when the connection is gone."""

    def _on_event(self, event: str, data: list[Any]) -> None:
        """For subclasses: an event came. In the thread that reads the connection: it must not wait for anything."""

    # The library's own hooks rather than its events: a program may have handlers of its own for those.

    def _engineio_client_class(self) -> type[engineio.Client]:
        return _Engine

    def _handle_eio_message(self, data: Any) -> None:
        packet = self.packet_class(encoded_packet=data)
        if packet.packet_type == ACK:
            try:
                self._handle_ack(packet.namespace, packet.id, packet.data)
            except Exception:  # a program's own callback
                logger.exception("the callback of an ack failed")
            return
        if packet.packet_type == EVENT and packet.namespace == self.namespace:
            self._on_event(packet.data[0], packet.data[1:])
            if packet.id is None and not self._has_handler(packet.data[0]):
                return
        self.start_background_task(partial(super()._handle_eio_message, data))

    def _has_handler(self, event: str) -> bool:
        """Whether the program itself wants to hear of it."""
        handler, _ = self._get_event_handler(event, self.namespace, ())
        return handler is not None or bool(self.namespace_handlers)

    def _handle_connect(self, namespace: str | None, data: Any) -> None:
        self._connection = threading.Event()
        super()._handle_connect(namespace, data)
        if self._seat is not None and namespace == self.namespace:
            self._rejoining = self.start_background_task(self._rejoin, self._connection)

    def _handle_error(self, namespace: str | None, data: Any) -> None:
        self._refusal = data
        super()._handle_error(namespace, data)

    def _handle_eio_disconnect(self, reason: Any) -> None:
        super()._handle_eio_disconnect(reason)
        self._lose_connection()

    def _handle_disconnect(self, namespace: str | None) -> None:
        super()._handle_disconnect(namespace)
        self._lose_connection()
        if self.reconnection and not self._leaving and not self.connected and not self._reconnect_task:
            self._reconnect_task = self.start_background_task(self._handle_reconnect)

    def _lose_connection(self) -> None:
        self._connection.set()
        for pending in list(self._pending.values()):
            pending.fail(NotConnectedError("the connection to the Server broke before the answer came"))
        if self.office_id is not None:
            self.office_id = None
            logger.warning("the connection to the Server is lost; trying to come back")
            self._on_lost()
