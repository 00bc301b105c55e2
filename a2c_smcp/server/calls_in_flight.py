"""Relayed calls that wait for their ack: their timeout, their limit, and their end when either peer disconnects."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock

from a2c_smcp.errors import NotFoundError, RateLimitedError, TimedOutError
from a2c_smcp.protocol.server_effects import Call, CallEnded, CallerGone, EndedByOperator
from a2c_smcp.server.reply import Reply

CANCEL_SECONDS = 1.0
"""Time for a Computer to end a call that is cancelled, if it is not known whether it can."""


class CallsInFlight:
    """The table of running calls. A call settles once: by its ack, its timeout, or the loss of a peer."""

    # Two tables, so that a disconnect finds its calls without a search, whichever side it is on. A third for the calls
    # that a cancel has to find, which are few.
    def __init__(self, most: int, is_limited: Callable[[str], bool] = lambda caller: True) -> None:
        self.most = most  # per caller; 0 allows any number
        self._is_limited = is_limited
        self._by_target: dict[str, set[Reply]] = {}
        self._by_caller: dict[str, dict[Reply, Call]] = {}
        self._ends_on_cancel: dict[tuple[str, str], Reply] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.replies())

    def start(
        self,
        call: Call,
        is_connected: Callable[[str], bool],
        set_timer: Callable[[float, Callable[[], None]], Callable[[], None]],
    ) -> Reply:
        """Start waiting for the ack of a call: the reply that the ack settles. The call is not sent here.

        Raises:
            RateLimitedError: the caller has as many calls in flight as it may.
            NotFoundError: the target is not connected.
            CallerGone: the caller is not connected.
        """
        reply = Reply()
        self._add(call, reply)
        try:
            # Checked after the call is in the table. A peer that disconnects before this line is found missing here,
            # and one that disconnects after it is found by `drop`; the other way round, a peer that goes in between
            # would leave the call to its timeout.
            if not is_connected(call.target):
                raise NotFoundError("the Computer disconnected")
            if not is_connected(call.caller):
                raise CallerGone
            stop = set_timer(call.timeout, lambda: reply.set_exception(TimedOutError("no answer in time")))
        except BaseException:
            self._remove(call, reply)
            raise

        def end(_: Reply) -> None:
            stop()
            self._remove(call, reply)

        reply.then(end)
        return reply

    def cancel(
        self, caller: str, req_id: str, set_timer: Callable[[float, Callable[[], None]], Callable[[], None]]
    ) -> None:
        """End a call that its Computer may not end, unless the ack comes within a moment."""
        reply = self._ends_on_cancel.get((caller, req_id))
        if reply is not None:
            reply.then(partial(_stop, set_timer(CANCEL_SECONDS, lambda: reply.set_exception(CallEnded()))))

    def drop(self, sid: str) -> None:
        """End every call from or to a connection that disconnected."""
        with self._lock:
            orphaned = self._by_target.pop(sid, set[Reply]())
            abandoned = self._by_caller.pop(sid, dict[Reply, Call]())
        # Outside the lock: settling a reply resumes its flow in this thread, which calls `_remove`.
        for reply in orphaned:
            reply.set_exception(NotFoundError("the Computer disconnected"))
        for reply in abandoned:
            reply.set_exception(CallerGone())

    def replies(self) -> list[Reply]:
        """The replies of all calls in flight."""
        with self._lock:
            return [reply for waiting in self._by_target.values() for reply in waiting]

    def calls(self) -> list[Call]:
        """All calls in flight, the oldest of each caller first."""
        with self._lock:
            return [call for waiting in self._by_caller.values() for call in waiting.values()]

    def end(self, caller: str, req_id: str) -> int:
        """End the calls of a caller with an id, on behalf of the operator; how many these were."""
        with self._lock:
            waiting = self._by_caller.get(caller, {})
            found = [reply for reply, call in waiting.items() if call.data.get("req_id") == req_id]
        for reply in found:
            reply.set_exception(EndedByOperator("the Server's operator ended this call"))
        return len(found)

    def _add(self, call: Call, reply: Reply) -> None:
        with self._lock:
            waiting = self._by_caller.setdefault(call.caller, {})
            # The flow of a call keeps its request in memory while it waits: up to `message_bytes`, for up to an hour.
            if 0 < self.most <= len(waiting) and not call.is_part and self._is_limited(call.caller):
                raise RateLimitedError(f"more than {self.most} requests wait for an answer")
            waiting[reply] = call
            self._by_target.setdefault(call.target, set()).add(reply)
            if call.ends_on_cancel:
                self._ends_on_cancel[call.caller, call.data["req_id"]] = reply

    def _remove(self, call: Call, reply: Reply) -> None:
        with self._lock:
            asked = self._by_target.get(call.target)
            if asked is not None:
                asked.discard(reply)
                if not asked:
                    del self._by_target[call.target]
            waiting = self._by_caller.get(call.caller)
            if waiting is not None:
                waiting.pop(reply, None)
                if not waiting:
                    del self._by_caller[call.caller]
            # Two calls may have the same id; only the newer one is in the table.
            if call.ends_on_cancel and self._ends_on_cancel.get(key := (call.caller, call.data["req_id"])) is reply:
                del self._ends_on_cancel[key]


def _stop(stop: Callable[[], None], _: Reply) -> None:
    stop()
