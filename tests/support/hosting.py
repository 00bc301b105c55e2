"""Computers that host the MCP servers of `tests/servers`, for the duration of a test."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.types import ServerState, ServerStatus
from a2c_smcp.utils.results import CallToolResult
from tests.support.mcp_servers import AUTO, SERVERS
from tests.support.outcomes import code_of as code_of
from tests.support.outcomes import text_of as text_of
from tests.support.waiting import PATIENCE

QUICK = Policy(first_delay=0.02, longest_delay=0.1, restarts=3, start_timeout=PATIENCE)


def raw(name: str = "raw", *flags: str, **fields: Any) -> MCPServerConfig:
    """A server of `tests/servers/raw.py`; its tools need no confirmation unless `fields` say so."""
    fields.setdefault("default_tool_meta", AUTO)
    command = {"command": sys.executable, "args": [str(SERVERS / "raw.py"), *flags]}
    return server_from({**command, **fields}, name)


def asking(era: str = "2025-11-25", log: Path | None = None, name: str = "asking", **fields: Any) -> MCPServerConfig:
    """The server that reports progress and asks questions, as of one version of MCP."""
    flags = ["--mcp", era, *(["--log", str(log)] if log is not None else [])]
    command = {"command": sys.executable, "args": [str(SERVERS / "asking.py"), *flags]}
    return server_from({**command, "default_tool_meta": AUTO, **fields}, name)


def gated(gate: Path, name: str = "raw") -> MCPServerConfig:
    """A server that starts once there is such a file."""
    script = f"while [ ! -e '{gate}' ]; do sleep 0.02; done; exec '{sys.executable}' '{SERVERS / 'raw.py'}'"
    return server_from({"command": "sh", "args": ["-c", script], "default_tool_meta": AUTO}, name)


class Watched(Computer):
    """A Computer whose changes of state can be waited for."""

    def __init__(self, *servers: MCPServerConfig, **options: Any) -> None:
        options.setdefault("policy", QUICK)
        super().__init__("pc", mcp_servers=servers, on_status_changed=lambda _: self._notify(), **options)
        self._changed = asyncio.Event()

    def status_of(self, name: str) -> ServerStatus:
        return next(status for status in self.status if status.name == name)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds. It is evaluated after each change of a server's state or tools."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def until_state(self, name: str, state: ServerState) -> ServerStatus:
        await self.until(lambda: self.status_of(name).state is state)
        return self.status_of(name)

    def tool_names(self) -> list[str]:
        return [tool["name"] for tool in self.mcp_manager.book.tools]

    async def call(
        self, tool: str, /, limit: float | None = PATIENCE, req_id: str = "r1", **arguments: Any
    ) -> CallToolResult:
        return await self.aexecute_tool(req_id, tool, arguments, limit)

    def _notify(self) -> None:
        self._changed.set()


@asynccontextmanager
async def hosting(*servers: MCPServerConfig, **options: Any) -> AsyncGenerator[Watched]:
    computer = Watched(*servers, **options)
    async with computer:
        yield computer


def shelves(name: str = "shelves", *flags: str, **fields: Any) -> MCPServerConfig:
    """A server of `tests/servers/shelves.py`, with windows and documents."""
    fields.setdefault("default_tool_meta", AUTO)
    command = {"command": sys.executable, "args": [str(SERVERS / "shelves.py"), *flags]}
    return server_from({**command, **fields}, name)


def offering(name: str = "a", *flags: str, **fields: Any) -> MCPServerConfig:
    """A server of `tests/servers/offering.py`, with prompts and resources of any scheme."""
    fields.setdefault("default_tool_meta", AUTO)
    return server_from({"command": sys.executable, "args": [str(SERVERS / "offering.py"), *flags], **fields}, name)


def large(name: str = "large", **fields: Any) -> MCPServerConfig:
    """The server that returns binaries of any size."""
    fields.setdefault("default_tool_meta", AUTO)
    return server_from({"command": sys.executable, "args": [str(SERVERS / "large.py")], **fields}, name)
