"""What the asynchronous and the blocking client share, because none of it waits: state, hooks, limits, options."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import urlsplit

from a2c_smcp import errors
from a2c_smcp.protocol.client_effects import ClientBackend, Seat
from a2c_smcp.protocol.flow import Flow, MaybeAwaitable
from a2c_smcp.protocol.seat import FIRST_DELAY, LONGEST_DELAY
from a2c_smcp.smcp import SMCP_NAMESPACE
from a2c_smcp.transport.connect_errors import NotConnectedError, why_refused
from a2c_smcp.transport.packet import SMCPPacket
from a2c_smcp.transport.pending import AsyncPending, SyncPending
from a2c_smcp.types import Role
from a2c_smcp.utils.backoff import JITTER

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 15.0
ENDLESS = 1 << 40

WEBSOCKET_FIRST = (["websocket"], None)
"""Straight to WebSocket; where something in between does not let it pass, HTTP long-polling."""


FIRST_ACK_ID = 1 << 32
"""The ids of our requests; those of a program that uses the library's own way are below."""


_library_log = logging.getLogger("a2c_smcp.transport.socketio")
_library_log.setLevel(logging.ERROR)


class OfficeClientBase:
    """A member of an office, or one to be. `office_id` is None while it is in none."""

    role: ClassVar[Role]
    _forbidden_prefixes: ClassVar[tuple[str, ...]] = ()
    """Events that this role may not send."""

    office_id: str | None
    """The office that this client is in; None while it is in none."""
    ca_file: str | None = None
    """The authorities that are trusted to vouch for the Server's certificate; None for those of the machine."""
    reconnection: bool
    """Whether to come back after a loss; an option of the library's client."""

    def _begin_outside(self) -> None:
        """Set the state of a client that is in no office and has no connection."""
        self.office_id = None
        self.namespace = SMCP_NAMESPACE
        self._seat: Seat | None = None
        """The place in an office that this client wants, through all connections."""
        self._refusal: Any = None
        """Why the Server did not let us in; None while it has not said so."""
        self._leaving = False
        """Whether no connection is wanted any more."""
        self._is_established = False
        """Whether there is a connection whose loss is to be mended."""
        self._numbers = itertools.count(FIRST_ACK_ID)
        self._pending: dict[int, AsyncPending | SyncPending] = {}
        """The requests that wait for their acks, by number."""
        self._backend = backend_of(self)

    @property
    def wanted_office(self) -> str | None:
        """The office this client is in, or means to be in again as soon as it can."""
        return self._seat.office_id if self._seat is not None else None

    def _office_to_leave(self, office_id: str | None) -> str:
        """The office this client is in. A wrong id is rejected here: the Server would keep the seat.

        Raises:
            NotInOfficeError: it is in none.
            CrossOfficeError: it is in another than that.
        """
        ours = self.wanted_office or self.office_id
        if ours is None:
            raise errors.NotInOfficeError(f"this {self.role} is in no office")
        if office_id not in (None, ours):
            raise errors.CrossOfficeError(f"this {self.role} is not in office {office_id!r}, but in {ours!r}")
        return ours

    def _check_event(self, event: str) -> None:
        """Raise `ValueError` if this role may not send the event."""
        if event.startswith(self._forbidden_prefixes):
            raise ValueError(f"{self.role} clients do not send {event}")

    def _goes_on(self, refusal: errors.SMCPError) -> bool:
        """Whether to try to come back again although the Server refuses us: a key may be let in again later."""
        return True

    def _why_refused(self, url: str = "") -> errors.SMCPError | None:
        """Why the Server did not let us in; None when it was not the Server that refused."""
        return why_refused(self._refusal, url)

    # --------------------------------------------------------------------------------------------- hooks of the library

    def _on_admitted(self) -> None:
        """The Server let us in."""
        if self._seat is not None:
            self._start_rejoining()

    def _on_event(self, event: str, data: list[Any]) -> None:
        """An event came, for our namespace; the program's handlers come after. It must not wait for anything."""

    def _on_ack(self, number: int, values: list[Any]) -> bool:
        """An ack came; whether it was for us, and not for the program. It must not wait for anything."""
        pending = self._pending.get(number)
        if pending is not None:
            pending.settle(values)
        return pending is not None

    def _on_disconnected(self) -> None:
        """The connection is over."""
        self._stop_rejoining()
        for pending in list(self._pending.values()):
            pending.fail(errors.NotConnectedError("the connection to the Server broke before the answer came"))
        if self.office_id is not None:
            self.office_id = None
            will_return = self.reconnection and not self._leaving
            logger.warning("the connection to the Server is lost%s", "; trying to come back" if will_return else "")
            self._on_lost()
        self._mend()

    # ------------------------------------------------------------------------------------------------ for the two forms

    def _run(self, flow: Flow[ClientBackend, Any]) -> Any:
        """Run a flow with this client."""
        raise NotImplementedError

    def _start_rejoining(self) -> None:
        """Take the seat again, in the background."""
        raise NotImplementedError

    def _stop_rejoining(self) -> None:
        """Do not take the seat again."""

    def _mend(self) -> None:
        """After a loss: come back, in the background, or give up."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------------------------- for subclasses

    def _on_rejoined(self) -> None:
        """The client is back in its office. It must not wait for anything."""

    def _on_lost(self) -> None:
        """The office is lost with the connection."""

    def _on_given_up(self) -> None:
        """The connection is lost for good."""


@dataclass(eq=False, slots=True)
class Backend:
    """Performs the effects of the flows of `a2c_smcp.protocol`, with the methods of either client."""

    client: OfficeClientBase
    seat_of: Callable[[], Seat | None]
    ask: Callable[[str, Any, float], MaybeAwaitable[Any]]
    tell: Callable[[str, Any], MaybeAwaitable[None]]
    pause: Callable[[float], MaybeAwaitable[None]]
    rest: Callable[[float], MaybeAwaitable[bool]]
    redial: Callable[[], MaybeAwaitable[bool]]
    goes_on: Callable[[errors.SMCPError], bool]
    retake: Callable[[Seat], MaybeAwaitable[bool]]
    read_result: Callable[[dict[str, Any]], MaybeAwaitable[CallToolResult]]

    @property
    def seat(self) -> Seat | None:
        """The seat that the client means to have."""
        return self.seat_of()

    def occupy(self, office_id: str | None) -> str | None:
        """Note which office the client is in; the office that it was in before."""
        before, self.client.office_id = self.client.office_id, office_id
        return before


def backend_of(client: Any) -> Backend:
    """The backend of either client."""
    return Backend(
        client,
        seat_of=lambda: client._seat,
        ask=client._ask,
        tell=client._tell,
        pause=client._pause,
        rest=client._rest,
        redial=client._redial,
        goes_on=client._goes_on,
        retake=client._retake,
        read_result=client._read_result,
    )


def arguments(data: Any) -> list[Any]:
    """What is sent with an event: several arguments in a tuple, one, or none."""
    if isinstance(data, tuple):
        return list(cast("tuple[Any, ...]", data))
    return [] if data is None else [data]


def with_defaults(options: dict[str, Any], max_message_bytes: int) -> dict[str, Any]:
    """The options of a Socket.IO client, completed; what the Server lets pass we read."""
    return {
        "serializer": SMCPPacket.limited_to(ENDLESS, sent=max_message_bytes),
        "logger": _library_log,  # otherwise the libraries add handlers of their own
        "engineio_logger": _library_log,
        "handle_sigint": False,
        "reconnection_delay": FIRST_DELAY,
        "reconnection_delay_max": LONGEST_DELAY,
        "randomization_factor": JITTER,
        **options,
    }


def check_url(url: str) -> None:
    """Raise `NotConnectedError` if this cannot be the address of a Server."""
    try:
        is_address = bool(re.match(r"(https?|wss?)://[^/]", url)) and urlsplit(url).port != 0
    except ValueError as error:
        raise NotConnectedError(f"{url}: {error}") from None
    if not is_address:
        raise NotConnectedError(f"{url}: an address such as http://127.0.0.1:8000 is expected")
