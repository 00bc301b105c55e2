"""When something is recorded: while somebody follows its events, and for some time after somebody looked at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

KEEP_SECONDS = 60.0


class Recording:
    """Calls `begin` with the first look, and `end` some time after the last one."""

    def __init__(self, begin: Callable[[], None], end: Callable[[], None], keep_seconds: float = KEEP_SECONDS) -> None:
        self._begin = begin
        self._end = end
        self._keep_seconds = keep_seconds
        self._is_on = False
        self.is_followed = False
        """Whether somebody reads the events."""
        self._ending: asyncio.TimerHandle | None = None

    def follow(self) -> None:
        """Somebody reads the events from now on."""
        self.is_followed = True
        self.look()

    def unfollow(self) -> None:
        """Nobody reads the events any more."""
        self.is_followed = False
        self.look()

    def look(self) -> None:
        """Somebody looks."""
        self._cancel()
        if not self._is_on:
            self._is_on = True
            self._begin()
        if not self.is_followed:
            self._ending = asyncio.get_running_loop().call_later(self._keep_seconds, self.close)

    def close(self) -> None:
        """Record no more."""
        self._cancel()
        if self._is_on:
            self._is_on = False
            self._end()

    def _cancel(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
