"""What one relayed `client:tool_call` costs: CPU time of the server process, and throughput.

Both servers are up at once and take turns in short rounds, so that whatever else the machine does falls on both.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any, TypeAlias

import orjson

from a2c_smcp import smcp
from benchmarks.servers import ServerProcess, running
from benchmarks.support import Row
from benchmarks.wire import ACK, EVENT, Wire

SIZES = {"100 B": 100, "10 kB": 10_000, "500 kB": 500_000}
CONCURRENCIES = (1, 32, 128)
CPU_TARGET = 0.75
THROUGHPUT_TARGET = 0.85

_PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure."""

    processes: int
    """How often both servers are started anew: the layout of a process makes it faster or slower for good."""
    round_seconds: float
    cell_seconds: float
    """Each pair of processes begins no further pair of rounds in a cell after so long; one is made in any case."""


FULL = Plan(processes=3, round_seconds=0.35, cell_seconds=3.0)
QUICK = Plan(processes=1, round_seconds=0.1, cell_seconds=0.5)


@dataclass(frozen=True, slots=True)
class Sample:
    """One round: seconds per call, of CPU and of the clock."""

    cpu: float
    wall: float
    p50: float = 0.0
    """Seconds until a call is answered, if calls were made one at a time."""


Pair: TypeAlias = tuple[Sample, Sample]
"""The floor's round and ours, one right after the other."""


def payload(size: int) -> list[dict[str, Any]] | str:
    """About `size` bytes of JSON: rows as a tool would return them, or a short text."""
    if size < 1_000:
        return "x" * (size - 20)
    row = {"id": 0, "name": "quarterly report", "path": "/srv/files/2024/q3", "size": 81234.5, "tags": ["a", "b"]}
    count = size // (len(orjson.dumps(row)) + 4)
    return [{**row, "id": 10_000 + number, "size": number * 1.5} for number in range(count)]


class Caller:
    """An Agent and a Computer on one server, or on two nodes; the Agent keeps `concurrency` calls outstanding."""

    def __init__(self, servers: Sequence[ServerProcess], agent: Wire, computer: Wire) -> None:
        self._servers = servers
        self._agent = agent
        self._computer = computer

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, *servers: ServerProcess) -> AsyncGenerator[Caller]:
        """The Agent is on the first server, the Computer on the last one."""
        agent, computer = await Wire.connect(servers[0].port), await Wire.connect(servers[-1].port)
        try:
            await agent.join("agent", "agent", "bench")
            await computer.join("computer", "computer", "bench")
            yield cls(servers, agent, computer)
        finally:
            agent.close()
            computer.close()

    async def run(self, content: Any, calls: int, concurrency: int) -> Sample:
        """Make `calls` calls that carry the content both ways, and check every answer."""
        params = {"rows": content}
        request = orjson.dumps(
            [
                smcp.TOOL_CALL_EVENT,
                {
                    "agent": "agent", "req_id": "0123456789abcdef", "computer": "computer",
                    "tool_name": "bench", "params": params, "timeout": 60,
                },
            ]
        )  # fmt: skip
        answer = orjson.dumps([{"content": [], "structuredContent": params, "isError": False}])
        done = asyncio.get_running_loop().create_future()
        sent = received = 0
        times = list[float]()
        begun = 0.0

        def work(packet: bytes) -> None:
            bracket = packet.index(b"[")
            self._computer.send(ACK, packet[len(EVENT) : bracket], answer)

        def call() -> None:
            nonlocal sent, begun
            sent, begun = sent + 1, time.perf_counter()
            self._agent.send(EVENT, b"%d" % sent, request)

        def take(packet: bytes) -> None:
            nonlocal received
            if packet.startswith(EVENT):
                return  # the Computer entered: between nodes, the Agent may hear of it after the Computer has its ack
            received += 1
            times.append(time.perf_counter() - begun)
            if not packet.endswith(answer):
                done.set_exception(RuntimeError(f"not the Computer's answer: {packet[:300]!r}"))
            elif sent < calls:
                call()
            elif received == calls:
                done.set_result(None)

        self._computer.receive, self._agent.receive = work, take
        started, cpu = time.perf_counter(), self._cpu_seconds()
        for _ in range(min(concurrency, calls)):
            call()
        async with asyncio.timeout(_PATIENCE):
            await done
        cpu, wall = self._cpu_seconds() - cpu, time.perf_counter() - started
        return Sample(cpu / calls, wall / calls, median(times) if concurrency == 1 else 0.0)

    def _cpu_seconds(self) -> float:
        return sum(server.cpu_seconds() for server in self._servers)


async def measure(plan: Plan, floor_kind: str = "floor") -> list[Row]:
    """Every size at every concurrency."""
    pairs: dict[tuple[str, int], list[Pair]] = {cell: [] for cell in product(SIZES, CONCURRENCIES)}
    for _ in range(plan.processes):
        async with contextlib.AsyncExitStack() as stack:
            servers = [stack.enter_context(running(kind)) for kind in (floor_kind, "ours")]
            floor, ours = [await stack.enter_async_context(Caller.on(server)) for server in servers]
            for (size, concurrency), found in pairs.items():
                found += await measure_cell(floor, ours, payload(SIZES[size]), concurrency, plan)
    return [row for (size, concurrency), found in pairs.items() for row in _rows(size, concurrency, found)]


async def measure_cell(floor: Caller, ours: Caller, content: Any, concurrency: int, plan: Plan) -> list[Pair]:
    """Rounds in turns. The first round of a pair costs a few per cent more, so each caller begins as many pairs."""
    calls = {caller: await _calls_per_round(caller, content, concurrency, plan) for caller in (floor, ours)}
    pairs: list[Pair] = []
    begun = time.perf_counter()
    while len(pairs) % 2 or not pairs or time.perf_counter() - begun < plan.cell_seconds:
        turn = (floor, ours) if len(pairs) % 2 else (ours, floor)
        samples = {caller: await caller.run(content, calls[caller], concurrency) for caller in turn}
        pairs.append((samples[floor], samples[ours]))
    return pairs


async def _calls_per_round(caller: Caller, content: Any, concurrency: int, plan: Plan) -> int:
    """Warm a server up, and take as many calls as fill a round; at least each of the concurrent ones."""
    sample = await caller.run(content, 8, concurrency)
    if sample.wall < plan.round_seconds / 100:
        sample = await caller.run(content, int(plan.round_seconds / 2 / sample.wall), concurrency)
    return max(concurrency, int(plan.round_seconds / sample.wall), 2)


def _rows(size: str, concurrency: int, pairs: list[Pair]) -> list[Row]:
    what = f"relay {size:>6} × {concurrency:<3}"
    return [
        Row(
            f"{what} CPU per call",
            _micro(median(floor.cpu for floor, _ in pairs)),
            _micro(median(ours.cpu for _, ours in pairs)),
            median(ours.cpu / floor.cpu for floor, ours in pairs),
            CPU_TARGET,
        ),
        Row(
            f"{what} throughput",
            _rate(median(floor.wall for floor, _ in pairs)),
            _rate(median(ours.wall for _, ours in pairs)),
            median(floor.wall / ours.wall for floor, ours in pairs),
            THROUGHPUT_TARGET,
            at_least=True,
        ),
    ]


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"


def _rate(seconds: float) -> str:
    return f"{1 / seconds:,.0f}/s"
