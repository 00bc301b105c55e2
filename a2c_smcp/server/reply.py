"""An answer that arrives later, for a flow, a task or a thread that waits for it.

Unlike an `asyncio.Future` it belongs to no loop and can be settled in any thread; unlike a `concurrent.futures.Future`
it makes no condition variable. A Server creates one for every relayed call.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from typing import Any


class Reply:
    """Settled once, in any thread. Callbacks run at once, in the thread that settles it: a relayed ack goes on to the
    caller without a turn of an event loop in between."""

    __slots__ = ("_callbacks", "_error", "_is_done", "_lock", "_value")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Reply], object]] = []

    @classmethod
    def of(cls, value: Any) -> Reply:
        """A reply that is settled already."""
        reply = cls()
        reply.set_result(value)
        return reply

    def done(self) -> bool:
        """Whether the reply is settled."""
        return self._is_done

    @property
    def has_failed(self) -> bool:
        """Whether the reply was settled with an error."""
        return self._error is not None

    def result(self) -> Any:
        """The value of a settled reply.

        Raises:
            BaseException: the error that the reply was settled with.
        """
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, value: Any, /) -> None:
        """Settle the reply; does nothing if it is settled."""
        self._settle(value, None)

    def set_exception(self, error: BaseException, /) -> None:
        """Settle the reply with an error; does nothing if it is settled."""
        self._settle(None, error)

    def then(self, callback: Callable[[Reply], object]) -> None:
        """Call a function when the reply is settled; at once if it is settled already."""
        with self._lock:
            if not self._is_done:
                self._callbacks.append(callback)
                return
        callback(self)

    def wait(self, seconds: float | None = None) -> bool:
        """Block until the reply is settled or `seconds` have passed; whether it is settled."""
        # The event exists only while a thread waits: most replies resume a flow, and no thread waits for them.
        settled = threading.Event()
        self.then(lambda _: settled.set())
        return settled.wait(seconds)

    def __await__(self) -> Generator[Any, Any, Any]:
        if not self._is_done:
            loop = asyncio.get_running_loop()
            waiting = loop.create_future()

            # The reply may be settled in any thread, and a future only on its loop. The task may be cancelled
            # meanwhile, which settles the future.
            def wake(_: Reply) -> None:
                loop.call_soon_threadsafe(lambda: waiting.done() or waiting.set_result(None))

            self.then(wake)
            yield from waiting.__await__()
        return self.result()

    def _settle(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._is_done:
                return
            self._value, self._error, self._is_done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
        # Outside the lock: a callback may resume a whole flow, which may call `then` on this reply.
        for callback in callbacks:
            callback(self)
