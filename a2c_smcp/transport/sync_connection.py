"""A connection that reconnects, for threads; see `async_connection`.

Three kinds of threads meet here: those of the program, the one that reads the connection (`_reconnect_or_give_up` and
the `_on_…` hooks run in it), and the one that reconnects. A thread cannot be cancelled, so what another thread has to
stop waits on an event: `_is_over` ends with one connection, `_is_unwanted` with the program's wish to be connected at
all. Each new connection or wish makes a new event, so that a thread that is late sees its own event set, and not the
new one.

`_state_lock` guards the three facts that must change together: whether the connection is established, whether it was
lost, and whether a thread reconnects. Without it, a connection that breaks at the moment it is established could be
noticed by no thread, or by two.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from socketio.exceptions import ConnectionError as SocketIOConnectionError
from socketio.packet import ACK, EVENT

from a2c_smcp.errors import NotConnectedError
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.seat import come_back
from a2c_smcp.transport.base import CONNECT_SECONDS, with_defaults
from a2c_smcp.transport.sync_internals import BROKEN, SyncInternals
from a2c_smcp.utils.trust import trusting

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult


class SyncConnection(SyncInternals):
    """A `socketio.Client` that reconnects. Any thread may use it. The options are those of `AsyncConnection`."""

    def __init__(
        self,
        *args: Any,
        max_message_bytes: int = Limits().message_bytes,
        ca_file: str | Path | None = None,
        dialect: str = "auto",
        **options: Any,
    ) -> None:
        # orjson validates the text while it parses it; websocket-client would do so in Python, byte by byte.
        options.setdefault("websocket_extra_options", {"skip_utf8_validation": True})
        super().__init__(*args, **with_defaults(options, max_message_bytes))
        if ca_file is not None:
            trusting(ca_file)  # raises now if the file is invalid, and not at the first connection
            self.ca_file = self.eio.ca_file = str(ca_file)
        self._initialize(max_message_bytes, dialect)
        self._reconnecting: threading.Thread | None = None
        self._is_over = threading.Event()
        self._is_unwanted = threading.Event()
        """Set when the program disconnects. Each call of `connect` makes a new one."""
        self._state_lock = threading.Lock()

    def connect(self, url: str, *args: Any, **options: Any) -> None:
        """Connect; see `socketio.Client.connect`."""
        if threading.current_thread() is not self._reconnecting:
            self._stop_reconnecting()
            self._leaving = False
            self._is_unwanted = threading.Event()
        options.setdefault("namespaces", [self.namespace])
        seconds = options.pop("wait_timeout", CONNECT_SECONDS)
        self._dial(url, *args, seconds=seconds if options.pop("wait", True) else None, **options)
        # The reader thread may have seen the end of the connection since. It then found no established connection to
        # replace, so this thread reports the failure.
        with self._state_lock:
            self.connected = self._is_established = not self._is_over.is_set()
        if not self._is_established:
            self._hang_up()
            raise SocketIOConnectionError(BROKEN)

    def _wait_for_admission(self, namespaces: set[str], is_over: threading.Event, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        # The event is cleared before the state is checked, so an answer that arrives in between is seen.
        while not is_over.is_set() and not self._has_answer(namespaces) and time.monotonic() < deadline:
            self._connect_event.wait(max(0.0, deadline - time.monotonic()))
            self._connect_event.clear()

    # ------------------------------------------------------------------------------------------------------ coming back

    def _reconnect_or_give_up(self) -> None:
        with self._state_lock:
            was_established, self._is_established = self._is_established, False
            will_return = self.reconnection and not self._leaving
            if was_established and will_return and self._reconnecting is None:
                self._reconnecting = self.start_background_task(self._reconnect)
        if was_established and not will_return:
            self._on_given_up()

    def _reconnect(self) -> None:
        with self._state_lock:
            pass  # wait until `_reconnect_or_give_up` has stored this thread: `connect` compares it
        delays = self.reconnection_delay, self.reconnection_delay_max, self.randomization_factor
        is_back = self._run(come_back(*delays, self.reconnection_attempts))
        if not is_back:
            with self._state_lock:
                if self._reconnecting is threading.current_thread():
                    self._reconnecting = None
            self._on_given_up()

    def _stop_reconnecting(self) -> None:
        with self._state_lock:
            reconnecting, self._reconnecting = self._reconnecting, None
        self._is_unwanted.set()
        self._stop_waiting()
        if reconnecting is not None and reconnecting is not threading.current_thread():
            reconnecting.join(CONNECT_SECONDS)  # it may be in the middle of an attempt

    def _rest(self, seconds: float) -> bool:
        """Wait before the next attempt; False if the program has disconnected."""
        return not self._is_unwanted.wait(seconds)

    def _redial(self) -> bool:
        """Connect with the arguments of the last `connect`; return whether the connection is still open."""
        try:
            self._dial_again()
        except SocketIOConnectionError:
            if (refusal := self._why_refused()) is not None:
                raise refusal from None
            raise
        # From here on the next loss needs a new thread. If the connection has broken already, `_reconnect_or_give_up`
        # has seen this thread at work and started none: then this one goes on.
        with self._state_lock:
            is_back = self.connected and not self._leaving
            if is_back:
                self._reconnecting = None
        if self._leaving:
            self._hang_up()
        return is_back

    def _pause(self, seconds: float) -> None:
        """Wait while the connection lasts.

        Raises:
            NotConnectedError: the connection ended.
        """
        if self._is_over.wait(seconds):
            raise NotConnectedError

    def _start_rejoining(self) -> None:
        self.start_background_task(self._rejoin)

    def _rejoin(self) -> None:
        """Take the seat again; the subclass knows how."""

    # ------------------------------------------------------------------------------------------------- incoming packets

    def _handle_eio_message(self, data: Any) -> None:
        """Handle acks and notices in this thread, the reader; start a thread for the program's handlers."""
        # To wake the thread that waits for an ack directly saves 37 % of the CPU time of a call. A handler needs a
        # thread of its own because it may wait for an ack, which this thread has to read. Id 0 is no ack; see
        # `AsyncConnection._handle_ack`.
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
        """Whether the program has a handler for the event."""
        handler, _ = self._get_event_handler(event, self.namespace, ())
        return handler is not None or bool(self.namespace_handlers)

    def _read_result(self, answer: dict[str, Any]) -> CallToolResult:
        """Read a tool's result."""
        from a2c_smcp.utils.results import read_result

        return read_result(answer)
