"""Delays the answers to rejected credentials more and more, and checks accepted credentials again from time to time.

The hub accepts, rejects and disconnects clients. This module only counts, checks and sets the times.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from a2c_smcp.protocol.grants import Grant
from a2c_smcp.utils.backoff import Backoff

FREE_GUESSES = 10
"""Rejected credentials of one address that are answered at once; many people may share an address."""
_DELAYS = Backoff(0.2, 5.0, jitter=0)
"""After these, each answer waits twice as long as the one before: guessing becomes slow, a typing error does not."""
FORGIVEN_AFTER = 60.0
"""Seconds without a rejection after which an address starts again with none."""
MOST_ADDRESSES = 10_000
"""Addresses that are remembered. The one with the oldest rejection is forgotten first; the dict is in that order."""


class Guesses:
    """The rejected credentials of each address. Safe in threads."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def delay(self, address: str, now: float) -> float:
        """Count one more rejection; the seconds by which to delay its answer."""
        with self._lock:
            count, last = self._counts.get(address, (0, now))
            count = 1 if now - last > FORGIVEN_AFTER else count + 1
            # Removed and added again, so that the dict stays in the order of the last rejections: the oldest address is
            # found without a search, which would be slowest while the Server is attacked.
            self._counts.pop(address, None)
            self._counts[address] = count, now
            if len(self._counts) > MOST_ADDRESSES:
                del self._counts[next(iter(self._counts))]
        return 0.0 if count <= FREE_GUESSES else _DELAYS.after(count - FREE_GUESSES)


class GrantWatch:
    """Checks the credentials of open connections from time to time, while one of them can expire. Safe in threads.

    `grants` returns the grant of each open connection by its sid. `on_end` gets the sid of each expired one.
    """

    def __init__(
        self,
        interval: float,
        set_timer: Callable[[float, Callable[[], None]], object],
        grants: Callable[[], Mapping[str, Grant]],
        on_end: Callable[[str], None],
    ) -> None:
        self._interval = interval
        self._set_timer = set_timer
        self._grants = grants
        self._on_end = on_end
        self._is_watching = False
        self._lock = threading.Lock()

    def begin(self) -> None:
        """A connection was accepted whose credential can expire."""
        with self._lock:
            if self._is_watching:
                return
            self._is_watching = True
        self._set_timer(self._interval, self._check)

    def _check(self) -> None:
        # Cleared before the grants are read. A connection that is accepted after they were read starts the next check
        # itself; cleared afterwards, its `begin` could fall into the gap and do nothing.
        with self._lock:
            self._is_watching = False
        ending = {sid: grant for sid, grant in self._grants().items() if grant.holds is not None}
        if ending:
            # First: `holds` may be a function of the host program. If it raises, the checks must go on.
            self.begin()
        for sid, grant in ending.items():
            if grant.holds is not None and not grant.holds():
                self._on_end(sid)
