"""A bad day for a cluster: three nodes behind nginx, members scattered over them, and everything fails under load.

Every call is answered in time, none is executed twice, and a member that is gone is gone from its office."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient
from a2c_smcp.computer.socketio.client import SMCPComputerClient
from a2c_smcp.errors import SMCPError
from tests.support.balancing import balanced
from tests.support.hosting import hosting, raw
from tests.support.load import ANSWER_SECONDS, CALL_SECONDS, eventually
from tests.support.mcp_servers import received
from tests.support.process import A2C, LineProcess, free_port
from tests.support.programs import Redis, redis_server
from tests.support.proxy import Network, network
from tests.support.systems import linux_only
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, linux_only]

OFFICE = "acme"
COMPUTERS = ("pc0", "pc1", "pc2")
LEASE = 2.0
SUSPENDED_SECONDS = float(os.environ.get("A2C_TEST_SUSPENDED_SECONDS", 2 * LEASE))
"""How long a node is suspended: longer than the lease."""


class Nodes:
    """Three `a2c server` processes. The last one reaches Redis through a network that can be cut."""

    def __init__(self, redis: Redis, wires: Network) -> None:
        self.ports = [free_port() for _ in range(3)]
        self._urls = [redis.url, redis.url, wires.url.replace("http", "redis")]
        self.processes = [self._start(number) for number in range(3)]
        for number in range(3):
            self.wait_for(number, "is connected to its cluster")

    def _start(self, number: int) -> LineProcess:
        flags = ["--port", str(self.ports[number]), "--lease", str(LEASE), "--grace", "2"]
        return LineProcess([*A2C, "server", *flags], env={"A2C_REDIS": self._urls[number]})

    def wait_for(self, number: int, sign: str, after: int = 0) -> None:
        self.processes[number].wait_for(sign, after)

    def restart(self, number: int) -> None:
        self.processes[number].close()
        self.processes[number] = self._start(number)
        self.wait_for(number, "is connected to its cluster")

    def close(self) -> None:
        for process in self.processes:
            process.close()


@dataclass
class ClusterLoad:
    """An Agent that calls all Computers all the time, with another text each time."""

    agent: AsyncSMCPAgentClient
    succeeded: Counter[str] = field(default_factory=Counter[str])
    unanswered: list[str] = field(default_factory=list[str])
    _texts: itertools.count[int] = field(default_factory=itertools.count)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, computer: str) -> None:
        """Call without end."""
        while True:
            text = f"call {next(self._texts)}"
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    result = await self.agent.emit_tool_call(computer, "echo", {"text": text}, CALL_SECONDS)
                self.succeeded[computer] += not result.is_error
            except SMCPError:
                await asyncio.sleep(0)
            except TimeoutError:
                self.unanswered.append(text)
            self._news.set()
            await asyncio.sleep(0.01)

    async def until_calls_succeed(self) -> None:
        """Wait for a good many calls to every Computer that succeed from now on."""
        before = self.succeeded.copy()
        await eventually(
            lambda: all(self.succeeded[name] > before[name] + 5 for name in COMPUTERS), self._news, lambda: f"{self}"
        )


@asynccontextmanager
async def under_load(url: str, logs: Path) -> AsyncGenerator[ClusterLoad]:
    async with AsyncExitStack() as stack:
        for name in COMPUTERS:
            computer = await stack.enter_async_context(hosting(raw("raw", "--log", str(logs / f"{name}.log"))))
            computer.name = name
            client = SMCPComputerClient(computer=computer, reconnection_delay=0.1, reconnection_delay_max=0.5)
            stack.push_async_callback(client.disconnect)
            await client.connect(url, transports=["websocket"])
            await client.join_office(OFFICE)
        agent = await stack.enter_async_context(
            AsyncSMCPAgentClient.in_office(url, OFFICE, "agent", reconnection_delay=0.1, reconnection_delay_max=0.5)
        )
        callers = await stack.enter_async_context(asyncio.TaskGroup())
        load = ClusterLoad(agent)
        tasks = [callers.create_task(load.call(name)) for name in COMPUTERS for _ in range(2)]
        await load.until_calls_succeed()
        yield load
        for task in tasks:
            task.cancel()


async def test_whatever_fails_every_call_is_answered_and_none_runs_twice(tmp_path: Path) -> None:
    with redis_server(tmp_path) as redis:
        async with network(redis.url.removeprefix("redis://").removesuffix("/0")) as wires:
            nodes = await asyncio.to_thread(Nodes, redis, wires)
            with contextlib.closing(nodes), balanced(tmp_path, nodes.ports) as url:
                async with under_load(url, tmp_path) as load:
                    for number in range(3):  # at least one of them has the Agent
                        nodes.processes[number].process.kill()
                        await asyncio.to_thread(nodes.restart, number)
                        await load.until_calls_succeed()

                    redis.kill()
                    redis.start()
                    await load.until_calls_succeed()

                    # Longer than the lease: the node comes back fenced, and starts again under another name.
                    before = len(nodes.processes[0].log)
                    nodes.processes[0].process.send_signal(signal.SIGSTOP)
                    await asyncio.sleep(SUSPENDED_SECONDS)
                    nodes.processes[0].process.send_signal(signal.SIGCONT)
                    await asyncio.to_thread(nodes.wait_for, 0, "stops serving", before)
                    await load.until_calls_succeed()

                    wires.down = True
                    before = len(nodes.processes[2].log)
                    wires.cut()
                    await asyncio.to_thread(nodes.wait_for, 2, "stops serving", before)
                    wires.down = False
                    await asyncio.to_thread(nodes.wait_for, 2, "is connected to its cluster", before)
                    await load.until_calls_succeed()

                    nodes.processes[1].process.terminate()  # a rolling restart
                    assert await asyncio.to_thread(nodes.processes[1].process.wait, PATIENCE) == 0
                    await load.until_calls_succeed()
                    await asyncio.to_thread(nodes.restart, 1)
                    await load.until_calls_succeed()
                    room = await load.agent.get_computers_in_office(OFFICE)
                    assert not load.unanswered
                    assert sorted(session["name"] for session in room) == list(COMPUTERS)
    runs = Counter(
        message["params"]["arguments"]["text"]
        for name in COMPUTERS
        for message in received(tmp_path / f"{name}.log", "tools/call")
    )
    assert runs
    assert [text for text, count in runs.items() if count > 1] == []
