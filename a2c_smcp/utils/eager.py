"""Coroutines that start at once. Most of them end without waiting, and then need no task."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Coroutine, Generator
from typing import Any

if sys.version_info >= (3, 12):

    def begin(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """Run a coroutine until it waits; return the task that runs the rest, or None if it has ended."""
        task = asyncio.Task(coroutine, loop=asyncio.get_running_loop(), eager_start=True)
        if not task.done():
            return task
        task.result()  # raises what the coroutine raised
        return None

else:

    def begin(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """Run a coroutine until it waits; return the task that runs the rest, or None if it has ended."""
        # Python 3.11 has no eager tasks. The first step is made by hand, as a task would make it: the coroutine either
        # ends, or yields the future that it waits for, which goes to the task that takes over.
        try:
            awaited = coroutine.send(None)
        except StopIteration:
            return None
        return asyncio.ensure_future(_wait(_Rest(coroutine, awaited)))


async def _wait(rest: _Rest) -> None:
    await rest


class _Rest:
    """What is left of a coroutine that has begun and waits for something."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], awaited: Any) -> None:
        self._coroutine = coroutine
        self._awaited = awaited

    def __await__(self) -> Generator[Any, Any, None]:
        # An error that the task throws in here, such as its cancellation, belongs to the coroutine. The coroutine may
        # catch it and wait for something else, which is the same situation once more.
        try:
            yield self._awaited
        except BaseException as error:
            try:
                awaited = self._coroutine.throw(error)
            except StopIteration:
                return
            yield from _Rest(self._coroutine, awaited).__await__()
        else:
            yield from self._coroutine.__await__()


def can_begin(function: Any) -> bool:
    """Whether coroutines of a function that is not ours may start in one task and end in another."""
    # That happens on Python 3.11 only. `asyncio.timeout` cancels the task that entered it, which would be the wrong
    # one. The bound methods in question are those of ASGI servers, which have no timeouts; a function may be anything.
    return inspect.iscoroutinefunction(function) and (sys.version_info >= (3, 12) or hasattr(function, "__self__"))
