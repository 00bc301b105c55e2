"""Whether a call of a tool without `auto_apply` may run: the confirmation callback of the Computer's owner decides."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from a2c_smcp.computer.offer.tools import Entry
from a2c_smcp.errors import ConfirmationRequiredError
from a2c_smcp.utils.threads import in_thread

logger = logging.getLogger(__name__)

MAX_QUESTIONS = 64
"""Blocking confirmations that are open at a time: each has a thread."""

ConfirmCallback: TypeAlias = Callable[[str, str, str, dict[str, Any]], bool | Awaitable[bool]]
"""`(req_id, server, tool, parameters)`: whether the call may run. A blocking one runs in a thread."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The Agent that makes a call; without office and name, the program that runs this Computer."""

    office_id: str = ""
    agent: str = ""
    principal: str | None = field(default=None, compare=False)
    """The user that the Agent makes this call for, if it says so. Its calls belong to the Agent all the same."""


@dataclass(frozen=True, slots=True)
class CallToConfirm:
    """What a confirmation callback may want to know beyond its arguments."""

    caller: Caller
    deadline: float | None
    """When the call times out, on the clock of `time.monotonic`."""

    def remaining(self) -> float | None:
        """Seconds until the call times out; None if it never does."""
        return seconds_until(self.deadline)


_to_confirm: ContextVar[CallToConfirm] = ContextVar("call to confirm")


def call_to_confirm() -> CallToConfirm:
    """The caller of the tool call that is being confirmed, and the time that is left. For use in the callback.

    Raises:
        LookupError: no confirmation callback is running.
    """
    return _to_confirm.get()


class Confirmation:
    """Asks the confirmation callback. Without one, every call that it is asked about is rejected."""

    def __init__(self, callback: ConfirmCallback | None) -> None:
        self.callback = callback
        # A semaphore of `threading`, because the thread of the callback releases it.
        self._questions = threading.BoundedSemaphore(MAX_QUESTIONS)

    async def confirm(
        self, req_id: str, tool: str, parameters: dict[str, Any], entry: Entry, call: CallToConfirm
    ) -> None:
        """Return if the call may run.

        Raises:
            ConfirmationRequiredError: it may not run, or there is no answer in time.
        """
        if self.callback is None:
            raise ConfirmationRequiredError(
                f"the tool {tool} needs confirmation, and this Computer has nobody to ask: "
                "its owner may set auto_apply for it"
            )
        # Not reset afterwards: each call has its own task, and with it its own context. The thread of a blocking
        # callback gets a copy of that context.
        _to_confirm.set(call)
        try:
            async with asyncio.timeout(call.remaining()):
                allowed = await self._ask(self.callback, req_id, entry.server, tool, parameters)
        except TimeoutError:
            raise ConfirmationRequiredError(f"nobody confirmed the tool {tool} in time") from None
        except asyncio.CancelledError:
            if is_cancelled_itself():
                raise
            allowed = False  # the callback cancelled its own work, as a closed dialog does: the answer is no
        except ConfirmationRequiredError:
            raise
        except Exception as error:
            logger.exception("the confirmation callback failed", extra={"req_id": req_id})
            raise ConfirmationRequiredError(f"asking for confirmation failed: {type(error).__name__}") from error
        if not allowed:
            raise ConfirmationRequiredError(f"the owner of this Computer did not allow the tool {tool}")

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


def seconds_until(deadline: float | None) -> float | None:
    """Seconds until a deadline on the clock of `time.monotonic`; None without a deadline."""
    return None if deadline is None else max(deadline - time.monotonic(), 0)


def is_cancelled_itself() -> bool:
    """Whether the running task itself is being cancelled.

    `CancelledError` has two causes that look the same: this task is cancelled, or something it awaits was. Only the
    first one must be passed on.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
