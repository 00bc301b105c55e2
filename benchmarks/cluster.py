"""What a cluster costs: relayed calls within a node and between nodes, joins, and the commands that Redis gets.

The floor is one Server without Redis, in the same run.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from a2c_smcp import smcp
from a2c_smcp.utils.system.resources import raise_open_files
from benchmarks.relay import Caller, Pair, Plan, measure_cell, payload
from benchmarks.servers import ServerProcess, running
from benchmarks.support import Row
from benchmarks.wire import Wire
from tests.support.programs import Redis, redis_server

SCATTERED_CPU, SCATTERED_MORE_MS, AFFINITY_CPU = 2.2, 1.5, 1.05
SAME_COMMANDS = 0.1
JOIN_TARGET = 3.0
COUNTED_CALLS = 2_000
CONCURRENT_CONNECTS = 50


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """How much to measure."""

    relay: Plan
    counted: Sequence[int]
    """Numbers of nodes with which the commands of Redis are counted."""
    members: int
    joins: int


FULL = ClusterPlan(Plan(processes=3, round_seconds=0.35, cell_seconds=4.0), (2, 4, 8), members=10_000, joins=200)
QUICK = ClusterPlan(Plan(processes=1, round_seconds=0.1, cell_seconds=0.5), (2, 4), members=400, joins=20)


async def measure(plan: ClusterPlan) -> list[Row]:
    """Everything, on a Redis of its own."""
    raise_open_files()
    with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder)) as redis:
        return [*await _calls(redis, plan.relay), *await _commands(redis, plan.counted), await _joins(redis, plan)]


@contextlib.contextmanager
def nodes(redis: Redis, count: int) -> Generator[list[ServerProcess]]:
    """So many nodes of a new cluster."""
    prefix = secrets.token_hex(4)
    _command(redis, f"SET {{{prefix}}}:run {_info(redis, 'server')['run_id']}")  # a cluster that is not new: no pause
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(running("node", redis.url, prefix)) for _ in range(count)]


# ---------------------------------------------------------------------------------------------------------------- calls


async def _calls(redis: Redis, plan: Plan) -> list[Row]:
    cells = {(where, concurrency): list[Pair]() for where in ("scattered", "affinity") for concurrency in (1, 32)}
    for _ in range(plan.processes):
        async with contextlib.AsyncExitStack() as stack:
            alone = await stack.enter_async_context(Caller.on(stack.enter_context(running("ours"))))
            first, second = stack.enter_context(nodes(redis, 2))
            callers = {
                "scattered": await stack.enter_async_context(Caller.on(first, second)),
                "affinity": await stack.enter_async_context(Caller.on(*stack.enter_context(nodes(redis, 1)))),
            }
            for (where, concurrency), pairs in cells.items():
                pairs += await measure_cell(alone, callers[where], payload(100), concurrency, plan)
    rows = list[Row]()
    for (where, concurrency), pairs in cells.items():
        floor, ours = median(pair[0].cpu for pair in pairs), median(pair[1].cpu for pair in pairs)
        ratio = median(pair[1].cpu / pair[0].cpu for pair in pairs)
        target = SCATTERED_CPU if where == "scattered" else AFFINITY_CPU
        what = f"{where}, 100 B × {concurrency:<2} CPU of all nodes per call"
        rows.append(Row(what, _micro(floor), _micro(ours), ratio, target))
    pairs = cells["scattered", 1]
    floor, ours = median(pair[0].p50 for pair in pairs), median(pair[1].p50 for pair in pairs)
    what = "scattered, 100 B × 1  p50 (ratio: ms more)"
    rows.append(Row(what, _micro(floor), _micro(ours), (ours - floor) * 1000, SCATTERED_MORE_MS))
    return rows


# ------------------------------------------------------------------------------------------------------------- commands


async def _commands(redis: Redis, counts: Sequence[int]) -> list[Row]:
    rows = list[Row]()
    first: float | None = None
    for count in counts:
        with nodes(redis, count) as servers:
            scattered = await _commands_per_call(redis, servers[0], servers[-1])
            alone = await _commands_per_call(redis, servers[0])
        first = scattered if first is None else first
        what = f"commands of Redis per call, {count} nodes (ratio: more than with {counts[0]})"
        rows.append(Row(what, "-", f"{scattered:.2f}", scattered - first, SAME_COMMANDS))
        what = f"commands of Redis per call, {count} nodes, affinity (ratio: commands)"
        rows.append(Row(what, "-", f"{alone:.2f}", alone, SAME_COMMANDS))
    return rows


async def _commands_per_call(redis: Redis, *servers: ServerProcess) -> float:
    async with Caller.on(*servers) as caller:
        await caller.run(payload(100), 8, 1)
        before = _published(redis)
        await caller.run(payload(100), COUNTED_CALLS, 32)
        return (_published(redis) - before) / COUNTED_CALLS


def _published(redis: Redis) -> int:
    # Only what nodes send: the scripts of their beats, which are few, run other commands.
    stats = _info(redis, "commandstats")
    used = (stats.get(f"cmdstat_{name}", "calls=0") for name in ("publish", "client|reply", "evalsha"))
    return sum(int(line.partition("calls=")[2].partition(",")[0]) for line in used)


def _info(redis: Redis, section: str) -> dict[str, str]:
    return dict(line.split(":", 1) for line in _command(redis, f"INFO {section}").splitlines() if ":" in line)


def _command(redis: Redis, command: str) -> str:
    with socket.create_connection(("127.0.0.1", redis.port)) as connection, connection.makefile("rwb") as stream:
        stream.write(f"{command}\r\n".encode())
        stream.flush()
        line = stream.readline().decode()
        return stream.read(int(line[1:])).decode() if line.startswith("$") else line


# ---------------------------------------------------------------------------------------------------------------- joins


async def _joins(redis: Redis, plan: ClusterPlan) -> Row:
    with running("ours") as alone:
        floor = await _join_seconds([alone], plan)
    with nodes(redis, 4) as servers:
        ours = await _join_seconds(servers, plan)
    what = f"join and leave, {plan.members:,} members in offices of 100, 4 nodes"
    return Row(what, _micro(floor), _micro(ours), ours / floor, JOIN_TARGET)


async def _join_seconds(servers: Sequence[ServerProcess], plan: ClusterPlan) -> float:
    async with _crowd(servers, plan.members):
        newcomer = await Wire.connect(servers[0].port)
        found = list[float]()
        for number in range(plan.joins):
            office = f"office-{number % (plan.members // 100)}"
            started = time.perf_counter()
            await newcomer.join("computer", "newcomer", office)
            await newcomer.ask(smcp.LEAVE_OFFICE_EVENT, {"office_id": office})
            found.append(time.perf_counter() - started)
        newcomer.close()
    return median(found)


@contextlib.asynccontextmanager
async def _crowd(servers: Sequence[ServerProcess], members: int) -> AsyncGenerator[None]:
    wires = list[Wire]()
    gate = asyncio.Semaphore(CONCURRENT_CONNECTS)

    async def enter(number: int) -> None:
        async with gate:
            wire = await Wire.connect(servers[number % len(servers)].port)
            wires.append(wire)
            await wire.join("computer", f"computer-{number}", f"office-{number // 100}")

    try:
        async with asyncio.TaskGroup() as tasks:
            for number in range(members):
                tasks.create_task(enter(number))
        yield
    finally:
        for wire in wires:
            wire.close()


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"
