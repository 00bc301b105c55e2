"""An office of processes: `a2c server`, `a2c computer` in the office `office` as `pc`, and an Agent of the test."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.peer import Crowd, Peer, crowd, tool_call
from tests.support.process import ServerProcess


def office_flags(server: ServerProcess, config: Path, *more: str) -> list[str]:
    return ["--config", str(config), "--url", server.url, "--office", "office", "--name", "pc", *more]


async def call(agent: Peer, tool: str, req_id: str = "r1", **params: Any) -> Any:
    return await agent.ask("client:tool_call", tool_call(tool_name=tool, params=params, req_id=req_id))


@asynccontextmanager
async def agent_of(server: ServerProcess) -> AsyncGenerator[tuple[Crowd, Peer]]:
    async with crowd(server) as people:
        yield people, await people.member("agent", "agent", "office")
