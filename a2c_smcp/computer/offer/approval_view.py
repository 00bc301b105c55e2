"""A request for approval as JSON data, for programs that show it or decide about it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from a2c_smcp.computer.offer.approval_request import KEPT_CHARACTERS, ApprovalRequest
from a2c_smcp.utils.tool_meta import annotations_of


class WrittenRule(TypedDict):
    """What "always" writes."""

    file: str
    path: list[str | int]
    value: bool


class ApprovalView(TypedDict):
    """A call that waits for approval, or that ended a while ago."""

    id: str
    digest: str
    """Of the MCP server, the tool, its definition and the arguments."""
    req_id: str
    server: str
    tool: str
    original_name: str
    """The name that the MCP server uses."""
    description: str
    annotations: dict[str, Any] | None
    """What the MCP server says about the effects of the tool."""
    arguments: dict[str, Any] | None
    """None in a list and after the end, if they are large."""
    arguments_size: int
    """Characters of the arguments as JSON."""
    last_arguments: dict[str, Any] | None
    """Those of the last call of this tool that was approved; None in a list."""
    office: str
    agent: str
    principal: str | None
    requested: str
    ended: str | None
    seconds_left: float | None
    outcome: str
    """`waiting`, `allowed`, `denied`, `expired` or `withdrawn`."""
    decision: str | None
    decided_by: str | None
    reason: str | None
    always: WrittenRule | None
    """None if the MCP server is not in a configuration file."""


def approval_view(request: ApprovalRequest, *, in_list: bool = False, last_arguments: Any = None) -> ApprovalView:
    """A request as data. In a list, large arguments are left out."""
    entry, caller = request.entry, request.call.caller
    verdict = request.verdict
    is_waiting = request.ended is None
    remaining = request.call.remaining()
    origin = request.config.origin if request.config is not None else None
    return ApprovalView(
        id=request.id,
        digest=request.digest,
        req_id=request.req_id,
        server=entry.server,
        tool=request.tool,
        original_name=entry.original_name,
        description=entry.tool["description"],
        annotations=annotations_of(entry.tool),
        arguments=None if in_list and request.size > KEPT_CHARACTERS else request.parameters,
        arguments_size=request.size,
        last_arguments=None if in_list else last_arguments,
        office=caller.office_id,
        agent=caller.agent,
        principal=caller.principal,
        requested=_time(request.requested),
        ended=_time(request.ended) if request.ended is not None else None,
        seconds_left=round(remaining, 1) if is_waiting and remaining is not None else None,
        outcome=request.outcome.value,
        decision=verdict.decision.value if verdict is not None else None,
        decided_by=verdict.by if verdict is not None else None,
        reason=verdict.reason if verdict is not None else None,
        always=None
        if origin is None
        else WrittenRule(
            file=str(origin.source.path.absolute()),
            path=[*origin.place, "tool_meta", entry.original_name, "auto_apply"],
            value=True,
        ),
    )


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
