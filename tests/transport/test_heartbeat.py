"""A connection lives as long as its heartbeat, whether much is said over it or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient, DefaultAgentAuthProvider
from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.errors import NotConnectedError
from a2c_smcp.protocol.upkeep import Change
from a2c_smcp.server import Limits
from tests.support.agents import Diary, Form, stage
from tests.support.hosting import hosting, raw
from tests.support.running import running

pytestmark = pytest.mark.anyio

BEAT = 1
LONG = BEAT + 5 + 0.5
"""Seconds. Five over its beat, a client of the library gives up a connection over which it sends nothing."""


async def next_loss(changes: AsyncIterator[Change]) -> Change:
    """The next change that is a connection lost."""
    return await anext(change async for change in changes if change.kind in ("disconnected", "leave"))


@pytest.mark.parametrize("is_busy", [True, False])
async def test_a_connection_outlives_what_would_be_silence(is_busy: bool, caplog: pytest.LogCaptureFixture) -> None:
    limits = Limits(requests_per_second=0)
    with running("async", limits=limits, ping_interval=BEAT, ping_timeout=BEAT) as server:
        async with hosting(raw()) as computer:
            client = SMCPComputerClient(computer=computer)
            await client.reach(server.url, transports=["websocket"])
            await client.join_office("o")
            agent = AsyncSMCPAgentClient(DefaultAgentAuthProvider("agent", "o"))
            await agent.connect_to_server(server.url)
            await agent.join_office()
            changes = agent.changes()

            async def talk() -> None:
                while is_busy:
                    assert not (await agent.emit_tool_call("pc", "echo", {"text": "hi"}, 5)).is_error

            talking = asyncio.create_task(talk())
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(next_loss(changes), LONG)
            assert talking.done() is not is_busy
            assert [record for record in caplog.records if record.levelname == "ERROR"] == []
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)
            assert not (await agent.emit_tool_call("pc", "echo", {"text": "hi"}, 5)).is_error
            await agent.disconnect()
            await client.disconnect()


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_what_a_dead_connection_holds_up_does_not_hold_up_the_next(form: Form) -> None:
    diary = Diary()
    async with stage(form, ping_interval=BEAT, ping_timeout=BEAT) as scene:
        await scene.fake()
        agent = await scene.agent(handler=diary)
        scene.network.freeze()
        with pytest.raises(NotConnectedError):
            await agent.emit_tool_call("pc", "echo", {"text": "x" * 9_000_000}, 60)
        async with asyncio.timeout(LONG):
            await diary.until_heard("rejoined")
