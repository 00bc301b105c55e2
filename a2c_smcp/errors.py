"""The error tree of A2C-SMCP: one class for each code, and the conversion of exceptions to payloads and back.

Errors are raised anywhere in the code and translated once, at the edge of each event. `details` travels to the
other side: it never contains keys, tokens, addresses or stack traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from a2c_smcp.smcp import ErrorBody, ErrorPayload


class SMCPError(Exception):
    """A request that was rejected or failed, with the protocol's code. Every error of this package is a subclass."""

    code: int = 500
    """The protocol's code: that of the class, or any other in a plain `SMCPError` for a code without a class."""

    summary: ClassVar[str] = "internal fault"
    """What the code means, in a few words."""
    message: str
    """What failed, for a person to read."""
    details: dict[str, Any] | None
    """More about the failure, as JSON data; None if there is nothing to add."""
    _classes: ClassVar[dict[int, type[SMCPError]]] = {}

    def __init_subclass__(cls, *, code: int | None = None, summary: str | None = None) -> None:
        super().__init_subclass__()
        # The first class of a code owns it. A subclass without a code of its own, such as `HiddenOfficeError`, is never
        # made from a payload, and has the code and the wire name of the class that it derives from.
        if code is not None:
            cls.code = code
            SMCPError._classes.setdefault(code, cls)
        if summary is not None:
            cls.summary = summary

    def __init__(self, message: str | None = None, *, details: Mapping[str, Any] | None = None) -> None:
        self.message = message or self.summary
        self.details = dict(details) if details else None
        super().__init__(self.message)


class MalformedRequestError(SMCPError, code=400, summary="malformed request"):
    """The payload is not what the event asks for."""


class NotAuthenticatedError(SMCPError, code=401, summary="not authenticated"):
    """The connection carries no valid credential."""


class ForbiddenError(SMCPError, code=403, summary="forbidden"):
    """The sender is known and may not do this."""


class NotFoundError(SMCPError, code=404, summary="not found"):
    """The Computer, tool or configuration does not exist, or is gone."""


class TimedOutError(SMCPError, code=408, summary="timed out"):
    """The other side did not answer in time."""


class ConflictError(SMCPError, code=409, summary="conflict"):
    """Somebody else was faster. Never on the wire of an office: the API of a console answers with it."""


class TooLargeError(SMCPError, code=413, summary="message too large"):
    """A message is over the size limit."""


class RateLimitedError(SMCPError, code=429, summary="too many requests"):
    """The connection, or its address, is over a rate limit."""


class InternalError(SMCPError, code=500, summary="internal fault"):
    """A fault of the Server or the Computer, not of the sender."""


class NotSupportedError(SMCPError, code=501, summary="not supported by that peer"):
    """The other side does not know this request. Never on the wire: a client raises it for a null answer."""


class InvalidAnswerError(SMCPError, code=502, summary="the answer cannot be understood"):
    """The other side's answer is invalid. Never on the wire."""


# Errors for which Python has a class derive from it as well, so that `except ConnectionError` or `except ValueError` in
# a program catches them.


class NotConnectedError(SMCPError, ConnectionError, code=503, summary="not connected to the Server"):
    """There is no connection to the Server, or it broke before the answer came. Never on the wire."""


class ToolNotFoundError(SMCPError, code=4001, summary="tool unknown"):
    """No such tool on that Computer."""


class ToolDisabledError(SMCPError, code=4002, summary="tool disabled"):
    """The tool exists and its owner forbids it."""


class ToolFailedError(SMCPError, code=4003, summary="tool failed"):
    """The tool ran and failed."""


class ToolTimedOutError(SMCPError, code=4004, summary="tool timed out"):
    """The tool did not finish within the request's `timeout`."""


class ConfirmationRequiredError(SMCPError, code=4005, summary="tool needs confirmation"):
    """The tool needs its owner's confirmation and got none."""


class LoginNeededError(SMCPError, code=4006, summary="login needed"):
    """The MCP server of the tool needs a login, which its owner must perform. `details` has `mcp_server` and
    `auth_hint`."""


class LoginRefusedError(SMCPError, code=4007, summary="login refused"):
    """The MCP server of the tool, or its authorization server, rejects the login. `details` has `mcp_server` and
    `auth_hint`."""


class VersionRefusedError(SMCPError, code=4008, summary="A2C-SMCP version not supported"):
    """The Server does not accept the client's version of the protocol. `details` has the versions of both."""


class MCPServerNotFoundError(NotFoundError, code=4014, summary="MCP server or skill unknown"):
    """The Computer has no MCP server of this name, or the server is not ready; or it has no such skill."""


