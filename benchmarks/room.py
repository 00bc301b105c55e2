"""What it costs to fill one room: every join is announced to everybody who is there already."""

from __future__ import annotations

import asyncio
from statistics import median

from benchmarks.members import allow_files
from benchmarks.servers import running
from benchmarks.support import Row
from benchmarks.wire import Wire

KINDS = ("floor", "ours")
TARGET = 0.5

_AT_ONCE = 25


async def measure(members: int, repeats: int, floor: str) -> list[Row]:
    """Fresh processes each time, in turns."""
    allow_files()
    used: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(repeats):
        for kind in KINDS if number % 2 else reversed(KINDS):
            used[kind].append(await seconds(floor if kind == "floor" else kind, members))
    theirs, ours = median(used["floor"]), median(used["ours"])
    what = f"{members:,} joins into one room, CPU"
    return [Row(what, f"{theirs:.2f} s", f"{ours:.2f} s", ours / theirs, TARGET)]


async def seconds(kind: str, members: int) -> float:
    """CPU time of the server from the first join until everybody has heard of everybody."""
    with running(kind) as server:
        heard = 0
        is_quiet = asyncio.Event()

        def hear(_: bytes) -> None:
            nonlocal heard
            heard += 1
            if heard == members * (members - 1) // 2:
                is_quiet.set()

        wires = await asyncio.gather(*(Wire.connect(server.port) for _ in range(members)))
        gate = asyncio.Semaphore(_AT_ONCE)

        async def join(number: int, wire: Wire) -> None:
            wire.receive = hear
            async with gate:
                await wire.join("computer", f"computer-{number}", "office")

        try:
            before = server.cpu_seconds()
            await asyncio.gather(*(join(number, wire) for number, wire in enumerate(wires)))
            async with asyncio.timeout(120):
                await is_quiet.wait()
            return server.cpu_seconds() - before
        finally:
            for wire in wires:
                wire.close()
