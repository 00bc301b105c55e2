"""The Server's limits for one client, and the token bucket that enforces its request rate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The Server's limits. A number of 0 lifts a rate or connection limit."""

    message_bytes: int = 10_000_000
    """The largest message that is relayed."""
    requests_per_second: float = 2_000
    """Requests that one connection may send per second, over time."""
    request_burst: int = 4_000
    """Requests that one connection may send at once."""
    calls_in_flight: int = 1_000
    """Relayed requests of one connection that wait for their answer."""
    connections_per_ip: int = 100
    """Connections from one address; loopback is exempt."""
    name_length: int = 256
    """Characters in a name or an id."""
    tool_timeout: int = 3_600
    """The largest `timeout` a request may carry, in seconds."""
    default_timeout: int = 60
    """Seconds for a relayed request that carries no `timeout` of its own."""
    entry_timeout: float = 10
    """Seconds a transport connection may stay outside every namespace."""
    authentication_timeout: float = 10
    """Seconds for an authentication provider to decide."""
    body_timeout: float = 10
    """Seconds for the body of an HTTP request to arrive."""
    grant_interval: float = 2
    """Seconds between two checks of the credentials of open connections."""
    timeout_grace: float = 5
    """Seconds the Server waits beyond a request's timeout, so that the Computer's own answer comes first."""


class TokenBucket:
    """A token bucket: `burst` requests at once, `rate` requests a second over time.

    It fills when it is asked, from the time that passed, so that it needs no timer: a Server has one for each
    connection.
    """

    __slots__ = ("_burst", "_rate", "_then", "_tokens")

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        # At least 1: the bucket never holds more than the burst, and a request needs a whole token.
        self._burst = float(max(burst, 1))
        self._tokens = self._burst
        self._then = 0.0

    def limit(self, rate: float, burst: int) -> None:
        """Change rate and burst; tokens that were taken stay taken."""
        before, self._rate, self._burst = self._burst, rate, float(max(burst, 1))
        self._tokens = min(self._tokens + max(0.0, self._burst - before), self._burst)

    def take(self, now: float) -> bool:
        """Take one token at `now` (seconds on a monotonic clock); False when the bucket is empty."""
        if self._rate <= 0:
            return True
        tokens = min(self._burst, self._tokens + (now - self._then) * self._rate)
        self._then = now
        if tokens < 1:
            # Keep the fraction. Otherwise a client that retries faster than tokens arrive would discard its progress
            # each time, and would never get a token again.
            self._tokens = tokens
            return False
        self._tokens = tokens - 1
        return True

    @property
    def wait(self) -> float:
        """Seconds until there is a token again, counted from the last `take`."""
        return 0.0 if self._rate <= 0 else max(0.0, 1 - self._tokens) / self._rate
