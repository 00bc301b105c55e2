"""What an idle member costs in memory: growth of the server process while thousands of them connect and join."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Sequence
from statistics import median

from benchmarks.servers import running
from benchmarks.support import Row
from benchmarks.wire import Wire

KINDS = ("floor", "ours")
OFFICES = 20
TARGET = 0.5

_WARM_UP = 200
_AT_ONCE = 25
_SETTLE = 1.0
_FILES = 8_192


async def measure(members: int, repeats: int) -> list[Row]:
    """Fresh processes each time: memory that was returned once is never quite the same again."""
    allow_files()
    grown: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(repeats):
        for kind in KINDS if number % 2 else reversed(KINDS):
            grown[kind].append(await bytes_per_member(kind, members))
    floor, ours = median(grown["floor"]), median(grown["ours"])
    return [Row(f"memory per idle member, of {members:,}", _kilo(floor), _kilo(ours), ours / floor, TARGET)]


async def bytes_per_member(kind: str, members: int) -> float:
    """The growth between a server that has met some members and the same server with all of them."""
    with running(kind) as server:
        wires: list[Wire] = []
        try:
            wires += await _seat(server.port, "warm-up", _WARM_UP)
            before = server.resident_bytes()
            wires += await _seat(server.port, "member", members)
            return (server.resident_bytes() - before) / members
        finally:
            for wire in wires:
                wire.close()


async def _seat(port: int, prefix: str, count: int) -> Sequence[Wire]:
    """Connect and join that many, a few at a time, and let the server come to rest."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def seat(number: int) -> Wire:
        async with gate:
            wire = await Wire.connect(port)
            await wire.join("computer", f"{prefix}-{number}", f"{prefix}-office-{number % OFFICES}")
            return wire

    wires = await asyncio.gather(*map(seat, range(count)))
    await asyncio.sleep(_SETTLE)
    return wires


def allow_files() -> None:
    """Let this process, and the servers it starts, open as many files as there are members."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FILES:
        limit = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def _kilo(size: float) -> str:
    return f"{size / 1_000:.1f} kB"
