"""Calls that wait for a peer's ack, found by either peer's connection when it vanishes."""

from __future__ import annotations

from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from a2c_smcp.errors import NotFoundError, RateLimitedError
from a2c_smcp.protocol.effects import Call, CallerGone


class Settleable(Protocol):
    """What an `asyncio.Future` and a `concurrent.futures.Future` have in common."""

    def done(self) -> bool: ...
    def set_result(self, result: Any, /) -> None: ...
    def set_exception(self, exception: BaseException, /) -> None: ...


FutureT = TypeVar("FutureT", bound=Settleable)


class InFlight(Generic[FutureT]):
    """The table of running calls. A call settles once: by its ack, its time-out, or the loss of a peer."""

    def __init__(self, most: int) -> None:
        self._most = most  # per caller; 0 allows any number
        self._by_target: dict[str, set[FutureT]] = {}
        self._by_caller: dict[str, set[FutureT]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.futures())

    def add(self, call: Call, future: FutureT) -> None:
        """Keep the future of a call findable; follow with `remove`, whatever happens.

        Raises:
            RateLimitedError: the caller has as many calls running as it may.
        """
        with self._lock:
            waiting = self._by_caller.setdefault(call.caller, set())
            if 0 < self._most <= len(waiting):
                raise RateLimitedError(f"more than {self._most} requests wait for an answer")
            waiting.add(future)
            self._by_target.setdefault(call.target, set()).add(future)

    def remove(self, call: Call, future: FutureT) -> None:
        """The call is over."""
        with self._lock:
            for table, sid in ((self._by_target, call.target), (self._by_caller, call.caller)):
                waiting = table.get(sid)
                if waiting is not None:
                    waiting.discard(future)
                    if not waiting:
                        del table[sid]

    def resolve(self, future: FutureT, ack: Any) -> None:
        """Settle a call with its ack, unless it has settled already."""
        with self._lock:
            if not future.done():
                future.set_result(ack)

    def fail(self, future: FutureT, error: Exception) -> None:
        """Settle a call with an error, unless it has settled already."""
        with self._lock:
            if not future.done():
                future.set_exception(error)

    def drop(self, sid: str) -> None:
        """End every call that the connection was to answer, or that it waited for."""
        with self._lock:
            orphaned = self._by_target.pop(sid, set[FutureT]())
            abandoned = self._by_caller.pop(sid, set[FutureT]())
        for future in orphaned:
            self.fail(future, NotFoundError("the Computer disconnected"))
        for future in abandoned:
            self.fail(future, CallerGone())

    def futures(self) -> list[FutureT]:
        """Every call that is waiting."""
        with self._lock:
            return [future for waiting in self._by_target.values() for future in waiting]
