"""A tool call while it runs, and the turns that it has for its caller: one, and one more after each question."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from a2c_smcp.computer.mcp.questions import Answers, Questions
from a2c_smcp.computer.offer.confirmation import Caller, seconds_until
from a2c_smcp.computer.offer.progress import CallProgress, ProgressRate, SendProgress
from a2c_smcp.errors import SMCPError
from a2c_smcp.utils.results import CallToolResult
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

MAX_ROUNDS = 10
"""Times that a call may ask its caller. A server could otherwise ask for ever."""


class Turn:
    """The requests that wait for the next outcome of a call, all with the same id."""

    __slots__ = ("_progress", "_rate", "_send", "_waiters", "req_id", "result")

    def __init__(self, req_id: str, send_progress: SendProgress | None, rate: ProgressRate) -> None:
        self.req_id = req_id
        self.result: CallToolResult | None = None
        # A future for each request, instead of one that all wait for: a request that is cancelled must not cancel the
        # others, and the shield that prevents it costs more than the list.
        self._waiters: list[asyncio.Future[CallToolResult]] = []
        self._send = send_progress
        self._rate = rate
        self._progress: CallProgress | None = None

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
        if self._progress is None:
            if self._send is None:
                return
            self._progress = CallProgress(self._send, self._rate)
        self._progress.report(progress, total, message)

    async def finish_progress(self) -> None:
        """Send the last report."""
        if self._progress is not None:
            await self._progress.finish()

    def stop_progress(self) -> None:
        """Send no further report."""
        if self._progress is not None:
            self._progress.stop()


@dataclass(eq=False)
class Call:
    """One call that is running, or waits for a person. Each time it asks, its turn ends; the answer begins another."""

    asked: Callable[[Call, Questions], Awaitable[Answers]]
    """Asks the caller."""
    caller: Caller
    tool: str
    parameters: dict[str, Any]
    timeout: float | None
    deadline: float | None
    turn: Turn
    task: asyncio.Task[CallToolResult] = field(init=False)
    clock: asyncio.Timeout | None = None
    """Interrupts the tool at the deadline."""
    server: str = ""
    error: str | None = None
    code: int | None = None
    """The protocol's code for `error`."""
    failure: SMCPError | None = None
    """Why this Computer ends the call, although nobody cancelled it."""
    is_abandoned: bool = False
    """Whether a question expired, so that nobody waits for the result."""
    rounds: int = 0
    rejected: list[str] = field(default_factory=list[str])
    """Why questions of the MCP server were rejected."""
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))

    def remaining(self) -> float | None:
        """Seconds until the timeout."""
        return seconds_until(self.deadline)

    def set_timeout(self, seconds: float | None) -> None:
        """Let the call end after `seconds` from now."""
        self.deadline = None if seconds is None else time.monotonic() + seconds
        with contextlib.suppress(RuntimeError):  # the tool has just ended
            if self.clock is not None:
                self.clock.reschedule(None if seconds is None else asyncio.get_running_loop().time() + seconds)

    def end(self, failure: SMCPError) -> None:
        """End the call with an error."""
        self.failure = failure
        self.task.cancel()

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """The tool reports its progress."""
        self.turn.report(progress, total, message)

    # An `Asker` of the MCP layer, by these four.

    @property
    def party(self) -> tuple[Caller, str | None]:
        """Who is asked: an Agent may ask several users."""
        return self.caller, self.caller.principal

    @property
    def is_waiting(self) -> bool:
        """Whether a question is open."""
        return self.asking.locked()

    async def ask(self, questions: Questions) -> Answers:
        """Ask the caller."""
        return await self.asked(self, questions)

    def reject(self, reason: str) -> None:
        """Report a question that the caller does not get."""
        words = one_line(f"MCP server {self.server} {reason}")
        logger.warning("a question was rejected: %s", words, extra={"req_id": self.turn.req_id})
        if len(self.rejected) < MAX_ROUNDS:
            self.rejected.append(words)
