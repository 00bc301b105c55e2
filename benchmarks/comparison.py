"""What a relayed call costs one Server without Redis, beside the same Server of an earlier version."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path
from statistics import median

from benchmarks.relay import Caller, Pair, Plan, measure_cell, payload
from benchmarks.servers import ROOT, running
from benchmarks.support import Row

TARGET = 1.02
FULL = Plan(processes=5, round_seconds=0.25, cell_seconds=4.0)


async def measure(commit: str, plan: Plan) -> list[Row]:
    """One call at a time, and 32."""
    pairs = {concurrency: list[Pair]() for concurrency in (1, 32)}
    with checkout(commit) as earlier:
        for _ in range(plan.processes):
            async with contextlib.AsyncExitStack() as stack:
                servers = [stack.enter_context(running("ours", root=root)) for root in (earlier, ROOT)]
                before, now = [await stack.enter_async_context(Caller.on(server)) for server in servers]
                for concurrency, found in pairs.items():
                    found += await measure_cell(before, now, payload(100), concurrency, plan)
    return [_row(commit, concurrency, found) for concurrency, found in pairs.items()]


def _row(commit: str, concurrency: int, pairs: list[Pair]) -> Row:
    before, now = (median(pair[number].cpu for pair in pairs) * 1e6 for number in range(2))
    ratio = median(pair[1].cpu / pair[0].cpu for pair in pairs)
    what = f"relay  100 B × {concurrency:<3} CPU per call (floor: at {commit})"
    return Row(what, f"{before:,.0f} µs", f"{now:,.0f} µs", ratio, TARGET)


@contextlib.contextmanager
def checkout(commit: str) -> Generator[Path]:
    """The source of an earlier version."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "earlier"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(place), commit], cwd=ROOT, check=True)
        try:
            yield place
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(place)], cwd=ROOT, check=True)
