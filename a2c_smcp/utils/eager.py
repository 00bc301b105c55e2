"""Coroutines that are begun at once and, more often than not, end at once: no task is made for those."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Coroutine, Generator
from typing import Any

if sys.version_info >= (3, 12):

    def begin(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """Run it as far as it goes without waiting; the task that does the rest, if there is one."""
        task = asyncio.Task(coroutine, loop=asyncio.get_running_loop(), eager_start=True)
        if not task.done():
            return task
        task.result()
        return None

else:

    def begin(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """Run it as far as it goes without waiting; the task that does the rest, if there is one."""
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
    """Whether somebody else's function gives coroutines that may be begun by one task and finished by another. On
    Python 3.11, where a task does not begin at once, a time-out in it would hit the wrong one; the method of a server
    is known to have none."""
    return inspect.iscoroutinefunction(function) and (sys.version_info >= (3, 12) or hasattr(function, "__self__"))
