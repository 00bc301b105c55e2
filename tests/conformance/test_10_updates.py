"""§10: what an office hears when a Computer's tools or configuration change."""

from __future__ import annotations

import pytest

from a2c_smcp.computer.types import ServerState
from tests.support.hosting import raw
from tests.support.offices import office

pytestmark = pytest.mark.anyio


async def test_a_changed_tool_list_is_announced() -> None:
    async with office(raw()) as here:
        await here.call("grow", {"name": "grown"})
        assert await here.agent.hear("notify:update_tool_list") == {"computer": "pc"}
        assert "grown" in await here.tools()


async def test_a_notice_without_a_change_is_not_announced() -> None:
    async with office(raw()) as here:
        await here.call("storm", {"count": 50})
        await here.call("grow", {"name": "grown"})
        await here.agent.hear("notify:update_tool_list")
        # The first list of resources may be announced at any moment.
        assert "notify:update_tool_list" not in [event for event, _ in await here.agent.has_heard()]


async def test_a_server_that_goes_and_comes_is_announced() -> None:
    async with office(raw()) as here:
        await here.call("exit", {"code": 1})
        await here.agent.hear("notify:update_tool_list")
        await here.computer.until_state("raw", ServerState.READY)
        while "echo" not in await here.tools():  # a fast return is announced together with the end
            await here.agent.hear("notify:update_tool_list")


async def test_a_changed_configuration_is_announced() -> None:
    async with office(raw()) as here:
        await here.computer.aadd_or_aupdate_server(raw(disabled=True))
        assert await here.agent.hear("notify:update_config") == {"computer": "pc"}
        here.computer.add_or_update_input({"id": "x", "type": "promptString"})
        assert await here.agent.hear("notify:update_config") == {"computer": "pc"}
        await here.computer.aremove_server("raw")
        assert await here.agent.hear("notify:update_config") == {"computer": "pc"}


async def test_a_burst_is_a_handful_of_notices_and_the_last_change_is_never_lost() -> None:
    async with office(raw()) as here:
        for number in range(60):
            here.computer.add_or_update_input({"id": f"i{number}", "type": "promptString"})
        await here.computer.aadd_or_aupdate_server(raw("last", disabled=True))
        heard = 0
        while True:
            await here.agent.hear("notify:update_config")
            heard += 1
            config = await here.config()
            if "last" in config["servers"] and len(config["inputs"]) == 60:
                break
        assert heard <= 10
