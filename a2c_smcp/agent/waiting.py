"""A condition for the tasks of one event loop, with the methods of `threading.Condition` that an Agent uses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType


class AsyncCondition:
    """Tasks wait for a predicate to become true; `notify_all` makes them look again.

    Unlike `asyncio.Condition` it can be entered and notified in plain functions, where the client's hooks run. Entering
    it locks nothing: on an event loop, only an `await` lets another task run. It is entered all the same because the
    blocking client, which is made from the same source, has a `threading.Condition` in its place.
    """

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def __enter__(self) -> bool:
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def notify_all(self) -> None:
        """Have every waiting task look at its predicate again."""
        self._changed.set()

    async def wait_for(self, predicate: Callable[[], object], timeout: float | None = None) -> bool:
        """Wait until the predicate is true; False if it is not within `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                # To clear the event here does not hide it from other tasks: those that wait have been woken already.
                while not predicate():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True
