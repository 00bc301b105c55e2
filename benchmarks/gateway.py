"""What an MCP host pays for an office: a call through the gateway beside its two parts, and lists of tools.

The host is this process, and so is the Agent. Servers, Computers and MCP servers have a process each.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

from a2c_smcp.agent import AsyncSMCPAgentClient
from benchmarks.agent import Ask, Sample, measure_round
from benchmarks.computers import NAME, OFFICE, computing
from benchmarks.gateway_lists import measure_list, measure_search, url_of
from benchmarks.mcp_http import ERAS, TOOL, Era, client_of, serving
from benchmarks.mcp_servers import arguments, text_of
from benchmarks.relay import payload
from benchmarks.servers import HOST, cpu_seconds, running
from benchmarks.support import Row

CALL_TARGET = 1.3

_TEXT = str(payload(100))
_TIMEOUT = 60


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure."""

    processes: int
    """How often all processes are started anew."""
    rounds: int
    calls: int


FULL = Plan(processes=3, rounds=30, calls=30)
QUICK = Plan(processes=1, rounds=2, calls=20)


async def measure(plan: Plan) -> list[Row]:
    """All of it."""
    calls = [row for era in ERAS for row in await _measure_calls(era, plan)]
    lists = [row for era in ERAS for row in await measure_list(era, plan.rounds, plan.calls)]
    return [*calls, *lists, *await measure_search(plan.calls)]


@dataclass(frozen=True, slots=True)
class Way:
    """One of the ways to get an answer, and the processes that work for it."""

    ask: Ask
    pids: frozenset[int]

    async def run(self, calls: int) -> Sample:
        return await measure_round(self.ask, calls, 1, lambda: sum(map(cpu_seconds, self.pids)))


Turn: TypeAlias = Mapping[str, Sample]
"""One round of each way: `plain`, `agent` and `ours`."""


async def _measure_calls(era: Era, plan: Plan) -> list[Row]:
    turns: list[Turn] = []
    for _ in range(plan.processes):
        async with contextlib.AsyncExitStack() as stack:
            ways = {
                "plain": await stack.enter_async_context(_plain(era)),
                "agent": await stack.enter_async_context(_agent()),
                "ours": await stack.enter_async_context(_gateway(era)),
            }
            for way in ways.values():
                await way.run(plan.calls)
            for number in range(plan.rounds):
                order = sorted(ways, reverse=number % 2 == 0)
                turns.append({name: await ways[name].run(plan.calls) for name in order})
    return [_call_row(era, "p50", [_of_latency(turn) for turn in turns]),
            _call_row(era, "CPU", [_of_cpu(turn) for turn in turns])]  # fmt: skip


def _of_latency(turn: Turn) -> tuple[float, float]:
    return turn["plain"].latency + turn["agent"].latency, turn["ours"].latency


def _of_cpu(turn: Turn) -> tuple[float, float]:
    return turn["plain"].cpu + turn["agent"].cpu, turn["ours"].cpu


def _call_row(era: Era, what: str, pairs: Sequence[tuple[float, float]]) -> Row:
    return Row(
        f"gateway, a call, {era}, {what} (floor: MCP over HTTP + Agent)",
        f"{median(floor for floor, _ in pairs) * 1e6:,.0f} µs",
        f"{median(ours for _, ours in pairs) * 1e6:,.0f} µs",
        median(ours / floor for floor, ours in pairs),
        CALL_TARGET,
    )


@contextlib.asynccontextmanager
async def _plain(era: Era) -> AsyncGenerator[Way]:
    with serving() as server:
        async with _calling(f"http://{HOST}:{server.port}/mcp", era) as ask:
            yield Way(ask, frozenset((os.getpid(), server.pid)))


@contextlib.asynccontextmanager
async def _agent() -> AsyncGenerator[Way]:
    with running("ours") as server, computing("ours", server.port, arguments(1)) as computer:
        async with AsyncSMCPAgentClient.in_office(f"http://{HOST}:{server.port}", OFFICE, "agent") as agent:

            async def ask() -> None:
                _check(text_of(await agent.emit_tool_call(NAME, TOOL, {"text": _TEXT}, _TIMEOUT)))

            yield Way(ask, frozenset((os.getpid(), server.pid, *computer.family)))


@contextlib.asynccontextmanager
async def _gateway(era: Era) -> AsyncGenerator[Way]:
    with running("ours") as server, computing("ours", server.port, arguments(1)) as computer:
        async with _calling(url_of(server.port, "direct"), era) as ask:
            yield Way(ask, frozenset((os.getpid(), server.pid, *computer.family)))


@contextlib.asynccontextmanager
async def _calling(url: str, era: Era) -> AsyncGenerator[Ask]:
    async with client_of(url, era) as client:
        await client.list_tools()

        async def ask() -> None:
            _check(text_of(await client.call_tool(TOOL, {"text": _TEXT})))

        yield ask


def _check(answer: str) -> None:
    if answer != _TEXT:
        raise RuntimeError(f"not the echo of what was said: {answer[:200]!r}")
