"""The list of tools comes from memory: asking for it costs what relaying it costs, and no MCP server hears of it."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from a2c_smcp import smcp
from benchmarks.agent import Agent, Ask, Sample, measure_round
from benchmarks.computers import computing
from benchmarks.mcp_servers import arguments, received
from benchmarks.servers import running
from benchmarks.support import Row

SERVERS, TOOLS = 20, 20
TARGET = 1.5

_ROUND = 15
_WARM_UP = 10


async def measure(rounds: int, floor_kind: str = "floor") -> list[Row]:
    """The floor relays the very same list, as the answer to a call, from a Computer that has nothing but it."""
    async with contextlib.AsyncExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running("ours"))
        stack.enter_context(computing("ours", server.port, arguments(SERVERS, TOOLS, logs)))
        agent = await stack.enter_async_context(Agent.on(server.port, floor_kind))

        listing = await agent.ask(smcp.GET_TOOLS_EVENT)
        if len(listing["tools"]) != SERVERS * TOOLS:
            raise RuntimeError(f"{len(listing['tools'])} tools instead of {SERVERS * TOOLS}")
        answer_file = logs / "answer.json"
        size = answer_file.write_bytes(orjson.dumps(listing))

        relay = stack.enter_context(running(floor_kind))
        stack.enter_context(computing(floor_kind, relay.port, str(answer_file)))
        floor_agent = await stack.enter_async_context(Agent.on(relay.port, floor_kind))

        ways = (
            _asking(lambda: floor_agent.call_tool("list", {})),
            _asking(lambda: agent.ask(smcp.GET_TOOLS_EVENT)),
        )
        before = Counter(received(logs))
        samples = await _take_turns(ways, rounds)
        heard = Counter(received(logs)) - before
        if set(heard) - {"ping"}:
            raise RuntimeError(f"MCP servers were asked for what is known: {heard}")
    return [_row(size, samples)]


def _asking(request: Callable[[], Any]) -> Ask:
    async def ask() -> None:
        answer = await request()
        if len(answer["tools"]) != SERVERS * TOOLS:
            raise RuntimeError(f"not the list of tools: {str(answer)[:300]}")

    return ask


async def _take_turns(ways: tuple[Ask, Ask], rounds: int) -> list[tuple[Sample, Sample]]:
    floor, ours = ways
    for ask in ways:
        await measure_round(ask, _WARM_UP, 1, _no_cpu)
    pairs: list[tuple[Sample, Sample]] = []
    for number in range(rounds):
        order = (floor, ours) if number % 2 else (ours, floor)
        samples = {ask: await measure_round(ask, _ROUND, 1, _no_cpu) for ask in order}
        pairs.append((samples[floor], samples[ours]))
    return pairs


def _no_cpu() -> float:
    return 0.0


def _row(size: int, pairs: Sequence[tuple[Sample, Sample]]) -> Row:
    return Row(
        f"get_tools, {SERVERS} × {TOOLS} tools, {size / 1_000:.0f} kB, p50",
        f"{median(floor.latency for floor, _ in pairs) * 1e6:,.0f} µs",
        f"{median(ours.latency for _, ours in pairs) * 1e6:,.0f} µs",
        median(ours.latency / floor.latency for floor, ours in pairs),
        TARGET,
    )
