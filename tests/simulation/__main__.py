"""`python -m tests.simulation --seeds 100000`: random histories of a cluster, until one breaks a rule."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.history import random_history, report, run

BATCH = 50
REPORT_SECONDS = 10.0
"""Between two reports of the progress to a file."""


def broken(seeds: range) -> tuple[int, list[str]] | None:
    """The first of these seeds whose history breaks a rule, and the rule."""
    # Between the batches only: in a history, it takes an eighth of the time.
    gc.disable()
    for seed in seeds:
        problems = run(seed, random_history(seed))
        if problems:
            return seed, problems
    gc.collect()
    return None


class Progress:
    """Tells on standard error how many histories have run: in one line of a terminal, and else now and then."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._started = self._told = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def show(self, done: int) -> None:
        is_terminal, now = sys.stderr.isatty(), time.monotonic()
        if not is_terminal and now - self._told < REPORT_SECONDS:
            return
        self._told = now
        rest = self.seconds / done * (self._count - done)
        text = f"{done:,} of {self._count:,} seeds, {rest / 60:.0f} min left"
        print(f"\r{text} " if is_terminal else text, end="" if is_terminal else "\n", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="how many histories")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    last = options.first + options.seeds
    logging.disable()  # the Servers of a history log every failure that the history causes
    progress = Progress(options.seeds)
    with ProcessPoolExecutor(os.cpu_count(), initializer=logging.disable) as pool:
        batches = [range(first, min(first + BATCH, last)) for first in range(options.first, last, BATCH)]
        for done, found in enumerate(pool.map(broken, batches), 1):
            progress.show(min(done * BATCH, options.seeds))
            if found is not None:
                pool.shutdown(wait=False, cancel_futures=True)
                print(f"\n{report(found[0])}")
                return 1
    print(f"\n{options.seeds:,} histories, no rule broken, {progress.seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
