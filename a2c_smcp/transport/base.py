"""What the asynchronous and the blocking client share: their state, their hooks, their options. None of it waits."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from a2c_smcp import errors
from a2c_smcp.protocol.client_effects import ClientBackend, Seat
from a2c_smcp.protocol.flow import Flow, MaybeAwaitable
from a2c_smcp.protocol.handshake import ServerInfo
from a2c_smcp.protocol.seat import FIRST_DELAY, LONGEST_DELAY
from a2c_smcp.protocol.terms import Terms, terms_of
from a2c_smcp.smcp import SMCP_NAMESPACE
from a2c_smcp.transport.connect_errors import NotConnectedError, VersionRefusedError, version_refused, why_refused
from a2c_smcp.transport.packet import SMCPPacket
from a2c_smcp.transport.pending import AsyncPending, SyncPending
from a2c_smcp.types import Role
from a2c_smcp.utils.backoff import JITTER
from a2c_smcp.utils.url import OFFICE, check_url, with_parameters

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 15.0
"""How long an attempt to connect may take. The library's default is one second, too short for a Server far away."""
FAREWELL_SECONDS = 2.0
"""How long a client that disconnects waits for its last packets to be sent over HTTP."""
UNLIMITED = 1 << 40
"""Bytes. More than any message has."""

TRANSPORTS = (["websocket"], None)
"""The transports to try in turn. A WebSocket needs one round trip less than the library's default (None), which starts
with HTTP long-polling and upgrades; but some proxies block WebSockets."""

FIRST_ACK_ID = 1 << 32
"""The ids of our requests start here. Those of the library, for callbacks of the program, count from 1."""

# The library warns of every lost connection. `_on_disconnected` does so once, and says whether the client reconnects.
_library_log = logging.getLogger("a2c_smcp.transport.socketio")
_library_log.setLevel(logging.ERROR)
# It also reports as an error that its writer had nothing to send for a while. `AsyncEngine` starts the writer again.
_library_log.addFilter(lambda record: record.msg != "packet queue is empty, aborting")


