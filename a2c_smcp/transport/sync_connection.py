"""A connection that comes back, for programs without an event loop: whatever ended it, it is made again, in a thread.

Answers to our requests are handed over in the thread that reads the connection, and so are notices; every other packet
is handled in a thread of its own, as the library does it: a handler may wait for an answer.
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
    """A `socketio.Client` that comes back; any thread may use it. The options are those of `AsyncConnection`."""

    def __init__(
        self,
        *args: Any,
        max_message_bytes: int = Limits().message_bytes,
        ca_file: str | Path | None = None,
        **options: Any,
    ) -> None:
        options.setdefault("websocket_extra_options", {"skip_utf8_validation": True})  # the packet looks at it anyway
        super().__init__(*args, **with_defaults(options, max_message_bytes))
        if ca_file is not None:
            trusting(ca_file)  # what is wrong with it is told now, not when it is used
            self.ca_file = self.eio.ca_file = str(ca_file)
        self._begin_outside()
        self._coming_back: threading.Thread | None = None
        self._is_over = threading.Event()
        self._is_gone = threading.Event()
        """Set when no connection is wanted any more; every wish for one has its own."""
        self._returning = threading.Lock()

    def connect(self, url: str, *args: Any, **options: Any) -> None:
        """Connect; see `socketio.Client.connect`."""
        if threading.current_thread() is not self._coming_back:
            self._stop_coming_back()
            self._leaving = False
            self._is_gone = threading.Event()
        options.setdefault("namespaces", [self.namespace])
        seconds = options.pop("wait_timeout", CONNECT_SECONDS)
        self._dial(url, *args, seconds=seconds if options.pop("wait", True) else None, **options)
        with self._returning:
            self.connected = self._is_established = not self._is_over.is_set()
        if not self._is_established:
            self._hang_up()
            raise SocketIOConnectionError(BROKEN)

    def _wait_for_admission(self, namespaces: set[str], is_over: threading.Event, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not is_over.is_set() and not self._has_answer(namespaces) and time.monotonic() < deadline:
            self._connect_event.wait(max(0.0, deadline - time.monotonic()))
            self._connect_event.clear()

    # ------------------------------------------------------------------------------------------------------ coming back

    def _mend(self) -> None:
        with self._returning:
            was_established, self._is_established = self._is_established, False
            will_return = self.reconnection and not self._leaving
            if was_established and will_return and self._coming_back is None:
                self._coming_back = self.start_background_task(self._come_back)
        if was_established and not will_return:
            self._on_given_up()

    def _come_back(self) -> None:
        with self._returning:
            pass  # whoever started this thread has noted it down by now
        delays = self.reconnection_delay, self.reconnection_delay_max, self.randomization_factor
        is_back = self._run(come_back(*delays, self.reconnection_attempts))
        if not is_back:
            with self._returning:
                if self._coming_back is threading.current_thread():
                    self._coming_back = None
            self._on_given_up()

    def _stop_coming_back(self) -> None:
        with self._returning:
            coming_back, self._coming_back = self._coming_back, None
        self._is_gone.set()
        self._stop_waiting()
        if coming_back is not None and coming_back is not threading.current_thread():
            coming_back.join(CONNECT_SECONDS)  # an attempt may be under way

    def _rest(self, seconds: float) -> bool:
        """Wait without a connection; False when none is wanted any more."""
        return not self._is_gone.wait(seconds)

    def _redial(self) -> bool:
        """Connect as before; whether the connection still lives."""
        try:
            self._dial_again()
        except SocketIOConnectionError:
            if (refusal := self._why_refused()) is not None:
                raise refusal from None
            raise
        with self._returning:  # nobody else decides meanwhile that the connection is lost
            is_back = self.connected and not self._leaving
            if is_back:
                self._coming_back = None
        if self._leaving:
            self._hang_up()
        return is_back

    def _pause(self, seconds: float) -> None:
        """Wait, but not longer than the connection lasts.

        Raises:
            NotConnectedError: it is over.
        """
        if self._is_over.wait(seconds):
            raise NotConnectedError

    def _start_rejoining(self) -> None:
        self.start_background_task(self._rejoin)

    def _rejoin(self) -> None:
        """For the subclass: take the seat again."""

    # ------------------------------------------------------------------------------------------------------ dispatching

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

    def _read_result(self, answer: dict[str, Any]) -> CallToolResult:
        """Read a tool's result."""
        from a2c_smcp.utils.results import read_result

        return read_result(answer)
