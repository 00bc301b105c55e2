"""Everything that our clients need of the inside of python-socketio and python-engineio, and nothing else does.

The clients are `socketio` clients, so that programs can use them as such. `AsyncInternals` and `SyncInternals` turn the
library's private hooks into a few of our own. `tests/transport/test_internals.py` checks that each name used here
exists with the signature that is relied on, and that each override is called on a live connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import queue
import ssl
import sys
import threading
import time
from functools import partial
from typing import Any, NoReturn

import engineio
import engineio.exceptions
import socketio
from socketio.exceptions import ConnectionError as SocketIOConnectionError
from socketio.packet import ACK, DISCONNECT, EVENT

from a2c_smcp.transport.direct import ACK_FRAME, EVENT_FRAME, Outbox, Outlet

logger = logging.getLogger(__name__)

FAREWELL_SECONDS = 2.0
"""For what is on its way, over HTTP, when a client disconnects."""

NO_ANSWER = "the Server does not answer"
BROKEN = "the connection broke"
REFUSED = "refused"


class NoServerError(engineio.exceptions.ConnectionError):
    """Something answers at the address, and it is no Server, or none that lets us in."""


def _raise_understood(error: Exception, http_answer: type[Exception], is_answered: bool = False) -> NoReturn:
    """Whatever the library stumbles over in a wrong answer is a connection that failed; where something answered, the
    error says so. A WebSocket is refused with `http_answer` by something that speaks HTTP."""
    is_failure = isinstance(error, engineio.exceptions.ConnectionError)
    if is_failure and not is_answered and not isinstance(error.__context__, http_answer):
        raise error
    details = error.args[1:2] if is_failure else ()
    raise NoServerError("what answers there is no A2C Server", *details) from error


# -------------------------------------------------------------------------------------------------------------- asyncio


def _http_answer_to_async() -> type[Exception]:
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
            _raise_understood(error, _http_answer_to_async(), self._is_answered)

    async def _connect_websocket(self, url: str, headers: Any, engineio_path: str) -> bool:
        is_upgrade = bool(self.sid)
        self._open_session()
        try:
            is_connected = await super()._connect_websocket(url, headers, engineio_path)
        except Exception as error:
            if is_upgrade:
                return False  # long-polling goes on
            await self._reset()
            _raise_understood(error, _http_answer_to_async())
        if is_connected:  # the tasks that read and write have not begun
            self.ws = _WebSocket(self, self.ws)
        return is_connected

    async def _send_request(self, *args: Any, **options: Any) -> Any:
        response = await super()._send_request(*args, **options)
        self._is_answered = response is not None and not isinstance(response, str)
        return response

    async def _send_packet(self, pkt: Any) -> None:
        if self.state != "connected" or not self.queue.post(pkt.encode()):
            await super()._send_packet(pkt)


class _WebSocket:
    """One WebSocket, for the library's tasks that read from it and write to it."""

    def __init__(self, engine: AsyncEngine, socket: Any) -> None:
        self._engine = engine
        self._socket = socket
        self._outlet = Outlet(engine.queue, self._send)

    async def receive(self) -> Any:
        """The next message that is for the library; events and acks are handled here."""
        while True:
            try:
                message = await self._socket.receive()
            except BaseException:  # also when the library's patience ends
                self._outlet.close()
                raise
            text = message.data
            if not isinstance(text, str | bytes):  # the end
                self._outlet.close()
            if not isinstance(text, str) or not text.startswith((EVENT_FRAME, ACK_FRAME)):
                return message
            try:
                await self._engine._trigger_event("message", text[1:], run_async=text.startswith(EVENT_FRAME))
            except Exception:
                logger.exception("a message could not be handled")

    async def send_str(self, frame: str) -> None:
        """Send a frame of the library's."""
        await self._outlet.send(frame)

    async def send_bytes(self, frame: bytes) -> None:
        """Send a binary frame of the library's."""
        await self._outlet.send(frame)

    async def close(self) -> None:
        """Close it."""
        self._outlet.close()
        await self._socket.close()

    async def _send(self, frame: str | bytes) -> None:
        await (self._socket.send_str(frame) if isinstance(frame, str) else self._socket.send_bytes(frame))


