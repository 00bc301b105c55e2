"""What every client of the Server does: it asks, takes a seat in an office, and takes it again when it was lost."""

from __future__ import annotations

import contextlib
import logging
import math
import re
from dataclasses import dataclass
from typing import Any, Protocol

from a2c_smcp.errors import (
    ForbiddenError,
    InvalidAnswerError,
    MalformedRequestError,
    NotAuthenticatedError,
    NotFoundError,
    OfficeRefusedError,
    SMCPError,
    is_known_code,
)
from a2c_smcp.protocol.answers import read_two_values
from a2c_smcp.protocol.flow import Effect, Flow, MaybeAwaitable
from a2c_smcp.smcp import JOIN_OFFICE_EVENT, LEAVE_OFFICE_EVENT, EnterOfficeReq, LeaveOfficeReq
from a2c_smcp.types import Role
from a2c_smcp.utils.backoff import Backoff
from a2c_smcp.utils.failures import log_failure

logger = logging.getLogger(__name__)

ASK_SECONDS = 15.0
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
LONGEST_WAIT = 1e6
"""Seconds; what every way to wait takes."""

_CODE = re.compile(r" \((\d+)\)$")
_FINAL = {error.code for error in (MalformedRequestError, NotAuthenticatedError, NotFoundError)}
"""Not 403: a name that is taken may be free later, when its bearer leaves, or is the connection that we lost."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A place in an office, and under which name."""

    office_id: str
    name: str


class ClientWorld(Protocol):
    """What a client offers to the flows below."""

    @property
    def office_id(self) -> str | None:
        """The office the client is in, as far as it knows."""
        ...

    @office_id.setter
    def office_id(self, office_id: str | None) -> None: ...

    @property
    def role(self) -> Role:
        """What the client is in an office."""
        ...

    @property
    def seat(self) -> Seat | None:
        """The seat that the client means to have."""
        ...

    def ask(self, event: str, data: Any, timeout: float, /) -> MaybeAwaitable[Any]:
        """Send a request and wait for its ack; several ack arguments come as a tuple.

        Raises:
            TimedOutError: no ack within `timeout` seconds.
            NotConnectedError: there is no connection, or it broke.
        """
        ...

    def tell(self, event: str, data: Any, /) -> MaybeAwaitable[None]:
        """Send an event that needs no ack."""
        ...

    def pause(self, seconds: float, /) -> MaybeAwaitable[None]:
        """Wait, but not longer than the connection lasts."""
        ...

    def rest(self, seconds: float, /) -> MaybeAwaitable[bool]:
        """Wait, without a connection; False when none is wanted any more."""
        ...

    def redial(self) -> MaybeAwaitable[bool]:
        """Connect as before; whether the connection still lives."""
        ...

    def goes_on(self, refusal: SMCPError, /) -> bool:
        """Whether to try again although the Server refuses us."""
        ...

    def retake(self, seat: Seat, /) -> MaybeAwaitable[bool]:
        """Run `enter`, while nothing else enters or leaves; False when there is no need for it any more."""
        ...

    def load(self, module: str, /) -> MaybeAwaitable[Any]:
        """Import a module that is slow to import."""
        ...


@dataclass(frozen=True, slots=True)
class Ask(Effect[ClientWorld, Any]):
    """Send a request and wait for its ack."""

    event: str
    data: Any
    timeout: float

    def perform(self, world: ClientWorld) -> MaybeAwaitable[Any]:
        """Do so."""
        return world.ask(self.event, self.data, self.timeout)


@dataclass(frozen=True, slots=True)
class Tell(Effect[ClientWorld, None]):
    """Send an event that needs no ack."""

    event: str
    data: Any

    def perform(self, world: ClientWorld) -> MaybeAwaitable[None]:
        """Do so."""
        return world.tell(self.event, self.data)


@dataclass(frozen=True, slots=True)
class Pause(Effect[ClientWorld, None]):
    """Wait."""

    seconds: float

    def perform(self, world: ClientWorld) -> MaybeAwaitable[None]:
        """Do so."""
        return world.pause(self.seconds)


@dataclass(frozen=True, slots=True)
class Rest(Effect[ClientWorld, bool]):
    """Wait without a connection."""

    seconds: float

    def perform(self, world: ClientWorld) -> MaybeAwaitable[bool]:
        """Do so."""
        return world.rest(self.seconds)


class Redial(Effect[ClientWorld, bool]):
    """Connect as before."""

    def perform(self, world: ClientWorld) -> MaybeAwaitable[bool]:
        """Do so."""
        return world.redial()


@dataclass(frozen=True, slots=True)
class Retake(Effect[ClientWorld, bool]):
    """Take a seat again."""

    seat: Seat

    def perform(self, world: ClientWorld) -> MaybeAwaitable[bool]:
        """Do so."""
        return world.retake(self.seat)


@dataclass(frozen=True, slots=True)
class Load(Effect[ClientWorld, Any]):
    """Import a module that is slow to import, where it hinders nobody."""

    module: str

    def perform(self, world: ClientWorld) -> MaybeAwaitable[Any]:
        """Do so."""
        return world.load(self.module)


