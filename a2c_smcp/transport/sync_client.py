"""The blocking twin of `async_client`: the same member of an office, for programs without an event loop.

Answers to our requests are handed over in the thread that reads the connection, and so are notices; every other packet
is handled in a thread of its own, as the library does it: a handler may wait for an answer.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from socketio.exceptions import BadNamespaceError
from socketio.exceptions import ConnectionError as SocketIOConnectionError
from socketio.exceptions import DisconnectedError as SocketIODisconnectedError
from socketio.exceptions import TimeoutError as SocketIOTimeoutError

from a2c_smcp.errors import InvalidAnswerError, NotConnectedError, SMCPError, TimedOutError
from a2c_smcp.protocol.client_effects import ClientBackend, Seat
from a2c_smcp.protocol.flow import Flow, ResultT, run
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.seat import check_seconds, come_back, enter, join, leave, rejoin
from a2c_smcp.transport.internals import BROKEN, SyncInternals
from a2c_smcp.transport.membership import CONNECT_SECONDS, Membership, arguments, backend_of, reaching, with_defaults
from a2c_smcp.transport.packet import Unreadable
from a2c_smcp.utils.trust import trusting

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)


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


class SyncOfficeClient(Membership, SyncInternals):
    """A `socketio.Client` that is a member of an office.

    `max_message_bytes` is the most that the Server takes. `ca_file` (PEM) has the authorities to trust for the Server's
    certificate, instead of the machine's.

    Raises:
        OSError, ValueError: `ca_file` cannot be read, or has no certificates.
    """

    office_id: str | None

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
        self._take_no_seat()
        self._backend = backend_of(self)
        self._pending: dict[int, _Pending] = {}
        self._coming_back: threading.Thread | None = None
        self._is_over = threading.Event()
        self._is_gone = threading.Event()
        """Set when no connection is wanted any more; every wish for one has its own."""
        self._moving = threading.Lock()
        self._returning = threading.Lock()

    # ------------------------------------------------------------------------------------------------------- connecting

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

    def reach(self, url: str, **options: Any) -> None:
        """Connect, over WebSocket or else over HTTP, and say in plain words why not.

        Raises:
            NotAuthenticatedError: the Server wants another key.
            ForbiddenError: the Server does not want us.
            NotConnectedError: the Server cannot be reached, or takes no further connection now.
        """
        self._run(reaching(self, self._why_refused, url, options))

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
            coming_back, self._coming_back = self._coming_back, None
        self._is_gone.set()
        self._give_up_waiting()
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
            return self._ask(event, data, timeout)
        except TimedOutError:
            raise SocketIOTimeoutError from None
        except NotConnectedError as error:
            raise SocketIODisconnectedError(error.message) from None

    def _ask(self, event: str, data: Any, timeout: float) -> Any:
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
            self._send_event(event, arguments(data), number)
            return pending.wait(seconds, event)
        finally:
            del self._pending[number]

    def _tell(self, event: str, data: Any) -> None:
        """Send an event that needs no ack.

        Raises:
            NotConnectedError: there is no connection.
        """
        if self.namespace not in self.namespaces:
            raise NotConnectedError
        super().emit(event, data, namespace=self.namespace)

    def _pause(self, seconds: float) -> None:
        """Wait, but not longer than the connection lasts.

        Raises:
            NotConnectedError: it is over.
        """
        if self._is_over.wait(seconds):
            raise NotConnectedError

    def _read_result(self, answer: dict[str, Any]) -> CallToolResult:
        """Read a tool's result."""
        from a2c_smcp.utils.results import read_result

        return read_result(answer)

    def _run(self, flow: Flow[ClientBackend, ResultT]) -> ResultT:
        return run(flow, self._backend)

    # ---------------------------------------------------------------------------------------------------------- offices

    def _join(self, office_id: str, name: str) -> None:
        """Take a seat, and take it again after every reconnection.

        Raises:
            OfficeRefusedError: the Server refuses, or gives no valid answer.
        """
        seat = Seat(office_id, name, self.role)
        with self._moving:
            self._run(join(seat))
            self._seat = seat

    def _leave(self, office_id: str) -> None:
        """Leave; whatever the Server says, we are out."""
        with self._moving:
            self._seat = None
            self._run(leave(office_id))

    def _retake(self, seat: Seat) -> bool:
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

    def _on_admitted(self) -> None:
        if self._seat is not None:
            self.start_background_task(self._rejoin)

    def _on_ack(self, number: int, values: list[Any]) -> bool:
        pending = self._pending.get(number)
        if pending is not None:
            pending.settle(values)
        return pending is not None

    def _on_disconnected(self) -> None:
        for pending in list(self._pending.values()):
            pending.fail(NotConnectedError("the connection to the Server broke before the answer came"))
        with self._returning:
            was_established, self._is_established = self._is_established, False
            will_return = self.reconnection and not self._leaving
            if was_established and will_return and self._coming_back is None:
                self._coming_back = self.start_background_task(self._come_back)
        if self.office_id is not None:
            self.office_id = None
            logger.warning("the connection to the Server is lost%s", "; trying to come back" if will_return else "")
            self._on_lost()
        if was_established and not will_return:
            self._on_given_up()
