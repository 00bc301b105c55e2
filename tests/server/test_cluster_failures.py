"""Calls while a node of a cluster shuts down, or loses its connection to Redis; and what `/readyz` says."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from a2c_smcp.server.app import create_app
from tests.support.peer import Peer, tool_call
from tests.support.programs import redis_command, redis_server
from tests.support.running import RunningCluster, running, serving_asgi
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def says(url: str, status: str) -> None:
    """Wait until a node has this status."""
    async with httpx.AsyncClient() as http, asyncio.timeout(PATIENCE):
        while (answer := await http.get(f"{url}/readyz")).json() != {"status": status}:
            pass
        assert answer.status_code == (200 if status == "ready" else 503)
        assert (await http.get(f"{url}/healthz")).status_code == 200


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
        await says(node.url, "shutting down")
        may_answer.set()
        async with asyncio.timeout(PATIENCE):
            assert await call == {"echo": "in time"}
            await shutdown
        await agent.disconnect()
        await computer.disconnect()


async def test_a_node_without_redis_is_not_ready_and_relays_the_calls_of_its_own_members(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis, ExitStack() as stack:
        # A cluster that is not new: its Redis lost nothing, and joins need not wait for other nodes.
        run_id = redis.info("server").partition("run_id:")[2].split()[0]
        redis_command(redis.port, "SET", "{a2c}:run", run_id)
        apps = [create_app(redis=redis.url, lease=4 * PATIENCE) for _ in range(2)]
        first, second = [stack.enter_context(serving_asgi(app, app))[0] for app in apps]
        agent, near, far = Peer(), Peer(), Peer()
        for peer, url, role, name in (
            (agent, first, "agent", "a"),
            (near, first, "computer", "near"),
            (far, second, "computer", "far"),
        ):
            assert await peer.connect(url)
            assert (await peer.join(role, name, "office"))[0]
        for name in ("near", "far"):
            assert (await agent.ask("client:tool_call", tool_call(name)))["echo"] == "client:tool_call"

        redis.kill()
        for url in (first, second):
            await says(url, "no connection to Redis")
        assert (await agent.ask("client:tool_call", tool_call("near")))["echo"] == "client:tool_call"
        assert (await agent.ask("client:tool_call", tool_call("far")))["error"]["code"] == 500
        assert not far.is_gone.is_set()

        await asyncio.to_thread(redis.start)
        for url in (first, second):
            await says(url, "ready")
        assert (await agent.ask("client:tool_call", tool_call("far")))["echo"] == "client:tool_call"
        for peer in (agent, near, far):
            await peer.disconnect()
