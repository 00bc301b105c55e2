"""Work in a few threads, some of it later. They end with the program, and when there is nothing to do."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

IDLE_SECONDS = 5.0


class Errands:
    """At most `hands` things are done at a time; whoever is late is done as soon as a hand is free."""

    def __init__(self, hands: int = 8) -> None:
        self._hands = hands
        self._busy = 0
        self._threads = 0
        self._todo: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._is_resting = False

    def drop(self) -> None:
        """Forget what is not begun; the threads end."""
        with self._changed:
            self._todo.clear()
            self._is_resting = True
            self._changed.notify_all()

    def add(self, work: Callable[[], None], delay: float = 0.0) -> None:
        """Have something done in `delay` seconds."""
        with self._changed:
            self._is_resting = False
            heapq.heappush(self._todo, (time.monotonic() + delay, next(self._numbers), work))
            if self._threads - self._busy < len(self._todo) and self._threads < self._hands:
                self._threads += 1
                threading.Thread(target=self._work, daemon=True).start()
            self._changed.notify()

    def _work(self) -> None:
        while (work := self._next()) is not None:
            try:
                work()
            except Exception:
                logger.exception("an errand failed")
            finally:
                with self._changed:
                    self._busy -= 1

    def _next(self) -> Callable[[], None] | None:
        """What is due; None after a while without anything to do."""
        with self._changed:
            idle_until = time.monotonic() + IDLE_SECONDS
            while True:
                now = time.monotonic()
                if self._todo and self._todo[0][0] <= now:
                    self._busy += 1
                    return heapq.heappop(self._todo)[2]
                if not self._todo and (self._is_resting or now >= idle_until):
                    self._threads -= 1
                    return None
                self._changed.wait((self._todo[0][0] if self._todo else idle_until) - now)
