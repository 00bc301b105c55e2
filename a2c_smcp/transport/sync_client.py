"""The blocking twin of `async_client`: the same member of an office, for programs without an event loop.

Answers to our requests are handed over in the thread that reads the connection, and so are notices; every other packet
is handled in a thread of its own, as the library does it: a handler may wait for an answer.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import queue
import threading
import time
from functools import partial
from typing import Any

import engineio
import socketio
import websocket
from socketio.exceptions import BadNamespaceError
from socketio.exceptions import ConnectionError as SocketIOConnectionError
from socketio.exceptions import DisconnectedError as SocketIODisconnectedError
from socketio.exceptions import TimeoutError as SocketIOTimeoutError
from socketio.packet import ACK, DISCONNECT, EVENT

from a2c_smcp.errors import InvalidAnswerError, NotConnectedError, SMCPError, TimedOutError
from a2c_smcp.protocol.client import ClientWorld, Seat, check_seconds, come_back, enter, join, leave, rejoin
from a2c_smcp.protocol.flow import Flow, ResultT, run
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.transport.membership import (
    CONNECT_SECONDS,
    FAREWELL_SECONDS,
    WEBSOCKET_FIRST,
    Membership,
    arguments,
    check_url,
    in_plain_words,
    unreachable,
    with_defaults,
)
from a2c_smcp.transport.packet import Unreadable

logger = logging.getLogger(__name__)


class _PacketQueue(queue.Queue[Any]):
    """The engine's queue of packets. The None that ends the writer is not taken together with a packet before it: the
    writer would overlook it, and the end of the connection be noticed half a minute later."""

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if not block:
            with self.mutex:
                if self.queue and self.queue[0] is None:
                    raise queue.Empty
        return super().get(block, timeout)

    def get_nowait(self) -> Any:
        return super().get(block=False)


class _Engine(engineio.Client):
    """Hands messages over in order, in the thread that reads them."""

    def create_queue(self, *args: Any, **options: Any) -> queue.Queue[Any]:
        return _PacketQueue(*args, **options)

    def disconnect(self, abort: bool = False, reason: Any = None) -> None:
        """Disconnect. What is on its way is sent first: after that the library would forget to say goodbye, and the
        Server hold our request for news until its next heartbeat."""
        if self.state == "connected" and self.current_transport == "polling" and not abort:
            with self.queue.all_tasks_done:
                self.queue.all_tasks_done.wait_for(lambda: not self.queue.unfinished_tasks, FAREWELL_SECONDS)
        super().disconnect(abort, reason)

    def _write_loop(self) -> None:
        try:
            super()._write_loop()
        except websocket.WebSocketException as error:  # the network took nothing for too long; the library overlooks it
            logger.info("sending failed: %s", error)
            self.write_loop_task = None

    def _trigger_event(self, event: str, *args: Any, **options: Any) -> Any:
        if event == "message":
            options["run_async"] = False
        return super()._trigger_event(event, *args, **options)


class _Pending:
    """A request that waits for its ack. A bare lock rather than an event: Ctrl-C cannot leave it in between."""

    __slots__ = ("_error", "_latch", "_value")

    def __init__(self) -> None:
        self._latch = threading.Lock()
        self._latch.acquire()
        self._value: Any = None
        self._error: SMCPError | None = None

    def settle(self, ack: list[Any]) -> None:
        """Hand an ack over."""
        value = ack[0] if len(ack) == 1 else tuple(ack) or None
        if isinstance(value, Unreadable):
            self.fail(InvalidAnswerError(value.error.message))
        else:
            self._value = value
            self._open()

    def fail(self, error: SMCPError) -> None:
        """There will be no ack."""
        if self._latch.locked():
            self._error = error
            self._open()

    def wait(self, seconds: float, event: str) -> Any:
        """The ack."""
        if not self._latch.acquire(timeout=seconds):
            raise TimedOutError(f"no answer to {event} within {seconds:g} s")
        if self._error is not None:
            raise self._error
        return self._value

    def _open(self) -> None:
        with contextlib.suppress(RuntimeError):  # somebody was faster
            self._latch.release()


class SyncOfficeClient(Membership, socketio.Client):
    """A `socketio.Client` that is a member of an office. `max_message_bytes` is the most that the Server takes."""

    office_id: str | None

    def __init__(self, *args: Any, max_message_bytes: int = Limits().message_bytes, **options: Any) -> None:
        options.setdefault("websocket_extra_options", {"skip_utf8_validation": True})  # the packet looks at it anyway
        super().__init__(*args, **with_defaults(options, max_message_bytes))
        self._take_no_seat()
        self._pending: dict[int, _Pending] = {}
        self._is_over = threading.Event()
        """Set when the connection it was made for is over; every connection has its own."""
        self._is_gone = threading.Event()
        """Set when no connection is wanted any more; every wish for one has its own."""
        self._moving = threading.Lock()
        self._returning = threading.Lock()

    # ------------------------------------------------------------------------------------------------------- connecting

    def connect(self, url: str, *args: Any, **options: Any) -> None:
        """Connect; see `socketio.Client.connect`."""
        if threading.current_thread() is not self._reconnect_task:
            self._stop_coming_back()
            self._leaving = False
            self._is_gone = threading.Event()
        self._refusal = None
        wanted = options.setdefault("namespaces", [self.namespace])
        wait = options.pop("wait", True)
        seconds = options.pop("wait_timeout", CONNECT_SECONDS)
        self._is_over = threading.Event()
        super().connect(url, *args, wait=False, **options)
        self.connected = not wait  # not before we are let in
        if wait:
            self._enter_namespaces({wanted} if isinstance(wanted, str) else set(wanted), seconds)
        with self._returning:
            self.connected = self._is_established = not self._is_over.is_set()
        if not self._is_established:
            self._hang_up()
            raise SocketIOConnectionError("the connection broke")

    def _enter_namespaces(self, wanted: set[str], seconds: float) -> None:
        """Wait until the Server has let us in. The library's own way to give up would be to disconnect for good."""
        deadline = time.monotonic() + seconds
        problem = "the Server does not answer"
        while time.monotonic() < deadline:
            if self._is_over.is_set():
                problem = "the connection broke"
                break
            if wanted <= {*self.namespaces, *self.failed_namespaces}:
                if wanted <= set(self.namespaces):
                    return
                problem = "refused"
                break
            self._connect_event.wait(max(0.0, deadline - time.monotonic()))
            self._connect_event.clear()
        self._hang_up()
        raise SocketIOConnectionError(problem)

    def reach(self, url: str, **options: Any) -> None:
        """Connect, over WebSocket or else over HTTP, and say in plain words why not.

        Raises:
            NotAuthenticatedError: the Server wants another key.
            ForbiddenError: the Server does not want us.
            NotConnectedError: the Server cannot be reached, or takes no further connection now.
        """
        check_url(url)
        if self.connected:
            raise unreachable("already connected")
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
                raise unreachable(f"{url}: {error}") from None
        raise unreachable(f"cannot reach {url}: {in_plain_words(problem)}")

    def disconnect(self) -> None:
        """Disconnect, and stay disconnected."""
        self._leaving = True
        self.office_id = None
        self._seat = None
        self._stop_coming_back()
        self._hang_up()

    def shutdown(self) -> None:
        """Disconnect, and stay disconnected."""
        self.disconnect()

    def _stop_coming_back(self) -> None:
        with self._returning:
            coming_back, self._reconnect_task = self._reconnect_task, None
        self._is_gone.set()
        self._is_over.set()
        if self._connect_event is not None:
            self._connect_event.set()
        if coming_back is not None and coming_back is not threading.current_thread():
            coming_back.join(CONNECT_SECONDS)  # an attempt may be under way

    def _hang_up(self) -> None:
        """End the connection, or what there is of it."""
        for namespace in list(self.namespaces):
            self._send_packet(self.packet_class(DISCONNECT, namespace=namespace))
        is_reader = threading.current_thread() is self.eio.read_loop_task
        self.eio.disconnect(abort=is_reader)
        self.namespaces = {}
        self.connected = False

    def rest(self, seconds: float) -> bool:
        """Wait without a connection; False when none is wanted any more."""
        return not self._is_gone.wait(seconds)

    def redial(self) -> bool:
        """Connect as before; whether the connection still lives."""
        self.connect(
            self.connection_url,
            headers=self.connection_headers,
            auth=self.connection_auth,
            transports=self.connection_transports,
            namespaces=self.connection_namespaces,
            socketio_path=self.socketio_path,
        )
        with self._returning:  # nobody else decides meanwhile that the connection is lost
            is_back = self.connected and not self._leaving
            if is_back:
                self._reconnect_task = None
        if self._leaving:
            self._hang_up()
        return is_back

    def _handle_reconnect(self) -> None:
        with self._returning:
            pass  # whoever started this thread has noted it down by now
        delays = self.reconnection_delay, self.reconnection_delay_max, self.randomization_factor
        is_back = self._run(come_back(*delays, self.reconnection_attempts))
        if not is_back:
            with self._returning:
                if self._reconnect_task is threading.current_thread():
                    self._reconnect_task = None
            self._on_given_up()

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
            socketio.exceptions.DisconnectedError: the connection broke.
        """
        self._check_event(event)
        if namespace not in (None, self.namespace):
            return super().call(event, data, namespace=namespace, timeout=timeout)
        if self.namespace not in self.namespaces:
            raise BadNamespaceError(f"{self.namespace} is not a connected namespace.")
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
        seconds = check_seconds(timeout)
        number = next(self._numbers)
        pending = self._pending[number] = _Pending()
        try:
            if self.namespace not in self.namespaces:  # looked at last: who loses the connection fails what is pending
                raise NotConnectedError
            packet = self.packet_class(EVENT, namespace=self.namespace, data=[event, *arguments(data)], id=number)
            self._send_packet(packet)
            return pending.wait(seconds, event)
        finally:
            del self._pending[number]

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
        if self._is_over.wait(seconds):
            raise NotConnectedError

    def load(self, module: str) -> Any:
        """Import a module."""
        return importlib.import_module(module)

    def _run(self, flow: Flow[ClientWorld, ResultT]) -> ResultT:
        return run(flow, self)

    # ---------------------------------------------------------------------------------------------------------- offices

    def _join(self, office_id: str, name: str) -> None:
        """Take a seat, and take it again after every reconnection.

        Raises:
            OfficeRefusedError: the Server refuses, or gives no valid answer.
        """
        seat = Seat(office_id, name)
        with self._moving:
            self._run(join(seat))
            self._seat = seat

    def _leave(self, office_id: str) -> None:
        """Leave; whatever the Server says, we are out."""
        with self._moving:
            self._seat = None
            self._run(leave(office_id))

    def retake(self, seat: Seat) -> bool:
        """Enter an office again; False when that seat is not wanted any more.

        Raises:
            OfficeRefusedError: the Server refuses, or gives no valid answer.
        """
        with self._moving:
            if self._seat is not seat or self.office_id == seat.office_id:
                return False
            self._run(enter(seat))
            self._on_rejoined()
            return True

    def _rejoin(self) -> None:
        with contextlib.suppress(NotConnectedError):  # the next connection tries again
            self._run(rejoin())

    def _on_rejoined(self) -> None:
        """For subclasses: what to do once back. It must not wait for anything."""

    def _on_lost(self) -> None:
        """For subclasses: what to do when the office is lost with the connection."""

    def _on_given_up(self) -> None:
        """For subclasses: what to do when the connection is lost for good."""

    def _on_event(self, event: str, data: list[Any]) -> None:
        """For subclasses: an event came. In the thread that reads the connection: it must not wait for anything."""

    # The library's own hooks rather than its events: a program may have handlers of its own for those.

    def _engineio_client_class(self) -> type[engineio.Client]:
        return _Engine

    def _handle_eio_message(self, data: Any) -> None:
        packet = self.packet_class(encoded_packet=data)
        if packet.namespace == self.namespace and packet.packet_type == ACK:
            pending = self._pending.get(packet.id or 0)
            if pending is not None:
                pending.settle(packet.data)
                return
        elif packet.namespace == self.namespace and packet.packet_type == EVENT:
            self._on_event(packet.data[0], packet.data[1:])
            if packet.id is None and not self._has_handler(packet.data[0]):
                return
        if packet.packet_type != ACK or packet.id:  # the library takes the id 0 for its counter
            self.start_background_task(partial(super()._handle_eio_message, data))

    def _has_handler(self, event: str) -> bool:
        """Whether the program itself wants to hear of it."""
        handler, _ = self._get_event_handler(event, self.namespace, ())
        return handler is not None or bool(self.namespace_handlers)

    def _handle_connect(self, namespace: str | None, data: Any) -> None:
        super()._handle_connect(namespace, data)
        if self._seat is not None and namespace == self.namespace:
            self.start_background_task(self._rejoin)

    def _handle_error(self, namespace: str | None, data: Any) -> None:
        if namespace == self.namespace:
            self._refusal = data
        super()._handle_error(namespace, data)

    def _handle_eio_disconnect(self, reason: Any) -> None:
        wanted, self.reconnection = self.reconnection, False  # to come back is our own affair
        try:
            super()._handle_eio_disconnect(reason)
        finally:
            self.reconnection = wanted
        if reason == engineio.Client.reason.TRANSPORT_ERROR and self.eio.ws is not None:
            self.eio.ws.shutdown()  # the library leaves it to be collected
        self._lose_connection()

    def _handle_disconnect(self, namespace: str | None) -> None:
        is_entering = not self.connected
        super()._handle_disconnect(namespace)
        if namespace == self.namespace and (is_entering or self.connected):
            self.eio.disconnect()  # other namespaces may be left; without ours they are of no use

    def _lose_connection(self) -> None:
        self.namespaces = {}
        self.connected = False
        self._is_over.set()
        if self._connect_event is not None:
            self._connect_event.set()  # who waits to be let in waits in vain
        for pending in list(self._pending.values()):
            pending.fail(NotConnectedError("the connection to the Server broke before the answer came"))
        with self._returning:
            was_established, self._is_established = self._is_established, False
            will_return = self.reconnection and not self._leaving
            if was_established and will_return and self._reconnect_task is None:
                self._reconnect_task = self.start_background_task(self._handle_reconnect)
        if self.office_id is not None:
            self.office_id = None
            logger.warning("the connection to the Server is lost%s", "; trying to come back" if will_return else "")
            self._on_lost()
        if was_established and not will_return:
            self._on_given_up()
