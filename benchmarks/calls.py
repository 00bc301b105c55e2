"""What a tool call through Server and Computer costs, beside its two parts: the MCP call alone, and the relay alone.

Processes are as in life: the Agent's stand-in is this one, and Server, Computer and MCP server have one each. The plain
MCP client runs in this process too, for the Agent has nothing to do then.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

import orjson

from benchmarks.agent import Agent, Ask, Sample, measure_round
from benchmarks.computers import computing
from benchmarks.mcp_servers import arguments, children, direct_session, text_of
from benchmarks.relay import payload
from benchmarks.servers import cpu_seconds, running
from benchmarks.support import Row

SIZES = {"100 B": 100, "500 kB": 500_000}
LATENCY_TARGETS = {"100 B": 1.15, "500 kB": 1.5}
CROWD = 32
CORES = 2
THROUGHPUT_TARGET = 0.85
TOOL = "s00_echo"


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure."""

    processes: int
    """How often all processes are started anew."""
    round_seconds: float
    rounds: int


FULL = Plan(processes=3, round_seconds=0.4, rounds=4)
QUICK = Plan(processes=1, round_seconds=0.15, rounds=2)

Caller: TypeAlias = Callable[[str], Ask]
"""Makes, for a text, the request that echoes it."""


@dataclass(frozen=True, slots=True)
class Way:
    """One of the ways to get an answer, and the processes that work for it."""

    caller: Caller
    pids: frozenset[int]

    async def run(self, text: str, calls: int, concurrency: int) -> Sample:
        return await measure_round(self.caller(text), calls, concurrency, self._cpu_seconds)

    def _cpu_seconds(self) -> float:
        return sum(map(cpu_seconds, self.pids))


Turn: TypeAlias = Mapping[str, Sample]
"""One round of each way, by its name: `direct`, `floor`, `chain`, `ours`."""


async def measure(plan: Plan, floor_kind: str = "floor") -> list[Row]:
    """Latency of one call at a time at each size, and throughput of small ones."""
    turns: dict[tuple[str, int], list[Turn]] = {("100 B", 1): [], ("100 B", CROWD): [], ("500 kB", 1): []}
    for _ in range(plan.processes):
        async with contextlib.AsyncExitStack() as stack:
            ways = {
                "direct": await stack.enter_async_context(_direct()),
                "floor": await stack.enter_async_context(_relayed(floor_kind, floor_kind, floor_kind)),
                "chain": await stack.enter_async_context(_relayed(floor_kind, "chain", floor_kind)),
                "ours": await stack.enter_async_context(_relayed("ours", "ours", floor_kind)),
            }
            for (size, concurrency), found in turns.items():
                found += await _measure_cell(ways, _text(SIZES[size]), concurrency, plan)
    return [
        row
        for (size, concurrency), found in turns.items()
        for row in (_throughput_rows(size, found) if concurrency > 1 else [_latency_row(size, found)])
    ]


async def _measure_cell(ways: Mapping[str, Way], text: str, concurrency: int, plan: Plan) -> list[Turn]:
    """Rounds in turns; who begins changes too."""
    calls = {name: await _calls_per_round(way, text, concurrency, plan) for name, way in ways.items()}
    turns: list[Turn] = []
    for number in range(plan.rounds):
        order = sorted(ways, reverse=number % 2 == 0)
        turns.append({name: await ways[name].run(text, calls[name], concurrency) for name in order})
    return turns


async def _calls_per_round(way: Way, text: str, concurrency: int, plan: Plan) -> int:
    """Warm up, and take as many calls as fill a round."""
    began = time.perf_counter()
    sample = await way.run(text, 4 * concurrency, concurrency)
    while time.perf_counter() - began < plan.round_seconds / 2:
        sample = await way.run(text, 4 * concurrency, concurrency)
    return max(concurrency, int(plan.round_seconds / sample.wall), 5)


@contextlib.asynccontextmanager
async def _direct() -> AsyncGenerator[Way]:
    before = children(os.getpid())
    async with direct_session(arguments(1)[0]) as session:

        def caller(text: str) -> Ask:
            async def ask() -> None:
                _check(text_of(await session.call_tool(TOOL, {"text": text})), text)

            return ask

        yield Way(caller, frozenset({os.getpid(), *(children(os.getpid()) - before)}))


@contextlib.asynccontextmanager
async def _relayed(server_kind: str, computer_kind: str, agent_kind: str) -> AsyncGenerator[Way]:
    """Through a Server to a Computer."""
    argument = arguments(1) if computer_kind in ("ours", "chain") else None
    with running(server_kind) as server, computing(computer_kind, server.port, argument) as computer:
        async with Agent.on(server.port, agent_kind) as agent:

            def caller(text: str) -> Ask:
                params = {"text": text}

                async def ask() -> None:
                    answer: Any = await agent.call_tool(TOOL, params)
                    if answer["isError"]:
                        raise RuntimeError(f"the call failed: {answer}")
                    _check(answer["content"][0]["text"], text)

                return ask

            yield Way(caller, frozenset({os.getpid(), server.pid, *computer.family}))


def _text(size: int) -> str:
    """What a tool would return as text: a few words, or rows as JSON."""
    content = payload(size)
    return content if isinstance(content, str) else orjson.dumps(content).decode()


def _check(answer: str, text: str) -> None:
    if answer != text:
        raise RuntimeError(f"not the echo of what was said: {answer[:200]!r}")


def _latency_row(size: str, turns: list[Turn]) -> Row:
    return Row(
        f"call {size:>6} × 1   p50 (floor: MCP + relay)",
        _micro(median(turn["direct"].latency + turn["floor"].latency for turn in turns)),
        _micro(median(turn["ours"].latency for turn in turns)),
        median(turn["ours"].latency / (turn["direct"].latency + turn["floor"].latency) for turn in turns),
        LATENCY_TARGETS[size],
    )


def _throughput_rows(size: str, turns: list[Turn]) -> list[Row]:
    """Beside what two cores allow by the CPU time of both parts, and beside the two parts simply chained."""
    what = f"call {size:>6} × {CROWD:<3} throughput"
    ours = [1 / turn["ours"].wall for turn in turns]
    floors = {
        f"{what} (floor: two cores)": [CORES / (turn["direct"].cpu + turn["floor"].cpu) for turn in turns],
        f"{what} (floor: chain)": [1 / turn["chain"].wall for turn in turns],
    }
    return [
        Row(
            name,
            f"{median(floor):,.0f}/s",
            f"{median(ours):,.0f}/s",
            median(rate / most for rate, most in zip(ours, floor, strict=True)),
            THROUGHPUT_TARGET,
            at_least=True,
        )
        for name, floor in floors.items()
    ]


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"
