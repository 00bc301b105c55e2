"""What a Computer costs that nobody asks anything: CPU time over a window, MCP servers and watchdog included."""

from __future__ import annotations

import asyncio
import time

from benchmarks.computers import computing
from benchmarks.mcp_servers import arguments
from benchmarks.servers import running
from benchmarks.support import Row

SERVERS = 20
TARGET = 1.0
"""Per cent of one core."""

_SETTLE = 1.0


async def measure(seconds: float) -> list[Row]:
    """A window of over 30 s holds a ping to every MCP server, and one from the Server."""
    with running("ours") as server, computing("ours", server.port, arguments(SERVERS)) as computer:
        await asyncio.sleep(_SETTLE)
        started, cpu = time.perf_counter(), computer.cpu_seconds()
        await asyncio.sleep(seconds)
        share = 100 * (computer.cpu_seconds() - cpu) / (time.perf_counter() - started)
    what = f"idle with {SERVERS} MCP servers, over {seconds:g} s (ratio: per cent)"
    return [Row(what, "-", f"{share:.2f} %", share, TARGET)]
