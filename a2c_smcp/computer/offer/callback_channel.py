"""The confirmation callback of a program, as one of the channels that decide about calls."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable
from typing import Any

from a2c_smcp.computer.offer.approval_request import ApprovalRequest, Decision, Verdict
from a2c_smcp.computer.offer.confirmation import ConfirmCallback, confirming, is_cancelled_itself
from a2c_smcp.errors import ConfirmationRequiredError
from a2c_smcp.utils.threads import in_thread

logger = logging.getLogger(__name__)

MAX_QUESTIONS = 64
"""Blocking confirmations that are open at a time: each has a thread."""
CALLBACK = "the program of this Computer"


class CallbackChannel:
    """Asks the callback. Its answer is always a decision, and so is its failure: no."""

    def __init__(self, callback: ConfirmCallback | None) -> None:
        self.callback = callback
        # A semaphore of `threading`, because the thread of the callback releases it.
        self._questions = threading.BoundedSemaphore(MAX_QUESTIONS)

    async def decide(self, request: ApprovalRequest) -> Verdict | None:
        """What the callback says; None without one."""
        if self.callback is None:
            return None
        # Not reset afterwards: each request asks in a task of its own, and with it in its own context. The thread of a
        # blocking callback gets a copy of that context.
        confirming(request.call)
        arguments = request.req_id, request.entry.server, request.tool, request.parameters
        try:
            allowed = await self._ask(self.callback, *arguments)
        except asyncio.CancelledError:
            if is_cancelled_itself():
                raise
            allowed = False  # the callback cancelled its own work, as a closed dialog does: the answer is no
        except ConfirmationRequiredError as error:
            return Verdict(Decision.DENY, CALLBACK, error=error)
        except Exception as error:
            logger.exception("the confirmation callback failed", extra={"req_id": request.req_id})
            failure = ConfirmationRequiredError(f"asking for confirmation failed: {type(error).__name__}")
            return Verdict(Decision.DENY, CALLBACK, error=failure)
        return Verdict(Decision.ALLOW if allowed else Decision.DENY, CALLBACK)

    async def _ask(self, callback: ConfirmCallback, *arguments: Any) -> bool:
        if inspect.iscoroutinefunction(callback):
            return bool(await callback(*arguments))
        if not self._questions.acquire(blocking=False):
            raise ConfirmationRequiredError(f"{MAX_QUESTIONS} calls wait for confirmation already")

        def ask() -> bool | Awaitable[bool]:
            try:
                return callback(*arguments)
            finally:
                # Here, and not when the call ends: a call that times out leaves its thread behind, in which the
                # callback still waits for a person. Only the end of the thread makes room for another.
                self._questions.release()

        # A callback without `async` may block until a person answers, and may also return an awaitable.
        answer = await in_thread(ask)
        return bool(await answer if inspect.isawaitable(answer) else answer)
