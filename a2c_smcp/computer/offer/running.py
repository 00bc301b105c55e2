"""A tool call while it runs, and the turns that it has for its caller: one, and one more after each question."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias

from a2c_smcp.computer.mcp.questions import Answers, Asker, Questions
from a2c_smcp.computer.offer.confirmation import Caller, seconds_until
from a2c_smcp.computer.offer.progress import CallReports, Listener, ReportRate
from a2c_smcp.errors import SMCPError, ToolFailedError, ToolTimedOutError
from a2c_smcp.protocol.questions import MAX_ROUNDS
from a2c_smcp.utils.results import CallToolResult
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

CancelReason: TypeAlias = Literal["agent_cancelled", "agent_left", "computer_left", "computer_stopped"]
"""Why a call was cancelled: `a2c_cancel_reason` in the `meta` of its result."""


Key: TypeAlias = tuple[str, str, str]
"""What a request names a call by: its office, its Agent and its `req_id`. Texts, and not the caller itself, which would
be hashed in Python, several times for each call."""


class Turn:
    """The requests that wait for the next outcome of a call, all with the same id."""

    __slots__ = ("_listener", "_rate", "_waiters", "key", "reports", "req_id", "result")

    def __init__(self, key: Key, listener: Listener, rate: ReportRate) -> None:
        self.key = key
        self.req_id = key[2]
        self.result: CallToolResult | None = None
        # A future for each request, instead of one that all wait for: a request that is cancelled must not cancel the
        # others, and the shield that prevents it costs more than the list.
        self._waiters: list[asyncio.Future[CallToolResult]] = []
        self._listener = listener
        self._rate = rate
        self.reports: CallReports | None = None
        """What is sent during the call; None as long as there is nothing."""

    @property
    def is_wanted(self) -> bool:
        """Whether a request waits, or has its result."""
        return bool(self._waiters) or self.result is not None

    async def wait(self) -> CallToolResult:
        """Wait for the outcome."""
        if self.result is not None:
            return self.result
        waiter: asyncio.Future[CallToolResult] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        finally:
            self._waiters.remove(waiter)

    def settle(self, result: CallToolResult) -> None:
        """The requests get this result, unless they have one."""
        if self.result is None:
            self.result = result
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_result(result)

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Send how far the call is, if that is wanted."""
        if self._listener.send_progress is not None:
            self._reporting().report(progress, total, message)

    def log(self, level: str, data: Any, name: str | None) -> None:
        """Send a message of the MCP server, if that is wanted."""
        if self._listener.wants(level):
            self._reporting().log(level, data, name)

    def _reporting(self) -> CallReports:
        if self.reports is None:
            self.reports = CallReports(self._listener, self._rate)
        return self.reports