class CapabilityMissingError(SMCPError, code=4015, summary="not offered by the MCP server"):
    """The MCP server does not offer what was requested; `details.capability` names it."""


class SkillNameError(SMCPError, code=4016, summary="bad skill name"):
    """The name of a skill is not valid; `details.name` repeats it."""


class SkillFileError(SMCPError, code=4017, summary="skill file unavailable"):
    """A file of a skill cannot be read; `details.reason` is `traversal`, `forbidden`, `not_found` or `too_large`."""


class BlobUnavailableError(SMCPError, code=4018, summary="binary unavailable"):
    """A binary cannot be fetched; `details.reason` is `invalid_handle`, `forbidden`, `gone` or `range`."""


class UploadRefusedError(SMCPError, code=4019, summary="upload refused"):
    """An upload is rejected; `details.reason` is `invalid_upload`, `invalid_declaration`, `range`, `too_large`, `busy`,
    `forbidden`, `integrity` or `io_error`."""


class OfficeFullError(SMCPError, code=4101, summary="office already has an Agent"):
    """An office has at most one Agent."""


class OfficeNotFoundError(SMCPError, code=4102, summary="office unknown"):
    """No such office."""


class NotInOfficeError(SMCPError, code=4103, summary="sender not in an office"):
    """The sender must join an office first."""


class CrossOfficeError(SMCPError, code=4104, summary="cross-office access refused"):
    """The target is in another office."""


class InAnotherOfficeError(ForbiddenError):
    """An Agent is in one office at a time. Dialects that have a code of its own for this send 4106."""


class NameTakenError(ForbiddenError):
    """Another member of the office has this name."""


class HiddenOfficeError(NotFoundError):
    """The target is in another office, which the sender may not know of: to the sender, it does not exist."""


# It owns no code: the Server rejects a join for many reasons, each with the code of another class.
class OfficeRefusedError(SMCPError, RuntimeError, summary="refused"):
    """The Server rejects a Computer's join or leave, or gives no valid answer; `code` says why. Never on the wire."""

    def __init__(
        self, message: str | None = None, *, code: int, is_answered: bool = True, is_final: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.is_answered = is_answered
        """Whether the Server rejected the request; False if it gave no valid answer."""
        self.is_final = is_final
        """Whether a retry of the same request is pointless."""


class DocumentNotFoundError(SMCPError, code=4201, summary="document unknown"):
    """No document has this `doc_ref`."""


class PageOutOfRangeError(SMCPError, code=4202, summary="page out of range"):
    """The document has no such page."""


class ElementNotFoundError(SMCPError, code=4203, summary="element unknown"):
    """The document has no such element."""


class InvalidDPEUriError(SMCPError, ValueError, code=4204, summary="bad dpe:// URI"):
    """The string is not a valid `dpe://` URI."""


def to_payload(error: SMCPError) -> ErrorPayload:
    """The wire form of an error."""
    body: ErrorBody = {"code": error.code, "message": error.message}
    if error.details is not None:
        body["details"] = error.details
    return {"error": body}


def from_payload(payload: object) -> SMCPError | None:
    """The exception inside an error payload, or None when the payload is not an error."""
    # The payload may come from another implementation, so each part may have any type. Only the code is required: an
    # error without a valid message is still an error.
    if not isinstance(payload, dict):
        return None
    body = cast("dict[str, Any]", payload).get("error")
    if not isinstance(body, dict):
        return None
    body = cast("dict[str, Any]", body)
    code, message, details = body.get("code"), body.get("message"), body.get("details")
    if not isinstance(code, int) or isinstance(code, bool):  # a bool is an int in Python, but not in JSON
        return None
    return error_for(
        code,
        message if isinstance(message, str) else None,
        cast("dict[str, Any]", details) if isinstance(details, dict) else None,
    )


def error_for(code: int, message: str | None = None, details: Mapping[str, Any] | None = None) -> SMCPError:
    """An error of the class that owns `code`; an unknown code gives a plain `SMCPError` that carries it."""
    known = SMCPError._classes.get(code)  # pyright: ignore[reportPrivateUsage]
    # Every class that owns a code has this constructor. `OfficeRefusedError` has another, and owns none.
    if known is not None:
        return known(message, details=details)
    error = SMCPError(message, details=details)
    error.code = code
    return error


def type_name(error: SMCPError) -> str:
    """The name of an error's class on the wire: that of the class that owns its code."""
    # Not that of the class itself: `HiddenOfficeError` would tell the sender of the office that it may not know of.
    return SMCPError._classes.get(error.code, type(error)).__name__  # pyright: ignore[reportPrivateUsage]


def is_known_code(code: int) -> bool:
    """Whether a class owns `code`."""
    return code in SMCPError._classes  # pyright: ignore[reportPrivateUsage]
