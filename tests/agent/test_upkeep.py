"""What the office offers, kept current; and what a program hears of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from typing import Any

import pytest

from a2c_smcp.errors import MalformedRequestError, NotInOfficeError, TimedOutError
from tests.support.agents import Diary, FullDiary, Stage, kinds
from tests.support.hosting import raw, shelves
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def test_who_is_there_and_what_they_can_do(scene: Stage) -> None:
    first = await scene.computer(raw("a"), name="first")
    await scene.computer(raw("b"), name="second")
    agent = await scene.agent()
    assert agent.computers == ("first", "second")
    assert [tool["name"] for tool in agent.tools["first"]] == first.tool_names()
    assert set(agent.tools) == {"first", "second"}


async def test_computers_come_and_go(scene: Stage) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary)
    assert agent.computers == ()
    pc = await scene.fake("pc", answer=lambda event, data: {"tools": [TOOL], "req_id": data["req_id"]})
    assert await diary.until_heard("enter") == "pc"
    assert await diary.until_heard("tools") == ("pc", ["tool"])
    assert agent.computers == ("pc",)
    assert agent.tools["pc"] == [TOOL]
    await pc.disconnect()
    assert await diary.until_heard("leave") == "pc"
    assert agent.computers == ()
    assert dict(agent.tools) == {}


async def test_waiting_for_a_computer_and_a_tool(scene: Stage) -> None:
    agent = await scene.agent()
    coming = asyncio.ensure_future(agent.wait_for("pc", "grown", PATIENCE))
    await scene.computer(raw())
    await agent.wait_for("pc", timeout=PATIENCE)
    await agent.wait_for("pc", "grow", PATIENCE)
    assert not coming.done()
    await agent.call_tool("pc", "grow", {"name": "grown"})
    await coming
    assert "grown" in {tool["name"] for tool in agent.tools["pc"]}


async def test_waiting_ends_in_time_and_says_what_is_missing(scene: Stage) -> None:
    await scene.computer(raw())
    agent = await scene.agent()
    with pytest.raises(TimedOutError, match=r"Computer 'nobody' is not in the office; pc is there; waited 0.01 s"):
        await agent.wait_for("nobody", timeout=0.01)
    with pytest.raises(TimedOutError, match="Computer 'pc' has no tool 'nothing'") as caught:
        await agent.wait_for("pc", "nothing", 0.01)
    assert caught.value.details == {"computer": "pc", "tool": "nothing"}
    with pytest.raises(MalformedRequestError):
        await agent.wait_for("pc", "nothing", -1)


@pytest.mark.parametrize("way", ["disconnect", "leave_office"])
async def test_waiting_ends_when_the_agent_leaves(scene: Stage, way: str) -> None:
    agent = await scene.agent()
    waiting = asyncio.ensure_future(agent.wait_for("pc", timeout=PATIENCE))
    await asyncio.sleep(0)
    await getattr(agent, way)()
    with pytest.raises(NotInOfficeError):
        await waiting


async def test_tools_follow_the_computer(scene: Stage) -> None:
    diary = Diary()
    await scene.computer(raw())
    agent = await scene.agent(handler=diary)
    before = {tool["name"] for tool in agent.tools["pc"]}
    await agent.emit_tool_call("pc", "grow", {"name": "grown"}, 10)
    await diary.until(lambda: {tool["name"] for tool in agent.tools["pc"]} > before)
    await agent.emit_tool_call("pc", "shrink", {"name": "grown"}, 10)
    await diary.until(lambda: {tool["name"] for tool in agent.tools["pc"]} == before)


async def test_a_changed_configuration_changes_the_tools(scene: Stage) -> None:
    diary = Diary()
    computer = await scene.computer(raw())
    agent = await scene.agent(handler=diary, keep=["config"])
    assert set(agent.configs["pc"]["servers"]) == {"raw"}
    await computer.aadd_or_aupdate_server(shelves("more"))
    await diary.until(lambda: "set_window" in {tool["name"] for tool in agent.tools["pc"]})
    await diary.until(lambda: set(agent.configs["pc"]["servers"]) == {"raw", "more"})
    assert diary.count("config") >= 1


async def test_windows_and_documents_are_fetched_for_who_wants_to_hear(scene: Stage) -> None:
    diary = FullDiary()
    await scene.computer(shelves("s", "--windows", "1", "--documents", "1"))
    agent = await scene.agent(handler=diary)
    assert len(agent.desktops["pc"]) == 1
    assert agent.finders["pc"]["total_count"] == 1
    await agent.emit_tool_call("pc", "set_window", {"uri": "window://shelf/new", "text": "new"}, 10)
    await diary.until(lambda: any("new" in window for window in agent.desktops["pc"]))
    await agent.emit_tool_call(
        "pc",
        "set_document",
        {"ref": "new", "fields": {"title": "new", "page_count": 1, "file_uri": "file:///n", "file_type": "txt"}},
        10,
    )
    await diary.until(lambda: agent.finders["pc"]["total_count"] == 2)
    assert diary.count("desktop") >= 2
    assert diary.count("finder") >= 2


async def test_nothing_is_fetched_that_nobody_wants(scene: Stage) -> None:
    pc = await scene.fake()
    pc.answer = lambda event, data: {"tools": [], "req_id": data["req_id"]}
    agent = await scene.agent(handler=Diary())
    changes = agent.changes()
    for event in ("server:update_desktop", "server:update_finder"):
        await pc.tell(event, {"computer": "pc"})
    heard = await agent.each(changes, 2)
    assert kinds(heard) == [("desktop", "pc"), ("finder", "pc")]
    assert {event for event, _ in pc.asked} == {"client:get_tools"}


async def test_changes_are_iterated_over_until_the_agent_leaves(scene: Stage) -> None:
    agent = await scene.agent()
    changes = agent.changes()
    pc = await scene.fake("pc", answer=lambda event, data: {"tools": [TOOL], "req_id": data["req_id"]})
    heard = await agent.each(changes, 2)
    assert kinds(heard) == [("enter", "pc"), ("tools", "pc")]
    assert heard[1].data == [TOOL]
    await pc.disconnect()
    assert kinds(await agent.each(changes, 1)) == [("leave", "pc")]
    rest = asyncio.create_task(agent.each(changes))
    await agent.disconnect()
    assert await rest == []


async def test_a_storm_of_notices_costs_few_fetches_and_ends_current(scene: Stage) -> None:
    version = 0
    fetches = 0

    def answer(event: str, data: Any) -> Any:
        nonlocal fetches
        if event != "client:get_finder":
            return {"tools": [], "req_id": data["req_id"]}
        fetches += 1
        return {"documents": [], "total_count": version, "req_id": data["req_id"]}

    pc = await scene.fake()
    pc.answer = answer
    diary = FullDiary()
    agent = await scene.agent(handler=diary)
    for _ in range(900):
        version += 1
        await pc.tell("server:update_finder", {"computer": "pc"})
    await diary.until(lambda: agent.finders["pc"]["total_count"] == version)
    assert fetches <= 20


async def test_a_handler_may_use_the_client(scene: Stage) -> None:
    diary = CallingDiary(scene.form)
    agent = await scene.agent(handler=diary)
    await scene.computer(raw())
    assert await diary.until_heard("called back") == "hello from the handler"
    await diary.until_heard("disconnected itself")
    assert not agent.connected


async def test_a_handler_that_raises_harms_nobody(scene: Stage, caplog: pytest.LogCaptureFixture) -> None:
    diary = ClumsyDiary()
    agent = await scene.agent(handler=diary)
    with caplog.at_level(logging.ERROR):
        await scene.computer(raw())
        await diary.until_heard("tools")
    assert "the event handler failed at enter" in caplog.text
    assert not (await agent.emit_tool_call("pc", "echo", {"text": "hi"}, 10)).isError


async def test_whatever_awaitable_a_handler_returns_is_awaited(scene: Stage) -> None:
    diary = Deferred()
    await scene.agent(handler=diary)
    await scene.fake("pc")
    assert await diary.until_heard("awaited") == "pc"


async def test_a_handler_that_lacks_methods_is_fine(scene: Stage) -> None:
    agent = await scene.agent(handler=object())
    await scene.computer(raw())
    changes = agent.changes()
    await agent.wait_for(timeout=PATIENCE)
    assert changes is not None


async def test_a_slow_computer_delays_nobody(scene: Stage) -> None:
    slow = await scene.fake("slow")
    slow.answer = lambda event, data: asyncio.Event().wait()
    await scene.computer(raw(), name="quick")
    agent = scene.visitor()
    await agent.connect_to_server(scene.server.url)
    await agent.join_office()
    assert set(agent.computers) == {"slow", "quick"}
    with pytest.raises(TimedOutError, match="are still unknown"):
        await agent.wait_for(timeout=0.5)
    assert agent.tools["quick"]
    assert agent.tools["slow"] == []


async def test_a_computer_that_cannot_answer_yet_is_asked_again(scene: Stage) -> None:
    tries = 0

    def answer(event: str, data: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries == 1:
            return {"error": {"code": 500, "message": "not now"}}
        return {"tools": [TOOL], "req_id": data["req_id"]}

    diary = Diary()
    agent = await scene.agent(handler=diary)
    await scene.fake(answer=answer)
    await diary.until_heard("tools")
    assert agent.tools["pc"] == [TOOL]


class Deferred(Diary):
    """Returns an awaitable that is no coroutine."""

    def on_computer_enter_office(self, data: Any, client: Any) -> Any:
        note = self.note

        class Later:
            def __await__(self) -> Generator[Any, Any, None]:
                yield from asyncio.sleep(0).__await__()
                note("awaited", data["computer"])

        return Later()


class CallingDiary(Diary):
    """Calls a tool from a handler, in the form its client has, and then disconnects."""

    def __init__(self, form: str) -> None:
        super().__init__()
        if form == "async":
            self.on_tools_received = self._call  # pyright: ignore[reportIncompatibleMethodOverride, reportAttributeAccessIssue]
        else:
            self.on_tools_received = self._call_blocking  # pyright: ignore[reportIncompatibleMethodOverride, reportAttributeAccessIssue]

    async def _call(self, computer: str, tools: Any, client: Any) -> None:
        result = await client.emit_tool_call(computer, "echo", {"text": "hello from the handler"}, 10)
        self.note("called back", result.content[0].text)
        await client.disconnect()
        self.note("disconnected itself")

    def _call_blocking(self, computer: str, tools: Any, client: Any) -> None:
        result = client.emit_tool_call(computer, "echo", {"text": "hello from the handler"}, 10)
        self.note("called back", result.content[0].text)
        client.disconnect()
        self.note("disconnected itself")


class ClumsyDiary(Diary):
    def on_computer_enter_office(self, data: Any, client: Any) -> None:
        raise RuntimeError("clumsy")


TOOL = {"name": "tool", "description": "a tool", "params_schema": {"type": "object"}, "return_schema": None}
