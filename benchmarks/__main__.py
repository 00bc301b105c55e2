"""`python -m benchmarks`: every number beside its floor, and exit code 1 when a target is missed."""

from __future__ import annotations

import argparse
import sys
import time

import uvloop

from benchmarks import (
    asking,
    calls,
    cluster,
    comparison,
    console,
    desktop,
    documents,
    finder,
    gateway,
    idle,
    imports,
    joining,
    members,
    progress,
    relay,
    room,
    starting,
    storm,
    tools,
)
from benchmarks.support import Row, table

SERVER = ("joining", "members", "room", "relay", "progress", "console")
COMPUTER = ("calls", "tools", "desktop", "finder", "starting", "idle")
AGENT = ("asking", "storm", "imports")
GATEWAY = ("gateway",)
DOCUMENTS = ("documents",)
CLUSTER = ("cluster",)
PARTS = (*SERVER, *CLUSTER, *COMPUTER, *AGENT, *GATEWAY, *DOCUMENTS)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: fewer and shorter rounds, noisy numbers")
    parser.add_argument("--only", choices=PARTS, help="measure only this")
    parser.add_argument("--no-fail", action="store_true", help="exit with 0 even if a target is missed")
    parser.add_argument("--lean", action="store_true", help="a floor that does not search payloads for bytes")
    parser.add_argument(
        "--against", metavar="COMMIT", help="measure only the CPU time of a relayed call, beside an earlier version"
    )
    options = parser.parse_args()

    started = time.perf_counter()
    rows: list[Row] = []
    if options.against is not None:
        options.only = "against"
        rows += uvloop.run(comparison.measure(options.against, relay.QUICK if options.quick else comparison.FULL))
    if options.only in (None, "joining"):
        rows += joining.measure(batches=20 if options.quick else 150)
    if options.only in (None, "members"):
        rows += uvloop.run(members.measure(500, repeats=1) if options.quick else members.measure(2_000, repeats=2))
    floor = "lean" if options.lean else "floor"
    if options.only in (None, "room"):
        rows += uvloop.run(room.measure(200 if options.quick else 1_000, 1 if options.quick else 3, floor))
    if options.only in (None, "relay"):
        rows += uvloop.run(relay.measure(relay.QUICK if options.quick else relay.FULL, floor))
    if options.only in (None, "progress"):
        rows += uvloop.run(progress.measure(2 if options.quick else 10, 1 if options.quick else 3))
    if options.only in (None, "console"):
        rows += uvloop.run(console.measure(console.QUICK if options.quick else console.FULL))
    if options.only in (None, "cluster"):
        rows += uvloop.run(cluster.measure(cluster.QUICK if options.quick else cluster.FULL))
    if options.only in (None, "calls"):
        rows += uvloop.run(calls.measure(calls.QUICK if options.quick else calls.FULL, floor))
    if options.only in (None, "tools"):
        rows += uvloop.run(tools.measure(4 if options.quick else 20, floor))
    if options.only in (None, "desktop"):
        rows += uvloop.run(desktop.measure(desktop.QUICK if options.quick else desktop.FULL, floor))
    if options.only in (None, "finder"):
        rows += uvloop.run(finder.measure(finder.QUICK if options.quick else finder.FULL, floor))
    if options.only in (None, "starting"):
        rows += uvloop.run(starting.measure(rounds=2 if options.quick else 9))
    if options.only in (None, "idle"):
        rows += uvloop.run(idle.measure(seconds=3 if options.quick else 35))
    if options.only in (None, "asking"):
        rows += asking.measure(asking.QUICK if options.quick else asking.FULL, floor)
    if options.only in (None, "storm"):
        rows += uvloop.run(storm.measure(starts=1 if options.quick else 3))
    if options.only in (None, "gateway"):
        rows += uvloop.run(gateway.measure(gateway.QUICK if options.quick else gateway.FULL))
    if options.only in (None, "imports"):
        rows += imports.measure(rounds=3 if options.quick else 15)
    if options.only in (None, "documents"):
        rows += uvloop.run(documents.measure(documents.QUICK if options.quick else documents.FULL))

    print(table(rows))
    missed = sum(not row.ok for row in rows)
    targets = sum(row.target is not None for row in rows)
    print(f"\n{targets - missed} of {targets} targets met in {time.perf_counter() - started:.0f} s")
    return 1 if missed and not options.no_fail else 0


if __name__ == "__main__":
    sys.exit(main())
