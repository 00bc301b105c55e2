"""What one relayed `client:tool_call` costs: CPU time of the server process, and throughput.

Both servers are up at once and take turns in short rounds, so that whatever else the machine does falls on both.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from statistics import median
from typing import Any

import orjson

from a2c_smcp import smcp
from benchmarks.servers import ServerProcess, running
from benchmarks.support import Row
from benchmarks.wire import ACK, EVENT, Wire

SIZES = {"100 B": 100, "10 kB": 10_000, "500 kB": 500_000}
CONCURRENCIES = (1, 32, 128)
CPU_TARGET = 1.25
THROUGHPUT_TARGET = 0.85

_PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure."""

    most_rounds: int
    fewest_rounds: int
    round_seconds: float
    cell_seconds: float
    """No further pair of rounds begins after so long, once the fewest are made."""


FULL = Plan(most_rounds=15, fewest_rounds=3, round_seconds=0.4, cell_seconds=12.0)
QUICK = Plan(most_rounds=3, fewest_rounds=1, round_seconds=0.1, cell_seconds=2.0)


@dataclass(frozen=True, slots=True)
class Sample:
    """One round: seconds per call, of CPU and of the clock."""

    cpu: float
    wall: float


def payload(size: int) -> list[dict[str, Any]] | str:
    """About `size` bytes of JSON: rows as a tool would return them, or a short text."""
    if size < 1_000:
        return "x" * (size - 20)
    row = {"id": 0, "name": "quarterly report", "path": "/srv/files/2024/q3", "size": 81234.5, "tags": ["a", "b"]}
    count = size // (len(orjson.dumps(row)) + 4)
    return [{**row, "id": 10_000 + number, "size": number * 1.5} for number in range(count)]


class Caller:
    """An Agent and a Computer on one server; the Agent keeps `concurrency` calls outstanding."""

    def __init__(self, server: ServerProcess, agent: Wire, computer: Wire) -> None:
        self.server = server
        self._agent = agent
        self._computer = computer

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, server: ServerProcess) -> AsyncGenerator[Caller]:
        agent, computer = await Wire.connect(server.port), await Wire.connect(server.port)
        try:
            await agent.join("agent", "agent", "bench")
            await computer.join("computer", "computer", "bench")
            yield cls(server, agent, computer)
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

        def work(packet: bytes) -> None:
            bracket = packet.index(b"[")
            self._computer.send(ACK, packet[len(EVENT) : bracket], answer)

        def call() -> None:
            nonlocal sent
            sent += 1
            self._agent.send(EVENT, b"%d" % sent, request)

        def take(packet: bytes) -> None:
            nonlocal received
            received += 1
            if not packet.endswith(answer):
                done.set_exception(RuntimeError(f"not the Computer's answer: {packet[:300]!r}"))
            elif sent < calls:
                call()
            elif received == calls:
                done.set_result(None)

        self._computer.receive, self._agent.receive = work, take
        started, cpu = time.perf_counter(), self.server.cpu_seconds()
        for _ in range(min(concurrency, calls)):
            call()
        async with asyncio.timeout(_PATIENCE):
            await done
        return Sample((self.server.cpu_seconds() - cpu) / calls, (time.perf_counter() - started) / calls)


async def measure_cell(floor: Caller, ours: Caller, size: str, concurrency: int, plan: Plan) -> list[Row]:
    content = payload(SIZES[size])
    calls = {caller: await _calls_per_round(caller, content, concurrency, plan) for caller in (floor, ours)}
    pairs: list[tuple[Sample, Sample]] = []
    begun = time.perf_counter()
    for number in range(plan.most_rounds):
        if number >= plan.fewest_rounds and time.perf_counter() - begun > plan.cell_seconds:
            break
        turn = (floor, ours) if number % 2 else (ours, floor)
        samples = {caller: await caller.run(content, calls[caller], concurrency) for caller in turn}
        pairs.append((samples[floor], samples[ours]))
    what = f"{size:>6} × {concurrency:<3}"
    return [
        Row(
            f"relay {what} CPU per call",
            _micro(median(least.cpu for least, _ in pairs)),
            _micro(median(own.cpu for _, own in pairs)),
            median(own.cpu / least.cpu for least, own in pairs),
            CPU_TARGET,
        ),
        Row(
            f"relay {what} throughput",
            _rate(median(least.wall for least, _ in pairs)),
            _rate(median(own.wall for _, own in pairs)),
            median(least.wall / own.wall for least, own in pairs),
            THROUGHPUT_TARGET,
            at_least=True,
        ),
    ]


async def measure(plan: Plan, floor_kind: str = "floor") -> list[Row]:
    """Every size at every concurrency."""
    rows: list[Row] = []
    async with contextlib.AsyncExitStack() as stack:
        servers = [stack.enter_context(running(kind)) for kind in (floor_kind, "ours")]
        floor, ours = [await stack.enter_async_context(Caller.on(server)) for server in servers]
        for size in SIZES:
            for concurrency in CONCURRENCIES:
                rows += await measure_cell(floor, ours, size, concurrency, plan)
    return rows


async def _calls_per_round(caller: Caller, content: Any, concurrency: int, plan: Plan) -> int:
    """Warm a server up, and take as many calls as fill a round; at least each of the concurrent ones."""
    calls = max(8, concurrency)
    sample = await caller.run(content, calls, concurrency)
    if sample.wall * calls < plan.round_seconds / 4:
        sample = await caller.run(content, int(plan.round_seconds / 2 / sample.wall), concurrency)
    return max(calls, int(plan.round_seconds / sample.wall))


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"


def _rate(seconds: float) -> str:
    return f"{1 / seconds:,.0f}/s"
