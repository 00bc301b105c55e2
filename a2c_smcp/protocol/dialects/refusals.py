"""The forms of an error: two values, an object inside the answer (`nested`), or the answer itself (`FlatForm`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from a2c_smcp import smcp
from a2c_smcp.errors import (
    CapabilityMissingError,
    CrossOfficeError,
    InAnotherOfficeError,
    MCPServerNotFoundError,
    NameTakenError,
    NotFoundError,
    OfficeFullError,
    SMCPError,
    TimedOutError,
    VersionRefusedError,
    error_for,
    to_payload,
    type_name,
)
from a2c_smcp.smcp import CLIENT_PREFIX
from a2c_smcp.utils.result_meta import ERROR_CODE, TIMED_OUT

# The protocol answers a join and a leave with two ack arguments, "whether" and "why not", and any other event with an
# object. Two arguments have no field for a code, so the code is appended to the reason; `seat` reads it from there.
TWO_VALUE_EVENTS = frozenset((smcp.JOIN_OFFICE_EVENT, smcp.LEAVE_OFFICE_EVENT))
"""The events that are answered with two values."""
IN_ANOTHER_OFFICE = 4106
"""The code of 0.5 for an Agent that is in another office."""
_STANDARD = ("code", "message", "details")
_VERSIONS = ("server_version", "client_version", "min_supported", "max_supported")
_LIFTED = {
    MCPServerNotFoundError.code: ("mcp_server",),
    CapabilityMissingError.code: ("mcp_server", "capability"),
    VersionRefusedError.code: _VERSIONS,
}
"""Fields that a flat error has beside the code, and a nested one in its `details`."""


def two_values(error: SMCPError) -> tuple[bool, str]:
    """A refused join or leave."""
    return False, f"{error.message} ({error.code})"


def nested(event: object, error: SMCPError) -> dict[str, Any]:
    """An error in the form of this project."""
    payload = cast("dict[str, Any]", to_payload(error))
    if event != smcp.TOOL_CALL_EVENT:
        return payload
    meta: dict[str, Any] = {ERROR_CODE: error.code}
    if isinstance(error, TimedOutError):
        meta[TIMED_OUT] = True
    # An error envelope and a valid CallToolResult at once: some clients look for `error`, others read every ack of a
    # tool call as an MCP result.
    return {
        **payload,
        "content": [{"type": "text", "text": f"{error.message} (error {error.code})"}],
        "structuredContent": {"error": error.message, "error_type": type_name(error)},
        "isError": True,
        "meta": meta,
    }


def is_nested(answer: dict[str, Any]) -> bool:
    """Whether an answer has an error envelope with a code."""
    body = answer.get("error")
    return isinstance(body, dict) and type(cast("dict[str, Any]", body).get("code")) is int


def may_be_error(answer: dict[str, Any]) -> bool:
    """Whether an answer has a field that errors have."""
    return "error" in answer or "code" in answer


@dataclass(frozen=True, slots=True)
class FlatForm:
    """Flat errors, as official SDKs write them from 0.2 on."""

    codes: frozenset[int]
    """The codes that a client recognises. It takes an object with any other code for an answer that is not valid."""
    server_field: str = "mcp_server"
    """The field that names the MCP server."""

    def refused(self, event: object, error: SMCPError) -> dict[str, Any]:
        """An error of the Server."""
        error = self._spelled(event, error)
        if event == smcp.TOOL_CALL_EVENT:
            # Flat, nested and a result: every client of every dialect can read one of them.
            return {**nested(event, error), **self._write(error.code, error.message, error.details)}
        return self._write(*self._recognisable(error.code, error.message, error.details))

    def is_error(self, event: str, answer: dict[str, Any]) -> bool:
        """Whether an answer is a flat error."""
        # `type(…) is int`: JSON's `true` is an `int` in Python. The result of a tool is read as a result, whatever else
        # is in it.
        if type(answer.get("code")) is not int or not isinstance(answer.get("message"), str) or "error" in answer:
            return False
        return event != smcp.TOOL_CALL_EVENT or "content" not in answer

    def to_nested(self, answer: dict[str, Any]) -> dict[str, Any]:
        """A flat error in the form of this project."""
        code, given = answer["code"], answer.get("details")
        details: dict[str, Any] = dict(cast("dict[str, Any]", given)) if isinstance(given, dict) else {}
        for field, value in answer.items():
            if field not in _STANDARD:
                details["mcp_server" if field == self.server_field else field] = value
        # See `_recognisable`.
        if code == NotFoundError.code and type(details.get("code")) is int:
            code = details.pop("code")
        body: dict[str, Any] = {"code": code, "message": answer["message"]}
        return {"error": {**body, "details": details} if details else body}

    def from_nested(self, event: str, answer: dict[str, Any]) -> dict[str, Any]:
        """An error in the form of this project as a flat one."""
        body: dict[str, Any] = answer["error"]
        message, given = body.get("message"), body.get("details")
        code, text = body["code"], message if isinstance(message, str) else error_for(body["code"]).message
        details = cast("dict[str, Any]", given) if isinstance(given, dict) else None
        if event == smcp.TOOL_CALL_EVENT and "content" in answer:
            return {**answer, **self._write(code, text, details)}
        return self._write(*self._recognisable(code, text, details))

    def _spelled(self, event: object, error: SMCPError) -> SMCPError:
        """The error that this dialect has for what happened."""
        if isinstance(error, CrossOfficeError) and (
            error.code not in self.codes or (isinstance(event, str) and event.startswith(CLIENT_PREFIX))
        ):
            return NotFoundError(error.message)
        details = error.details or {}
        if isinstance(error, NameTakenError | OfficeFullError):
            place = {key: details[key] for key in ("office_id", "role") if key in details}
            return error_for(OfficeFullError.code, error.message, place)
        if isinstance(error, InAnotherOfficeError):
            return error_for(IN_ANOTHER_OFFICE, error.message, details)
        return error

    def _recognisable(
        self, code: int, message: str, details: dict[str, Any] | None
    ) -> tuple[int, str, dict[str, Any] | None]:
        # A client would wait for ever, or take the error for something else: it gets the one code that says little, and
        # the true one in the details.
        if code in self.codes:
            return code, message, details
        return NotFoundError.code, message, {**(details or {}), "code": code}

    def _write(self, code: int, message: str, details: dict[str, Any] | None) -> dict[str, Any]:
        written: dict[str, Any] = {"code": code, "message": message}
        details = dict(details or {})
        lifted = {field: details.pop(field) for field in _LIFTED.get(code, ()) if field in details}
        if details:
            written["details"] = details
        if self.server_field != "mcp_server" and "mcp_server" in lifted:
            lifted[self.server_field] = lifted.pop("mcp_server")
        return {**written, **lifted}
