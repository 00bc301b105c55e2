"""VRL (Vector Remap Language): runs scripts on the results of tool calls, in `vrl_worker`, a separate process.

A script that fails, hangs or crashes leads to a warning; the result of the call is sent without its transformation.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from asyncio.subprocess import PIPE, Process
from typing import Any

import orjson

from a2c_smcp.computer.config.vrl_syntax import ENVIRONMENT, WORKER

logger = logging.getLogger(__name__)

MAX_EVENT = 4_000_000
"""Bytes in an event: a larger result is not transformed."""
RUN_SECONDS = 5.0


class Transformer:
    """Runs scripts, one at a time, in a worker that starts when it is first needed."""

    def __init__(self) -> None:
        self._worker: Process | None = None
        self._turn = asyncio.Lock()

    async def run(self, script: str, event: dict[str, Any], seconds: float = RUN_SECONDS) -> str | None:
        """The event after the script, as a JSON string; None, after a warning, if the script failed."""
        try:
            request = orjson.dumps({"script": script, "event": event})
        except TypeError:
            logger.warning("VRL: the result cannot be written as JSON")
            return None
        if len(request) > MAX_EVENT:
            logger.warning("VRL: a result of %d bytes is not transformed; at most %d are", len(request), MAX_EVENT)
            return None
        try:
            # The wait for the turn is part of the time: a slow script of one server must not delay the results of
            # others without limit.
            async with asyncio.timeout(seconds), self._turn:
                answer = await self._ask(request)
        except TimeoutError:
            logger.warning("VRL: the script did not finish within %g s", seconds)
            return None
        except (OSError, ValueError):
            logger.warning("VRL: the worker crashed")
            return None
        if "error" in answer:
            logger.warning("VRL: %s", answer["error"])
            return None
        return answer["event"]

    async def _ask(self, request: bytes) -> dict[str, Any]:
        worker = self._worker
        if worker is None or worker.returncode is not None:
            # The answer has the event as JSON inside a JSON string, where each quote and backslash takes another
            # character, and the script may add to it. Hence a line limit of four times the largest event.
            worker = self._worker = await asyncio.create_subprocess_exec(
                *WORKER, stdin=PIPE, stdout=PIPE, env=ENVIRONMENT, limit=4 * MAX_EVENT
            )
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(request + b"\n")
            await worker.stdin.drain()
            return orjson.loads(await worker.stdout.readline())
        except BaseException:
            # The worker crashed, or this request was cancelled while its answer is on the way. A worker answers in
            # order, so the next request would read this answer as its own: end the worker instead.
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            with contextlib.suppress(ProcessLookupError):
                worker.kill()
            await asyncio.shield(worker.wait())
