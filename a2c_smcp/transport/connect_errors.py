"""Errors for failed connections: from what the libraries raise and the Server sends, to a code and a message."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Self, cast

import engineio.exceptions
import orjson
from socketio.exceptions import ConnectionError as SocketIOConnectionError

from a2c_smcp import errors
from a2c_smcp.protocol.terms import Terms, version_refusal
from a2c_smcp.utils.unreachable import REFUSED, UNKNOWN_HOST, causes, why_unreachable

# A failed connection raises an error that is both ours and the library's: programs written for python-socketio catch
# `socketio.exceptions.ConnectionError`. The classes have the names of `a2c_smcp.errors`, so that tracebacks show those.


class NotConnectedError(errors.NotConnectedError, SocketIOConnectionError):
    """The Server cannot be reached, or accepts no further connection."""


class NotAuthenticatedError(errors.NotAuthenticatedError, SocketIOConnectionError):
    """The Server requires another key."""


class ForbiddenError(errors.ForbiddenError, SocketIOConnectionError):
    """The Server knows this client and rejects it."""


class VersionRefusedError(errors.VersionRefusedError, SocketIOConnectionError):
    """The Server does not accept the version of this client, and speaks none that this client can use instead."""

    @classmethod
    def of(cls, refusal: Mapping[str, Any], terms: Terms, url: str = "") -> Self:
        """The error for what the Server answered."""
        error = version_refusal(refusal, terms, f" at {url}" if url else "")
        return cls(error.message, details=error.details)


NOT_A_SERVER = "the program that answers there is not an A2C Server"


class NoServerError(engineio.exceptions.ConnectionError):
    """A program answers at the address, but not as a Server does."""


def raise_understood(error: Exception, http_answer: type[Exception], is_answered: bool = False) -> NoReturn:
    """Raise `NoServerError` if a program answered, or the error itself if it says that no program did.

    A program that is no Server sends anything: HTML, redirects, broken JSON. The library then raises whatever its code
    runs into, such as a `KeyError`; only its own `ConnectionError` means that the attempt failed in an expected way.
    `http_answer` is what the WebSocket library raises when an HTTP answer rejects the upgrade.
    """
    # The library raises its `ConnectionError` inside an `except` without `from`: the answer is only its context.
    is_failure = isinstance(error, engineio.exceptions.ConnectionError)
    if is_failure and not is_answered and not isinstance(error.__context__, http_answer):
        raise error
    details = error.args[1:2] if is_failure else ()
    if details in ((), (None,)) and isinstance(error.__context__, http_answer):
        details = _denial(error.__context__)
    raise NoServerError(NOT_A_SERVER, *details) from error


def version_refused(error: BaseException) -> dict[str, Any] | None:
    """What a Server answered that rejects the version of the client; None if the attempt failed for another reason."""
    # The library makes the body of an HTTP answer the second argument of its error. Status and headers do not count: a
    # Server may send this body with any status.
    for each in causes(error):
        told = each.args[1] if isinstance(each, engineio.exceptions.ConnectionError) and len(each.args) > 1 else None
        if isinstance(told, dict) and cast("dict[str, Any]", told).get("code") == VersionRefusedError.code:
            return cast("dict[str, Any]", told)
    return None


def is_denied(error: BaseException) -> bool:
    """Whether an HTTP answer rejected a WebSocket, as for a version that the Server does not accept."""
    return any(_status_of(each) in (400, 403) for each in causes(error))


def _status_of(error: BaseException) -> Any:
    """The status of the HTTP answer in an error of aiohttp, or of websocket-client."""
    return getattr(error, "status", None) or getattr(error, "status_code", None)


def _denial(error: BaseException) -> tuple[Any, ...]:
    """The JSON body of the HTTP answer that rejected a WebSocket, where the library keeps it."""
    body = getattr(error, "resp_body", None)  # of websocket-client; aiohttp drops it
    try:
        return (orjson.loads(body),) if body else ()
    except orjson.JSONDecodeError:
        return ()


def why_refused(refusal: Any, url: str = "") -> errors.SMCPError | None:
    """The error for what the Server sent when it rejected a connection; None if it sent nothing."""
    if (read := _read_refusal(refusal)) is None:
        return None
    reason, code = read
    message = f"the Server{f' at {url}' if url else ''} rejects the connection: {reason}"
    if code == NotAuthenticatedError.code:
        return NotAuthenticatedError(message)
    if code == ForbiddenError.code:
        return ForbiddenError(message)
    # Any other reason, such as too many connections (429), passes: a client that retries may succeed.
    error = NotConnectedError(message)
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
    """Why all attempts failed, in words for a person."""
    words, found = why_unreachable(problems, ca_file, _IN_PLAIN_WORDS)
    told = found.args[1] if isinstance(found, NoServerError) and len(found.args) > 1 else None
    reason = cast("dict[str, Any]", told).get("message") if isinstance(told, dict) else None
    return f"{words}; its answer: {reason}" if isinstance(reason, str) else words


# An answer precedes a refused connection: where one attempt was answered, it would be wrong to say that nothing is
# listening.
_IN_PLAIN_WORDS: dict[type[BaseException], str] = {
    socket.gaierror: UNKNOWN_HOST,
    NoServerError: NOT_A_SERVER,
    ConnectionRefusedError: REFUSED,
}
