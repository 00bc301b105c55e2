"""A Socket.IO client that stays in its office: it reconnects whatever ended the connection, and joins again.

What the library leaves out: a connection that the Server ended (it restarts, say) is not tried again, an attempt gets
one second, a request waits for its time-out even when the connection is gone, and a room is forgotten.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from socketio.exceptions import BadNamespaceError
from socketio.exceptions import ConnectionError as SocketIOConnectionError
from socketio.exceptions import DisconnectedError as SocketIODisconnectedError
from socketio.exceptions import TimeoutError as SocketIOTimeoutError

from a2c_smcp.errors import InvalidAnswerError, NotConnectedError, TimedOutError
from a2c_smcp.protocol.client_effects import ClientBackend, Seat
from a2c_smcp.protocol.flow import Flow, ResultT, run_async
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.seat import check_seconds, come_back, enter, join, leave, rejoin
from a2c_smcp.transport.internals import AsyncInternals
from a2c_smcp.transport.membership import CONNECT_SECONDS, Membership, arguments, backend_of, reaching, with_defaults
from a2c_smcp.transport.packet import Unreadable
from a2c_smcp.utils.trust import trusting

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)

_RESULTS = "a2c_smcp.utils.results"
_loaded: dict[str, Any] = {}


class OfficeClient(Membership, AsyncInternals):
    """A `socketio.AsyncClient` that is a member of an office; it belongs to one event loop.

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
        options.setdefault("websocket_extra_options", {"max_msg_size": 0})
        super().__init__(*args, **with_defaults(options, max_message_bytes))
        if ca_file is not None:
            self.ca_file = str(ca_file)
            self.eio.trust = trusting(ca_file)
        self._take_no_seat()
        self._backend = backend_of(self)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._coming_back: asyncio.Task[None] | None = None
        self._rejoining: asyncio.Task[None] | None = None
        self._moving = asyncio.Lock()

    # ------------------------------------------------------------------------------------------------------- connecting

    async def connect(self, url: str, *args: Any, **options: Any) -> None:
        """Connect; see `socketio.AsyncClient.connect`."""
        if asyncio.current_task() is not self._coming_back:
            await self._stop_coming_back()
            self._leaving = False
        options.setdefault("namespaces", [self.namespace])
        seconds = options.pop("wait_timeout", CONNECT_SECONDS)
        await self._dial(url, *args, seconds=seconds if options.pop("wait", True) else None, **options)
        self._is_established = True

    async def reach(self, url: str, **options: Any) -> None:
        """Connect, over WebSocket or else over HTTP, and say in plain words why not.

        Raises:
            NotAuthenticatedError: the Server wants another key.
            ForbiddenError: the Server does not want us.
            NotConnectedError: the Server cannot be reached, or takes no further connection now.
        """
        await self._run(reaching(self, self._why_refused, url, options))

    async def disconnect(self) -> None:
        """Disconnect, and stay disconnected."""
        self._leaving = True
        self.office_id = None
        self._seat = None
        self._stop_rejoining()
        await self._stop_coming_back()
        await self._hang_up()

    async def shutdown(self) -> None:
        """Disconnect, and stay disconnected."""
        await self.disconnect()

    async def _stop_coming_back(self) -> None:
        coming_back, self._coming_back = self._coming_back, None
        if coming_back is not None and coming_back is not asyncio.current_task():
            coming_back.cancel()
            await asyncio.gather(coming_back, return_exceptions=True)

    async def _rest(self, seconds: float) -> bool:
        """Wait without a connection; False when none is wanted any more."""
        await asyncio.sleep(seconds)
        return not self._leaving

    async def _redial(self) -> bool:
        """Connect as before; whether the connection still lives."""
        try:
            await self._dial_again()
        except SocketIOConnectionError:
            if (refusal := self._why_refused()) is not None:
                raise refusal from None
            raise
        return self.connected

    async def _come_back(self) -> None:
        delays = self.reconnection_delay, self.reconnection_delay_max, self.randomization_factor
        is_back = await self._run(come_back(*delays, self.reconnection_attempts))
        self._coming_back = None
        if not is_back:
            self._on_given_up()

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
            socketio.exceptions.DisconnectedError: the connection broke.
        """
        self._check_event(event)
        if namespace not in (None, self.namespace):
            return await super().call(event, data, namespace=namespace, timeout=timeout)
        if self.namespace not in self.namespaces:
            raise BadNamespaceError(f"{self.namespace} is not a connected namespace.")
        try:
            return await self._ask(event, data, timeout)
        except TimedOutError:
            raise SocketIOTimeoutError from None
        except NotConnectedError as error:
            raise SocketIODisconnectedError(error.message) from None

    async def _ask(self, event: str, data: Any, timeout: float) -> Any:
        """Send a request and wait for its ack; several ack arguments come as a tuple.

        Raises:
            TimedOutError: no ack within `timeout` seconds.
            NotConnectedError: there is no connection, or it broke.
        """
        seconds = check_seconds(timeout)
        if self.namespace not in self.namespaces:
            raise NotConnectedError
        number = next(self._numbers)
        answered = self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send_event(event, arguments(data), number)
            async with asyncio.timeout(seconds):
                return await answered
        except TimeoutError:
            raise TimedOutError(f"no answer to {event} within {seconds:g} s") from None
        finally:
            del self._pending[number]

    async def _tell(self, event: str, data: Any) -> None:
        """Send an event that needs no ack.

        Raises:
            NotConnectedError: there is no connection.
        """
        if self.namespace not in self.namespaces:
            raise NotConnectedError
        await super().emit(event, data, namespace=self.namespace)

    async def _pause(self, seconds: float) -> None:
        """Wait; who waits is cancelled when the connection ends."""
        await asyncio.sleep(seconds)

    async def _read_result(self, answer: dict[str, Any]) -> CallToolResult:
        """Read a tool's result; the first one imports MCP's types, in a thread because that takes long."""
        if _RESULTS not in _loaded:
            _loaded[_RESULTS] = await asyncio.to_thread(importlib.import_module, _RESULTS)
        return _loaded[_RESULTS].read_result(answer)

    async def _run(self, flow: Flow[ClientBackend, ResultT]) -> ResultT:
        return await run_async(flow, self._backend)

    # ---------------------------------------------------------------------------------------------------------- offices

    async def _join(self, office_id: str, name: str) -> None:
        """Take a seat, and take it again after every reconnection.

        Raises:
            OfficeRefusedError: the Server refuses, or gives no valid answer.
        """
        seat = Seat(office_id, name, self.role)
        async with self._moving:
            await self._run(join(seat))
            self._seat = seat

    async def _leave(self, office_id: str) -> None:
        """Leave; whatever the Server says, we are out."""
        self._stop_rejoining()
        async with self._moving:
            self._seat = None
            await self._run(leave(office_id))

    async def _retake(self, seat: Seat) -> bool:
        """Enter an office again; False when that seat is not wanted any more.

        Raises:
            OfficeRefusedError: the Server refuses, or gives no valid answer.
        """
        async with self._moving:
            if self._seat is not seat or self.office_id == seat.office_id:
                return False
            await self._run(enter(seat))
            return True

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
        """For subclasses: what to do when the office is lost with the connection."""

    def _on_given_up(self) -> None:
        """For subclasses: what to do when the connection is lost for good."""

    def _on_admitted(self) -> None:
        if self._seat is not None:
            self._stop_rejoining()  # the question it waits for went down with the old connection
            self._rejoining = asyncio.create_task(self._rejoin(), name="rejoin")

    def _on_ack(self, number: int, values: list[Any]) -> bool:
        answered = self._pending.get(number)
        if answered is not None and not answered.done():
            value = values[0] if len(values) == 1 else tuple(values) or None
            if isinstance(value, Unreadable):
                answered.set_exception(InvalidAnswerError(value.error.message))
            else:
                answered.set_result(value)
        return answered is not None

    def _on_disconnected(self) -> None:
        self._stop_rejoining()
        for answered in self._pending.values():
            if not answered.done():
                answered.set_exception(NotConnectedError("the connection to the Server broke before the answer came"))
        was_established, self._is_established = self._is_established, False
        will_return = self.reconnection and not self._leaving
        if self.office_id is not None:
            self.office_id = None
            logger.warning("the connection to the Server is lost%s", "; trying to come back" if will_return else "")
            self._on_lost()
        if was_established and not will_return:
            self._on_given_up()
        elif was_established and self._coming_back is None:
            self._coming_back = asyncio.create_task(self._come_back(), name="come back")
