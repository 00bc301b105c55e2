"""Waiting for what a test expects, with a limit that only a broken program reaches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE = 60.0
"""Seconds after which a test gives up waiting. What it waits for takes a second, or many when all processors are busy
with other programs: a wait ends when it happens, so only a test that fails takes this long."""


async def eventually(condition: Callable[[], object]) -> None:
    """Wait for a condition that no event announces, such as a line in a file."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
