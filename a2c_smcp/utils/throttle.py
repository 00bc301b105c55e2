"""Limits the log lines of one source: a client that can cause a line could otherwise fill the disk."""

from __future__ import annotations

import threading
import time

WINDOW = 1.0
"""Seconds in which the lines of a source are counted."""
MOST_SOURCES = 10_000
"""Sources that are remembered. Beyond that, the one that has been silent for longest is forgotten."""


class Throttle:
    """Lets `most` lines of each source through in a second. Safe in threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._windows: dict[str, tuple[float, int]] = {}
        self._lock = threading.Lock()

    def admit(self, source: str) -> int | None:
        """Return how many lines of this source were left out since its last one; None if this one is left out, too."""
        now = time.monotonic()
        with self._lock:
            began, count = self._windows.get(source, (now, 0))
            left_out = 0
            if now - began >= WINDOW:
                left_out = max(0, count - self._most)
                began, count = now, 0
            # Removed and added again, the source becomes the last of the dictionary. The first is then the one that has
            # been silent for longest, and an attacker with many addresses cannot make every line cost a search.
            self._windows.pop(source, None)
            self._windows[source] = began, count + 1
            if len(self._windows) > MOST_SOURCES:
                del self._windows[next(iter(self._windows))]
        return left_out if count < self._most else None
