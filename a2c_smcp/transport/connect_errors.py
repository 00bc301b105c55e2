"""Why a client is not connected, as an error with a code and in words for a person."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Generator, Sequence
from typing import Any, NoReturn, cast

import engineio.exceptions
from socketio.exceptions import ConnectionError as SocketIOConnectionError

from a2c_smcp import errors
from a2c_smcp.utils.trust import why_untrusted

# A connection that fails is the library's error as well as ours: programs catch either. The names are those of
# `a2c_smcp.errors`, for whoever reads them in a traceback.


class NotConnectedError(errors.NotConnectedError, SocketIOConnectionError):
    """The Server cannot be reached, or takes no further connection now."""


class NotAuthenticatedError(errors.NotAuthenticatedError, SocketIOConnectionError):
    """The Server wants another key."""


class ForbiddenError(errors.ForbiddenError, SocketIOConnectionError):
    """The Server knows who we are and does not want us."""


class NoServerError(engineio.exceptions.ConnectionError):
    """Something answers at the address, and it is no Server, or none that lets us in."""


def raise_understood(error: Exception, http_answer: type[Exception], is_answered: bool = False) -> NoReturn:
    """Whatever the library stumbles over in a wrong answer is a connection that failed; where something answered, the
    error says so. A WebSocket is refused with `http_answer` by something that speaks HTTP."""
    is_failure = isinstance(error, engineio.exceptions.ConnectionError)
    if is_failure and not is_answered and not isinstance(error.__context__, http_answer):
        raise error
    details = error.args[1:2] if is_failure else ()
    raise NoServerError("what answers there is no A2C Server", *details) from error


def why_refused(refusal: Any, url: str = "") -> errors.SMCPError | None:
    """Why the Server did not let us in, from what it sent; None when it was not the Server that refused."""
    if (read := _read_refusal(refusal)) is None:
        return None
    reason, code = read
    place = f"the Server at {url}" if url else "the Server"
    if code == NotAuthenticatedError.code:
        return NotAuthenticatedError(f"{place} refuses this connection: {reason}")
    if code == ForbiddenError.code:
        return ForbiddenError(f"{place} refuses this connection: {reason}")
    error = NotConnectedError(f"{place} says: {reason}")
    if code is not None:
        error.code = code
    return error


def _read_refusal(data: Any) -> tuple[str, int | None] | None:
    if not isinstance(data, dict):
        return None
    refusal = cast("dict[str, Any]", data)
    details = refusal.get("data")
    code = cast("dict[str, Any]", details).get("code") if isinstance(details, dict) else None
    return str(refusal.get("message") or "refused"), code if isinstance(code, int) else None


def explain(problems: Sequence[BaseException], ca_file: str | None) -> str:
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
