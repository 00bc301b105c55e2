"""Who makes a call, and how long it may wait for the owner; what a confirmation callback of a program learns of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

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


def confirming(call: CallToConfirm) -> None:
    """Let `call_to_confirm` return this call in the current context."""
    _to_confirm.set(call)


def call_to_confirm() -> CallToConfirm:
    """The caller of the tool call that is being confirmed, and the time that is left. For use in the callback.

    Raises:
        LookupError: no confirmation callback is running.
    """
    return _to_confirm.get()


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
