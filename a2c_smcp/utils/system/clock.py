"""A clock that also counts while the machine is suspended."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

elapsed: Callable[[], float] = time.monotonic
"""Seconds since some moment in the past. On Linux, they go on during a suspension, unlike `time.monotonic`."""

if sys.platform == "linux":
    # Without a function around it, which takes longer: a node of a cluster asks for the time with each message.
    elapsed = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
