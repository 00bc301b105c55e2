"""A condition for the tasks of one event loop, with the methods of `threading.Condition` that an Agent uses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType


class AsyncCondition:
    """Tasks wait until a predicate is true; `notify_all` makes them check it again."""

    # `asyncio.Condition` can be entered and notified in coroutines only, and the client's hooks are plain functions.

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    # Entering locks nothing: on an event loop, only an `await` lets another task run. The code enters the condition all
    # the same, because the blocking client, generated from the same source, has a `threading.Condition` in its place.
    def __enter__(self) -> bool:
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def notify_all(self) -> None:
        """Make every waiting task check its predicate again."""
        self._changed.set()

    async def wait_for(self, predicate: Callable[[], object], timeout: float | None = None) -> bool:
        """Wait until the predicate is true; False if it is still false after `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                # Clearing the event here does not hide it from other tasks: `set` has already woken those that wait.
                while not predicate():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True
