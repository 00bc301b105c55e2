"""A clock that also counts while the machine is suspended."""

from __future__ import annotations

import sys
import time

if sys.platform == "linux":

    def elapsed() -> float:
        """Seconds since some moment in the past. Unlike `time.monotonic`, they go on during a suspension."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:

    def elapsed() -> float:
        """Seconds since some moment in the past."""
        return time.monotonic()