class OfficeClientBase:
    """The state and the hooks of a client that is, or wants to be, a member of an office."""

    role: ClassVar[Role]
    _forbidden_prefixes: ClassVar[tuple[str, ...]] = ()
    """The prefixes of events that this role may not send."""

    office_id: str | None
    """The office that this client is in, or None."""
    ca_file: str | None = None
    """The certificate authorities to trust (PEM); None for those of the machine."""
    server_info: ServerInfo
    """What the Server said about itself at the last join: its version, features and limits. Others say nothing."""
    reconnection: bool
    """Whether to reconnect; an option of the library's client."""
    packet_class: Any
    """The class of the packets of this client alone; an attribute of the library's client."""

    def _initialize(self, max_message_bytes: int, dialect: str) -> None:
        """Set the state of a client that has no connection and is in no office.

        Raises:
            ValueError: there is no such dialect.
        """
        self.office_id = None
        self.server_info = ServerInfo()
        self._terms = terms_of(dialect)
        """What the client says of itself in a handshake; a Server that demands another version changes it."""
        self._max_message_bytes = max_message_bytes
        self.namespace = SMCP_NAMESPACE
        self._seat: Seat | None = None
        """The seat that the program asked for. It outlives connections: after each reconnection it is taken again."""
        self._destination: str | None = None
        """The office that the program is going to join, if it said so when it connected."""
        self._chose_transports = False
        """Whether `reach` chose the transport, and not the program."""
        self._url: Any = None
        """The URL of the last `connect`, as the program gave it."""
        self._refusal: Any = None
        """The reason that the Server gave for rejecting the latest attempt, or None."""
        self._leaving = False
        """Whether the program disconnected, so that the client must not reconnect."""
        self._is_established = False
        """Whether there is a connection that has to be replaced when it is lost."""
        self._numbers = itertools.count(FIRST_ACK_ID)
        self._pending: dict[int, AsyncPending | SyncPending] = {}
        """The requests that wait for their acks, by number."""
        self._backend = backend_of(self)

    @property
    def wanted_office(self) -> str | None:
        """The office that this client is in, or joins again as soon as it can."""
        return self._seat.office_id if self._seat is not None else None

    @property
    def _message_limit(self) -> int:
        """The bytes of the largest message that the Server accepts: as configured here, or less if the Server says."""
        return min(self._max_message_bytes, self.server_info.max_message_bytes or self._max_message_bytes)

    def _learn(self, info: ServerInfo) -> None:
        """Note what the client knows of the Server."""
        self.server_info = info
        if issubclass(self.packet_class, SMCPPacket):  # a program may have chosen another class
            self.packet_class.max_sent_bytes = self._message_limit

    def _addressed(self, url: str) -> str:
        """The URL for a handshake. It names the office, so that a proxy can send all members to the same Server, and
        our versions, so that the Server says what it knows."""
        return with_parameters(url, {OFFICE: self.wanted_office or self._destination, **self._terms.query})

    def _renegotiates(self, error: BaseException) -> bool:
        """Whether to repeat an attempt that failed because the Server demands a version that this client speaks."""
        refusal = version_refused(error)
        if refusal is None or "server_version" not in refusal:
            return False
        terms = self._terms.demanded(refusal["server_version"])
        if terms is None:
            self._refusal = refusal
            return False
        logger.info("the Server demands A2C-SMCP %s", terms.version)
        self._terms = terms
        return True

    def _office_to_leave(self, office_id: str | None) -> str:
        """Return the office to leave. A wrong id is rejected here, because the Server would keep the seat.

        Raises:
            NotInOfficeError: the client is in no office.
            CrossOfficeError: the client is in another office.
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
        """Whether to retry although the Server rejects the connection: it may accept the key again later."""
        return True

    def _why_refused(self, url: str = "") -> errors.SMCPError | None:
        """The error for the Server's reason; None if the Server did not reject the attempt."""
        refusal = self._refusal
        if isinstance(refusal, dict) and cast("dict[str, Any]", refusal).get("code") == VersionRefusedError.code:
            return VersionRefusedError.of(cast("dict[str, Any]", refusal), self._terms, url)
        return why_refused(refusal, url)

    # ---------------------------------------------------------------------------------- what happened to the connection

    def _on_admitted(self) -> None:
        """The Server admitted the client to its namespace."""
        if self._seat is not None:
            self._start_rejoining()

    def _on_event(self, event: str, data: list[Any]) -> None:
        """An event arrived in our namespace; the program's handlers are called afterwards. Must not wait."""

    def _on_ack(self, number: int, values: list[Any]) -> bool:
        """An ack arrived; return whether it belongs to one of our requests. Must not wait."""
        pending = self._pending.get(number)
        if pending is not None:
            pending.settle(values)
        return pending is not None

    def _on_disconnected(self) -> None:
        """The connection ended, for whatever reason."""
        self._stop_rejoining()
        # The order matters. Requests fail first: their callers wait. The loss is announced before the client begins to
        # reconnect, so that a program never learns of it after it is back in its office.
        for pending in list(self._pending.values()):
            pending.fail(errors.NotConnectedError("the connection to the Server broke before the answer came"))
        # The office is None if the client has not joined, or has not rejoined since the last loss: a program hears of a
        # loss once, however many attempts to return break.
        if self.office_id is not None:
            self.office_id = None
            will_return = self.reconnection and not self._leaving
            logger.warning("lost the connection to the Server%s", "; reconnecting" if will_return else "")
            self._on_lost()
        self._reconnect_or_give_up()

    # ------------------------------------------------------------------------------------------------ for the two forms

    def _run(self, flow: Flow[ClientBackend, Any]) -> Any:
        """Run a flow with this client; the asynchronous form returns an awaitable."""
        raise NotImplementedError

    def _start_rejoining(self) -> None:
        """Take the seat again in the background."""
        raise NotImplementedError

    def _stop_rejoining(self) -> None:
        """Stop taking the seat again."""

    def _reconnect_or_give_up(self) -> None:
        """Reconnect in the background after a loss, or call `_on_given_up` if the program does not want that."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------------------------- for subclasses

    def _on_rejoined(self) -> None:
        """The client is back in its office. Must not wait."""

    def _on_lost(self) -> None:
        """The connection broke while the client was in an office. Must not wait."""

    def _on_given_up(self) -> None:
        """The client is disconnected and does not reconnect. Must not wait."""


@dataclass(eq=False, slots=True)
class Backend:
    """Performs the effects of the flows of `a2c_smcp.protocol`, with the private methods of either client."""

    # An object of its own, because programs extend the clients and complete their names in an editor: public methods
    # called `ask` or `pause` would be in the way there.

    client: OfficeClientBase
    seat_of: Callable[[], Seat | None]
    terms_of: Callable[[], Terms]
    learn: Callable[[ServerInfo], None]
    ask: Callable[[str, Any, float], MaybeAwaitable[Any]]
    tell: Callable[[str, Any], MaybeAwaitable[None]]
    pause: Callable[[float], MaybeAwaitable[None]]
    rest: Callable[[float], MaybeAwaitable[bool]]
    redial: Callable[[], MaybeAwaitable[bool]]
    goes_on: Callable[[errors.SMCPError], bool]
    retake: Callable[[Seat], MaybeAwaitable[bool]]
    read_result: Callable[[dict[str, Any]], MaybeAwaitable[CallToolResult]]
    together: Callable[[Sequence[Flow[ClientBackend, None]]], MaybeAwaitable[None]]
    work: Callable[[Callable[[], Any]], MaybeAwaitable[Any]]

    @property
    def seat(self) -> Seat | None:
        """The seat that the program asked for."""
        return self.seat_of()

    @property
    def terms(self) -> Terms:
        """What the client said of itself when it connected."""
        return self.terms_of()

    @property
    def server(self) -> ServerInfo:
        """What the client knows of the Server."""
        return self.client.server_info

    def occupy(self, office_id: str | None) -> str | None:
        """Note which office the client is in, and return the one before."""
        before, self.client.office_id = self.client.office_id, office_id
        return before


def backend_of(client: Any) -> Backend:
    """The backend of either client."""
    return Backend(
        client,
        seat_of=lambda: client._seat,
        terms_of=lambda: client._terms,
        learn=client._learn,
        ask=client._ask,
        tell=client._tell,
        pause=client._pause,
        rest=client._rest,
        redial=client._redial,
        goes_on=client._goes_on,
        retake=client._retake,
        read_result=client._read_result,
        together=client._together,
        work=client._work,
    )


def arguments(data: Any) -> list[Any]:
    """The arguments of an event as a list: a tuple holds several, None is none."""
    if isinstance(data, tuple):
        return list(cast("tuple[Any, ...]", data))
    return [] if data is None else [data]


def with_defaults(options: dict[str, Any], max_message_bytes: int) -> dict[str, Any]:
    """The options of a Socket.IO client with our defaults. What arrives is not limited: the Server limits it."""
    return {
        "serializer": SMCPPacket.limited_to(UNLIMITED, sent=max_message_bytes),
        "logger": _library_log,  # given a bool, the libraries add handlers to their loggers
        "engineio_logger": _library_log,
        "handle_sigint": False,  # signal handlers of the process belong to the program
        "reconnection_delay": FIRST_DELAY,
        "reconnection_delay_max": LONGEST_DELAY,
        "randomization_factor": JITTER,
        **options,
    }


def check_server_url(url: str) -> None:
    """Raise `NotConnectedError` if this cannot be the address of a Server."""
    try:
        check_url(url)
    except ValueError as error:
        raise NotConnectedError(f"{url}: {error}") from None
