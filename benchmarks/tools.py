"""The list of tools comes from memory: asking for it costs what relaying it costs, and no MCP server hears of it. An
Agent that has the list gets a short answer."""

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
from benchmarks.agent import Agent, Ask, Pair, Sample, measure_round, take_turns
from benchmarks.computers import computing
from benchmarks.mcp_servers import arguments, received
from benchmarks.servers import cpu_seconds, running
from benchmarks.support import Row

SERVERS, TOOLS = 20, 20
TARGET = 1.5
UNCHANGED_TARGET = 0.25
"""Most of what is left is the way of any request through the Server."""

ALONE_TARGET = 0.1
"""The part of the Computer alone, without the way through the Server."""

_ROUND = 15


async def measure(rounds: int, floor_kind: str = "floor") -> list[Row]:
    """The floor relays the very same list, as the answer to a call, from a Computer that has nothing but it."""
    async with contextlib.AsyncExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running("ours"))
        computer = stack.enter_context(computing("ours", server.port, arguments(SERVERS, TOOLS, logs)))
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
        samples = await take_turns(ways, rounds, _ROUND)

        async def unchanged() -> None:
            answer = await agent.ask(smcp.GET_TOOLS_EVENT, known_digest=listing["digest"])
            if answer.get("unchanged") is not True:
                raise RuntimeError(f"not the same list: {str(answer)[:300]}")

        both = await take_turns((ways[1], unchanged), rounds, _ROUND)
        alone = await measure_round(unchanged, rounds * _ROUND, 1, lambda: cpu_seconds(computer.pid))
        heard = Counter(received(logs)) - before
        if set(heard) - {"ping"}:
            raise RuntimeError(f"MCP servers were asked for what is known: {heard}")
    return [_row(size, samples), _unchanged_row(both), _alone_row(both, alone)]


def _asking(request: Callable[[], Any]) -> Ask:
    async def ask() -> None:
        answer = await request()
        if len(answer["tools"]) != SERVERS * TOOLS:
            raise RuntimeError(f"not the list of tools: {str(answer)[:300]}")

    return ask


def _row(size: int, pairs: Sequence[Pair]) -> Row:
    return Row(
        f"get_tools, {SERVERS} × {TOOLS} tools, {size / 1_000:.0f} kB, p50",
        f"{median(floor.latency for floor, _ in pairs) * 1e6:,.0f} µs",
        f"{median(ours.latency for _, ours in pairs) * 1e6:,.0f} µs",
        median(ours.latency / floor.latency for floor, ours in pairs),
        TARGET,
    )


def _unchanged_row(pairs: Sequence[Pair]) -> Row:
    return Row(
        f"get_tools, {SERVERS} × {TOOLS} tools, unchanged, p50 (floor: the list)",
        f"{median(whole.latency for whole, _ in pairs) * 1e6:,.0f} µs",
        f"{median(short.latency for _, short in pairs) * 1e6:,.0f} µs",
        median(short.latency / whole.latency for whole, short in pairs),
        UNCHANGED_TARGET,
    )


def _alone_row(pairs: Sequence[Pair], alone: Sample) -> Row:
    whole = median(whole.latency for whole, _ in pairs)
    return Row(
        f"get_tools, {SERVERS} × {TOOLS} tools, unchanged, CPU (floor: the list, p50)",
        f"{whole * 1e6:,.0f} µs",
        f"{alone.cpu * 1e6:,.0f} µs",
        alone.cpu / whole,
        ALONE_TARGET,
    )
