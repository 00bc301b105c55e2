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

RATE, BURST = 100.0, 1_000
"""Requests a second, and at once."""
AT_ONCE = 256
"""Requests that run at the same time, streams included."""
MOST_KEPT = 10_000


class Principals:
    """The buckets and counters of all principals."""

    def __init__(self, rate: float = RATE, burst: int = BURST, at_once: int = AT_ONCE) -> None:
        self._rate, self._burst, self._at_once = rate, burst, at_once
        self._buckets: dict[str, TokenBucket] = {}
        self._running: Counter[str] = Counter()

    @contextlib.contextmanager
    def serving(self, subject: str) -> Generator[None]:
        """Count a request of a principal while it runs.

        Raises:
            RateLimitedError: there are too many.
        """
        bucket = self._buckets.pop(subject, None) or TokenBucket(self._rate, self._burst)
        self._buckets[subject] = bucket  # the latest last
        while len(self._buckets) > MOST_KEPT:
            del self._buckets[next(iter(self._buckets))]
        if not bucket.take(time.monotonic()):
            raise RateLimitedError(f"more than {self._rate:g} requests a second", details={"retry_after": bucket.wait})
        if self._running[subject] >= self._at_once:
            raise RateLimitedError(f"more than {self._at_once} requests at the same time")
        self._running[subject] += 1
        try:
            yield
        finally:
            self._running[subject] -= 1
            if not self._running[subject]:
                del self._running[subject]
