"""Calls without end, while the parts of an office fail and return."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient
from a2c_smcp.errors import SMCPError
from tests.support.waiting import PATIENCE

CALL_SECONDS = 5
ANSWER_SECONDS = CALL_SECONDS + PATIENCE
"""No call may take longer to be answered, whatever the answer is."""
CALLERS = 4
OFFICE, KEY, COMPUTER = "acme", "a-key-for-the-day", "my-laptop"


@dataclass
class Load:
    """An Agent that calls a tool all the time, and what came of it."""

    agent: AsyncSMCPAgentClient
    answered: int = 0
    succeeded: int = 0
    unanswered: list[BaseException] = field(default_factory=list[BaseException])
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self) -> None:
        """Call without end."""
        while True:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    result = await self.agent.emit_tool_call(COMPUTER, "echo", {"text": "hello"}, CALL_SECONDS)
                self.succeeded += not result.is_error
            except SMCPError:
                await asyncio.sleep(0)  # an answer, too: at once, and with a code
            except TimeoutError as error:
                self.unanswered.append(error)
            self.answered += 1
            self._news.set()
            await asyncio.sleep(0.01)

    async def until_calls_succeed(self) -> None:
        """Wait for a good many calls that succeed from now on."""
        wanted = self.succeeded + 5 * CALLERS
        await eventually(lambda: self.succeeded >= wanted, self._news, lambda: f"{self}")


async def eventually(condition: Callable[[], bool], news: asyncio.Event, why: Callable[[], str]) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                news.clear()
                await news.wait()
    except TimeoutError:
        pytest.fail(f"it does not come back: {why()}")
