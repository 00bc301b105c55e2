"""Blocking work in threads of its own: it may never end, and must not block other work."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

MOST_THREADS = 16


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Run a function that may wait for a person, or for ever.

    A caller that stops waiting leaves the thread running; it ends with the process.
    """
    # Not `asyncio.to_thread`. Its pool has four threads more than the machine has cores, so a few such functions would
    # fill it; and Python waits for them when the program ends, which it does not do for daemon threads.
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
        except StopIteration as problem:  # which a future rejects
            result, error = None, RuntimeError("StopIteration was raised")
            error.__cause__ = problem
        except BaseException as problem:
            result, error = None, problem
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits for the outcome
            loop.call_soon_threadsafe(settle, result, error)

    context = contextvars.copy_context()  # as `asyncio.to_thread` does
    threading.Thread(target=context.run, args=(work,), daemon=True).start()
    return await outcome


class OutOfTime(Exception):
    """A function did not return in time."""


def within(seconds: float, function: Callable[[], T]) -> T:
    """Run a function that may never return, in a thread, and wait for it. Ctrl-C ends the wait.

    Raises:
        OutOfTime: it did not return within `seconds`. The thread goes on, and ends with the process.
    """
    outcomes: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def work() -> None:
        try:
            outcomes.put((function(), None))
        except BaseException as problem:
            outcomes.put((None, problem))

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), daemon=True).start()
    try:
        result, error = outcomes.get(timeout=seconds)
    except Empty:
        raise OutOfTime from None
    if error is not None:
        raise error
    return result


def side_by_side(work: Sequence[Callable[[], T]]) -> list[T]:
    """Call several functions at the same time; return their results in order. Ctrl-C leaves them running."""
    if len(work) < 2:
        return [each() for each in work]  # in this thread, where Ctrl-C ends it

    def do(each: Callable[[], T], context: contextvars.Context) -> T:
        return context.run(each)

    # A copy for each: a context can be in one thread only at a time.
    contexts = [contextvars.copy_context() for _ in work]
    threads = ThreadPoolExecutor(min(len(work), MOST_THREADS))
    try:
        return list(threads.map(do, work, contexts))
    finally:
        # A `with` block would wait for all of them, also after Ctrl-C.
        threads.shutdown(wait=False, cancel_futures=True)
