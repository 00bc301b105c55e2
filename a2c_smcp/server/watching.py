"""Records relayed calls while an operator looks at them: when each arrived, was sent, was answered and ended.

Above a rate it records only some of them, so that looking costs the callers nothing. It keeps neither the parameters
nor the results of a call: they are between an Agent and a Computer.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from a2c_smcp.errors import SMCPError
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.office import Member
from a2c_smcp.protocol.server import Answer, Request, answer
from a2c_smcp.protocol.server_effects import Call, ServerBackend, Written
from a2c_smcp.server.edge import outcome_of
from a2c_smcp.smcp import CLIENT_PREFIX
from a2c_smcp.utils.text import one_line

MOST_RECORDS = 500
"""Ended calls that are kept."""
CALLS_A_SECOND = 100
"""Calls that are recorded, at most."""
WINDOW_SECONDS = 0.1
LONGEST = 256


@dataclass(slots=True, eq=False)
class CallRecord:
    """A relayed call. The durations are seconds since it arrived."""

    number: int
    event: str
    req_id: str
    caller: str
    """The sid of the Agent."""
    agent: str | None
    office: str | None
    computer: str | None
    tool: str | None
    principal: str | None
    """The user of an MCP host, if the call is one of the gateway's."""
    arrived: float
    """In seconds since 1970."""
    request_bytes: int | None
    sent: float | None = None
    """When the Server had found the Computer, and sent the call to it."""
    answered: float | None = None
    """When the Computer had answered."""
    ended: float | None = None
    """When the Agent's answer was ready."""
    answer_bytes: int | None = None
    outcome: str | None = None
    """`ok`, `cancelled` or the code of an error; None while it runs."""
    message: str | None = None
    """What the error says."""


class CallWatch:
    """A `Watcher` of the edge. `on_change` is called with each call that is recorded, and when it ends."""

    def __init__(
        self,
        member: Callable[[str], Member | None],
        on_change: Callable[[CallRecord], None],
        most: int = MOST_RECORDS,
        calls_a_second: int = CALLS_A_SECOND,
    ) -> None:
        self._member = member
        self._on_change = on_change
        self._numbers = itertools.count(1)
        self._most_a_window = max(1, int(calls_a_second * WINDOW_SECONDS))
        self._window_ends = 0.0
        self._left = 0
        self.left_out = 0
        """Calls that were not recorded."""
        self.running: dict[int, CallRecord] = {}
        self.ended: deque[CallRecord] = deque(maxlen=most)

    def flow(self, request: Request, started: float) -> Flow[ServerBackend, Answer]:
        """See `Watcher`. A call that is not recorded runs as if nobody watched."""
        if not request.event.startswith(CLIENT_PREFIX):
            return answer(request)
        if started >= self._window_ends:
            self._window_ends, self._left = started + WINDOW_SECONDS, self._most_a_window
        if self._left <= 0:
            self.left_out += 1
            return answer(request)
        self._left -= 1
        return self._recorded(request, started)

    def _recorded(self, request: Request, started: float) -> Flow[ServerBackend, Answer]:
        record = self._begin(request)
        try:
            outcome = yield from _timed(answer(request), record, started)
        except BaseException:
            record.outcome = "500"
            raise
        else:
            name, failure = outcome_of(outcome)
            record.outcome, record.message = name, _message(failure)
            record.answer_bytes = len(outcome.ack.text) if isinstance(outcome.ack, Written) else None
            return outcome
        finally:
            record.ended = time.perf_counter() - started
            self.running.pop(record.number, None)
            self.ended.append(record)
            self._on_change(record)

    def _begin(self, request: Request) -> CallRecord:
        sent: Any = request.data
        data = cast("dict[str, Any]", sent) if isinstance(sent, dict) else dict[str, Any]()
        member = self._member(request.sid)
        record = CallRecord(
            number=next(self._numbers),
            event=one_line(request.event, LONGEST),
            req_id=_text(data.get("req_id")) or "",
            caller=request.sid,
            agent=member.name if member is not None else None,
            office=member.office_id if member is not None else None,
            computer=_text(data.get("computer")),
            tool=_text(data.get("tool_name")),
            principal=_text(data.get("principal")),
            arrived=time.time(),
            request_bytes=len(request.text) if request.text is not None else None,
        )
        self.running[record.number] = record
        self._on_change(record)
        return record


def _timed(flow: Flow[ServerBackend, Answer], record: CallRecord, started: float) -> Flow[ServerBackend, Answer]:
    """The same flow, with the times of its calls to a Computer."""
    advance: Callable[[Any], Any] = flow.send
    value: Any = None
    while True:
        try:
            effect = advance(value)
        except StopIteration as end:
            return end.value
        is_call = isinstance(effect, Call)
        if is_call and record.sent is None:
            record.sent = time.perf_counter() - started
        try:
            advance, value = flow.send, (yield effect)
        except BaseException as error:
            advance, value = flow.throw, error
        if is_call:
            record.answered = time.perf_counter() - started


def _message(failure: SMCPError | None) -> str | None:
    return one_line(failure.message, 1_000) if failure is not None else None


def _text(value: object) -> str | None:
    return value[:LONGEST] if isinstance(value, str) else None
