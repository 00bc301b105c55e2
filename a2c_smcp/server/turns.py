"""The order of one client's joins, leaves and other requests, on an event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable


class Turns:
    """A lock that serves in the order in which it is asked.

    A free one is taken at once. `asyncio.Lock.acquire` is a coroutine, which a driver may run in a task of its own: the
    client's next request, which may be in the same segment, would find the lock free and be answered first.
    """

    __slots__ = ("_is_held", "_waiting")

    def __init__(self) -> None:
        self._is_held = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def locked(self) -> bool:
        """Whether somebody holds it."""
        return self._is_held

    def acquire(self) -> Awaitable[None] | None:
        """Take it; None if it was free, else something to await."""
        if not self._is_held:
            self._is_held = True
            return None
        # Here and not in the coroutine: a driver may start it only after the holder has released the lock.
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        return self._wait(place)

    def release(self) -> None:
        """Give it to the next who waits."""
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():  # a cancelled one stays in the queue until its turn
                place.set_result(None)
                return
        self._is_held = False

    async def _wait(self, place: asyncio.Future[None]) -> None:
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # the turn came together with the cancellation
                self.release()
            raise
