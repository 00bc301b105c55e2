# Generated from a2c_smcp/transport/async_internals.py by scripts/generate_sync.py: change that, and run the script.
"""The private methods of python-socketio's client that our client calls and overrides.

Our clients are `socketio` clients, so that programs can use them as such. This class overrides the library's private
hooks, and not its events: a program may have handlers of its own for those, and there is one handler per event.

Private methods may change in any release. `tests/transport/test_internals.py` checks that each name used here exists
with the expected signature, and that each override is called on a live connection.
"""

from __future__ import annotations

import threading
from typing import Any

import socketio
from socketio.exceptions import ConnectionError as SocketIOConnectionError
from socketio.packet import DISCONNECT, EVENT

from a2c_smcp.transport.base import TRANSPORTS, OfficeClientBase
from a2c_smcp.transport.connect_errors import is_denied
from a2c_smcp.transport.sync_engine import SyncEngine

NO_ANSWER = "the Server does not answer"
BROKEN = "the connection broke"
REFUSED = "the Server rejects the connection"


class SyncInternals(OfficeClientBase, socketio.Client):
    """A `socketio.Client` that calls the hooks of `OfficeClientBase`. The subclass reconnects."""

    _is_over: threading.Event
    """Set when the connection has ended. Each connection has its own, so that a late signal cannot end the next one."""

    def _reconnect(self) -> None:
        """Reconnect until it succeeds. The library calls it when a program connects with `retry=True`."""

    def _wait_for_admission(self, namespaces: set[str], is_over: threading.Event, seconds: float) -> None:
        """Wait until the Server has answered for all these namespaces, or the connection has ended."""

    def _dial(self, url: str, *args: Any, seconds: float | None, **options: Any) -> None:
        """Connect, and wait at most `seconds` until the Server admits the client; None does not wait.

        Raises:
            socketio.exceptions.ConnectionError: the attempt failed, and there is no connection.
        """
        namespaces = options["namespaces"]
        wanted = {namespaces} if isinstance(namespaces, str) else set(namespaces)
        self._refusal = None
        is_over = self._is_over = threading.Event()
        self._url = url
        # Each attempt makes the address again, because the client may have joined another office since the last one.
        # Do not let the library wait: after its timeout it calls `disconnect`, which for us means for good.
        try:
            super().connect(self._addressed(self._get_real_value(url)), *args, wait=False, **options)
        except SocketIOConnectionError as error:
            if not self._renegotiates(error):
                raise
            super().connect(self._addressed(self._get_real_value(url)), *args, wait=False, **options)
        if seconds is None:
            return
        # The library sets this as soon as the transport is open. A program that checks it wants to know whether it can
        # send events, and that is not before the Server has admitted the client to the namespace.
        self.connected = False
        try:
            self._wait_for_admission(wanted, is_over, seconds)
        except BaseException:
            self._hang_up()
            raise
        if wanted <= set(self.namespaces) and not is_over.is_set():
            self.connected = True
            return
        # A Server that rejects a client may also close the connection. If both happened, the rejection is the reason.
        problem = REFUSED if self.failed_namespaces else BROKEN if is_over.is_set() else NO_ANSWER
        self._hang_up()
        raise SocketIOConnectionError(problem)

    def _dial_again(self) -> None:
        """Connect with the arguments of the last `connect`."""
        options: dict[str, Any] = {
            "headers": self.connection_headers,
            "auth": self.connection_auth,
            "namespaces": self.connection_namespaces,
            "socketio_path": self.socketio_path,
        }
        transports = self.connection_transports
        try:
            self.connect(self._url, transports=transports, **options)
        except SocketIOConnectionError as error:
            # An official Server of another version rejects a WebSocket without saying so; over HTTP it gives its
            # version. Only where `reach` chose the WebSocket: the program may want no other transport.
            if not (self._chose_transports and transports == TRANSPORTS[0] and is_denied(error)):
                raise
            self.connect(self._url, transports=TRANSPORTS[1], **options)

    def _hang_up(self) -> None:
        """Close the connection, at whatever stage it is."""
        for namespace in list(self.namespaces):  # a copy: the Server may disconnect a namespace while this one is sent
            self._send_packet(self.packet_class(DISCONNECT, namespace=namespace))
        # A handler that the reader itself runs may get here, and without `abort` the engine would wait for the reader
        # to end. The engine is closed even after a failed attempt, which leaves its HTTP session open.
        is_reader = threading.current_thread() is self.eio.read_loop_task
        self.eio.disconnect(abort=is_reader)
        self.namespaces = {}
        self.connected = False

    def _send_event(self, event: str, arguments: list[Any], number: int) -> None:
        """Send an event. Its ack goes to `_on_ack` with this number."""
        packet = self.packet_class(EVENT, namespace=self.namespace, data=[event, *arguments], id=number)
        self._send_packet(packet)

    def _has_answer(self, namespaces: set[str]) -> bool:
        """Whether the Server has admitted the client to each of these namespaces, or rejected it."""
        return namespaces <= {*self.namespaces, *self.failed_namespaces}

    def _stop_waiting(self) -> None:
        """Wake whatever waits for this connection, such as an attempt that is under way."""
        self._is_over.set()
        if self._connect_event is not None:
            self._connect_event.set()

    # ----------------------------------------------------------------------------------------- overrides of the library

    def _engineio_client_class(self) -> type[SyncEngine]:
        return SyncEngine

    def _handle_reconnect(self) -> None:
        self._reconnect()

    def _handle_connect(self, namespace: str | None, data: Any) -> None:
        super()._handle_connect(namespace, data)  # it enters `namespaces`, without which no request is sent
        if namespace == self.namespace:
            self._on_admitted()

    def _handle_error(self, namespace: str | None, data: Any) -> None:
        # Stored first: the library's method wakes the attempt to connect, which reads the reason.
        if namespace == self.namespace:
            self._refusal = data
        super()._handle_error(namespace, data)

    def _handle_disconnect(self, namespace: str | None) -> None:
        is_entering = not self.connected  # the library then ignores the packet
        super()._handle_disconnect(namespace)
        if namespace == self.namespace and (is_entering or self.connected):
            # The library keeps the connection while other namespaces are left. Without ours they are of no use, and
            # only the end of the connection makes the client reconnect.
            self.eio.disconnect()

    def _handle_eio_disconnect(self, reason: Any) -> None:
        # The library reconnects only after some kinds of loss. Our subclass does it after all of them, so the library
        # must not do it too.
        wanted, self.reconnection = self.reconnection, False
        try:
            super()._handle_eio_disconnect(reason)
        finally:
            self.reconnection = wanted
        # Emptied before the hook runs, as `_ask` of the client requires. The library empties it only if `connected`.
        self.namespaces = {}
        self.connected = False
        self._stop_waiting()
        self._on_disconnected()
