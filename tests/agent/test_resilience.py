"""Networks that break, Servers and Computers that restart, and peers that answer nonsense."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.errors import (
    InternalError,
    InvalidAnswerError,
    NotConnectedError,
    NotFoundError,
    NotSupportedError,
    SMCPError,
)
from tests.agent.forms import Diary, Stage
from tests.computer.hosting import eventually, raw, received
from tests.support.running import running

pytestmark = pytest.mark.anyio


async def test_a_cut_network_ends_calls_at_once_and_the_agent_comes_back(scene: Stage, tmp_path: Path) -> None:
    log = tmp_path / "log"
    diary = Diary()
    await scene.computer(raw("raw", "--log", str(log)))
    agent = await scene.agent(handler=diary)
    call = asyncio.create_task(agent.emit_tool_call("pc", "sleep", {"seconds": 60}, 60))
    await eventually(lambda: received(log, "tools/call"))
    scene.network.cut()
    with pytest.raises(NotConnectedError):
        await call
    await diary.until_heard("disconnected")
    await diary.until_heard("rejoined")
    assert not (await agent.emit_tool_call("pc", "echo", {"text": "back"}, 10)).isError
    await eventually(lambda: received(log, "notifications/cancelled"))


async def test_who_came_and_went_meanwhile_is_known_after_coming_back(scene: Stage) -> None:
    diary = Diary()
    early = await scene.fake("early")
    early.answer = tools_answer
    agent = await scene.agent(handler=diary)
    assert agent.computers == ("early",)
    scene.network.down = True
    scene.network.cut()
    await diary.until_heard("disconnected")
    with pytest.raises(NotConnectedError):
        await agent.get_tools_from_computer("early")
    await early.disconnect()
    (await scene.fake("late")).answer = tools_answer
    scene.network.down = False
    await diary.until_heard("rejoined")
    assert await diary.until_heard("leave") == "early"
    assert await diary.until_heard("enter") == "late"
    await diary.until(lambda: agent.computers == ("late",))


async def test_a_server_that_restarts_finds_everybody_again(scene: Stage) -> None:
    diary = Diary()
    (await scene.fake("pc")).answer = tools_answer
    agent = await scene.agent(handler=diary)
    with running("async") as second:
        scene.network.target = second.url
        await scene.server.shutdown()
        await diary.until_heard("disconnected")
        await diary.until_heard("rejoined")
        assert await diary.until_heard("leave") == "pc", "it is not at the new Server yet"
        assert agent.office_id == "office"
        await agent.disconnect()


async def test_a_computer_that_restarts_is_seen_off_and_greeted(scene: Stage) -> None:
    diary = Diary()
    first = await scene.fake("pc")
    first.answer = lambda event, data: asyncio.Event().wait()
    agent = await scene.agent(handler=diary)
    call = asyncio.create_task(agent.emit_tool_call("pc", "echo", {}, 60))
    await first.be_asked("client:tool_call")
    await first.disconnect()
    with pytest.raises(NotFoundError):
        await call
    assert await diary.until_heard("leave") == "pc"
    (await scene.fake("pc")).answer = tools_answer
    assert await diary.until_heard("enter") == "pc"
    await diary.until(lambda: bool(agent.tools["pc"]))


async def test_a_seat_that_somebody_took_is_waited_for(scene: Stage) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary)
    scene.network.down = True
    scene.network.cut()
    await diary.until_heard("disconnected")
    usurper = await scene.people.member("agent", "usurper", "office")
    scene.network.down = False
    await eventually(lambda: agent.connected)
    assert agent.office_id is None
    await usurper.disconnect()
    await diary.until_heard("rejoined")
    assert agent.office_id == "office"


async def test_who_disconnects_while_coming_back_stays_away(scene: Stage) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary)
    scene.network.down = True
    scene.network.cut()
    await diary.until_heard("disconnected")
    await agent.disconnect()
    scene.network.down = False
    assert await scene.people.member("agent", "next", "office")
    assert not agent.connected
    await agent.connect_to_server(scene.network.url)
    assert agent.connected, "and may come back when it wants to"


# ---------------------------------------------------------------------------------------------------------- bad answers


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, NotSupportedError),
        ([], InvalidAnswerError),
        ([1, 2], InvalidAnswerError),
        ("text", InvalidAnswerError),
        (7, InvalidAnswerError),
        ({}, InvalidAnswerError),
        ({"req_id": "another", "tools": []}, InvalidAnswerError),
        ({"tools": None}, InvalidAnswerError),
        ({"tools": {"a": 1}}, InvalidAnswerError),
        ({"error": {"code": 404, "message": "gone"}}, NotFoundError),
        ({"code": 404, "message": "gone"}, NotFoundError),
        ({"error": "it broke"}, InternalError),
    ],
)
async def test_an_answer_that_is_none(scene: Stage, answer: Any, error: type[SMCPError]) -> None:
    peer = await scene.fake()
    peer.answer = lambda event, data: answer
    agent = await scene.agent()
    with pytest.raises(error) as caught:
        await agent.get_tools_from_computer("pc")
    assert str(caught.value)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, NotSupportedError),
        ([], InvalidAnswerError),
        ({}, InvalidAnswerError),
        ({"content": "text"}, InvalidAnswerError),
        ({"content": [{"type": "text"}]}, InvalidAnswerError),
        ({"content": [], "isError": "maybe"}, InvalidAnswerError),
        ({"code": 4001, "message": "no such tool"}, SMCPError),
    ],
)
async def test_a_tool_result_that_is_none(scene: Stage, answer: Any, error: type[SMCPError]) -> None:
    peer = await scene.fake()
    peer.answer = lambda event, data: answer
    agent = await scene.agent()
    with pytest.raises(error) as caught:
        await agent.emit_tool_call("pc", "tool", {}, 5)
    assert str(caught.value)


async def test_one_bad_item_takes_no_other_with_it(scene: Stage) -> None:
    peer = await scene.fake()
    good: dict[str, Any] = {"name": "good", "params_schema": {}}
    listed: list[Any] = [good, {"name": 1}, None, {"name": "half"}]
    peer.answer = lambda event, data: {"tools": listed}
    agent = await scene.agent()
    answer = await agent.get_tools_from_computer("pc")
    assert answer["tools"] == [{**good, "description": "", "return_schema": None}]


async def test_mere_markdown_is_put_into_an_envelope(scene: Stage) -> None:
    uri = "dpe://h/doc/pages/3?format=markdown"
    peer = await scene.fake()
    peer.answer = lambda event, data: {
        "contents": [{"uri": uri, "mimeType": "text/markdown", "text": "# Hi"}],
        "req_id": data["req_id"],
    }
    agent = await scene.agent()
    page = await agent.read_resource("pc", uri)
    assert page == {"uri": uri, "title": "doc", "doc_ref": "doc", "page_index": 3, "content_markdown": "# Hi"}


@pytest.mark.parametrize("count", [None, "3", -1, True])
async def test_a_document_that_does_not_say_how_many_pages_it_has(scene: Stage, count: Any) -> None:
    peer = await scene.fake()
    body = '{"title": "x"}' if count is None else f'{{"page_count": {str(count).lower()!r}}}'.replace("'", '"')
    peer.answer = lambda event, data: {"contents": [{"uri": "dpe://h/d", "text": body}], "req_id": data["req_id"]}
    agent = await scene.agent()
    with pytest.raises(InvalidAnswerError):
        await agent.each(agent.iter_pages("pc", "dpe://h/d"))


async def test_notices_that_make_no_sense_are_ignored(scene: Stage) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary)
    nonsense: list[Any] = [None, [], "pc", {}, {"computer": 1}, {"computer": None}]
    for data in nonsense:
        await scene.server_says("notify:enter_office", data)
        await scene.server_says("notify:update_tool_list", data)
    await scene.server_says("notify:something_new", {"computer": "pc"})
    (await scene.fake("pc")).answer = tools_answer
    await diary.until_heard("tools")
    assert diary.count("enter") == 1
    assert agent.computers == ("pc",)


def tools_answer(event: str, data: Any) -> Any:
    tool: dict[str, Any] = {"name": "tool", "description": "", "params_schema": {}, "return_schema": None}
    return {"tools": [tool], "req_id": data["req_id"]}