class AsyncInternals(socketio.AsyncClient):
    """A `socketio.AsyncClient` with our hooks. To come back after a loss is for the subclass."""

    namespace: str
    _refusal: Any
    """Why the Server did not let us in; None while it has not said so."""

    # ------------------------------------------------------------------------------------------------ for the subclass

    def _on_admitted(self) -> None:
        """The Server let us in."""

    def _on_event(self, event: str, data: list[Any]) -> None:
        """An event came, for our namespace. The program's handlers come after."""

    def _on_ack(self, number: int, values: list[Any]) -> bool:
        """An ack came; whether it was for us, and not for the program."""
        return False

    def _on_disconnected(self) -> None:
        """The connection is over."""

    async def _come_back(self) -> None:
        """Connect again and again. The library asks for it where a program wants the first attempt to be repeated."""

    async def _dial(self, url: str, *args: Any, seconds: float | None, **options: Any) -> None:
        """Connect, and wait to be let in; not if `seconds` is None. The library's own way to give up would be to
        disconnect for good.

        Raises:
            socketio.exceptions.ConnectionError: that failed; there is no connection.
        """
        namespaces = options["namespaces"]
        wanted = {namespaces} if isinstance(namespaces, str) else set(namespaces)
        self._refusal = None
        if "aiohttp" not in sys.modules:  # it takes a tenth of a second
            await asyncio.to_thread(importlib.import_module, "aiohttp")
        await super().connect(url, *args, wait=False, **options)
        if seconds is None:
            return
        self.connected = False  # not before we are let in
        problem = NO_ANSWER
        try:
            async with asyncio.timeout(seconds):
                while self.eio.state == "connected" and not wanted <= {*self.namespaces, *self.failed_namespaces}:
                    self._connect_event.clear()
                    await self._connect_event.wait()
            if self.eio.state == "connected" and wanted <= set(self.namespaces):
                self.connected = True
                return
            problem = REFUSED if self.failed_namespaces else BROKEN
        except TimeoutError:
            pass
        except BaseException:
            await self._hang_up()
            raise
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

    # ------------------------------------------------------------------------------------------------- of the library
    # Its hooks rather than its events: a program may have handlers of its own for those.

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

    async def _handle_event(self, namespace: str | None, id: int | None, data: list[Any]) -> None:
        if namespace == self.namespace:
            self._on_event(data[0], data[1:])
        await super()._handle_event(namespace, id, data)

    async def _handle_ack(self, namespace: str | None, id: int | None, data: list[Any]) -> None:
        if id and not (namespace == self.namespace and self._on_ack(id, data)):  # the library takes 0 for its counter
            self.start_background_task(super()._handle_ack, namespace, id, data)  # a program's own callback

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
        if self._connect_event is not None:
            self._connect_event.set()  # to wait to be let in is in vain
        self._on_disconnected()


# -------------------------------------------------------------------------------------------------------------- threads


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


def _trusting_session(ca_file: str) -> Any:
    """A session whose `verify` counts, also where the environment (REQUESTS_CA_BUNDLE) names other authorities."""
    from requests import Session

    class TrustingSession(Session):
        def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
            verify = self.verify if verify is None else verify
            return super().merge_environment_settings(url, proxies, stream, verify, cert)

    session = TrustingSession()
    session.verify = ca_file
    return session


def _http_answer_to_sync() -> type[Exception]:
    from websocket import WebSocketBadStatusException

    return WebSocketBadStatusException


class SyncEngine(engineio.Client):
    """Hands messages over in order, in the thread that reads them."""

    ca_file: str | None = None
    """For the Server's certificate; None for what the library does by itself."""
    _is_answered = False

    def create_queue(self, *args: Any, **options: Any) -> queue.Queue[Any]:
        """The packets for the Server."""
        return _PacketQueue(*args, **options)

    def disconnect(self, abort: bool = False, reason: Any = None) -> None:
        """Disconnect. What is on its way is sent first, as above."""
        if self.state == "connected" and self.current_transport == "polling" and not abort:
            with self.queue.all_tasks_done:
                self.queue.all_tasks_done.wait_for(lambda: not self.queue.unfinished_tasks, FAREWELL_SECONDS)
        super().disconnect(abort, reason)

    def _open_session(self) -> None:
        """As above."""
        if self.ca_file is not None and self.http is None:
            self.http = _trusting_session(self.ca_file)

    def _connect_polling(self, url: str, headers: Any, engineio_path: str) -> None:
        self._is_answered = False
        self._open_session()
        try:
            super()._connect_polling(url, headers, engineio_path)
        except Exception as error:
            self._reset()
            _raise_understood(error, _http_answer_to_sync(), self._is_answered)

    def _connect_websocket(self, url: str, headers: Any, engineio_path: str) -> Any:
        is_upgrade = bool(self.sid)
        self._open_session()
        try:
            return super()._connect_websocket(url, headers, engineio_path)
        except Exception as error:
            if is_upgrade:
                return False
            self._reset()
            _raise_understood(error, _http_answer_to_sync())

    def _send_request(self, *args: Any, **options: Any) -> Any:
        response = super()._send_request(*args, **options)
        self._is_answered = response is not None and not isinstance(response, str)
        return response

    def _write_loop(self) -> None:
        from websocket import WebSocketException

        try:
            super()._write_loop()
        except WebSocketException as error:  # the network took nothing for too long; the library overlooks it
            logger.info("sending failed: %s", error)
            self.write_loop_task = None

    def _trigger_event(self, event: str, *args: Any, **options: Any) -> Any:
        if event == "message":
            options["run_async"] = False
        return super()._trigger_event(event, *args, **options)


