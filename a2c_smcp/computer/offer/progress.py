"""What the caller of a tool hears while it runs: reports about its progress, and log messages of its MCP server. Their
rate is bounded, for one call and for all calls of a Computer.

A tool may report every file or every byte. At most ten reports a second are sent for a call. Of more, it is the latest
one, and the last one always: before the result of the call. Log messages are sent together, as often; of too many, the
further ones are counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

import orjson

from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.mcp.messages import LEVELS
from a2c_smcp.protocol.limits import TokenBucket
from a2c_smcp.smcp import LogEntry

logger = logging.getLogger(__name__)

A_SECOND = 10
"""Reports of one call in a second, and as many parcels of messages."""
PAUSE = 0.1
"""Seconds that a call waits at least when all calls together report too much."""
RATE = 50
"""Reports a second of all calls together. The protocol advises a limit of 100 requests a second for a client, and a
Computer has more to send than progress."""
MAX_MESSAGE = 500
"""Characters of a report's text."""
MAX_DATA = 4_000
"""Characters of a log message."""
MOST_MESSAGES = 50
"""Log messages that wait to be sent for one call."""
LAST_SECONDS = 1.0
"""How long the result of a call waits for its last report."""

_Report: TypeAlias = tuple[float, float | None, str | None]
SendProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Sends a report: the amount done, the total, and a text."""
SendLog: TypeAlias = Callable[[list[LogEntry]], Awaitable[None]]
"""Sends log messages."""


class Listener(NamedTuple):
    """What a caller wants to hear."""

    send_progress: SendProgress | None = None
    send_log: SendLog | None = None
    log_level: str | None = None
    """The lowest level of log messages; None for none."""

    def wants(self, level: str) -> bool:
        """Whether the caller gets messages of this level."""
        if self.send_log is None or self.log_level not in LEVELS or level not in LEVELS:
            return False
        return LEVELS.index(level) >= LEVELS.index(self.log_level)


SILENT = Listener()
"""A caller that wants to hear nothing."""


class ReportRate:
    """What all calls of a Computer share."""

    def __init__(self, redact: Redact) -> None:
        self.redact = redact
        self.bucket = TokenBucket(RATE, RATE)


class CallReports:
    """The reports and messages of one call. A task sends them, while there are any."""

    def __init__(self, listener: Listener, rate: ReportRate) -> None:
        self._listener = listener
        self._rate = rate
        self._reports: deque[_Report] = deque(maxlen=A_SECOND)
        self._messages: list[LogEntry] = []
        self._left_out = 0
        self._sent: deque[float] = deque(maxlen=A_SECOND)
        """When the last reports and parcels were sent."""
        self._ending = asyncio.Event()
        """Set when the call ends: what waits is sent at once."""
        self._task: asyncio.Task[None] | None = None

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Note how far the call is. This does not wait."""
        if self._listener.send_progress is not None:
            self._reports.append((progress, total, message))
            self._start()

    def log(self, level: str, data: Any, name: str | None) -> None:
        """Note a message of the MCP server. This does not wait."""
        if not self._listener.wants(level):
            return
        if len(self._messages) >= MOST_MESSAGES:
            self._left_out += 1
            return
        entry = LogEntry(level=level, data=_shown(data, self._rate.redact))
        if name is not None:
            entry["logger"] = self._rate.redact(name, MAX_MESSAGE)
        self._messages.append(entry)
        self._start()

    async def finish(self) -> None:
        """The call ends: send what has not been sent."""
        if self._task is None:
            return
        self._ending.set()
        _, late = await asyncio.wait((self._task,), timeout=LAST_SECONDS)
        if late:
            self.stop()
            logger.debug("the last report of a call was not sent in time")

    def stop(self) -> None:
        """Send nothing more."""
        if self._task is not None:
            self._task.cancel()

    def _start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._send_all(), name="reports of a call")

    async def _send_all(self) -> None:
        while self._reports or self._messages:
            if (pause := self._pause()) > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._ending.wait()
                self._keep_latest()
                if not self._ending.is_set():
                    continue
            await self._send_messages()
            await self._send_report()
        self._task = None

    def _pause(self) -> float:
        """Seconds until the next report may be sent."""
        now = time.monotonic()
        if not self._room(now):
            return 1 - (now - self._sent[0])
        if not self._rate.bucket.take(now):
            # At least the pause: the calls that wait for the bucket must not all wake for one token.
            return max(self._rate.bucket.wait, PAUSE)
        self._sent.append(now)
        return 0

    def _room(self, now: float) -> int:
        """How many reports may be sent now."""
        return A_SECOND - sum(now - sent < 1 for sent in self._sent)

    def _keep_latest(self) -> None:
        while len(self._reports) > 1:
            self._reports.popleft()

    async def _send_report(self) -> None:
        send = self._listener.send_progress
        if send is not None and self._reports:
            progress, total, message = self._reports.popleft()
            if message is not None:
                message = self._rate.redact(message, MAX_MESSAGE)
            await _send(send(progress, total, message))

    async def _send_messages(self) -> None:
        send = self._listener.send_log
        if send is not None and self._messages:
            parcel, self._messages = self._messages, []
            if self._left_out:
                parcel.append(LogEntry(level="notice", data=f"{self._left_out} more messages are left out"))
                self._left_out = 0
            await _send(send(parcel))


async def _send(sending: Awaitable[None]) -> None:
    try:
        await sending
    except Exception as error:  # the connection broke: the call goes on, or is cancelled elsewhere
        logger.debug("a report of a call was not sent: %s", error)


def _shown(data: Any, redact: Redact) -> Any:
    """The data of a message without secrets: as it is if it is short enough, else the beginning of its text."""
    if isinstance(data, str):
        return redact(data, MAX_DATA)
    try:
        text = orjson.dumps(data).decode()
    except TypeError:  # nested too deeply, or a number that JSON does not have
        return "(data that cannot be shown)"
    shown = redact(text, MAX_DATA)
    if shown == text:
        return data
    try:
        return orjson.loads(shown)
    except orjson.JSONDecodeError:  # cut off, or with a secret across its parts
        return shown
