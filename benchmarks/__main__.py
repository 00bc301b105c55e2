"""`python -m benchmarks`: every number beside its floor, and exit code 1 when a target is missed."""

from __future__ import annotations

import argparse
import sys
import time

import uvloop

from benchmarks import joining, members, relay
from benchmarks.support import Row, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: fewer and shorter rounds, noisy numbers")
    parser.add_argument("--only", choices=["relay", "members", "joining"], help="measure only this")
    parser.add_argument("--no-fail", action="store_true", help="exit with 0 even if a target is missed")
    parser.add_argument("--lean", action="store_true", help="relay: a floor that does not search payloads for bytes")
    options = parser.parse_args()

    started = time.perf_counter()
    rows: list[Row] = []
    if options.only in (None, "joining"):
        rows += joining.measure(batches=20 if options.quick else 150)
    if options.only in (None, "members"):
        rows += uvloop.run(members.measure(500, repeats=1) if options.quick else members.measure(2_000, repeats=2))
    if options.only in (None, "relay"):
        plan = relay.QUICK if options.quick else relay.FULL
        rows += uvloop.run(relay.measure(plan, "lean" if options.lean else "floor"))

    print(table(rows))
    missed = sum(not row.ok for row in rows)
    print(f"\n{len(rows) - missed} of {len(rows)} targets met in {time.perf_counter() - started:.0f} s")
    return 1 if missed and not options.no_fail else 0


if __name__ == "__main__":
    sys.exit(main())
