"""A Computer in an office with a plain Agent, on a real Server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.socketio.client import SMCPComputerClient
from tests.support.hosting import Watched, hosting
from tests.support.peer import Crowd, Peer, crowd, request, tool_call
from tests.support.running import Running, running


@dataclass
class Office:
    """The members of the office, and its Server."""

    computer: Watched
    client: SMCPComputerClient
    agent: Peer
    people: Crowd
    server: Running

    async def tools(self) -> dict[str, dict[str, Any]]:
        """The tools by name, as the Agent gets them."""
        answer = await self.agent.ask("client:get_tools", request())
        assert answer["req_id"] == "r1"
        return {tool["name"]: tool for tool in answer["tools"]}

    async def config(self) -> dict[str, Any]:
        return await self.agent.ask("client:get_config", request())

    async def call(self, tool: str, /, params: Any = None, **fields: Any) -> dict[str, Any]:
        """Call a tool as the Agent."""
        return await self.agent.ask("client:tool_call", tool_call(tool_name=tool, params=params or {}, **fields))


@asynccontextmanager
async def office(*servers: MCPServerConfig, **options: Any) -> AsyncGenerator[Office]:
    with running("async") as server:
        async with hosting(*servers, **options) as computer, crowd(server) as people:
            agent = await people.member("agent", "agent", "office")
            client = SMCPComputerClient(computer=computer)
            await client.connect(server.url, transports=["websocket"])
            try:
                await client.join_office("office")
                await agent.hear("notify:enter_office")
                yield Office(computer, client, agent, people, server)
            finally:
                await client.disconnect()


def code(answer: dict[str, Any]) -> int | None:
    """The code in a tool call's answer; None when it succeeded."""
    return answer["meta"]["error_code"] if answer["isError"] else None


def text(answer: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in answer["content"])
