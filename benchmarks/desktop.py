"""The desktop comes from memory: what was read is read again only when it changed."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from a2c_smcp import smcp
from benchmarks.agent import Agent, Ask, Pair, take_turns
from benchmarks.computers import computing
from benchmarks.servers import running
from benchmarks.shelves import SERVERS, ShelvedComputer, Shelves, host, read_plainly, shelved
from benchmarks.support import Row

SIZE = 1_000
KNOWN_TARGET = 2.0
FIRST_TARGET = 1.3

_ROUND = 10
_CHANGED = "something else"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to look at, and how often."""

    windows: int
    rounds: int
    starts: int
    """How often all processes are started anew, for the first look."""


FULL = Plan(windows=500, rounds=15, starts=5)
QUICK = Plan(windows=50, rounds=3, starts=1)


async def measure(plan: Plan, floor_kind: str = "floor") -> list[Row]:
    """The first look, beside a client that does nothing but read; further ones, beside relaying the same answer."""
    shelves = Shelves(windows=plan.windows, window_size=SIZE)
    firsts: list[tuple[float, float]] = []
    for _ in range(plan.starts - 1):
        floor = await read_plainly(shelves)
        async with shelved(shelves, floor_kind) as computer:
            firsts.append((floor, await _first_look(computer, plan.windows)))
    async with shelved(shelves, floor_kind) as computer:
        ours = await _first_look(computer, plan.windows)
        size, samples = await _look_again(computer, plan, floor_kind)
        reads = await _look_after_change(computer, plan.windows)
    firsts.append((await read_plainly(shelves), ours))
    return [
        _known_row(plan.windows, size, samples),
        _first_row(plan.windows, firsts),
        Row(f"get_desktop, {plan.windows} windows, one changed (ratio: reads)", "-", f"{reads} read", reads, 1.0),
    ]


async def _first_look(computer: ShelvedComputer, windows: int) -> float:
    """Seconds of a look when everything is still to be read, once."""
    began = time.perf_counter()
    _check(await computer.agent.ask(smcp.GET_DESKTOP_EVENT), windows)
    took = time.perf_counter() - began
    if computer.reads() != windows:
        raise RuntimeError(f"{computer.reads()} reads of {windows} windows")
    return took


async def _look_again(computer: ShelvedComputer, plan: Plan, floor_kind: str) -> tuple[int, list[Pair]]:
    """The floor relays the very same answer, from a Computer that has nothing but it."""
    async with contextlib.AsyncExitStack() as stack:
        answer_file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "answer.json"
        size = answer_file.write_bytes(orjson.dumps(await computer.agent.ask(smcp.GET_DESKTOP_EVENT)))
        relay = stack.enter_context(running(floor_kind))
        stack.enter_context(computing(floor_kind, relay.port, str(answer_file)))
        floor_agent = await stack.enter_async_context(Agent.on(relay.port, floor_kind))
        ways = (
            _asking(lambda: floor_agent.call_tool("desktop", {}), plan.windows),
            _asking(lambda: computer.agent.ask(smcp.GET_DESKTOP_EVENT), plan.windows),
        )
        before = computer.heard()
        samples = await take_turns(ways, plan.rounds, _ROUND)
        if heard := computer.heard() - before:
            raise RuntimeError(f"MCP servers were asked for what is known: {heard}")
    return size, samples


async def _look_after_change(computer: ShelvedComputer, windows: int) -> int:
    """How many windows are read after one of them changed."""
    uri = f"window://{host(SERVERS - 1)}/w0003"
    await computer.agent.call_tool(f"s{SERVERS - 1}_set_window", {"uri": uri, "text": _CHANGED})
    before = computer.reads()
    answer = await computer.agent.ask(smcp.GET_DESKTOP_EVENT)
    _check(answer, windows)
    if f"{uri}\n\n{_CHANGED}" not in answer["desktops"]:
        raise RuntimeError(f"{uri} is not what it is now")
    return computer.reads() - before


def _asking(request: Callable[[], Any], windows: int) -> Ask:
    async def ask() -> None:
        _check(await request(), windows)

    return ask


def _check(answer: Any, windows: int) -> None:
    if len(answer.get("desktops", ())) != windows:
        raise RuntimeError(f"not the desktop: {str(answer)[:300]}")


def _known_row(windows: int, size: int, pairs: Sequence[Pair]) -> Row:
    return Row(
        f"get_desktop, {windows} windows, {size / 1_000:.0f} kB, unchanged, p50",
        f"{median(floor.latency for floor, _ in pairs) * 1e6:,.0f} µs",
        f"{median(ours.latency for _, ours in pairs) * 1e6:,.0f} µs",
        median(ours.latency / floor.latency for floor, ours in pairs),
        KNOWN_TARGET,
    )


def _first_row(windows: int, pairs: Sequence[tuple[float, float]]) -> Row:
    return Row(
        f"get_desktop, {windows} windows, first (floor: plain reads)",
        f"{median(floor for floor, _ in pairs) * 1e3:,.0f} ms",
        f"{median(ours for _, ours in pairs) * 1e3:,.0f} ms",
        median(ours / floor for floor, ours in pairs),
        FIRST_TARGET,
    )
