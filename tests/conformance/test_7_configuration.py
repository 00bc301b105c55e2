"""§7: what an Agent learns of a Computer's configuration, and §4's rules for a Computer's client."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.config.model import MCPServerPickStringInput, MCPServerPromptStringInput
from a2c_smcp.computer.socketio.client import SMCPComputerClient
from tests.support.hosting import hosting, raw
from tests.support.offices import office
from tests.support.peer import crowd
from tests.support.running import running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def test_get_config_has_every_base_field_and_placeholders_as_they_are() -> None:
    inputs = [
        MCPServerPromptStringInput(id="token", description="A token", password=True),
        MCPServerPickStringInput(id="mode", description="A mode", options=["a", "b"], default="a"),
    ]
    config = raw(env={"TOKEN": "${input:token}", "MODE": "${input:mode}"}, tool_meta={"echo": {"alias": "say"}})
    async with office(config, inputs=inputs) as here:
        answer = await here.config()
        assert answer["inputs"] == [
            {"id": "token", "description": "A token", "type": "promptString", "password": True},
            {"id": "mode", "description": "A mode", "type": "pickString", "options": ["a", "b"], "default": "a"},
        ]
        shown = answer["servers"]["raw"]
        assert set(shown) == {
            "name", "bundle_id",
            "disabled", "forbidden_tools", "tool_meta", "default_tool_meta", "vrl", "type", "server_parameters",
        }  # fmt: skip
        assert shown["server_parameters"]["env"] == {"TOKEN": "${input:token}", "MODE": "${input:mode}"}


async def test_get_config_tells_what_is_configured_now() -> None:
    async with office(raw()) as here:
        await here.computer.aadd_or_aupdate_server(raw("more", "--prefix", "m_"))
        assert list((await here.config())["servers"]) == ["raw", "more"]
        await here.computer.aremove_server("raw")
        assert list((await here.config())["servers"]) == ["more"]
        assert [config.name for config in here.computer.mcp_servers] == ["more"]


async def test_a_secret_in_clear_is_not_shown() -> None:
    async with office(raw(env={"API_KEY": "hush-hush", "TOKEN": "${T:-hush-hush}", "PLAIN": "x"})) as here:
        env = (await here.config())["servers"]["raw"]["server_parameters"]["env"]
        assert env == {"API_KEY": "•••", "TOKEN": "${T:-•••}", "PLAIN": "x"}


# --------------------------------------------------------------------------------------------------- the client's rules


@pytest.mark.parametrize("event", ["notify:enter_office", "client:tool_call"])
async def test_a_computer_refuses_to_send_what_is_not_its_to_send(event: str) -> None:
    async with office() as here:
        with pytest.raises(ValueError, match=event):
            await here.client.emit(event, {}, namespace="/smcp")
        with pytest.raises(ValueError, match=event):
            await here.client.call(event, {}, namespace="/smcp")


async def test_the_computer_refers_to_its_client_weakly() -> None:
    computer = Computer("pc")
    client = SMCPComputerClient(computer=computer)
    assert computer.socketio_client is client
    del client
    gc.collect()
    assert computer.socketio_client is None


async def test_a_refused_join_raises_and_leaves_no_office() -> None:
    async with office() as here, hosting() as twin:
        client = SMCPComputerClient(computer=twin)
        await client.connect(here.server.url)
        with pytest.raises(RuntimeError):
            await client.join_office("office")
        assert client.office_id is None
        await client.join_office("another")
        assert client.office_id == "another"
        await client.disconnect()


async def test_leaving_a_wrong_office_says_so() -> None:
    async with office() as here:
        with pytest.raises(RuntimeError):
            await here.client.leave_office("another")


async def test_leaving_is_heard_and_the_office_is_free() -> None:
    async with office() as here:
        await here.client.leave_office("office")
        assert here.client.office_id is None
        assert await here.agent.hear("notify:leave_office") == {"office_id": "office", "computer": "pc"}
        await here.client.join_office("office")
        await here.agent.hear("notify:enter_office")


async def test_helpers_emit_only_in_an_office_and_update_config_always() -> None:
    async with office() as here:
        await here.client.emit_update_config()
        assert await here.agent.hear("notify:update_config") == {"computer": "pc"}
        await here.client.emit_update_tool_list()
        assert await here.agent.hear("notify:update_tool_list") == {"computer": "pc"}
        await here.client.leave_office("office")
        await here.agent.hear("notify:leave_office")
        await here.client.emit_update_config()
        await here.client.update_config()
        assert await here.agent.has_heard() == []


async def test_after_the_server_disconnects_it_a_computer_is_back_by_itself_and_tells_what_changed() -> None:
    async with office(raw()) as here:
        left = asyncio.Event()
        here.client.on("disconnect", lambda *_: left.set(), namespace="/smcp")
        sid = here.client.get_sid("/smcp")
        app: Any = here.server.app
        assert here.server.loop is not None
        work = app.namespace.server.disconnect(sid, namespace="/smcp")
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, here.server.loop))
        await asyncio.wait_for(left.wait(), PATIENCE)
        await here.agent.hear("notify:leave_office")
        await here.computer.aadd_or_aupdate_server(raw("more", "--prefix", "m_"))
        await here.agent.hear("notify:enter_office")
        assert await here.agent.hear("notify:update_tool_list") == {"computer": "pc"}
        assert await here.agent.hear("notify:update_config") == {"computer": "pc"}
        assert "m_echo" in await here.tools()


async def test_a_computer_rejoins_as_soon_as_its_name_is_free() -> None:
    """The Server may hold the broken connection's seat for a while."""
    with running("async") as server:
        async with crowd(server) as people, hosting() as computer:
            client = SMCPComputerClient(computer=computer)
            await client.connect(server.url)
            await client.join_office("office")
            app: Any = server.app
            assert server.loop is not None
            holder = await people.newcomer()
            work = app.namespace.server.disconnect(client.get_sid("/smcp"), namespace="/smcp")
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, server.loop))
            assert await holder.join("computer", "pc", "office") == (True, None)
            agent = await people.member("agent", "agent", "office")
            await holder.disconnect()
            await agent.hear("notify:leave_office")
            assert await agent.hear("notify:enter_office") == {"office_id": "office", "computer": "pc"}
            await client.disconnect()
