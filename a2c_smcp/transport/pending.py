"""A request that waits for its ack: on an event loop, or in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

from a2c_smcp.errors import InvalidAnswerError, SMCPError, TimedOutError
from a2c_smcp.transport.packet import Unreadable


class AsyncPending:
    """A request of a task. It belongs to one event loop."""

    __slots__ = ("_answer",)

    def __init__(self) -> None:
        self._answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def settle(self, ack: list[Any]) -> None:
        """Hand over the values of an ack."""
        # The request may have timed out or been cancelled in the same turn of the event loop, before its task runs and
        # removes it from the pending requests.
        if not self._answer.done():
            try:
                self._answer.set_result(_value_of(ack))
            except InvalidAnswerError as error:
                self._answer.set_exception(error)

    def fail(self, error: SMCPError) -> None:
        """Report that no ack will come."""
        if not self._answer.done():
            self._answer.set_exception(error)

    async def wait(self, seconds: float, event: str) -> Any:
        """Wait for the value of the ack.

        Raises:
            TimedOutError: no ack within `seconds`.
            SMCPError: the request failed, or the ack is invalid.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self._answer
        except TimeoutError:
            raise _too_late(seconds, event) from None


class SyncPending:
    """A request of a thread. `_latch` is locked until the outcome is there."""

    __slots__ = ("_latch", "_outcomes")

    def __init__(self) -> None:
        # A bare lock and not a `threading.Event`. An event is Python code around a lock: a Ctrl-C in the middle of it
        # leaves the lock held, and the reader thread would then block for ever when it brings the ack.
        self._latch = threading.Lock()
        self._latch.acquire()
        # The first outcome counts: the ack may come in the moment in which another thread reports a lost connection.
        # To append to a list is one step for all threads.
        self._outcomes: list[tuple[Any, SMCPError | None]] = []

    def settle(self, ack: list[Any]) -> None:
        """Hand over the values of an ack."""
        try:
            self._end(_value_of(ack), None)
        except InvalidAnswerError as error:
            self._end(None, error)

    def fail(self, error: SMCPError) -> None:
        """Report that no ack will come."""
        self._end(None, error)

    def wait(self, seconds: float, event: str) -> Any:
        """Wait for the value of the ack. It raises what `AsyncPending.wait` raises."""
        if not self._latch.acquire(timeout=seconds):
            raise _too_late(seconds, event)
        value, error = self._outcomes[0]
        if error is not None:
            raise error
        return value

    def _end(self, value: Any, error: SMCPError | None) -> None:
        self._outcomes.append((value, error))
        with contextlib.suppress(RuntimeError):  # another thread has released it
            self._latch.release()


def _value_of(ack: list[Any]) -> Any:
    value = ack[0] if len(ack) == 1 else tuple(ack) or None
    if isinstance(value, Unreadable):
        raise InvalidAnswerError(value.error.message)
    return value


def _too_late(seconds: float, event: str) -> TimedOutError:
    return TimedOutError(f"no answer to {event} within {seconds:g} s")
