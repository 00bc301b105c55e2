"""A Computer in somebody's program joins an office, and leaves it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.computer import Computer, SMCPComputerClient, server_from
from a2c_smcp.errors import NotAuthenticatedError, NotConnectedError, OfficeRefusedError, SMCPError
from a2c_smcp.server import DefaultAuthenticationProvider
from tests.support.hosting import AUTO, hosting
from tests.support.hosting import raw as raw_server
from tests.support.mcp_servers import raw, received
from tests.support.peer import crowd, tool_call
from tests.support.process import free_port
from tests.support.proxy import network
from tests.support.running import running
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio


async def test_a_program_offers_a_computer_in_a_few_lines() -> None:
    command, *args = raw()
    echo = server_from({"command": command, "args": args, "default_tool_meta": AUTO}, "echo")
    with running("async", DefaultAuthenticationProvider("key")) as server:
        async with crowd(server) as people:
            agent = await people.member("agent", "agent", "office", auth={"api_key": "key"})
            async with (
                Computer("pc", mcp_servers=[echo]) as computer,
                SMCPComputerClient.in_office(computer, server.url, "office", api_key="key") as client,
            ):
                assert client.office_id == "office"
                assert computer.socketio_client is client
                assert await agent.hear("notify:enter_office") == {"office_id": "office", "computer": "pc"}
                result = await agent.ask("client:tool_call", tool_call())
                assert result["content"][0]["text"] == "hi"
            assert await agent.hear("notify:leave_office") == {"office_id": "office", "computer": "pc"}
            assert not client.connected


async def test_it_comes_back_after_the_connection_broke() -> None:
    with running("async") as server:
        async with crowd(server) as people, network(server.url) as wires:
            agent = await people.member("agent", "agent", "office")
            quickly: dict[str, Any] = {"reconnection_delay": 0.05, "reconnection_delay_max": 0.2}
            async with SMCPComputerClient.in_office(Computer("pc"), wires.url, "office", **quickly):
                await agent.hear("notify:enter_office")
                wires.cut()
                await agent.hear("notify:leave_office")
                assert await agent.hear("notify:enter_office") == {"office_id": "office", "computer": "pc"}


async def test_calls_end_with_the_connection(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with running("async") as server:
        async with (
            crowd(server) as people,
            network(server.url) as wires,
            hosting(raw_server("raw", "--log", str(log))) as computer,
            SMCPComputerClient.in_office(computer, wires.url, "office"),
        ):
            agent = await people.member("agent", "agent", "office")
            wanted = tool_call(tool_name="sleep", params={"seconds": 60})
            call = asyncio.create_task(agent.ask("client:tool_call", wanted))
            await eventually(lambda: received(log, "tools/call"))
            wires.cut()
            assert (await call)["error"]["code"] == 404
            await eventually(lambda: received(log, "notifications/cancelled"))


async def test_a_call_that_arrives_during_a_move_belongs_to_the_old_office(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with running("async") as server:
        async with (
            crowd(server) as people,
            network(server.url) as wires,
            hosting(raw_server("raw", "--log", str(log))) as computer,
            SMCPComputerClient.in_office(computer, wires.url, "office") as client,
        ):
            agent = await people.member("agent", "agent", "office")
            wires.listens.clear()
            move = asyncio.create_task(client.join_office("elsewhere"))
            await eventually(lambda: wires.is_holding)
            wanted = tool_call(tool_name="sleep", params={"seconds": 600}, timeout=600)
            call = asyncio.create_task(agent.ask("client:tool_call", wanted))
            await eventually(lambda: received(log, "tools/call"))
            wires.listens.set()
            await move
            await eventually(lambda: received(log, "notifications/cancelled"))
            assert (await call)["isError"]


async def test_why_it_cannot_join_is_an_error_of_the_protocol() -> None:
    with running("async", DefaultAuthenticationProvider("key")) as server:
        async with crowd(server) as people:
            await people.member("computer", "pc", "office", auth={"api_key": "key"})
            with pytest.raises(OfficeRefusedError, match=r"the name 'pc' is taken in office 'office'$") as caught:
                await enter(server.url, "key")
            assert caught.value.code == 403
            assert isinstance(caught.value, SMCPError)
            assert isinstance(caught.value, RuntimeError), "as programs for the published package expect"
            with pytest.raises(NotAuthenticatedError):
                await enter(server.url, "another key")
            with pytest.raises(NotConnectedError):
                await enter(f"http://127.0.0.1:{free_port()}", "key")


async def enter(url: str, key: str) -> None:
    computer = Computer("pc")
    async with SMCPComputerClient.in_office(computer, url, "office", api_key=key):
        raise AssertionError("it is in")
