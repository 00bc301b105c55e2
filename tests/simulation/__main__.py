"""`python -m tests.simulation --seeds 100000`: random histories of a cluster, until one breaks a rule."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.history import random_history, run, shortest


def broken(seeds: range) -> tuple[int, list[str]] | None:
    """The first of these seeds whose history breaks a rule, and the rule."""
    for seed in seeds:
        problems = run(seed, random_history(seed))
        if problems:
            return seed, problems
    return None


def report(seed: int) -> str:
    """The shortest history of a seed that breaks a rule."""
    history = shortest(seed, random_history(seed))
    return "\n".join([f"seed {seed}:", *map(str, history), *run(seed, history)])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="how many histories")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    started, batch = time.monotonic(), 50
    last = options.first + options.seeds
    logging.disable()  # the Servers of a history log every failure that the history causes
    with ProcessPoolExecutor(os.cpu_count(), initializer=logging.disable) as pool:
        batches = [range(first, min(first + batch, last)) for first in range(options.first, last, batch)]
        for done, found in enumerate(pool.map(broken, batches), 1):
            if sys.stderr.isatty():
                print(f"\r{min(done * batch, options.seeds):,} of {options.seeds:,} seeds", end="", file=sys.stderr)
            if found is not None:
                pool.shutdown(cancel_futures=True)
                print(f"\n{report(found[0])}")
                return 1
    print(f"\n{options.seeds:,} histories, no rule broken, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
