"""What the owner allows for longer than one call: all calls of a tool, for an hour or until the Computer stops."""

from __future__ import annotations

from dataclasses import dataclass

from a2c_smcp.computer.config.model import BaseServerConfig
from a2c_smcp.computer.offer.approval_request import ApprovalRequest, Decision, Verdict, runs_as
from a2c_smcp.utils.system.clock import elapsed

HOUR = 3_600.0


@dataclass(frozen=True, slots=True)
class Grant:
    """One permission. It holds for the tool as the owner saw it: a tool that changes asks again."""

    server: str
    tool: str
    """The name that the server uses."""
    decision: Decision
    by: str
    definition: str
    auto_apply: object
    """What the configuration said then."""
    config: BaseServerConfig | None
    until: float | None
    """When it ends, on the clock of `elapsed`."""

    def remaining(self) -> float | None:
        """Seconds until it ends; None if it ends with the Computer."""
        return None if self.until is None else self.until - elapsed()


class Grants:
    """The permissions of one Computer, one for each tool."""

    def __init__(self) -> None:
        self._grants: dict[tuple[str, str], Grant] = {}

    def add(self, request: ApprovalRequest, verdict: Verdict) -> None:
        """Allow the tool of a request."""
        entry = request.entry
        until = elapsed() + HOUR if verdict.decision is Decision.HOUR else None
        old = self.of(entry.server, entry.original_name)
        # Two calls may have waited, and the owner has allowed one for an hour and one for longer.
        if old is not None and until is not None and old.until is None and old.definition == request.definition:
            return
        self._grants[entry.server, entry.original_name] = Grant(
            entry.server, entry.original_name, verdict.decision, verdict.by, request.definition,
            entry.meta.auto_apply, request.config, until,
        )  # fmt: skip

    def covers(self, request: ApprovalRequest) -> bool:
        """Whether the owner has allowed the tool of a request."""
        entry = request.entry
        grant = self.of(entry.server, entry.original_name)
        return (
            grant is not None
            and grant.definition == request.definition
            and grant.auto_apply == entry.meta.auto_apply
            and runs_as(grant.config, request.config)
        )

    def of(self, server: str, tool: str) -> Grant | None:
        """The permission for a tool, by the name that its server uses."""
        grant = self._grants.get((server, tool))
        if grant is not None and (seconds := grant.remaining()) is not None and seconds <= 0:
            del self._grants[server, tool]
            return None
        return grant

    def end(self, server: str, tool: str) -> bool:
        """End the permission for a tool; whether there was one."""
        return self._grants.pop((server, tool), None) is not None

    def clear(self) -> None:
        """End all of them."""
        self._grants.clear()
