"""Questions of MCP servers, and answers to them, for a program with a Computer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.offer.calls import Continuation
from a2c_smcp.utils.results import CallToolResult
from tests.support.waiting import PATIENCE

OLD, NEW = "2025-11-25", "2026-07-28"
ERAS = pytest.mark.parametrize("era", [OLD, NEW])
ADA = {"name": "Ada"}


def required(result: CallToolResult) -> dict[str, Any]:
    """The questions in a result."""
    assert result.is_error
    assert result.meta is not None
    return result.meta["a2c_input_required"]


async def answer(
    computer: Computer, result: CallToolResult, *answers: dict[str, Any], tool: str = "ask", **more: Any
) -> CallToolResult:
    """Call again with an answer to each question."""
    asked = required(result)
    given = dict(zip(asked["requests"], answers, strict=True))
    continuation = Continuation(asked["request_state"], given)
    arguments, req_id = more.pop("arguments", {}), more.pop("req_id", "r2")
    return await computer.aexecute_tool(req_id, tool, arguments, PATIENCE, continuation=continuation, **more)


async def ended(computer: Computer) -> None:
    """Wait for the end of a call that no request waits for."""
    async with asyncio.timeout(PATIENCE):
        while not await computer.aget_tool_call_history():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}
