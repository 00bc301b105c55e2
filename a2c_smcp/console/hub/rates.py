"""The numbers of the Server, now and every second."""

from __future__ import annotations

import asyncio
import time
from collections import deque

from a2c_smcp import __version__
from a2c_smcp.console.hub.recording import KEEP_SECONDS, Recording
from a2c_smcp.console.hub.shapes import Rates, Status
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.console.web.streams import Feed
from a2c_smcp.server.administration import Administration
from a2c_smcp.server.metrics import Totals

TOPIC = "rates"
SECONDS = 1.0
HISTORY = 120
_TYPICAL = 0.95


class Numbers:
    """Reads the numbers of the Server."""

    def __init__(self, administration: Administration, node: str | None, *, has_gateway: bool) -> None:
        self._administration = administration
        self._node = node
        self._has_gateway = has_gateway

    def members(self) -> tuple[int, int, int]:
        """The numbers of offices, Agents and Computers."""
        offices, agents, computers = set[str](), 0, 0
        for seated in self._administration.members():
            offices.add(seated.member.office)
            agents += seated.member.role == "agent"
            computers += seated.member.role == "computer"
        return len(offices), agents, computers

    async def status(self, asked: Asked) -> Status:
        """The Server as it is now."""
        administration = self._administration
        totals = administration.totals()
        offices, agents, computers = self.members()
        return {
            "version": __version__,
            "uptime_seconds": time.time() - administration.began,
            "is_draining": administration.is_draining,
            "node": self._node,
            "offices": offices,
            "agents": agents,
            "computers": computers,
            "connections": administration.connections,
            "running_calls": len(administration.calls()),
            "calls": totals.calls,
            "failed_calls": totals.failed,
            "mean_seconds": totals.seconds / totals.calls if totals.calls else None,
            "has_gateway": self._has_gateway,
            "has_key_file": administration.key_file is not None,
            "can_drain": administration.stop is not None,
        }


class RateSource:
    """Publishes the rates of each second, as the difference of the totals that the Server counts anyway."""

    def __init__(self, administration: Administration, numbers: Numbers, keep_seconds: float = KEEP_SECONDS) -> None:
        self._administration = administration
        self._numbers = numbers
        self._recording = Recording(self._begin, self._end, keep_seconds)
        self.feed: Feed | None = None
        self._before = Totals()
        self._at = 0.0
        self._history: deque[Rates] = deque(maxlen=HISTORY)
        self._measured = asyncio.Event()
        """Set after the first second."""
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """See `Source`."""
        self._recording.follow()

    def stop(self) -> None:
        """See `Source`."""
        self._recording.unfollow()

    def close(self) -> None:
        """Record no more."""
        self._recording.close()

    def _begin(self) -> None:
        self._administration.count()
        self._history.clear()
        self._measured.clear()
        self._before, self._at = self._administration.totals(), time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(SECONDS, self._tell)

    def _end(self) -> None:
        self._administration.count_no_more()
        self._measured.set()  # nobody has to wait for what does not come any more
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(SECONDS, self._tell)
        totals, now = self._administration.totals(), time.monotonic()
        before, passed = self._before, now - self._at
        self._before, self._at = totals, now
        offices, agents, computers = self._numbers.members()
        calls = totals.calls - before.calls
        rates: Rates = {
            "at": time.time(),
            "calls_per_second": round(calls / passed, 2),
            "failures_per_second": round((totals.failed - before.failed) / passed, 2),
            "mean_seconds": (totals.seconds - before.seconds) / calls if calls else None,
            "p95_seconds": _typical(before, totals),
            "running_calls": len(self._administration.calls()),
            "offices": offices,
            "agents": agents,
            "computers": computers,
            "connections": self._administration.connections,
        }
        self._history.append(rates)
        self._measured.set()
        if self._recording.is_followed and self.feed is not None:
            self.feed.publish(TOPIC, "rates", rates)

    async def show(self, asked: Asked) -> list[Rates]:
        """The last two minutes, as far as somebody looked. If nobody follows, the first request waits a second."""
        self._recording.look()
        if not self._recording.is_followed:
            await self._measured.wait()
        return list(self._history)


def _typical(before: Totals, after: Totals) -> float | None:
    """What 19 of 20 calls took at most: the bound of the first bucket of the histogram that has so many."""
    earlier = dict(before.within)
    counts = [(bound, count - earlier.get(bound, 0)) for bound, count in after.within]
    whole = counts[-1][1] if counts else 0
    if not whole:
        return None
    bound = next(bound for bound, count in counts if count >= _TYPICAL * whole)
    return bound if bound != float("inf") else None
