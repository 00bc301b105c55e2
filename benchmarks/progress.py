"""What the progress of ten tool calls costs the Server: each reports ten times a second to the Agent of its office."""

from __future__ import annotations

import asyncio
from statistics import median

import orjson

from a2c_smcp import smcp
from benchmarks.servers import running
from benchmarks.support import Row
from benchmarks.wire import EVENT, Wire

RATE = 100
CALLS = 10
TARGET = 0.01
"""Of one core."""


async def measure(seconds: float, repeats: int) -> list[Row]:
    """The share of a core that the Server uses beyond what it uses while the same connections are idle."""
    shares = [await _share(seconds) for _ in range(repeats)]
    share = median(shares)
    shown = f"{share:.2%} of a core"
    # The ratio is the share itself: its floor is a Server without anything to do, which uses nothing.
    return [Row(f"{RATE} progress reports a second, CPU", "–", shown, share / TARGET, 1.0)]


async def _share(seconds: float) -> float:
    with running("ours") as server:
        agent, computer = await Wire.connect(server.port), await Wire.connect(server.port)
        heard = 0

        def hear(_: bytes) -> None:
            nonlocal heard
            heard += 1

        try:
            await agent.join("agent", "agent", "office")
            await computer.join("computer", "computer", "office")
            await asyncio.sleep(0.2)  # the notification of the join
            idle = server.cpu_seconds()
            await asyncio.sleep(seconds)
            before = server.cpu_seconds()
            agent.receive = hear
            for number in range(round(seconds * RATE / CALLS)):
                for call in range(CALLS):
                    report = smcp.ToolCallProgress(
                        computer="computer", req_id=f"{call:032}", progress=number, total=1_000, message="copying files"
                    )
                    computer.send(EVENT + orjson.dumps([smcp.TOOL_CALL_PROGRESS_EVENT, report]))
                await asyncio.sleep(CALLS / RATE)
            await asyncio.sleep(0.2)
            after = server.cpu_seconds()
        finally:
            agent.close()
            computer.close()
    if heard != round(seconds * RATE / CALLS) * CALLS:
        raise RuntimeError(f"{heard} of {round(seconds * RATE)} reports arrived")
    return max((after - before) - (before - idle), 0.0) / seconds
