"""Whether an MCP server that ended is restarted, and when."""

from __future__ import annotations

import time
from collections import deque

from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.utils.backoff import Backoff


class Restarts:
    """The restarts of one server: delayed longer each time, and counted."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._times: deque[float] = deque()
        self._backoff = Backoff(policy.first_delay, policy.longest_delay)

    def next(self, lasted: float) -> float | None:
        """Seconds until the next start of a server that ran for `lasted` seconds; None if it is not restarted."""
        now = time.monotonic()
        while self._times and now - self._times[0] > self._policy.window:
            self._times.popleft()
        if not self._policy.restart or len(self._times) >= self._policy.restarts:
            return None
        # A server that ran for a while was all right: its end is the first failure of a new series. The count in the
        # window still grows, so that a server that crashes every few minutes is given up in the end.
        if lasted > 2 * self._policy.longest_delay:
            self._backoff.reset()
        self._times.append(now)
        return self._backoff.next()
