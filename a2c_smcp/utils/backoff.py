"""The delays between attempts of something that fails: each longer than the one before, up to a limit."""

from __future__ import annotations

import random

JITTER = 0.25


class Backoff:
    """Delays in seconds that start with `first` and grow by `factor` up to `longest`.

    Each delay varies at random by the fraction `jitter`, in both directions: clients that lost the same Server at the
    same moment would otherwise all come back at the same moments, and overload it again and again.
    """

    __slots__ = ("_failures", "factor", "first", "jitter", "longest")

    def __init__(self, first: float, longest: float, *, factor: float = 2.0, jitter: float = JITTER) -> None:
        self.first = first
        self.longest = longest
        self.factor = factor
        self.jitter = jitter
        self._failures = 0

    def next(self) -> float:
        """Count one more failure; return the seconds to wait after it."""
        self._failures += 1
        return self.after(self._failures)

    def reset(self) -> None:
        """Start again with the first delay: an attempt succeeded."""
        self._failures = 0

    def after(self, failures: int) -> float:
        """The seconds to wait after this number of failures in a row, for callers that count them."""
        # The exponent is limited, because 2.0 ** 1024 raises an OverflowError, and a client that retries for days gets
        # that far.
        delay = min(self.first * self.factor ** min(failures - 1, 64), self.longest)
        return max(0.0, delay * random.uniform(1 - self.jitter, 1 + self.jitter))
