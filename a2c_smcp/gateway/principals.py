"""Limits of the principals behind hosts: requests a second, and requests, streams and sessions at the same time, for
each of them and in all.

All hosts of an office share one Agent seat. Without limits of its own, one host could use up what the seat may do.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Generator

from a2c_smcp.errors import NotConnectedError, RateLimitedError
from a2c_smcp.gateway.settings import GatewaySettings
from a2c_smcp.protocol.limits import TokenBucket

MOST_KEPT = 10_000
_ALL = ""
"""No principal has this name."""


class Principals:
    """The buckets and counters of all principals."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._buckets: dict[str, TokenBucket] = {}
        self._requests: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()
        self._opening: Counter[str] = Counter()
        """The requests that open a session, and are not answered yet."""

    @property
    def streams(self) -> int:
        """The streams of notifications that are open."""
        return self._streams[_ALL]

    @contextlib.contextmanager
    def serving(self, principal: str, *, is_stream: bool = False) -> Generator[None]:
        """Count a request of a principal while it runs.

        Raises:
            RateLimitedError: there are too many of this principal.
            NotConnectedError: there are too many of all.
        """
        settings = self._settings
        bucket = self._buckets.pop(principal, None) or TokenBucket(settings.requests_per_second, settings.request_burst)
        self._buckets[principal] = bucket  # the latest last
        while len(self._buckets) > MOST_KEPT:
            del self._buckets[next(iter(self._buckets))]
        if not bucket.take(time.monotonic()):
            raise RateLimitedError(
                f"{principal!r} sends more than {settings.requests_per_second:g} requests a second",
                details={"retry_after": bucket.wait},
            )
        if is_stream:
            kind, running, most, in_all = "streams", self._streams, settings.streams_at_once, settings.streams
        else:
            kind, running, most, in_all = "requests", self._requests, settings.requests_at_once, settings.requests
        _check(principal, kind, running[principal], most, running[_ALL], in_all)
        with _counted(running, principal):
            yield

    @contextlib.contextmanager
    def opening(self, principal: str, sessions: int, in_all: int) -> Generator[Callable[[], None]]:
        """Count a request that opens a session of a principal, which has this many, until the session is open. The
        function says that it is.

        Raises:
            RateLimitedError: there are too many of this principal.
            NotConnectedError: there are too many of all.
        """
        # With those that are being opened: many requests that come at once would all find room.
        sessions, in_all = sessions + self._opening[principal], in_all + self._opening[_ALL]
        settings = self._settings
        _check(principal, "sessions", sessions, settings.sessions_of_a_principal, in_all, settings.sessions)
        with contextlib.ExitStack() as counted:
            counted.enter_context(_counted(self._opening, principal))
            yield counted.close


def _check(principal: str, kind: str, its: int, most: int, every: int, in_all: int) -> None:
    if its >= most:
        raise RateLimitedError(f"{principal!r} has {most} {kind} at the same time, which is the limit")
    if every >= in_all:
        raise NotConnectedError(f"the hosts of this Server have {in_all} {kind} at the same time, which is the limit")


@contextlib.contextmanager
def _counted(running: Counter[str], principal: str) -> Generator[None]:
    running[principal] += 1
    running[_ALL] += 1
    try:
        yield
    finally:
        running[_ALL] -= 1
        running[principal] -= 1
        if not running[principal]:
            del running[principal]
