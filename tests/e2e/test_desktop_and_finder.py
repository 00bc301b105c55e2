"""Windows and documents through real processes: MCP server, `a2c computer`, `a2c server`, and an Agent that looks."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import agent_of, call, office_flags
from tests.support.mcp_servers import SERVERS, stdio, write_config
from tests.support.peer import Peer, request
from tests.support.process import computer_process, server_process
from tests.support.systems import posix_only

pytestmark = pytest.mark.anyio


async def until(agent: Peer, event: str, notice: str, key: str, wanted: Any) -> None:
    """Ask, and ask again after each notice, until the answer is what it should be."""
    while (await agent.ask(event, request()))[key] != wanted:
        assert await agent.hear(notice) == {"computer": "pc"}


@posix_only
async def test_an_agent_sees_what_changes_wherever_it_changes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, str(SERVERS / "shelves.py"), "--documents", "1", "--log", str(log)]
    config = write_config(tmp_path, {"shelf": stdio(command)})
    with server_process() as server, computer_process(*office_flags(server, config)) as computer:
        async with agent_of(server) as (_, agent):
            await asyncio.to_thread(computer.wait_for, "in office office as pc")
            desktop = "client:get_desktop", "notify:update_desktop", "desktops"
            await until(agent, *desktop, [])
            await until(agent, "client:get_finder", "notify:update_finder", "total_count", 1)
            await call(agent, "set_window", uri="window://shelf/w", text="hello")
            await until(agent, *desktop, ["window://shelf/w\n\nhello"])
            await call(agent, "set_window", uri="window://shelf/w", text="hello again")
            await until(agent, *desktop, ["window://shelf/w\n\nhello again"])
            await call(agent, "set_document", ref="new", fields={"title": "New"})
            await until(agent, "client:get_finder", "notify:update_finder", "total_count", 2)
            page = await agent.ask("client:read_resource", request(uri="dpe://shelf/new/pages/0"))
            assert json.loads(page["contents"][0]["text"])["element_count"] == 3
            wrong = await agent.ask("client:read_resource", request(uri="dpe://shelf/new/pages/9"))
            assert wrong["error"]["code"] == 4202
            pid = json.loads(log.read_text("utf-8").splitlines()[0])["pid"]
            os.kill(pid, signal.SIGKILL)
            await until(agent, *desktop, [])
            await until(agent, "client:get_finder", "notify:update_finder", "total_count", 1)
        assert await asyncio.to_thread(computer.stop, signal.SIGTERM) == 0
