"""How long a Computer takes to start its MCP servers, beside the plainest client that starts them side by side."""

from __future__ import annotations

import time
from statistics import median

from a2c_smcp.computer import Computer
from benchmarks.mcp_servers import arguments, configs, direct_sessions
from benchmarks.support import Row

SERVERS = 20
TARGET = 1.2


async def measure(rounds: int) -> list[Row]:
    """In turns, from the same process; stopping is not part of it."""
    pairs: list[tuple[float, float]] = []
    for number in range(rounds):
        if number % 2:
            floor, ours = await _start_plain(), await _start_computer()
        else:
            ours, floor = await _start_computer(), await _start_plain()
        pairs.append((floor, ours))
    floors, all_ours = [floor for floor, _ in pairs], [ours for _, ours in pairs]
    return [
        Row(
            f"starting {SERVERS} MCP servers",
            f"{median(floors) * 1e3:,.0f} ms",
            f"{median(all_ours) * 1e3:,.0f} ms",
            median(all_ours) / median(floors),
            TARGET,
        )
    ]


async def _start_plain() -> float:
    lines = arguments(SERVERS)
    started = time.perf_counter()
    async with direct_sessions(lines):
        return time.perf_counter() - started


async def _start_computer() -> float:
    servers = configs(arguments(SERVERS))
    started = time.perf_counter()
    async with Computer("computer", mcp_servers=servers) as computer:
        took = time.perf_counter() - started
        if not all(status.active for status in computer.status):
            raise RuntimeError(f"not all MCP servers started: {computer.status}")
        return took
