"""The Agent's stand-in: a plain Socket.IO client that asks a Computer, and a stopwatch around whoever asks."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

import socketio

from a2c_smcp import smcp
from benchmarks.computers import NAME, enter, plain_client

_TIMEOUT = 60
_PATIENCE = 120.0
_WARM_UP = 10

Ask = Callable[[], Awaitable[None]]
"""One request and its answer."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One round: the median latency, and seconds per call of the clock and of CPU."""

    latency: float
    wall: float
    cpu: float


Pair: TypeAlias = tuple[Sample, Sample]
"""A round of the floor and one of ours, taken in turns."""


class Agent:
    """Asks one Computer through one Server."""

    def __init__(self, client: socketio.AsyncClient) -> None:
        self._client = client
        self._numbers = itertools.count()

    @classmethod
    @contextlib.asynccontextmanager
    async def on(cls, port: int, kind: str) -> AsyncGenerator[Agent]:
        client = plain_client(kind)
        await enter(client, port, "agent", "agent")
        try:
            yield cls(client)
        finally:
            await client.disconnect()

    async def call_tool(self, tool: str, params: dict[str, Any]) -> Any:
        return await self.ask(smcp.TOOL_CALL_EVENT, tool_name=tool, params=params, timeout=_TIMEOUT)

    async def ask(self, event: str, **fields: Any) -> Any:
        request = {"agent": "agent", "computer": NAME, "req_id": f"r{next(self._numbers)}", **fields}
        return await self._client.call(event, request, namespace=smcp.SMCP_NAMESPACE, timeout=_TIMEOUT)


async def measure_round(ask: Ask, calls: int, concurrency: int, cpu_seconds: Callable[[], float]) -> Sample:
    """Ask `calls` times, with `concurrency` requests outstanding."""
    latencies: list[float] = []
    numbers = iter(range(calls))

    async def work() -> None:
        for _ in numbers:
            began = time.perf_counter()
            await ask()
            latencies.append(time.perf_counter() - began)

    async with asyncio.timeout(_PATIENCE):
        cpu, started = cpu_seconds(), time.perf_counter()
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(concurrency, calls)):
                workers.create_task(work())
        wall = time.perf_counter() - started
    return Sample(median(latencies), wall / calls, (cpu_seconds() - cpu) / calls)


async def take_turns(ways: tuple[Ask, Ask], rounds: int, calls: int) -> list[Pair]:
    """Rounds of the floor and of ours, one call at a time, by the clock; who begins changes."""
    floor, ours = ways
    for ask in ways:
        await measure_round(ask, _WARM_UP, 1, no_cpu)
    pairs: list[Pair] = []
    for number in range(rounds):
        order = (floor, ours) if number % 2 else (ours, floor)
        samples = {ask: await measure_round(ask, calls, 1, no_cpu) for ask in order}
        pairs.append((samples[floor], samples[ours]))
    return pairs


def no_cpu() -> float:
    """For rounds whose CPU time nobody wants to know."""
    return 0.0