@dataclass(eq=False)
class Call:
    """One call that is running, or waits for a person. Each time it asks, its turn ends; the answer begins another."""

    asked: Callable[[Call, Questions, Sequence[Asker]], Awaitable[Answers | None]]
    """Asks the caller."""
    postpone: Callable[[Call], bool]
    """Called at the deadline: whether the call waits for a person, instead of ending."""
    caller: Caller
    tool: str
    parameters: dict[str, Any]
    timeout: float | None
    deadline: float | None
    turn: Turn
    task: asyncio.Task[CallToolResult] = field(init=False)
    alarm: asyncio.TimerHandle | None = field(default=None, init=False)
    """Rings at the deadline, while the tool runs."""
    server: str = field(default="", init=False)
    error: str | None = field(default=None, init=False)
    code: int | None = field(default=None, init=False)
    """The protocol's code for `error`."""
    approved_by: str | None = field(default=None, init=False)
    """The channel that approved it, if it needed approval."""
    failure: SMCPError | None = field(default=None, init=False)
    """Why this Computer ends the call, although nobody cancelled it."""
    cancel_reason: CancelReason | None = field(default=None, init=False)
    is_over: bool = field(default=False, init=False)
    """Whether the tool has ended, or is cancelled."""
    is_abandoned: bool = field(default=False, init=False)
    """Whether a question expired, so that nobody waits for the result."""
    rounds: int = field(default=0, init=False)
    """How often it asked, valid questions or not, and how often it asked again because the answer did not fit."""
    has_doubtful: bool = field(default=False, init=False)
    """Whether some of its questions may have been those of another call."""
    waited: float = field(default=0.0, init=False)
    """Seconds that its questions have waited, but for the one that is open."""
    rejected: list[str] = field(default_factory=list[str], init=False)
    """Why questions of the MCP server were rejected."""
    started: datetime = field(default_factory=partial(datetime.now, UTC))

    @cached_property
    def asking(self) -> asyncio.Lock:
        """Held while it asks. Few calls do."""
        return asyncio.Lock()

    def remaining(self) -> float | None:
        """Seconds until the timeout."""
        return seconds_until(self.deadline)

    def set_timeout(self, seconds: float | None) -> None:
        """Let the call end after `seconds` from now."""
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self._stop_alarm()
        self._set_alarm()

    def tool_begins(self) -> None:
        """The tool may run until the deadline."""
        self._set_alarm()

    def tool_ends(self) -> None:
        """The tool has ended: no question can belong to it any more."""
        self.is_over = True
        self._stop_alarm()

    def _set_alarm(self) -> None:
        if not self.is_over and (seconds := self.remaining()) is not None:
            self.alarm = asyncio.get_running_loop().call_later(seconds, self._ring)

    def _stop_alarm(self) -> None:
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None

    # Not `asyncio.timeout`: at the deadline, `postpone` may find that the call has to go on.
    def _ring(self) -> None:
        if not self.is_over and not self.postpone(self):
            limit = f"within {self.timeout:g} s" if self.timeout is not None else "after its question expired"
            self._fail(ToolTimedOutError(f"the tool {self.tool} did not finish {limit}"))

    def _fail(self, failure: SMCPError) -> None:
        self.failure, self.is_over = failure, True
        self.task.cancel()

    def cancel(self, reason: CancelReason) -> None:
        """End the call: its result is not needed."""
        if self.cancel_reason is None:
            self.cancel_reason, self.is_over = reason, True
            self.task.cancel()

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """The tool reports its progress."""
        self.turn.report(progress, total, message)

    def log(self, level: str, data: Any, name: str | None) -> None:
        """The MCP server writes a log message during the call."""
        self.turn.log(level, data, name)

    # An `Asker` of the MCP layer, by these.

    @property
    def party(self) -> tuple[Caller, str | None]:
        """Who is asked: an Agent may ask several users."""
        return self.caller, self.caller.principal

    @property
    def readiness(self) -> int:
        """2 if a request waits for the call, 1 if a question is open, 0 if nobody can be asked."""
        if self.is_over or self.is_abandoned:
            return 0
        return 1 if self.asking.locked() or self.turn.result is not None else 2

    def admit(self, is_sure: bool = True) -> bool:
        """Count a question, which may belong to another call unless it `is_sure`; False if it is one too many."""
        self.rounds += 1
        self.has_doubtful |= not is_sure
        return self.rounds <= MAX_ROUNDS

    def end(self) -> None:
        """End the call, because it asks too often."""
        # If another call may be the one that asks without end, its timeout has to end it: this one may be innocent.
        if not self.has_doubtful and not self.is_over:
            self._fail(ToolFailedError(f"MCP server {self.server} asks more than {MAX_ROUNDS} times in one call"))

    async def ask(self, questions: Questions, others: Sequence[Asker] = ()) -> Answers | None:
        """Ask the caller; None if the call ended before. `others` are the calls whose questions they may be."""
        return await self.asked(self, questions, others)

    def reject(self, reason: str) -> None:
        """Report a question that the caller does not get."""
        words = one_line(f"MCP server {self.server} {reason}")
        logger.warning("a question was rejected: %s", words, extra={"req_id": self.turn.req_id})
        if len(self.rejected) < MAX_ROUNDS:
            self.rejected.append(words)
