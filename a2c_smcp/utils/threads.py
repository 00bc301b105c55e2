"""Blocking work in threads of its own: it may never end, and then must not be in anybody's way."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

MOST_THREADS = 16


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Run a function that may wait for a person, or for ever. Not in the shared pool: six such would fill it.

    Who stops waiting leaves the thread behind; it ends with the process.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        try:
            result, error = function(*arguments), None
        except StopIteration as problem:  # which no future takes
            result, error = None, RuntimeError("StopIteration was raised")
            error.__cause__ = problem
        except BaseException as problem:
            result, error = None, problem
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know
            loop.call_soon_threadsafe(settle, result, error)

    context = contextvars.copy_context()  # as `asyncio.to_thread` does
    threading.Thread(target=context.run, args=(work,), daemon=True).start()
    return await outcome


def side_by_side(work: Sequence[Callable[[], T]]) -> list[T]:
    """Do several things at once; what they give, in order. Who is interrupted with Ctrl-C leaves them behind."""
    if len(work) < 2:
        return [each() for each in work]  # in this thread, where Ctrl-C ends it

    def do(each: Callable[[], T]) -> T:
        return each()

    threads = ThreadPoolExecutor(min(len(work), MOST_THREADS))
    try:
        return list(threads.map(do, work))
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
