"""The MCP servers behind a Computer, and the plain MCP client that is its floor."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import psutil
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.model import MCPServerConfig

RAW = str(Path(__file__).parent.parent / "tests" / "servers" / "raw.py")
"""A stdio server without an SDK: it starts at once and answers at once."""
OWN_TOOLS = 15
"""What `raw.py` has without `--tools`."""


def arguments(count: int, tools: int = OWN_TOOLS, logs: Path | None = None) -> list[list[str]]:
    """The command lines of so many servers with so many tools each, no two of the same name."""
    found: list[list[str]] = []
    for number in range(count):
        line = [RAW, "--prefix", f"s{number:02}_", "--tools", str(tools - OWN_TOOLS)]
        found.append([*line, "--log", str(logs / f"{number:02}.log")] if logs is not None else line)
    return found


def configs(lines: list[list[str]]) -> list[MCPServerConfig]:
    """The same servers as a Computer's owner would configure them."""
    meta = {"auto_apply": True}
    return [
        server_from({"command": sys.executable, "args": line, "default_tool_meta": meta}, f"raw-{number:02}")
        for number, line in enumerate(lines)
    ]


@contextlib.asynccontextmanager
async def direct_session(line: list[str]) -> AsyncGenerator[ClientSession]:
    """The `mcp` library's own client, shaken hands and knowing the tools, as a Computer's is."""
    parameters = StdioServerParameters(command=sys.executable, args=line)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.list_tools()
        yield session


@contextlib.asynccontextmanager
async def direct_sessions(lines: list[list[str]]) -> AsyncGenerator[list[ClientSession]]:
    """Many at once, each in a task of its own; entered when all are ready."""
    over = asyncio.Event()
    ready: list[asyncio.Future[ClientSession]] = [asyncio.get_running_loop().create_future() for _ in lines]

    async def live(line: list[str], is_ready: asyncio.Future[ClientSession]) -> None:
        async with direct_session(line) as session:
            is_ready.set_result(session)
            await over.wait()

    async with asyncio.TaskGroup() as tasks:
        for line, is_ready in zip(lines, ready, strict=True):
            tasks.create_task(live(line, is_ready))
        try:
            yield await asyncio.gather(*ready)
        finally:
            over.set()


def text_of(result: object) -> str:
    """The one text that a call of `echo` results in."""
    assert isinstance(result, CallToolResult)
    content = result.content[0]
    assert isinstance(content, TextContent)
    return content.text


def children(pid: int) -> set[int]:
    """The processes that a process started, and theirs."""
    return {child.pid for child in cast("Any", psutil.Process(pid)).children(recursive=True)}


def received(logs: Path) -> list[str]:
    """The methods of all messages that the servers logged so far."""
    entries = [json.loads(line) for log in logs.glob("*.log") for line in _whole_lines(log)]
    return [entry["method"] for entry in entries if entry.get("method") is not None]


def _whole_lines(log: Path) -> list[str]:
    """The lines of a log that is being written, without the one that is not complete yet."""
    return log.read_text().rpartition("\n")[0].splitlines()
