"""What the asynchronous and the blocking client share: their seat, their limits, and how a failed connection reads."""

from __future__ import annotations

import itertools
import logging
import socket
import ssl
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from socketio.exceptions import ConnectionError as SocketIOConnectionError

from a2c_smcp import errors
from a2c_smcp.protocol.client_effects import Seat
from a2c_smcp.protocol.flow import Effect, Flow, MaybeAwaitable
from a2c_smcp.protocol.seat import FIRST_DELAY, LONGEST_DELAY
from a2c_smcp.smcp import SMCP_NAMESPACE
from a2c_smcp.transport.internals import NoServerError
from a2c_smcp.transport.packet import SMCPPacket
from a2c_smcp.types import Role
from a2c_smcp.utils.backoff import JITTER
from a2c_smcp.utils.trust import why_untrusted
from a2c_smcp.utils.url import check_url

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

CONNECT_SECONDS = 15.0
ENDLESS = 1 << 40

WEBSOCKET_FIRST = (["websocket"], None)
"""Straight to WebSocket; where something in between does not let it pass, HTTP long-polling."""


FIRST_ACK_ID = 1 << 32
"""The ids of our requests; those of a program that uses the library's own way are below."""


_library_log = logging.getLogger("a2c_smcp.transport.socketio")
_library_log.setLevel(logging.ERROR)


# A connection that fails is the library's error as well as ours: programs catch either. The names are those of
# `a2c_smcp.errors`, for whoever reads them in a traceback.


class NotConnectedError(errors.NotConnectedError, SocketIOConnectionError):
    """The Server cannot be reached, or takes no further connection now."""


class NotAuthenticatedError(errors.NotAuthenticatedError, SocketIOConnectionError):
    """The Server wants another key."""


class ForbiddenError(errors.ForbiddenError, SocketIOConnectionError):
    """The Server knows who we are and does not want us."""


class Membership:
    """A member of an office, or one to be. `office_id` is None while it is in none."""

    role: ClassVar[Role]
    _forbidden_prefixes: ClassVar[tuple[str, ...]] = ()
    """Events that this role may not send."""

    office_id: str | None
    """The office that this client is in; None while it is in none."""
    ca_file: str | None = None
    """The authorities that are trusted to vouch for the Server's certificate; None for those of the machine."""
    _seat: Seat | None
    _refusal: Any

    def _take_no_seat(self) -> None:
        self.office_id = None
        self._seat = None
        self._refusal = None
        self._leaving = False
        """Whether no connection is wanted any more."""
        self.namespace = SMCP_NAMESPACE
        self._is_established = False
        """Whether there is a connection whose loss is to be mended."""
        self._numbers = itertools.count(FIRST_ACK_ID)

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
        if (refusal := _read_refusal(self._refusal)) is None:
            return None
        reason, code = refusal
        place = f"the Server at {url}" if url else "the Server"
        if code == NotAuthenticatedError.code:
            return NotAuthenticatedError(f"{place} refuses this connection: {reason}")
        if code == ForbiddenError.code:
            return ForbiddenError(f"{place} refuses this connection: {reason}")
        error = NotConnectedError(f"{place} says: {reason}")
        if code is not None:
            error.code = code
        return error


@dataclass(eq=False, slots=True)
class Backend:
    """Performs the effects of the flows of `a2c_smcp.protocol`, with the methods of either client."""

    member: Membership
    seat_of: Callable[[], Seat | None]
    ask: Callable[[str, Any, float], MaybeAwaitable[Any]]
    tell: Callable[[str, Any], MaybeAwaitable[None]]
    pause: Callable[[float], MaybeAwaitable[None]]
    rest: Callable[[float], MaybeAwaitable[bool]]
    redial: Callable[[], MaybeAwaitable[bool]]
    goes_on: Callable[[errors.SMCPError], bool]
    retake: Callable[[Seat], MaybeAwaitable[bool]]
    read_result: Callable[[dict[str, Any]], MaybeAwaitable[CallToolResult]]
    connect: Callable[..., MaybeAwaitable[None]]

    @property
    def seat(self) -> Seat | None:
        """The seat that the client means to have."""
        return self.seat_of()

    def occupy(self, office_id: str | None) -> str | None:
        """Note which office the client is in; the office that it was in before."""
        before, self.member.office_id = self.member.office_id, office_id
        return before


@dataclass(frozen=True, slots=True)
class Connect(Effect[Backend, None]):
    """Open a connection, over the transports that the options name."""

    url: str
    options: dict[str, Any]

    def perform(self, backend: Backend) -> MaybeAwaitable[None]:
        """Do so."""
        return backend.connect(self.url, **self.options)


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
        connect=client.connect,
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


def _read_refusal(data: Any) -> tuple[str, int | None] | None:
    if not isinstance(data, dict):
        return None
    refusal = cast("dict[str, Any]", data)
    details = refusal.get("data")
    code = cast("dict[str, Any]", details).get("code") if isinstance(details, dict) else None
    return str(refusal.get("message") or "refused"), code if isinstance(code, int) else None


def reaching(
    client: Any, why_refused: Callable[[str], errors.SMCPError | None], url: str, options: dict[str, Any]
) -> Flow[Any, None]:
    """Connect a client, over WebSocket or else over HTTP, and say in plain words why not.

    Raises:
        NotAuthenticatedError: the Server wants another key.
        ForbiddenError: the Server does not want us.
        NotConnectedError: the Server cannot be reached, or takes no further connection now.
    """
    try:
        check_url(url)
    except ValueError as error:
        raise NotConnectedError(f"{url}: {error}") from None
    if client.connected:
        raise NotConnectedError("already connected")
    problems: list[SocketIOConnectionError] = []
    for transports in WEBSOCKET_FIRST if options.get("transports") is None else [options["transports"]]:
        try:
            yield from Connect(url, {**options, "transports": transports})
            return
        except SocketIOConnectionError as error:
            problems.append(error)
            if (refusal := why_refused(url)) is not None:
                raise refusal from None
    raise NotConnectedError(f"cannot reach {url}: {_explain(problems, client.ca_file)}")


def _explain(problems: Sequence[BaseException], ca_file: str | None) -> str:
    """Why no attempt succeeded, for a person: by the kinds of what was raised, not by what it says."""
    chain = [error for problem in problems for error in _causes(problem)]
    # aiohttp wraps the error in one of the same kind, which does not say why.
    rejected = [error for error in chain if isinstance(error, ssl.SSLCertVerificationError)]
    untrusted = next((error for error in rejected if hasattr(error, "verify_code")), None)
    if untrusted is not None:
        return why_untrusted(untrusted, ca_file)
    for kind, words in _IN_PLAIN_WORDS.items():
        found = next((error for error in chain if isinstance(error, kind)), None)
        if found is not None:
            told = found.args[1] if isinstance(found, NoServerError) and len(found.args) > 1 else None
            reason = cast("dict[str, Any]", told).get("message") if isinstance(told, dict) else None
            return f"{words} (it says: {reason})" if isinstance(reason, str) else words
    return str(problems[-1])


def _causes(error: BaseException | None) -> Generator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


_IN_PLAIN_WORDS: dict[type[BaseException], str] = {
    socket.gaierror: "there is no such host",
    NoServerError: "what answers there is no A2C Server",
    ConnectionRefusedError: "nobody answers there",
}
