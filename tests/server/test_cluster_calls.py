"""Calls between two nodes of a cluster while one of them shuts down."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import httpx
import pytest

from tests.support.peer import Peer, tool_call
from tests.support.running import RunningCluster, running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def is_draining(url: str) -> None:
    """Wait until a node says that it shuts down."""
    async with httpx.AsyncClient() as http, asyncio.timeout(PATIENCE):
        while (await http.get(f"{url}/readyz")).status_code != 503:
            pass


@pytest.mark.parametrize("stopping", ["the Agent's node", "the Computer's node"])
async def test_a_call_between_nodes_ends_before_either_of_them_shuts_down(stopping: str) -> None:
    with running("cluster") as server:
        nodes = cast("RunningCluster", server).nodes
        agent, computer, may_answer = Peer(), Peer(), asyncio.Event()

        async def answer(event: str, data: Any) -> Any:
            await may_answer.wait()
            return {"echo": data["params"]["text"]}

        computer.answer = answer
        assert await agent.connect(nodes[0].url)
        assert await computer.connect(nodes[1].url)
        assert (await agent.join("agent", "agent", "office"))[0]
        assert (await computer.join("computer", "pc", "office"))[0]
        call = asyncio.create_task(agent.ask("client:tool_call", tool_call("pc", params={"text": "in time"})))
        await computer.be_asked("client:tool_call")

        node = nodes[0] if stopping == "the Agent's node" else nodes[1]
        shutdown = asyncio.create_task(node.shutdown())
        await is_draining(node.url)
        may_answer.set()
        async with asyncio.timeout(PATIENCE):
            assert await call == {"echo": "in time"}
            await shutdown
        await agent.disconnect()
        await computer.disconnect()
