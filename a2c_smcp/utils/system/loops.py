"""The event loop that commands run on."""

from __future__ import annotations

import asyncio
import sys


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop where there is one; Windows has none, and PyPy does without."""
    if sys.platform == "win32" or sys.implementation.name != "cpython":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()
