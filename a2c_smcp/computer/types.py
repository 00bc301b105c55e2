"""Values that the parts of a Computer share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from typing_extensions import TypedDict

ConfirmCallback: TypeAlias = Callable[[str, str, str, dict[str, Any]], bool | Awaitable[bool]]
"""`(req_id, server, tool, parameters)`: whether the call may run. A blocking one runs in a thread."""


class ToolCallRecord(TypedDict):
    """A tool call that ended."""

    timestamp: str
    req_id: str
    server: str
    tool: str
    parameters: dict[str, Any]
    timeout: float | None
    success: bool
    error: str | None


class ServerState(StrEnum):
    """Where an MCP server is in its life."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    FAILED = "failed"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DISABLED = "disabled"


@dataclass(frozen=True)
class ServerStatus:
    """An MCP server at one moment, fit to be shown: it holds no secret."""

    name: str
    type: str
    state: ServerState
    since: datetime
    reason: str | None = None
    """Why it is in this state, where that is not plain."""
    restarts: int = 0
    tools: int = 0
    windows: int = 0
    documents: int = 0
    server_info: str | None = None
    protocol_version: str | None = None
    pid: int | None = None
    stderr: tuple[str, ...] = ()
    """The last lines of its standard error, once it failed."""
    notes: tuple[str, ...] = field(default=())
    """What its owner should know: clashes of tool names, settings without effect."""

    @property
    def active(self) -> bool:
        """Whether its tools can be called."""
        return self.state is ServerState.READY

    def to_json(self) -> dict[str, Any]:
        """The status as JSON data."""
        return {**asdict(self), "since": self.since.isoformat(timespec="seconds")}
