"""Whose call is whose: one Agent never gets what another Agent asked for, and nobody's call outlives its office."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.hosting import raw
from tests.support.mcp_servers import received
from tests.support.offices import Office, code, office, text
from tests.support.peer import tool_call
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio


async def start(here: Office, log: Path, **fields: str) -> asyncio.Task[dict[str, object]]:
    """A call of the Agent's that runs for long, once the MCP server has it."""
    request = tool_call(tool_name="sleep", params={"seconds": 600}, timeout=600, **fields)
    call = asyncio.create_task(here.agent.ask("client:tool_call", request))
    await eventually(lambda: received(log, "tools/call"))
    return call


async def agent_leaves(here: Office) -> None:
    await here.agent.ask("server:leave_office", {"office_id": "office"})


async def computer_leaves(here: Office) -> None:
    await here.client.leave_office("office")


async def computer_moves(here: Office) -> None:
    await here.client.join_office("elsewhere")


async def computer_disconnects(here: Office) -> None:
    await here.client.disconnect()


ENDS = [agent_leaves, computer_leaves, computer_moves, computer_disconnects]


@pytest.mark.parametrize("end", ENDS)
async def test_a_call_ends_with_its_office(end: Callable[[Office], Awaitable[None]], tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(raw("raw", "--log", str(log))) as here:
        call = await start(here, log)
        await end(here)
        await eventually(lambda: received(log, "notifications/cancelled"))
        assert (await here.computer.aget_tool_call_history())[-1]["error"] == "cancelled"
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)


@pytest.mark.parametrize("name", ["agent", "other"])
async def test_the_next_agent_gets_its_own_result_under_the_same_id(name: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(raw("raw", "--log", str(log))) as here:
        call = await start(here, log, req_id="1")
        await agent_leaves(here)
        successor = await here.people.member("agent", name, "office")
        request = {**tool_call(tool_name="echo", params={"text": "mine"}, req_id="1"), "agent": name}
        answer = await successor.ask("client:tool_call", request)
        assert (code(answer), text(answer)) == (None, "mine")
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)


async def test_a_computer_that_moved_answers_the_agent_there_under_the_same_id(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(raw("raw", "--log", str(log))) as here:
        call = await start(here, log, req_id="1")
        agent = await here.people.member("agent", "agent", "elsewhere")
        await here.client.join_office("elsewhere")
        answer = await agent.ask("client:tool_call", tool_call(tool_name="echo", params={"text": "mine"}, req_id="1"))
        assert (code(answer), text(answer)) == (None, "mine")
        assert (await call)["isError"]


@pytest.mark.parametrize("change", [{"tool_name": "echo"}, {"params": {"seconds": 1}}], ids=["tool", "parameters"])
async def test_another_call_under_the_id_of_a_running_one_is_refused(change: dict[str, object], tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(raw("raw", "--log", str(log))) as here:
        call = await start(here, log, req_id="1")
        request = {**tool_call(tool_name="sleep", params={"seconds": 600}, req_id="1"), **change}
        answer = await here.agent.ask("client:tool_call", request)
        assert code(answer) == 400
        assert len(received(log, "tools/call")) == 1
        assert not call.done()
        await agent_leaves(here)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