class Myself(Effect[ClientWorld, ClientWorld]):
    """The client that runs the flow."""

    def perform(self, world: ClientWorld) -> ClientWorld:
        """It."""
        return world


def check_seconds(timeout: Any) -> float:
    """A time-out as it may be used.

    Raises:
        MalformedRequestError: it is no number of seconds.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise MalformedRequestError("timeout: a number of seconds is expected")
    return min(timeout, LONGEST_WAIT)


def join(seat: Seat) -> Flow[ClientWorld, None]:
    """Join an office because the program wants to; `rejoin` says itself what goes wrong.

    Raises:
        OfficeRefusedError: the Server refuses, or gives no valid answer.
    """
    try:
        yield from enter(seat)
    except OfficeRefusedError as error:
        log_failure(logger, JOIN_OFFICE_EVENT, None, error.code, error.message)
        raise


def enter(seat: Seat) -> Flow[ClientWorld, None]:
    """Take a seat in an office.

    Raises:
        OfficeRefusedError: the Server refuses, or gives no valid answer.
    """
    me = yield from Myself()
    before, me.office_id = me.office_id, seat.office_id  # before the request: traffic may come before its answer
    try:
        request = EnterOfficeReq(role=me.role, name=seat.name, office_id=seat.office_id)
        yield from _request(JOIN_OFFICE_EVENT, request)
    except BaseException as error:
        if isinstance(error, OfficeRefusedError) and error.is_answered:
            me.office_id = before  # we are still where we were
            raise
        # Nobody knows whether the Server let us in. Take it back, so that we are where we were on both sides.
        me.office_id = before
        with contextlib.suppress(ConnectionError):
            yield from Tell(LEAVE_OFFICE_EVENT, LeaveOfficeReq(office_id=seat.office_id))
            if before is not None:
                name = me.seat.name if me.seat is not None else seat.name
                yield from Tell(JOIN_OFFICE_EVENT, EnterOfficeReq(role=me.role, name=name, office_id=before))
        raise


def leave(office_id: str) -> Flow[ClientWorld, None]:
    """Leave an office; whatever the Server says, we are out.

    Raises:
        OfficeRefusedError: the Server says that we were not in, or nothing.
    """
    me = yield from Myself()
    try:
        yield from _request(LEAVE_OFFICE_EVENT, LeaveOfficeReq(office_id=office_id))
    except OfficeRefusedError as error:
        log_failure(logger, LEAVE_OFFICE_EVENT, None, error.code, error.message)
        raise
    finally:
        me.office_id = None


def rejoin() -> Flow[ClientWorld, bool]:
    """Take the seat again, however long it takes: the Server may still hold it for the connection that broke.

    False when the seat is not wanted any more.
    """
    me = yield from Myself()
    backoff = Backoff(FIRST_DELAY, LONGEST_DELAY)
    while (seat := me.seat) is not None:
        try:
            is_back = yield from Retake(seat)
            if is_back:
                logger.warning("back in office %s as %s", seat.office_id, seat.name)  # as loud as the loss was
            return is_back
        except OfficeRefusedError as error:
            logger.warning("cannot rejoin office %s yet: %s", seat.office_id, error)
            yield from Pause(backoff.next())
    return False


def come_back(first_delay: float, longest_delay: float, jitter: float, attempts: int) -> Flow[ClientWorld, bool]:
    """Connect again, after growing delays; False when no connection is wanted any more, or after so many attempts."""
    backoff = Backoff(first_delay, longest_delay, jitter=jitter)
    tried = 0
    while (yield from Rest(backoff.next())):
        tried += 1
        try:
            if (yield from Redial()):
                return True
        except (NotAuthenticatedError, ForbiddenError) as error:
            logger.warning("attempt %d to come back is refused: %s (%d)", tried, error.message, error.code)
            if not (yield from Myself()).goes_on(error):
                return False
        except Exception as error:  # also those of whoever provides the credentials
            logger.info("attempt %d to come back failed: %s", tried, error)
        if attempts and tried >= attempts:
            logger.warning("giving up to come back after %d attempts", tried)
            return False
    return False


def _request(event: str, request: EnterOfficeReq | LeaveOfficeReq) -> Flow[ClientWorld, None]:
    try:
        reason = read_two_values((yield from Ask(event, request, ASK_SECONDS)))
    except SMCPError as error:
        silence = "" if isinstance(error, InvalidAnswerError) else "no answer from the Server: "
        raise OfficeRefusedError(f"{silence}{error.message}", code=error.code, is_answered=False) from error
    if reason is not None:
        raise _refused(reason)


def _refused(reason: str) -> OfficeRefusedError:
    """The Server's no, which ends in the protocol's code where the Server gives one."""
    found = _CODE.search(reason)
    if found is None or not is_known_code(int(found[1])):
        return OfficeRefusedError(reason, code=ForbiddenError.code)
    code, message = int(found[1]), reason[: found.start()]
    return OfficeRefusedError(message, code=code, is_final=code in _FINAL)
