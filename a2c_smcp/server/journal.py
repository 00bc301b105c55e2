"""The Server's log: joins, leaves, rejections and, at DEBUG, every request.

The facts of a line are also fields of its record, for `--log-format json`. A credential appears by its id only. Text
from clients is escaped and shortened: it could contain line breaks that look like other lines of the log.
"""

from __future__ import annotations

import logging
from typing import Any, cast

from a2c_smcp import smcp
from a2c_smcp.errors import (
    CrossOfficeError,
    ForbiddenError,
    HiddenOfficeError,
    NotAuthenticatedError,
    RateLimitedError,
    SMCPError,
    TimedOutError,
    ToolTimedOutError,
)
from a2c_smcp.protocol.dialects.known import HOME
from a2c_smcp.protocol.office import Member
from a2c_smcp.protocol.server import Request
from a2c_smcp.server.connections import Connection
from a2c_smcp.utils.failures import log_failure
from a2c_smcp.utils.text import one_line
from a2c_smcp.utils.throttle import Throttle

logger = logging.getLogger(__name__)

OK, CANCELLED = "ok", "cancelled"
"""The outcomes of a request, besides the code of an error."""
LINES_A_SECOND = 20
"""Lines about rejections of one connection or address, unless the level is DEBUG: a flood must not fill the disk."""
_LONGEST = 256
_SECURITY_ERRORS = (NotAuthenticatedError, ForbiddenError, CrossOfficeError, HiddenOfficeError)
_TIMEOUTS = {str(TimedOutError.code), str(ToolTimedOutError.code)}
_ASKED = {"name": "member", "role": "role", "office_id": "office"}


class Journal:
    """Writes the lines. A caller asks `wants` first, to spend no time on a line that is not written."""

    def __init__(self) -> None:
        self._rejections = Throttle(LINES_A_SECOND)
        self._too_many = Throttle(1)

    def connected(self, connection: Connection) -> None:
        """A connection was accepted."""
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("connection from %s accepted%s", *_origin(connection), extra=_fields(connection))
        # Once for each connection: the operator learns that the Server is older than its clients.
        if connection.greeting.is_newer:
            address, key = _origin(connection)
            logger.info(
                "connection from %s%s: A2C-SMCP %s is newer than this Server; it is treated as %s",
                address, key, connection.greeting.version, connection.greeting.dialect.name, extra=_fields(connection),
            )  # fmt: skip

    def rejected_connection(self, error: SMCPError, address: str | None, principal: str | None = None) -> None:
        """A connection was rejected, or a request of an MCP host. An expired key has a `subject`."""
        # A client over a limit repeats its attempt at once. One line a second says all; a rejected credential is rarer,
        # and each of its lines may be the trace of an attack.
        throttle = self._too_many if isinstance(error, RateLimitedError) else self._rejections
        left_out = throttle.admit(address or "")
        if left_out is None or not logger.isEnabledFor(logging.WARNING):
            return
        fields: dict[str, Any] = {"address": _address(address), "code": error.code, "left_out": left_out or None}
        key = principal or getattr(error, "subject", None)
        if isinstance(key, str):
            fields["key"] = one_line(key, _LONGEST)
        text = one_line(error.message, _LONGEST)
        what = "connection" if principal is None else f"request of {one_line(principal, _LONGEST)!r}"
        logger.warning(
            "%s from %s rejected: %s (%d)%s", what, _address(address), text, error.code, _more(left_out), extra=fields
        )

    def broken(self, address: str | None, reason: str) -> None:
        """A connection is closed because its client violated the protocol or a limit."""
        left_out = self._rejections.admit(address or "")
        if left_out is not None:
            fields = {"address": _address(address), "left_out": left_out or None}
            logger.info("connection from %s closed: %s%s", _address(address), reason, _more(left_out), extra=fields)

    def expired(self, connection: Connection) -> None:
        """A connection is closed because its credential expired, was changed or was removed."""
        address, key = _origin(connection)
        logger.warning(
            "connection from %s%s closed: its credential expired, was changed or was removed", address, key,
            extra=_fields(connection),
        )  # fmt: skip

    def shown_out(self, member: Member, connection: Connection) -> None:
        """The operator disconnects a member."""
        address, key = _origin(connection)
        who = one_line(f"{member.role.capitalize()} {member.name!r} in office {member.office_id!r}", 3 * _LONGEST)
        logger.warning(
            "%s (%s%s) is disconnected by the operator", who, address, key, extra=_fields(connection, member)
        )

    def moved(
        self, before: Member | None, after: Member | None, connection: Connection | None, reason: str = ""
    ) -> None:
        """A member left an office, entered one, or both."""
        if not logger.isEnabledFor(logging.INFO):
            return
        address, key = _origin(connection)
        for member, verb, why in ((before, "left", reason), (after, "joined", "")):
            if member is not None and member.office_id is not None:
                why = f": {one_line(why, _LONGEST)}" if why else ""
                who = f"{member.role.capitalize()} {member.name!r}"
                fields = {**_fields(connection, member), "event": verb}
                text = one_line(f"{who} {verb} office {member.office_id!r} ({address}{key}{_speech(member)}){why}")
                logger.info("%s", text, extra=fields)

    def wants(self, failure: SMCPError | None, *, is_rejected: bool) -> bool:
        """Whether a request with this outcome is logged."""
        return logger.isEnabledFor(_level(failure, is_rejected))

    def answered(
        self,
        request: Request,
        failure: SMCPError | None,
        outcome: str,
        seconds: float,
        member: Member | None,
        connection: Connection | None,
        *,
        is_rejected: bool,
    ) -> None:
        """A request was answered: by the Server, which may have rejected it, or by a Computer."""
        sent: Any = request.data
        data = cast("dict[str, Any]", sent) if isinstance(sent, dict) else dict[str, Any]()
        left_out = self._admit(request.sid, failure)
        if left_out is None:
            return
        fields: dict[str, Any] = {
            **_fields(connection, member),
            "sid": request.sid,
            "outcome": "timeout" if outcome in _TIMEOUTS else outcome,
            "ms": round(1_000 * seconds, 1),
            "left_out": left_out or None,
        }
        if request.event == smcp.JOIN_OFFICE_EVENT and failure is not None:
            # A rejected client is no member, so the line names the place that it asked for.
            fields |= {field: _text(data.get(key)) for key, field in _ASKED.items()}
        if request.event.startswith(smcp.CLIENT_PREFIX):
            fields |= {"computer": _text(data.get("computer")), "tool": _text(data.get("tool_name"))}
            fields |= {"principal": _text(data.get("principal"))}
        sender, req_id = _sender(fields) + _target(fields), data.get("req_id")
        if failure is not None:
            level, reason = _level(failure, is_rejected), failure.message + _more(left_out)
            log_failure(logger, request.event, req_id, failure.code, reason, level=level, sender=sender, **fields)
            return
        event = one_line(request.event, _LONGEST)
        fields |= {"event": event, "req_id": _text(req_id)}
        logger.debug("%s from %s: %s in %s ms", event, sender, fields["outcome"], fields["ms"], extra=fields)

    def _admit(self, sid: str, failure: SMCPError | None) -> int | None:
        if isinstance(failure, RateLimitedError):
            return self._too_many.admit(sid)
        return 0 if failure is None or logger.isEnabledFor(logging.DEBUG) else self._rejections.admit(sid)


