"""Calls that wait for a peer's ack, found by either peer's connection when it vanishes."""

from __future__ import annotations

from threading import Lock

from a2c_smcp.errors import NotFoundError, RateLimitedError
from a2c_smcp.protocol.server_effects import Call, CallerGone
from a2c_smcp.server.reply import Reply


class InFlight:
    """The table of running calls. A call settles once: by its ack, its time-out, or the loss of a peer."""

    def __init__(self, most: int) -> None:
        self.most = most  # per caller; 0 allows any number
        self._by_target: dict[str, set[Reply]] = {}
        self._by_caller: dict[str, set[Reply]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.replies())

    def add(self, call: Call, reply: Reply) -> None:
        """Keep the reply of a call findable; follow with `remove`, whatever happens.

        Raises:
            RateLimitedError: the caller has as many calls running as it may.
        """
        with self._lock:
            waiting = self._by_caller.setdefault(call.caller, set())
            if 0 < self.most <= len(waiting):
                raise RateLimitedError(f"more than {self.most} requests wait for an answer")
            waiting.add(reply)
            self._by_target.setdefault(call.target, set()).add(reply)

    def remove(self, call: Call, reply: Reply) -> None:
        """The call is over."""
        with self._lock:
            for table, sid in ((self._by_target, call.target), (self._by_caller, call.caller)):
                waiting = table.get(sid)
                if waiting is not None:
                    waiting.discard(reply)
                    if not waiting:
                        del table[sid]

    def drop(self, sid: str) -> None:
        """End every call that the connection was to answer, or that it waited for."""
        with self._lock:
            orphaned = self._by_target.pop(sid, set[Reply]())
            abandoned = self._by_caller.pop(sid, set[Reply]())
        for reply in orphaned:
            reply.set_exception(NotFoundError("the Computer disconnected"))
        for reply in abandoned:
            reply.set_exception(CallerGone())

    def replies(self) -> list[Reply]:
        """Every call that is waiting."""
        with self._lock:
            return [reply for waiting in self._by_target.values() for reply in waiting]
