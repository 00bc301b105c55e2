"""What the Server's console costs: while it is open and nothing happens, and for relayed calls while it shows them.

Rounds with and without the page take turns on the same process, which the layout of a process cannot make faster or
slower for one of them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from statistics import median

from benchmarks.relay import Caller, payload
from benchmarks.servers import HOST, ServerProcess, running
from benchmarks.support import Row
from benchmarks.wire import Wire

IDLE_TARGET = 0.01
"""Of one core."""
CALLS_TARGET = 1.02
MEMBERS = 100
CONCURRENCY = 32
TOPICS = ("rates", "members", "calls")


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure."""

    idle_seconds: float
    rounds: int
    calls: int


FULL = Plan(idle_seconds=10, rounds=40, calls=4_000)
QUICK = Plan(idle_seconds=1, rounds=2, calls=300)


@contextlib.asynccontextmanager
async def page(server: ServerProcess, *topics: str) -> AsyncGenerator[None]:
    """A page of the console that is open."""
    reader, writer = await asyncio.open_connection(HOST, server.port)
    query = "&".join(f"topics={topic}" for topic in topics)
    writer.write(f"GET /api/v1/events?{query} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
    head = await reader.readuntil(b"event: opened")
    if b" 200 " not in head:
        raise RuntimeError(f"the console is not open: {head!r}")

    async def read() -> None:
        while await reader.read(65_536):
            pass

    reading = asyncio.create_task(read())
    try:
        yield
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        writer.close()


async def measure(plan: Plan) -> list[Row]:
    """Both rows."""
    with running("ours") as server:
        share = await _idle(server, plan)
        ratios, without, beside = await _calls(server, plan)
    return [
        # The ratio is the share itself: its floor is a Server without a console, which uses nothing.
        Row(f"console open, {MEMBERS} idle members, CPU", "–", f"{share:.2%} of a core", share / IDLE_TARGET, 1.0),
        Row(
            f"console shows calls, relay × {CONCURRENCY} CPU per call",
            f"{without * 1e6:,.1f} µs",
            f"{beside * 1e6:,.1f} µs",
            median(ratios),
            CALLS_TARGET,
        ),
    ]


async def _idle(server: ServerProcess, plan: Plan) -> float:
    """The share of a core that the Server uses with a page of all events, beyond what it uses without."""
    members = [await Wire.connect(server.port) for _ in range(MEMBERS)]
    try:
        for number, member in enumerate(members):
            await member.join("computer", f"computer-{number}", f"office-{number % 10}")
        async with page(server, *TOPICS):  # the first loads the console
            await asyncio.sleep(1)
        before = server.cpu_seconds()
        await asyncio.sleep(plan.idle_seconds)
        without = server.cpu_seconds()
        async with page(server, *TOPICS):
            started = server.cpu_seconds()
            await asyncio.sleep(plan.idle_seconds)
            beside = server.cpu_seconds()
    finally:
        for member in members:
            member.close()
    return max((beside - started) - (without - before), 0.0) / plan.idle_seconds


async def _calls(server: ServerProcess, plan: Plan) -> tuple[list[float], float, float]:
    """CPU time per call with the page beside that without, of rounds in turns; and both."""
    ratios: list[float] = []
    without: list[float] = []
    beside: list[float] = []
    async with Caller.on(server) as caller:
        content = payload(100)
        await caller.run(content, plan.calls, CONCURRENCY)
        for number in range(plan.rounds):
            for is_open in (True, False) if number % 2 else (False, True):
                async with contextlib.AsyncExitStack() as stack:
                    if is_open:
                        await stack.enter_async_context(page(server, "calls"))
                    sample = await caller.run(content, plan.calls, CONCURRENCY)
                (beside if is_open else without).append(sample.cpu)
                await asyncio.sleep(0.05)  # the Server notices that the page is gone
            ratios.append(beside[-1] / without[-1])
    return ratios, median(without), median(beside)