def _level(failure: SMCPError | None, is_rejected: bool) -> int:
    if failure is None:
        return logging.DEBUG
    # A warning is for the operator: a client tried what its credential does not allow. Other errors are between an
    # Agent and a Computer; so are these codes if the Computer sent them.
    return logging.WARNING if is_rejected and isinstance(failure, _SECURITY_ERRORS) else logging.INFO


def _fields(connection: Connection | None, member: Member | None = None) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if member is not None:
        fields |= {"member": member.name, "role": member.role, "office": member.office_id}
        fields |= {"dialect": member.dialect, "version": member.version}
    if connection is not None:
        fields |= {"key": _text(connection.grant.subject), "address": _address(connection.address)}
    return fields


def _speech(member: Member) -> str:
    """The dialect and version of a member, as a part of a log line."""
    if member.dialect == HOME.name:
        return f", a2c-stack {member.version or ''}".rstrip()
    return f", A2C-SMCP {member.version}" if member.version is not None else ""


def _origin(connection: Connection | None) -> tuple[str, str]:
    """Address and key of a connection, as parts of a log line."""
    if connection is None:
        return "closed connection", ""
    key = f", key {one_line(connection.grant.subject, _LONGEST)!r}" if connection.grant.subject is not None else ""
    return _address(connection.address), key


def _sender(fields: dict[str, Any]) -> str:
    who = f"{fields['role']} {fields['member']!r}" if fields.get("role") and fields.get("member") else "a client"
    details = [
        *([f"office {fields['office']!r}"] if fields.get("office") else []),
        *([f"key {fields['key']!r}"] if fields.get("key") else []),
        *([f"for {fields['principal']!r}"] if fields.get("principal") else []),
        *([fields["address"]] if fields.get("address") else []),
    ]
    return f"{who} ({', '.join(details)})" if details else who


def _target(fields: dict[str, Any]) -> str:
    tool = f", tool {fields['tool']!r}" if fields.get("tool") else ""
    return f" to Computer {fields['computer']!r}{tool}" if fields.get("computer") else ""


def _address(address: str | None) -> str:
    return "loopback" if address is None else one_line(address, _LONGEST)


def _text(value: object) -> str | None:
    return one_line(value, _LONGEST) if isinstance(value, str) else None


def _more(left_out: int) -> str:
    return f" [{left_out} more of these were not logged]" if left_out else ""
