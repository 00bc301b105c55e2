"""The outcomes of work that is done at the same time, in the order in which they arrive; in tasks or in threads."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


async def arriving_async(work: Sequence[Callable[[], Awaitable[T]]]) -> AsyncGenerator[T]:
    """Await all at the same time, in tasks. Those that are left when the iteration ends are cancelled."""
    tasks = [asyncio.ensure_future(each()) for each in work]
    try:
        for task in asyncio.as_completed(tasks):
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def arriving(work: Sequence[Callable[[], T]]) -> Generator[T]:
    """Call all at the same time, in threads. Those that are left when the iteration ends go on, and end by themselves
    or with the program."""
    outcomes: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

    def do(each: Callable[[], T]) -> None:
        try:
            outcomes.put((each(), None))
        except BaseException as problem:
            outcomes.put((None, problem))

    # A thread for each: they wait for the network, and none may wait for another that hangs.
    for each in work:
        threading.Thread(target=contextvars.copy_context().run, args=(do, each), daemon=True).start()
    for _ in work:
        outcome, error = outcomes.get()
        if error is not None:
            raise error
        yield outcome  # type: ignore[misc]
