"""Python's collector of cyclic garbage, in processes that run only our code."""

from __future__ import annotations

import gc

OBJECTS = 10_000
"""Objects created and not yet freed, after which the collector examines them; Python's default is 700."""


def collect_less_often() -> None:
    """Run the collector less often. The setting is global, so only commands call this, never the library."""
    # A message of half a megabyte becomes several thousand objects, all of which reference counting frees. To examine
    # them took longer than to relay the message.
    gc.set_threshold(OBJECTS, 20, 20)
