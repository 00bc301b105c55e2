"""Limits of the principals behind hosts: requests a second, and requests at the same time, for each of them.

All hosts of an office share one Agent seat. Without limits of its own, one host could use up what the seat may do.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Generator

from a2c_smcp.errors import RateLimitedError
from a2c_smcp.protocol.limits import TokenBucket

MOST_KEPT = 10_000


class Principals:
    """The buckets and counters of all principals: `rate` requests a second, `burst` at once, of which `at_once` may run
    at the same time, beside `streams` of notifications."""

    def __init__(self, rate: float, burst: int, at_once: int, streams: int) -> None:
        self._rate, self._burst = rate, burst
        self._most = {False: at_once, True: streams}
        self._buckets: dict[str, TokenBucket] = {}
        self._running: Counter[tuple[str, bool]] = Counter()

    @contextlib.contextmanager
    def serving(self, principal: str, *, is_stream: bool = False) -> Generator[None]:
        """Count a request of a principal while it runs.

        Raises:
            RateLimitedError: there are too many.
        """
        bucket = self._buckets.pop(principal, None) or TokenBucket(self._rate, self._burst)
        self._buckets[principal] = bucket  # the latest last
        while len(self._buckets) > MOST_KEPT:
            del self._buckets[next(iter(self._buckets))]
        if not bucket.take(time.monotonic()):
            raise RateLimitedError(f"more than {self._rate:g} requests a second", details={"retry_after": bucket.wait})
        key = principal, is_stream
        if self._running[key] >= self._most[is_stream]:
            what = "streams" if is_stream else "requests"
            raise RateLimitedError(f"more than {self._most[is_stream]} {what} at the same time")
        self._running[key] += 1
        try:
            yield
        finally:
            self._running[key] -= 1
            if not self._running[key]:
                del self._running[key]
