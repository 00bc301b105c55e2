"""Prompts, resources and digests in both Agents."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from a2c_smcp import errors
from a2c_smcp.agent import Change, ServerInfo
from a2c_smcp.server import SMCPNamespace
from tests.computer.offer.test_prompts_and_resources import NOTES
from tests.support.agents import Diary, Form, Stage, stage
from tests.support.hosting import offering
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio


class ResourceDiary(Diary):
    def on_update_resources(self, data: Any, client: Any) -> None:
        self.note("resources", data)

    def on_update_prompts(self, data: Any, client: Any) -> None:
        self.note("prompts", data)

    def on_update_resource(self, data: Any, client: Any) -> None:
        self.note("resource", data)


async def test_prompts_and_resources_are_listed_as_a_whole_and_page_by_page(scene: Stage) -> None:
    await scene.computer(offering("a"), offering("b", "--prefix", "b-"))
    agent = await scene.agent()
    assert [each["name"] for each in await agent.prompts("pc", "a")] == ["greet", "plain", "third"]
    assert len(await agent.prompts("pc")) == len((await agent.list_prompts("pc"))["prompts"]) == 6
    answer = await agent.prompt("pc", "greet", {"who": "Ada"})
    assert answer["messages"][0]["content"]["text"] == "Greet Ada."
    assert [each["uri"] for each in await agent.resources("pc", "a")] == [NOTES, "memo://0", "memo://1", "memo://2"]
    assert len(await agent.resources("pc")) == 8
    page = await agent.get_resources("pc", mcp_server="b")
    assert (len(page["resources"]), "next_cursor" in page) == (2, True)
    assert (await agent.read_contents("pc", "x://y", mcp_server="b"))["contents"][0]["text"] == "text of x://y"
    with pytest.raises(errors.MCPServerNotFoundError):
        await agent.resources("pc", "nobody")
    with pytest.raises(errors.NotFoundError):
        await agent.prompt("pc", "nothing")


async def test_a_resource_stays_watched_when_the_agent_or_the_computer_returns(scene: Stage) -> None:
    diary = ResourceDiary()
    computer = await scene.computer(offering("a"))
    agent = await scene.agent(handler=diary)
    await agent.watch_resource("pc", NOTES)
    await agent.call_tool("pc", "update", {"uri": NOTES})
    notice = {"computer": "pc", "uri": NOTES, "mcp_server": "a"}
    assert await diary.until_heard("resource") == notice
    # What changed while the Agent was away was not announced, so the resource counts as changed when it is back.
    scene.network.cut()
    assert (await diary.until_heard("resource", 2))["uri"] == NOTES
    await agent.call_tool("pc", "update", {"uri": NOTES})
    assert await diary.until_heard("resource", 3) == notice
    client = computer.socketio_client
    assert client is not None
    await client.leave_office("office")
    await client.join_office("office")
    assert (await diary.until_heard("resource", 4))["uri"] == NOTES
    await agent.call_tool("pc", "update", {"uri": NOTES})
    assert await diary.until_heard("resource", 5) == notice
    await agent.watch_resource("pc", NOTES, watch=False)
    await agent.call_tool("pc", "update", {"uri": NOTES})
    await agent.call_tool("pc", "rename", {"prompt": "x"})
    assert diary.count("resource") == 5


async def test_lists_of_resources_and_prompts_that_change_are_reported(scene: Stage) -> None:
    diary = ResourceDiary()
    computer = await scene.fake(answer=lambda event, data: {"tools": [], "req_id": data["req_id"]})
    agent = await scene.agent(handler=diary)
    changes = agent.changes()
    for _ in range(100):
        await computer.tell("server:update_resources", {"computer": "pc"})
    await computer.ask("server:update_prompts", {"computer": "pc"})
    assert await diary.until_heard("prompts") == await diary.until_heard("resources") == {"computer": "pc"}
    found = await agent.each(changes, 2)
    assert found == [Change("resources", "pc"), Change("prompts", "pc")], "one change stands for all that are unread"


class Older(SMCPNamespace):
    """A Server that says nothing about itself."""

    async def on_server_join_office(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        accepted, reason, *_ = await super().on_server_join_office(sid, data)
        return accepted, reason


async def test_a_server_that_does_not_relay_changes_of_resources_is_reported(
    form: Form, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage(form, namespace_class=Older) as scene:
        await scene.computer(offering("a"))
        agent = await scene.agent(dialect="s")
        assert agent.client.server_info == ServerInfo(dialect="s")
        await agent.watch_resource("pc", NOTES)
        assert f"those of {NOTES} are not reported" in caplog.text


async def test_updates_of_resources_that_nobody_watches_are_ignored(scene: Stage) -> None:
    computer = await scene.fake(answer=lambda event, data: {"tools": [], "req_id": data["req_id"]})
    agent = await scene.agent()
    await agent.watch_resource("pc", NOTES)
    changes = agent.changes()
    for number in range(1_000):
        await computer.tell("server:update_resource", {"computer": "pc", "uri": f"made://up/{number}"})
    await computer.tell("server:update_resource", {"computer": "pc", "uri": NOTES, "mcp_server": "s"})
    [change] = await agent.each(changes, 1)
    assert change == Change("resource", "pc", {"computer": "pc", "uri": NOTES, "mcp_server": "s"})


async def test_updates_that_are_no_updates_are_ignored(scene: Stage) -> None:
    await scene.fake(answer=lambda event, data: {"tools": [], "req_id": data["req_id"]})
    agent = await scene.agent()
    await agent.watch_resource("pc", NOTES)
    changes = agent.changes()
    for fields in ({"uri": [NOTES]}, {"uri": NOTES, "mcp_server": ["s"]}, {"mcp_server": "s"}, {"uri": NOTES}):
        await scene.server_says("notify:update_resource", {"computer": "pc", **fields})
    [change] = await agent.each(changes, 1)
    assert change.data == {"computer": "pc", "uri": NOTES}


async def test_a_watch_that_fails_leaves_the_other_watches_of_the_address(scene: Stage) -> None:
    diary = ResourceDiary()
    computer = await scene.computer(offering("a"), offering("b"))
    await computer.mcp_manager.be_listed(PATIENCE)
    agent = await scene.agent(handler=diary)
    await agent.watch_resource("pc", NOTES, mcp_server="a")
    with pytest.raises(errors.MalformedRequestError):
        await agent.watch_resource("pc", NOTES)  # two servers have it
    await agent.call_tool("pc", "update", {"uri": NOTES})
    assert await diary.until_heard("resource") == {"computer": "pc", "uri": NOTES, "mcp_server": "a"}


async def test_of_two_requests_for_a_watch_one_is_enough(scene: Stage) -> None:
    diary = ResourceDiary()
    asked: list[asyncio.Future[Any]] = []

    def answer(event: str, data: Any) -> Any:
        if event != "client:watch_resource":
            return {"tools": [], "req_id": data["req_id"]}
        asked.append(asyncio.get_running_loop().create_future())
        return asked[-1]

    computer = await scene.fake(answer=answer)
    agent = await scene.agent(handler=diary)
    failing = asyncio.ensure_future(agent.watch_resource("pc", NOTES))
    await eventually(lambda: len(asked) == 1)
    succeeding = asyncio.ensure_future(agent.watch_resource("pc", NOTES))
    await eventually(lambda: len(asked) == 2)
    asked[1].set_result({})
    await succeeding
    asked[0].set_result({"error": {"code": 404, "message": "not here"}})
    with pytest.raises(errors.NotFoundError):
        await failing
    await computer.tell("server:update_resource", {"computer": "pc", "uri": NOTES, "mcp_server": "s"})
    assert (await diary.until_heard("resource"))["uri"] == NOTES


async def test_a_list_that_never_ends_is_an_error(scene: Stage) -> None:
    number = 0

    def answer(event: str, data: Any) -> Any:
        nonlocal number
        number += 1
        page = [{"name": "p", "uri": "x://y", "mcp_server": "s"}] * 5_000
        return {"tools": [], "prompts": page, "resources": page, "next_cursor": str(number), "req_id": data["req_id"]}

    await scene.fake(answer=answer)
    agent = await scene.agent()
    for listing in (agent.prompts, agent.resources):
        with pytest.raises(errors.InvalidAnswerError):
            await listing("pc")


async def test_an_agent_does_not_fetch_tools_again_that_it_has(scene: Stage) -> None:
    tools: list[Any] = [{"name": "t", "description": "", "params_schema": {}, "return_schema": None}]
    asked: list[Any] = []

    def answer(event: str, data: Any) -> Any:
        asked.append(data.get("known_digest"))
        if data.get("known_digest") == "d1":
            return {"unchanged": True, "digest": "d1", "req_id": data["req_id"]}
        return {"tools": tools, "digest": "d1", "req_id": data["req_id"]}

    computer = await scene.fake(answer=answer)
    diary = Diary()
    agent = await scene.agent(handler=diary)
    for times in (2, 3):
        await computer.tell("server:update_tool_list", {"computer": "pc"})
        await diary.until_heard("tools", times)
    assert asked == [None, "d1", "d1"]
    assert agent.client.tools == {"pc": tools}
    answer_now = await agent.get_tools_from_computer("pc", known_digest="d1")
    assert (answer_now["unchanged"], answer_now["tools"]) == (True, [])
    assert (await agent.get_tools_from_computer("pc"))["tools"] == tools
