"""The flows of a client's place in an office: join, leave, and get back in after the connection broke."""

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
    Learn,
    Occupy,
    Pause,
    ReadSeat,
    ReadServer,
    ReadTerms,
    Redial,
    Rest,
    Retake,
    Seat,
    Tell,
)
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.handshake import read_server_info
from a2c_smcp.smcp import JOIN_OFFICE_EVENT, LEAVE_OFFICE_EVENT, EnterOfficeReq, LeaveOfficeReq
from a2c_smcp.utils.backoff import Backoff
from a2c_smcp.utils.failures import log_failure

logger = logging.getLogger(__name__)

ASK_SECONDS = 15.0
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
# Below the smallest limit, that of locks on Windows: they wait at most 2**32 milliseconds (`threading.TIMEOUT_MAX`).
LONGEST_WAIT = 1e6
"""Seconds. Some ways to wait overflow with a larger number."""

_CODE = re.compile(r" \((\d+)\)$")
_FINAL = {error.code for error in (MalformedRequestError, NotAuthenticatedError, NotFoundError)}
"""Codes that a retry cannot change. 403 is not one of them: the name may be taken by the connection that this client
lost, until the Server notices, or its owner may leave."""


def check_seconds(timeout: Any) -> float:
    """A timeout, limited to what every way to wait accepts.

    Raises:
        MalformedRequestError: it is not a positive number of seconds.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise MalformedRequestError("timeout: a number of seconds is expected")
    return min(timeout, LONGEST_WAIT)


def join(seat: Seat) -> Flow[ClientBackend, None]:
    """Join an office for the program, and log why that fails; `rejoin` logs on its own.

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
        ack = yield from _request(JOIN_OFFICE_EVENT, _entering(seat))
    except BaseException as error:
        yield from Occupy(before)
        is_refused = isinstance(error, OfficeRefusedError) and error.is_answered
        with contextlib.suppress(ConnectionError):
            if not is_refused:
                # Without an answer, the Server may or may not have let the client in. Undo the join, so that client and
                # Server agree again: leave the new office, and join the one the client was in.
                yield from Tell(LEAVE_OFFICE_EVENT, LeaveOfficeReq(office_id=seat.office_id))
            # An official Server takes a member out of its office before it looks at the new one.
            if before is not None and (not is_refused or (yield from ReadServer()).is_official):
                name = ((yield from ReadSeat()) or seat).name
                yield from Tell(JOIN_OFFICE_EVENT, _entering(Seat(before, name, seat.role)))
        raise
    # After each join: the Server may have been replaced by another version since the last one.
    yield from Learn((yield from ReadTerms()).learned(read_server_info(ack)))


def leave(office_id: str) -> Flow[ClientBackend, None]:
    """Leave an office. The client is out of it even if the Server rejects the request.

    Raises:
        OfficeRefusedError: the Server rejects the request, or does not answer.
    """
    # The office is cleared in `finally`: the program wants to be out. If the ack is lost, a Computer that still counted
    # itself as a member would go on sending its updates.
    try:
        yield from _request(LEAVE_OFFICE_EVENT, LeaveOfficeReq(office_id=office_id))
    except OfficeRefusedError as error:
        log_failure(logger, LEAVE_OFFICE_EVENT, None, error.code, error.message)
        raise
    finally:
        yield from Occupy(None)


def rejoin() -> Flow[ClientBackend, bool]:
    """Join the wanted office again, and retry until the Server lets the client in; False when no seat is wanted.

    The Server may still count the broken connection as the owner of the name, until its heartbeat times out.
    """
    # The wanted seat is read again for each attempt: during a pause, the program may leave or choose another office.
    backoff = Backoff(FIRST_DELAY, LONGEST_DELAY)
    while (seat := (yield from ReadSeat())) is not None:
        try:
            is_back = yield from Retake(seat)
            if is_back:
                logger.warning("back in office %s as %s", seat.office_id, seat.name)  # as prominent as the loss was
            return is_back
        except OfficeRefusedError as error:
            logger.warning("cannot rejoin office %s yet: %s", seat.office_id, error)
            yield from Pause(backoff.next())
    return False


def come_back(first_delay: float, longest_delay: float, jitter: float, attempts: int) -> Flow[ClientBackend, bool]:
    """Reconnect with growing delays; False when no connection is wanted, or after `attempts` (0: no limit)."""
    # The first attempt waits as well. When a Server restarts, all its clients lose their connections at the same
    # moment, and the jitter of the first delay keeps them from coming back at the same moment.
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
        except Exception as error:  # the host program's credential provider may raise anything
            logger.info("attempt %d to come back failed: %s", tried, error)
        if attempts and tried >= attempts:
            logger.warning("giving up to come back after %d attempts", tried)
            return False
    return False


def _entering(seat: Seat) -> EnterOfficeReq:
    return EnterOfficeReq(role=seat.role, name=seat.name, office_id=seat.office_id)


def _request(event: str, request: EnterOfficeReq | LeaveOfficeReq) -> Flow[ClientBackend, Any]:
    """Send a request, and return its ack if it is a yes."""
    try:
        ack = yield from Ask(event, request, ASK_SECONDS)
        if ack is None and (yield from ReadTerms()).empty_is_yes:
            return ack
        reason = read_two_values(ack)
    # Not answered, also if an answer came that says neither yes nor no: the client cannot know whether it is in, so
    # `enter` has to undo the join.
    except SMCPError as error:
        silence = "" if isinstance(error, InvalidAnswerError) else "no answer from the Server: "
        raise OfficeRefusedError(f"{silence}{error.message}", code=error.code, is_answered=False) from error
    if reason is not None:
        raise _refused(reason)
    return ack


def _refused(reason: str) -> OfficeRefusedError:
    """The error for a rejected request; our Server appends the code to the reason, other Servers may not."""
    found = _CODE.search(reason)
    if found is None or not is_known_code(int(found[1])):
        return OfficeRefusedError(reason, code=ForbiddenError.code)
    code, message = int(found[1]), reason[: found.start()]
    return OfficeRefusedError(message, code=code, is_final=code in _FINAL)
