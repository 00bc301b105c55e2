"""The background work of an Agent: it fetches what has changed, and calls the event handler; in tasks or in threads.

This module and `waiting` hold what the two forms of an Agent do differently. The two classes here have the same
methods, so that `scripts/generate_sync.py` can make the blocking client from the asynchronous one.
"""

from __future__ import annotations

import asyncio
import heapq
import inspect
import itertools
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from a2c_smcp.utils.threads import OutOfTime, in_thread, within

logger = logging.getLogger(__name__)

IDLE_SECONDS = 5.0
"""How long a worker thread without a job lives."""
_NO_REPLY = "on_question did not return within %g s: the question is declined"
WORKERS = 8
"""How many jobs of a blocking Agent run at the same time."""


class AsyncBackground:
    """Runs background work in tasks. None outlives `stop`: an event loop that closes reports tasks that are left."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()  # the event loop keeps weak references only

    def start(self, work: Callable[[], Coroutine[Any, Any, None]], delay: float = 0.0) -> None:
        """Start a job after `delay` seconds."""
        task = asyncio.create_task(_run_later(work, delay))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def keep_running(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a job that runs until the Agent disconnects."""
        self.start(work)

    async def finish(self, outcome: Any) -> None:
        """Await what a handler returned, if it is awaitable."""
        if inspect.isawaitable(outcome):
            await outcome

    async def consult(self, seconds: float, handler: Callable[..., Any], *arguments: Any) -> Any:
        """Call a handler that may wait for a person: an async one here, a plain one in a thread. It is None after
        `seconds`."""
        clock = asyncio.timeout(seconds)
        try:
            async with clock:
                if inspect.iscoroutinefunction(handler):
                    return await handler(*arguments)
                outcome = await in_thread(handler, *arguments)
                return await outcome if inspect.isawaitable(outcome) else outcome
        except TimeoutError:
            if not clock.expired():  # the handler's own
                raise
            logger.warning(_NO_REPLY, seconds)
            return None

    async def stop(self) -> None:
        """Cancel all tasks but the current one: a handler may disconnect its own client."""
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class SyncBackground:
    """Runs background work in daemon threads, which end with the program. A few workers share the short jobs."""

    # A thread for each job would be simpler. But when the Server restarts, a hundred Computers rejoin at the same time,
    # and would start a hundred threads; and a job that waits for its retry would keep a thread asleep.

    def __init__(self, workers: int = WORKERS) -> None:
        self._most_workers = workers
        self._workers = 0
        self._busy = 0
        self._jobs: list[tuple[float, int, Callable[[], None]]] = []
        """A heap: when a job is due, a number that keeps the order of equals, and the job."""
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._is_stopped = False

    def start(self, work: Callable[[], None], delay: float = 0.0) -> None:
        """Start a job after `delay` seconds, or later when a worker is free."""
        with self._changed:
            self._is_stopped = False  # an Agent that has disconnected may connect again
            heapq.heappush(self._jobs, (time.monotonic() + delay, next(self._numbers), work))
            # Jobs with a delay count as well: several may be due at the same time, and then need a worker each.
            if self._workers - self._busy < len(self._jobs) and self._workers < self._most_workers:
                self._workers += 1
                threading.Thread(target=self._work, daemon=True).start()
            self._changed.notify()  # the new job may be due before the one that a worker waits for

    def keep_running(self, work: Callable[[], None]) -> None:
        """Start a job that runs until the Agent disconnects, in a thread of its own: it would block a worker."""
        threading.Thread(target=work, daemon=True).start()

    def finish(self, outcome: Any) -> None:
        """Await what a handler returned, if it is awaitable, in a new event loop."""
        if inspect.isawaitable(outcome):
            asyncio.run(_awaiting(outcome))

    def consult(self, seconds: float, handler: Callable[..., Any], *arguments: Any) -> Any:
        """Call a handler that may wait for a person, in a thread; an async one in a new event loop. It is None after
        `seconds`; the thread then goes on, and ends with the program."""

        def call() -> Any:
            outcome = handler(*arguments)
            return asyncio.run(_awaiting(outcome)) if inspect.isawaitable(outcome) else outcome

        try:
            return within(seconds, call)
        except OutOfTime:
            logger.warning(_NO_REPLY, seconds)
            return None

    def stop(self) -> None:
        """Drop the jobs that have not started. Threads cannot be cancelled: a busy worker ends after its job."""
        with self._changed:
            self._jobs.clear()
            self._is_stopped = True
            self._changed.notify_all()

    def _work(self) -> None:
        while (work := self._next()) is not None:
            try:
                work()
            except Exception:
                logger.exception("background work failed")
            finally:
                with self._changed:
                    self._busy -= 1

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next job that is due; None if this worker has to end."""
        with self._changed:
            idle_until = time.monotonic() + IDLE_SECONDS
            while True:
                now = time.monotonic()
                if self._jobs and self._jobs[0][0] <= now:
                    self._busy += 1
                    return heapq.heappop(self._jobs)[2]
                # A worker does not end while jobs are left, however late they are due: no other thread may be there.
                if not self._jobs and (self._is_stopped or now >= idle_until):
                    self._workers -= 1
                    return None
                self._changed.wait((self._jobs[0][0] if self._jobs else idle_until) - now)


async def _run_later(work: Callable[[], Coroutine[Any, Any, None]], delay: float) -> None:
    if delay:
        await asyncio.sleep(delay)
    await work()


async def _awaiting(outcome: Awaitable[Any]) -> Any:
    # `asyncio.run` accepts coroutines only. A handler may return any awaitable.
    return await outcome