class SyncInternals(socketio.Client):
    """A `socketio.Client` with our hooks. To come back after a loss is for the subclass."""

    namespace: str
    _refusal: Any
    _is_over: threading.Event
    """Set when the connection it was made for is over; every connection has its own."""

    # ------------------------------------------------------------------------------------------------ for the subclass

    def _on_admitted(self) -> None:
        """The Server let us in."""

    def _on_event(self, event: str, data: list[Any]) -> None:
        """An event came, for our namespace. In the thread that reads the connection: it must not wait for anything."""

    def _on_ack(self, number: int, values: list[Any]) -> bool:
        """An ack came, as above; whether it was for us, and not for the program."""
        return False

    def _on_disconnected(self) -> None:
        """The connection is over."""

    def _come_back(self) -> None:
        """Connect again and again, as above."""

    def _dial(self, url: str, *args: Any, seconds: float | None, **options: Any) -> None:
        """Connect, and wait to be let in, as above.

        Raises:
            socketio.exceptions.ConnectionError: that failed; there is no connection.
        """
        namespaces = options["namespaces"]
        wanted = {namespaces} if isinstance(namespaces, str) else set(namespaces)
        self._refusal = None
        is_over = self._is_over = threading.Event()
        super().connect(url, *args, wait=False, **options)
        if seconds is None:
            return
        self.connected = False  # not before we are let in
        deadline = time.monotonic() + seconds
        problem = NO_ANSWER
        while time.monotonic() < deadline:
            if is_over.is_set():
                problem = BROKEN
                break
            if wanted <= {*self.namespaces, *self.failed_namespaces}:
                if wanted <= set(self.namespaces):
                    self.connected = True
                    return
                problem = REFUSED
                break
            self._connect_event.wait(max(0.0, deadline - time.monotonic()))
            self._connect_event.clear()
        self._hang_up()
        raise SocketIOConnectionError(problem)

    def _dial_again(self) -> None:
        """Connect as before."""
        self.connect(
            self.connection_url,
            headers=self.connection_headers,
            auth=self.connection_auth,
            transports=self.connection_transports,
            namespaces=self.connection_namespaces,
            socketio_path=self.socketio_path,
        )

    def _hang_up(self) -> None:
        """End the connection, or what there is of it."""
        for namespace in list(self.namespaces):
            self._send_packet(self.packet_class(DISCONNECT, namespace=namespace))
        is_reader = threading.current_thread() is self.eio.read_loop_task
        self.eio.disconnect(abort=is_reader)
        self.namespaces = {}
        self.connected = False

    def _give_up_waiting(self) -> None:
        """End an attempt to connect that is under way in another thread."""
        self._is_over.set()
        if self._connect_event is not None:
            self._connect_event.set()

    def _send_event(self, event: str, arguments: list[Any], number: int) -> None:
        """Send an event whose ack comes to `_on_ack` with this number."""
        self._send_packet(self.packet_class(EVENT, namespace=self.namespace, data=[event, *arguments], id=number))

    # ------------------------------------------------------------------------------------------------- of the library

    def _engineio_client_class(self) -> type[SyncEngine]:
        return SyncEngine

    def _handle_reconnect(self) -> None:
        self._come_back()

    def _handle_eio_message(self, data: Any) -> None:
        """Answers and notices are handled here, in the thread that reads; what is for the program's handlers in a
        thread of its own, as the library does it: they may wait for an answer."""
        packet = self.packet_class(encoded_packet=data)
        if packet.packet_type == ACK:
            if not packet.id or (packet.namespace == self.namespace and self._on_ack(packet.id, packet.data)):
                return
        elif packet.namespace == self.namespace and packet.packet_type == EVENT:
            self._on_event(packet.data[0], packet.data[1:])
            if packet.id is None and not self._has_handler(packet.data[0]):
                return
        self.start_background_task(partial(super()._handle_eio_message, data))

    def _has_handler(self, event: str) -> bool:
        """Whether the program itself wants to hear of it."""
        handler, _ = self._get_event_handler(event, self.namespace, ())
        return handler is not None or bool(self.namespace_handlers)

    def _handle_connect(self, namespace: str | None, data: Any) -> None:
        super()._handle_connect(namespace, data)
        if namespace == self.namespace:
            self._on_admitted()

    def _handle_error(self, namespace: str | None, data: Any) -> None:
        if namespace == self.namespace:
            self._refusal = data
        super()._handle_error(namespace, data)

    def _handle_disconnect(self, namespace: str | None) -> None:
        is_entering = not self.connected
        super()._handle_disconnect(namespace)
        if namespace == self.namespace and (is_entering or self.connected):
            self.eio.disconnect()  # other namespaces may be left; without ours they are of no use

    def _handle_eio_disconnect(self, reason: Any) -> None:
        wanted, self.reconnection = self.reconnection, False  # to come back is our own affair
        try:
            super()._handle_eio_disconnect(reason)
        finally:
            self.reconnection = wanted
        if reason == engineio.Client.reason.TRANSPORT_ERROR and self.eio.ws is not None:
            self.eio.ws.shutdown()  # the library leaves it to be collected
        self.namespaces = {}
        self.connected = False
        self._give_up_waiting()
        self._on_disconnected()
