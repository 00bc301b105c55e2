"""Waiting for what a test expects, with a limit that only a broken program reaches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE = 20.0
"""Seconds after which a test gives up waiting for what should happen at once."""


async def eventually(condition: Callable[[], object]) -> None:
    """Wait for a condition that no event announces, such as a line in a file."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
