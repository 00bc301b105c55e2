"""Python's collector of cyclic garbage, for processes that are ours alone."""

from __future__ import annotations

import gc

OBJECTS = 10_000
"""New objects, net of those that went, after which it looks at them; Python's own number is 700. A message of half a
megabyte is several thousand, all of which go by themselves: looking at them took longer than relaying it."""


def collect_less_often() -> None:
    """Have the collector disturb less. Not for a library to decide: only programs call this."""
    gc.set_threshold(OBJECTS, 20, 20)
