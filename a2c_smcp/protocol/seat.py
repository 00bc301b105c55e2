"""What every client of the Server does: it asks, takes a seat in an office, and takes it again when it was lost."""

from __future__ import annotations

import contextlib
import logging
import math
import re
from typing import Any

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
from a2c_smcp.protocol.client_effects import (
    Ask,
    ClientBackend,
    GoesOn,
    Occupy,
    Pause,
    ReadSeat,
    Redial,
    Rest,
    Retake,
    Seat,
    Tell,
)
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.smcp import JOIN_OFFICE_EVENT, LEAVE_OFFICE_EVENT, EnterOfficeReq, LeaveOfficeReq
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


def check_seconds(timeout: Any) -> float:
    """A time-out as it may be used.

    Raises:
        MalformedRequestError: it is no number of seconds.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise MalformedRequestError("timeout: a number of seconds is expected")
    return min(timeout, LONGEST_WAIT)


def join(seat: Seat) -> Flow[ClientBackend, None]:
    """Join an office because the program wants to; `rejoin` says itself what goes wrong.

    Raises:
        OfficeRefusedError: the Server refuses, or gives no valid answer.
    """
    try:
        yield from enter(seat)
    except OfficeRefusedError as error:
        log_failure(logger, JOIN_OFFICE_EVENT, None, error.code, error.message)
        raise


def enter(seat: Seat) -> Flow[ClientBackend, None]:
    """Take a seat in an office.

    Raises:
        OfficeRefusedError: the Server refuses, or gives no valid answer.
    """
    # Noted before the request is sent: the office's notices may arrive before the ack, and they must not be dropped.
    before = yield from Occupy(seat.office_id)
    try:
        yield from _request(JOIN_OFFICE_EVENT, _entering(seat))
    except BaseException as error:
        yield from Occupy(before)
        if not (isinstance(error, OfficeRefusedError) and error.is_answered):
            # Without an answer, the Server may or may not have let the client in. Undo the join, so that client and
            # Server agree again: leave the new office, and join the one the client was in.
            with contextlib.suppress(ConnectionError):
                yield from Tell(LEAVE_OFFICE_EVENT, LeaveOfficeReq(office_id=seat.office_id))
                if before is not None:
                    name = ((yield from ReadSeat()) or seat).name
                    yield from Tell(JOIN_OFFICE_EVENT, _entering(Seat(before, name, seat.role)))
        raise


def leave(office_id: str) -> Flow[ClientBackend, None]:
    """Leave an office; whatever the Server says, we are out.

    Raises:
        OfficeRefusedError: the Server says that we were not in, or nothing.
    """
    try:
        yield from _request(LEAVE_OFFICE_EVENT, LeaveOfficeReq(office_id=office_id))
    except OfficeRefusedError as error:
        log_failure(logger, LEAVE_OFFICE_EVENT, None, error.code, error.message)
        raise
    finally:
        yield from Occupy(None)


def rejoin() -> Flow[ClientBackend, bool]:
    """Take the seat again, however long it takes: the Server may still hold it for the connection that broke.

    False when the seat is not wanted any more.
    """
    backoff = Backoff(FIRST_DELAY, LONGEST_DELAY)
    while (seat := (yield from ReadSeat())) is not None:
        try:
            is_back = yield from Retake(seat)
            if is_back:
                logger.warning("back in office %s as %s", seat.office_id, seat.name)  # as loud as the loss was
            return is_back
        except OfficeRefusedError as error:
            logger.warning("cannot rejoin office %s yet: %s", seat.office_id, error)
            yield from Pause(backoff.next())
    return False


def come_back(first_delay: float, longest_delay: float, jitter: float, attempts: int) -> Flow[ClientBackend, bool]:
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
            if not (yield from GoesOn(error)):
                return False
        except Exception as error:  # also those of whoever provides the credentials
            logger.info("attempt %d to come back failed: %s", tried, error)
        if attempts and tried >= attempts:
            logger.warning("giving up to come back after %d attempts", tried)
            return False
    return False


def _entering(seat: Seat) -> EnterOfficeReq:
    return EnterOfficeReq(role=seat.role, name=seat.name, office_id=seat.office_id)


def _request(event: str, request: EnterOfficeReq | LeaveOfficeReq) -> Flow[ClientBackend, None]:
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
