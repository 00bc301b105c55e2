"""Reports about the progress of a call, at a bounded rate: for one call, and for all calls of a Computer.

A tool may report every file or every byte. The latest report is sent, at most ten times a second for a call, and the
last one always: before the result of the call.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.protocol.limits import TokenBucket

logger = logging.getLogger(__name__)

PAUSE = 0.1
"""Seconds between two reports of one call."""
RATE = 50
"""Reports a second of all calls together. The protocol advises a limit of 100 requests a second for a client, and a
Computer has more to send than progress."""
MAX_MESSAGE = 500
"""Characters of a report's text."""
LAST_SECONDS = 1.0
"""How long the result of a call waits for its last report."""

SendProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Sends a report: the amount done, the total, and a text."""


class ProgressRate:
    """What all calls of a Computer share."""

    def __init__(self, redact: Redact) -> None:
        self.redact = redact
        self.bucket = TokenBucket(RATE, RATE)


class CallProgress:
    """The reports of one call. A task sends them, while there are any."""

    def __init__(self, send: SendProgress, rate: ProgressRate) -> None:
        self._send = send
        self._rate = rate
        self._latest: tuple[float, float | None, str | None] | None = None
        self._task: asyncio.Task[None] | None = None

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Note how far the call is. This does not wait."""
        self._latest = progress, total, message
        if self._task is None:
            self._task = asyncio.create_task(self._send_all(), name="progress")

    async def finish(self) -> None:
        """The call ends: send the last report, if it has not been sent."""
        if self._task is None:
            return
        self.stop()
        try:
            async with asyncio.timeout(LAST_SECONDS):
                await self._send_latest()
        except TimeoutError:
            logger.debug("the last report of a call was not sent in time")

    def stop(self) -> None:
        """Send nothing more."""
        if self._task is not None:
            self._task.cancel()

    async def _send_all(self) -> None:
        while self._latest is not None:
            if self._rate.bucket.take(time.monotonic()):
                await self._send_latest()
                await asyncio.sleep(PAUSE)
            else:
                # At least the pause, too: the calls that wait for the bucket must not all wake for one token.
                await asyncio.sleep(max(self._rate.bucket.wait, PAUSE))
        self._task = None

    async def _send_latest(self) -> None:
        if (latest := self._latest) is None:
            return
        progress, total, message = latest
        if message is not None:
            message = self._rate.redact(message, MAX_MESSAGE)
        try:
            await self._send(progress, total, message)
        except Exception as error:  # the connection broke: the call goes on, or is cancelled elsewhere
            logger.debug("a report about progress was not sent: %s", error)
        # Afterwards: a report whose sending is cancelled by `finish` is sent again.
        if self._latest is latest:
            self._latest = None
