"""The state of an MCP server."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from a2c_smcp.computer.mcp.messages import LogMessage


class ServerState(StrEnum):
    """The states of an MCP server."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    WAITING_FOR_LOGIN = "waiting for login"
    FAILED = "failed"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DISABLED = "disabled"


@dataclass(frozen=True)
class ServerStatus:
    """The state of an MCP server at one moment. It holds no secret."""

    name: str
    type: str
    """`stdio`, `streamable` or `sse`."""
    state: ServerState
    since: datetime
    """When it entered this state."""
    reason: str | None = None
    """Why it is in this state, if there is more to say."""
    restarts: int = 0
    """How often it was restarted."""
    tools: int = 0
    """How many tools it has."""
    windows: int = 0
    """How many windows it has."""
    documents: int = 0
    """How many documents it has."""
    server_info: str | None = None
    """The name and version that it reports."""
    protocol_version: str | None = None
    """The version of MCP that the connection uses."""
    pid: int | None = None
    """The process, of a server that the Computer started."""
    stderr: tuple[str, ...] = ()
    """The last lines of its standard error, once it failed."""
    log: tuple[LogMessage, ...] = ()
    """Its last log messages, of the level that `log_level` of its configuration sets."""
    notes: tuple[str, ...] = field(default=())
    """Messages for its owner: clashes of tool names, settings without effect."""

    @property
    def active(self) -> bool:
        """Whether its tools can be called."""
        return self.state is ServerState.READY

    def to_json(self) -> dict[str, Any]:
        """The status as JSON data."""
        # The messages are written separately, because their times need it.
        log = [message.to_json() for message in self.log]
        return {**asdict(replace(self, log=())), "since": self.since.isoformat(timespec="seconds"), "log": log}
