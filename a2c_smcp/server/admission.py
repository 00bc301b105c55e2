"""Admission: how long a rejected client waits, and whether the credentials of admitted clients still hold.

The hub admits and rejects; this module only counts, looks and says when.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from a2c_smcp.protocol.grants import Grant
from a2c_smcp.utils.backoff import Backoff

FREE_GUESSES = 10
"""Rejected credentials of one address that are answered at once …"""
_DELAYS = Backoff(0.2, 5.0, jitter=0)
"""… after which each answer waits twice as long as the one before."""
FORGIVEN_AFTER = 60.0
"""Seconds without a rejection after which an address starts again."""
MOST_ADDRESSES = 10_000
"""Addresses that are remembered. Of more, the one that was silent for longest is forgotten, which takes no search."""


class Guesses:
    """The rejected credentials of each address. Safe in threads."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def delay(self, address: str, now: float) -> float:
        """Count one more rejection; the seconds that its answer waits."""
        with self._lock:
            count, last = self._counts.get(address, (0, now))
            count = 1 if now - last > FORGIVEN_AFTER else count + 1
            self._counts.pop(address, None)
            self._counts[address] = count, now
            if len(self._counts) > MOST_ADDRESSES:
                del self._counts[next(iter(self._counts))]
        return 0.0 if count <= FREE_GUESSES else _DELAYS.after(count - FREE_GUESSES)


class GrantWatch:
    """Looks at the credentials of open connections from time to time, as long as one of them can end. Safe in threads.

    `grants` gives the grant of each open connection by its sid; `on_end` gets the sid of each that no longer holds.
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
        """A connection was admitted whose credential can end."""
        with self._lock:
            if self._is_watching:
                return
            self._is_watching = True
        self._set_timer(self._interval, self._check)

    def _check(self) -> None:
        with self._lock:
            self._is_watching = False
        ending = {sid: grant for sid, grant in self._grants().items() if grant.holds is not None}
        if ending:
            self.begin()  # first, so that a provider that fails now does not end the watching
        for sid, grant in ending.items():
            if grant.holds is not None and not grant.holds():
                self._on_end(sid)
