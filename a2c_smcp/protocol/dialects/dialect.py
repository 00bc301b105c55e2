"""What a dialect is: flags that say how its peers spell answers, and the functions that spell them.

The Server's own form is that of this project, with additive fields. A dialect translates answers to that form and from
it. Every function takes any JSON value: a peer may send what it wants. A value that is not understood, or in which
nothing has to change, is returned as it is, so that the Server can pass its text on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from a2c_smcp import smcp
from a2c_smcp.errors import (
    BlobUnavailableError,
    CapabilityMissingError,
    MCPServerNotFoundError,
    NotFoundError,
    SMCPError,
    UploadRefusedError,
)
from a2c_smcp.protocol.dialects import refusals, shapes
from a2c_smcp.protocol.dialects.refusals import FlatForm

TRANSLATED = frozenset((smcp.GET_TOOLS_EVENT, smcp.GET_CONFIG_EVENT))
"""The events whose answers differ between dialects. Of all others, only errors do."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the peers of a dialect spell answers."""

    name: str
    """As a member's record has it: `s` for this project, `plain`, or the version of the protocol, without its patch
    unless releases of one line differ."""
    lacks: frozenset[str] = frozenset()
    """The `client:*` events of this project's protocol that a Computer of this dialect does not know."""
    errors: FlatForm | None = None
    """The form of flat errors; None if the errors are nested, as those of this project."""
    has_bundle_ids: bool = False
    """Whether a tool needs a `bundle_id`, and a configuration has it as its key."""
    options: shapes.Options = "any"
    """How a `pickString` input writes its options."""
    has_empty_yes: bool = False
    """Whether a join or leave that succeeds has an empty ack, and one that fails an error like that of any event."""
    has_handles: bool = False
    """Whether Computers replace large binaries by handles without being asked, and Agents fetch them."""
    ends_cancelled_calls: bool = True
    """Whether a Computer ends a call that is cancelled."""
    largest_message: int | None = None
    """The bytes of a message that every published client of this dialect reads; None for any size."""

    @property
    def is_official(self) -> bool:
        """Whether it is that of an official SDK, from version 0.2 of the protocol on."""
        return self.errors is not None

    def joined(self, extra: Any = None) -> Any:
        """The ack of a join or leave that succeeds."""
        if self.has_empty_yes:
            return None
        return (True, None) if extra is None else (True, None, extra)

    def refused(self, event: object, error: SMCPError) -> Any:
        """The ack that carries an error, in the form that the event's answers have."""
        if event in refusals.TWO_VALUE_EVENTS and not self.has_empty_yes:
            return refusals.two_values(error)
        if self.errors is None:
            return refusals.nested(event, error)
        return self.errors.refused(event, error)

    def to_home(self, event: str, ack: Any) -> Any:
        """A Computer's answer in the form of this project."""
        if not isinstance(ack, dict):
            return ack
        answer = cast("dict[str, Any]", ack)
        if self.errors is not None and self.errors.is_error(event, answer):
            return self.errors.to_nested(answer)
        if event == smcp.GET_CONFIG_EVENT and self.has_bundle_ids:
            return shapes.keyed_by_name(answer)
        return answer

    def from_home(self, event: str, ack: Any, *, computer: str = "") -> Any:
        """An answer in the form of this project, as an Agent of this dialect reads it. The name of the Computer stands
        for the MCP server of a tool that does not name one."""
        if not isinstance(ack, dict):
            return ack
        answer = cast("dict[str, Any]", ack)
        if refusals.is_nested(answer):
            return answer if self.errors is None else self.errors.from_nested(event, answer)
        if event == smcp.GET_TOOLS_EVENT and self.has_bundle_ids:
            return shapes.with_bundle_ids(answer, computer)
        if event == smcp.GET_CONFIG_EVENT:
            keyed = shapes.keyed_by_bundle_id(answer) if self.has_bundle_ids else answer
            return shapes.with_options(keyed, self.options)
        return answer

    def cannot(self, event: str, data: dict[str, Any]) -> Any:
        """The answer in place of a Computer that does not know the event."""
        if self.errors is None:
            return None  # a client of this project reads it as "not supported by that peer"
        if event == smcp.GET_SKILLS_EVENT:
            return {"skills": [], "req_id": data.get("req_id")}
        return self.refused(event, _absence(event, data))


def needs_translation(event: str, ack: Any) -> bool:
    """Whether an answer may differ between two dialects. Of a large answer, only its outermost fields need to be
    read."""
    if not isinstance(ack, dict):
        return False
    return event in TRANSLATED or refusals.may_be_error(cast("dict[str, Any]", ack))


def _absence(event: str, data: dict[str, Any]) -> SMCPError:
    match event:
        case smcp.GET_SKILL_EVENT:
            return MCPServerNotFoundError("the Computer has no skills", details={"name": data.get("name")})
        case smcp.GET_BLOB_EVENT:
            return BlobUnavailableError("the Computer hands out no binaries", details={"reason": "invalid_handle"})
        case smcp.PUT_BLOB_EVENT:
            return UploadRefusedError("the Computer accepts no uploads", details={"reason": "forbidden"})
        case smcp.GET_RESOURCES_EVENT:
            details = {"mcp_server": data.get("mcp_server") or "", "capability": "resources"}
            return CapabilityMissingError("the Computer lists no resources", details=details)
        case _:
            # From the client, and perhaps as long as a message.
            shown = event[:80]
            return NotFoundError(f"the Computer does not know {shown!r}", details={"event": shown})
