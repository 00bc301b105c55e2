"""States of a Computer in the shapes of the owner's API."""

from __future__ import annotations

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.hosting.status import ServerStatus
from a2c_smcp.computer.offer.rules import Saved, ToolRule
from a2c_smcp.console.owner import shapes
from a2c_smcp.errors import NotFoundError
from a2c_smcp.utils.tool_meta import annotations_of


def status_of(computer: Computer, name: str) -> ServerStatus:
    """The status of an MCP server.

    Raises:
        NotFoundError: there is no such server.
    """
    for status in computer.status:
        if status.name == name:
            return status
    raise NotFoundError(f"there is no MCP server {name}")


def server(computer: Computer, status: ServerStatus) -> shapes.ServerView:
    """An MCP server."""
    config = computer.mcp_manager.config(status.name)
    origin = config.origin if config is not None else None
    return shapes.ServerView(
        name=status.name,
        type=status.type,
        state=status.state.value,
        since=status.since.isoformat(timespec="seconds"),
        reason=status.reason,
        restarts=status.restarts,
        tools=status.tools,
        windows=status.windows,
        documents=status.documents,
        server_info=status.server_info,
        protocol_version=status.protocol_version,
        pid=status.pid,
        file=str(origin.source.path.absolute()) if origin is not None else None,
        notes=list(status.notes),
    )


def server_details(computer: Computer, status: ServerStatus) -> shapes.ServerDetails:
    """An MCP server with what it wrote last."""
    log = [
        shapes.LogView(
            at=message.at.isoformat(timespec="seconds"),
            level=message.level,
            logger=message.logger,
            text=message.text,
        )
        for message in status.log
    ]
    stderr = list(computer.mcp_manager.error_output(status.name))
    return {**server(computer, status), "stderr": stderr, "log": log}


def tool(rule: ToolRule) -> shapes.ToolView:
    """A tool and its rule."""
    entry = rule.entry
    return {
        "server": entry.server,
        "original_name": entry.original_name,
        "name": entry.tool["name"],
        "description": entry.tool["description"],
        "annotations": annotations_of(entry.tool),
        "tags": entry.meta.tags or [],
        "rule": rule.rule.value,
        "source": rule.source,
        "detail": rule.detail,
    }


def change(saved: Saved | None) -> shapes.Change:
    """What became of a change."""
    if saved is None:
        return {"saved": None, "problem": None}
    return {"saved": str(saved.path.absolute()) if saved.path is not None else None, "problem": saved.problem}
