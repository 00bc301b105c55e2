"""What an Agent asks for, and what it gets: from real Computers with real MCP servers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import socketio.exceptions

from a2c_smcp import __version__, errors
from a2c_smcp.agent import AsyncSMCPAgentClient, SMCPAgentClient
from a2c_smcp.computer.config.files import server_from
from a2c_smcp.errors import (
    CrossOfficeError,
    DocumentNotFoundError,
    ElementNotFoundError,
    InvalidDPEUriError,
    MalformedRequestError,
    NotAuthenticatedError,
    NotConnectedError,
    NotFoundError,
    NotInOfficeError,
    OfficeFullError,
    PageOutOfRangeError,
    RateLimitedError,
    SMCPError,
    TooLargeError,
    ToolFailedError,
    ToolNotFoundError,
)
from a2c_smcp.server import DefaultAuthenticationProvider, Limits
from tests.support.agents import Form, Stage, stage
from tests.support.hosting import AUTO, raw, shelves, text_of
from tests.support.mcp_servers import npm, read_log, received
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio


async def test_ten_lines(scene: Stage) -> None:
    await scene.computer(raw())
    if scene.form == "async":
        async with AsyncSMCPAgentClient.in_office(scene.server.url, "office", "agent") as agent:
            assert "echo" in [tool["name"] for tool in agent.tools["pc"]]
            result = await agent.emit_tool_call("pc", "echo", {"text": "hi"}, 10)
    else:

        def program() -> Any:
            with SMCPAgentClient.in_office(scene.server.url, "office", "agent") as agent:
                assert "echo" in [tool["name"] for tool in agent.tools["pc"]]
                return agent.emit_tool_call("pc", "echo", {"text": "hi"}, 10)

        result = await asyncio.to_thread(program)
    assert text_of(result) == "hi"
    assert await scene.people.member("agent", "next", "office"), "the seat is free again"


async def test_a_tool_is_called_in_few_words(scene: Stage, tmp_path: Path) -> None:
    await scene.computer(raw())
    agent = await scene.agent()
    result = await agent.call_tool("pc", "echo", {"text": "hi"})
    assert (result.text, result.images, result.raise_for_error() is result) == ("hi", [], True)
    failed = await agent.call_tool("pc", "fail", {"message": "out of paper"})
    with pytest.raises(ToolFailedError, match="out of paper"):
        failed.raise_for_error()
    with pytest.raises(ToolNotFoundError):
        (await agent.call_tool("pc", "no such tool")).raise_for_error()
    media = await agent.call_tool("pc", "media")
    assert len(media.images) == 1
    first, second = media.save(tmp_path / "new"), media.save(tmp_path / "new")
    assert first
    assert len({*first, *second}) == 2 * len(first)
    assert first[0].read_bytes() == media.images[0]
    assert all(path.parent == tmp_path / "new" for path in (*first, *second))


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_an_agent_over_its_rate_waits_and_asks_again(form: Form, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "a2c_smcp.server")
    async with stage(form, limits=Limits(requests_per_second=50, request_burst=10)) as scene:
        await scene.fake(answer=lambda event, data: {"tools": [], "req_id": data["req_id"]})
        agent = await scene.agent()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(60):
                tasks.create_task(agent.get_tools_from_computer("pc", 30))
    lines = [record.message for record in caplog.records if "(429)" in record.message]
    assert 1 <= len(lines) <= 10, "a line a second, not one for each"


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_a_request_that_would_wait_too_long_is_refused(form: Form) -> None:
    async with stage(form, limits=Limits(requests_per_second=0.1, request_burst=8)) as scene:
        await scene.fake(answer=lambda event, data: {"tools": [], "req_id": data["req_id"]})
        agent = await scene.agent()
        asked = [agent.get_tools_from_computer("pc", 1) for _ in range(10)]
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        refused = [each for each in outcomes if isinstance(each, RateLimitedError)]
        assert refused
        assert all((each.details or {})["retry_after"] > 1 for each in refused)


async def test_a_result_reads_by_attribute_and_by_wire_name(scene: Stage) -> None:
    await scene.computer(raw())
    agent = await scene.agent()
    result = await agent.emit_tool_call("pc", "echo", {"text": "hi"}, 10)
    assert (result.isError, result.is_error) == (False, False)
    assert result.structuredContent == result.structured_content


async def test_a_result_is_json_data_as_it_travelled(scene: Stage) -> None:
    computer = await scene.fake()
    sent = {
        "content": [{"type": "text", "text": "3"}],
        "structuredContent": {"sum": 3},
        "isError": False,
        "meta": {"origin": "here"},
    }
    computer.answer = lambda event, data: sent if event == "client:tool_call" else {"tools": [], "req_id": "r"}
    agent = await scene.agent()
    result = await agent.emit_tool_call("pc", "add", {}, 10)
    assert json.loads(json.dumps(result.to_json())) == sent


async def test_what_fails_on_the_computer_is_a_result_with_its_code(scene: Stage) -> None:
    await scene.computer(raw(forbidden_tools=["media"], tool_meta={"echo": {"auto_apply": False}}))
    agent = await scene.agent()
    codes = {"no_such_tool": 4001, "media": 4002, "fail": 4003, "echo": 4005}
    for tool, code in codes.items():
        failed = await agent.call_tool("pc", tool)
        assert (failed.isError, failed.error_code, failed.meta["error_code"]) == (True, code, code), tool
    slow = await agent.call_tool("pc", "sleep", {"seconds": 60}, 0.5)
    assert (slow.isError, slow.error_code) == (True, 4004)


@pytest.mark.parametrize(
    ("ack", "code"),
    [
        ({"error": {"code": 500, "message": "broken"}}, 500),
        ({"error": {"code": 404, "message": "gone"}, "content": [], "isError": True, "meta": {"error_code": 404}}, 404),
        (None, 501),
        ({"content": "text"}, 502),
    ],
)
async def test_a_tool_call_without_a_result_raises(scene: Stage, ack: Any, code: int) -> None:
    await scene.fake(answer=lambda event, data: ack if event == "client:tool_call" else {"tools": [], "req_id": "r"})
    agent = await scene.agent()
    with pytest.raises(SMCPError) as caught:
        await agent.call_tool("pc", "echo")
    assert caught.value.code == code


async def test_a_failed_result_without_a_code_counts_as_a_failed_tool(scene: Stage) -> None:
    bare = {"content": [{"type": "text", "text": "no paper"}], "isError": True}
    await scene.fake(answer=lambda event, data: bare if event == "client:tool_call" else {"tools": [], "req_id": "r"})
    agent = await scene.agent()
    assert (await agent.call_tool("pc", "print")).error_code == 4003


async def test_pictures_and_links_arrive_whole(scene: Stage) -> None:
    computer = await scene.computer(raw())
    agent = await scene.agent()
    here = await computer.call("media")
    there = await agent.emit_tool_call("pc", "media", {}, 10)
    assert there.content == here.content
    assert {part.type for part in there.content} >= {"image", "audio", "resource", "resource_link"}


async def test_what_a_computer_offers(scene: Stage) -> None:
    computer = await scene.computer(shelves("s", "--windows", "3", "--documents", "2"))
    agent = await scene.agent()
    assert [member["name"] for member in await agent.get_computers_in_office("office")] == ["pc"]
    tools = await agent.get_tools_from_computer("pc")
    assert [tool["name"] for tool in tools["tools"]] == computer.tool_names()
    assert (await agent.get_config_from_computer("pc"))["servers"]["s"]["type"] == "stdio"
    assert (await agent.get_desktop_from_computer("pc"))["desktops"] == await computer.get_desktop()
    one = await agent.get_desktop_from_computer("pc", size=1)
    assert one["desktops"] == await computer.get_desktop(1)
    uri = one["desktops"][0].partition("\n")[0]
    assert (await agent.get_desktop_from_computer("pc", window=uri))["desktops"] == one["desktops"]
    finder = await agent.get_finder("pc")
    assert (finder["documents"], finder["total_count"]) == await computer.get_finder()
    assert (await agent.get_finder(computer="pc"))["total_count"] == finder["total_count"]
    title = (await agent.read_resource(computer="pc", uri=finder["documents"][0]["uri"]))["title"]
    assert title == finder["documents"][0]["title"]


async def test_a_document_is_walked_from_the_catalogue_to_an_element(scene: Stage) -> None:
    await scene.computer(shelves("s", "--documents", "3"))
    agent = await scene.agent()
    document = (await agent.get_finder("pc", limit=1))["documents"][0]
    uri = document["uri"]
    assert (await agent.read_document_metadata("pc", uri))["page_count"] == 3
    index = await agent.read_document_pages("pc", uri, offset=1, limit=1)
    assert [page["page_index"] for page in index["pages"]] == [1]
    page = await agent.read_page("pc", uri, 1)
    element = page["elements"][0]["element_id"]
    assert (await agent.read_element("pc", uri, element))["element_id"] == element
    only = await agent.read_page("pc", uri, 1, categories=["heading"])
    assert {found["category"] for found in only["elements"]} == {"heading"}
    assert "# " in (await agent.read_page("pc", uri, 1, format="markdown"))["content_markdown"]
    inside = await agent.read_page("pc", f"{uri}/elements/{element}?format=text", 0)
    assert inside["page_index"] == 0, "any address inside a document names the document"


async def test_helpers_append_to_the_address_as_it_was_given(scene: Stage) -> None:
    asked: list[str] = []

    def answer(event: str, data: Any) -> Any:
        if event == "client:read_resource":
            asked.append(data["uri"])
        return {"contents": [{"uri": "dpe://h/d", "text": "{}"}], "tools": [], "req_id": data["req_id"]}

    await scene.fake(answer=answer)
    agent = await scene.agent()
    for uri in ("dpe://h/rpt:2026", "dpe://h/%e6%8a%a5"):
        asked.clear()
        await agent.read_document_metadata("pc", f"{uri}/pages/4?format=text")
        await agent.read_document_pages("pc", uri, 1, 2)
        await agent.read_page("pc", uri, 3, format="markdown", categories=["table", "text"])
        await agent.read_element("pc", uri, "a/b")
        assert asked == [
            uri,
            f"{uri}?depth=pages&offset=1&limit=2",
            f"{uri}/pages/3?format=markdown&categories=table,text",
            f"{uri}/elements/a%2Fb",
        ]


async def test_templates_and_completion(scene: Stage) -> None:
    await scene.computer(shelves("s", "--documents", "3"), raw("plain", "--prefix", "p_"))
    agent = await scene.agent()
    answer = await agent.list_resource_templates("pc")
    assert [(each["name"], each["mcp_server"]) for each in answer["templates"]] == [("page", "s"), ("element", "s")]
    template = answer["templates"][0]["uriTemplate"]
    ref = {"type": "ref/resource", "uri": template}
    found = await agent.complete("pc", ref, {"name": "doc_ref", "value": "d0000"})
    assert found["completion"]["values"] == ["d00000", "d00001", "d00002"]
    context = {"doc_ref": "d00001"}
    found = await agent.complete("pc", ref, {"name": "page_index", "value": ""}, context=context, mcp_server="s")
    assert found["completion"]["values"] == ["0", "1", "2"]
    with pytest.raises(NotFoundError):
        await agent.complete("pc", ref, {"name": "page_index", "value": ""}, mcp_server="plain")
    with pytest.raises(NotFoundError):
        await agent.list_resource_templates("pc", mcp_server="nothing")


@pytest.mark.parametrize(
    "answer",
    [{"templates": 5}, {"templates": [{"name": "no uri"}, {"uriTemplate": "x:{y}", "name": "n", "mcp_server": "s"}]}],
)
async def test_templates_that_a_peer_garbles(scene: Stage, answer: dict[str, Any]) -> None:
    await scene.fake(answer=lambda event, data: {"tools": [], **answer})
    agent = await scene.agent()
    if isinstance(answer["templates"], list):
        assert [each["name"] for each in (await agent.list_resource_templates("pc"))["templates"]] == ["n"]
    else:
        with pytest.raises(errors.InvalidAnswerError):
            await agent.list_resource_templates("pc")


@pytest.mark.parametrize("completion", [None, 5, {}, {"values": "x"}])
async def test_a_completion_that_a_peer_garbles_is_an_error(scene: Stage, completion: Any) -> None:
    await scene.fake(answer=lambda event, data: {"tools": [], "completion": completion})
    agent = await scene.agent()
    with pytest.raises(errors.InvalidAnswerError):
        await agent.complete("pc", {"type": "ref/prompt", "name": "x"}, {"name": "a", "value": ""})


async def test_a_failed_request_is_logged_once_with_its_id(scene: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    await scene.computer(shelves("s"))
    agent = await scene.agent()

    def logged(event: str) -> list[tuple[str, str, int]]:
        found = [record for record in caplog.records if getattr(record, "event", None) == event]
        assert len({vars(record)["req_id"] for record in found}) == 1, "one id on all hops"
        return sorted((record.name.split(".")[1], record.levelname, vars(record)["code"]) for record in found)

    def on_all_hops(code: int) -> list[tuple[str, str, int]]:
        return [("computer", "INFO", code), ("protocol", "INFO", code), ("server", "INFO", code)]

    with pytest.raises(NotFoundError):
        await agent.read_resource("pc", "file:///nothing")
    assert logged("client:read_resource") == on_all_hops(404)
    assert (await agent.emit_tool_call("pc", "fail", {"message": "no"}, 10)).is_error
    assert logged("client:tool_call") == on_all_hops(4003)
    with pytest.raises(MalformedRequestError):
        await agent.get_finder("pc", limit=-1)
    assert logged("client:get_finder") == on_all_hops(400)
    caplog.clear()
    with pytest.raises(NotFoundError):
        await agent.get_tools_from_computer("nobody")
    assert logged("client:get_tools") == [("protocol", "INFO", 404), ("server", "INFO", 404)]


async def test_pages_and_documents_are_iterated_over(scene: Stage) -> None:
    await scene.computer(shelves("s", "--documents", "230"))
    agent = await scene.agent()
    documents = await agent.each(agent.iter_documents("pc"))
    assert len({document["uri"] for document in documents}) == 230
    found = await agent.each(agent.iter_documents("pc", keywords=["Document 22"]))
    assert 0 < len(found) < 230
    pages = await agent.each(agent.iter_pages("pc", documents[0]["uri"]))
    assert [page["page_index"] for page in pages] == [0, 1, 2]


async def test_a_resource_that_is_no_document_is_the_mcp_answer(scene: Stage) -> None:
    await scene.computer(shelves("s", "--windows", "1"))
    agent = await scene.agent()
    window = (await agent.get_desktop_from_computer("pc"))["desktops"][0].partition("\n")[0]
    answer = await agent.read_resource("pc", window)
    assert answer["contents"][0]["uri"] == window
    assert (await agent.read_contents("pc", window))["contents"] == answer["contents"]


@pytest.mark.parametrize(
    ("uri", "error"),
    [
        ("dpe://shelf/nothing", DocumentNotFoundError),
        ("dpe://shelf/d00000/pages/99", PageOutOfRangeError),
        ("dpe://shelf/d00000/elements/nothing", ElementNotFoundError),
        ("dpe://shelf/d00000/pages/x", InvalidDPEUriError),
    ],
)
async def test_a_document_that_is_not_there_is_an_error_with_its_code(
    scene: Stage, uri: str, error: type[SMCPError]
) -> None:
    await scene.computer(shelves("s", "--documents", "1"))
    agent = await scene.agent()
    with pytest.raises(error) as caught:
        await agent.read_resource("pc", uri)
    assert caught.value.code == error.code


async def test_a_computer_that_is_not_there(scene: Stage) -> None:
    await scene.fake("elsewhere", office="another")
    agent = await scene.agent()
    with pytest.raises(NotFoundError):
        await agent.emit_tool_call("nobody", "echo", {}, 5)
    with pytest.raises(NotFoundError):
        await agent.get_tools_from_computer("nobody")
    with pytest.raises(CrossOfficeError):
        await agent.get_finder("elsewhere")


async def test_who_is_in_no_office_is_refused(scene: Stage) -> None:
    agent = scene.visitor()
    with pytest.raises(NotConnectedError):
        await agent.get_tools_from_computer("pc")
    await agent.connect_to_server(scene.server.url)
    with pytest.raises(NotInOfficeError):
        await agent.get_tools_from_computer("pc")
    await agent.join_office("office", "agent")
    with pytest.raises(CrossOfficeError):
        await agent.get_computers_in_office("another")
    await agent.leave_office("office")
    assert agent.computers == ()
    with pytest.raises(NotInOfficeError):
        await agent.get_tools_from_computer("pc")


async def test_of_two_agents_one_gets_the_office(scene: Stage) -> None:
    rivals = [scene.visitor(f"agent-{number}") for number in range(2)]
    for rival in rivals:
        await rival.connect_to_server(scene.server.url)
    outcomes = await asyncio.gather(*(rival.join_office() for rival in rivals), return_exceptions=True)
    loser = next(number for number, outcome in enumerate(outcomes) if outcome is not None)
    assert isinstance(outcomes[loser], OfficeFullError)
    assert rivals[1 - loser].name in str(outcomes[loser]), "who is there already"
    assert rivals[loser].office_id is None
    assert rivals[1 - loser].office_id == "office"
    await rivals[1 - loser].leave_office()
    await rivals[loser].join_office()
    assert rivals[loser].office_id == "office"


def assert_reads_well(error: SMCPError) -> None:
    """A traceback ends with a name that programs can import, and tells of nothing that came before."""
    assert hasattr(errors, type(error).__name__)
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__


async def test_a_wrong_key_is_not_let_in(form: Form) -> None:
    async with stage(form, auth_provider=DefaultAuthenticationProvider("right")) as scene:
        agent = scene.visitor()
        with pytest.raises(NotAuthenticatedError) as caught:
            await agent.connect_to_server(scene.server.url)
        assert isinstance(caught.value, socketio.exceptions.ConnectionError), "as programs for socketio expect"
        assert_reads_well(caught.value)
        await agent.connect_to_server(scene.server.url, headers={"x-api-key": "right"})
        assert agent.connected


async def test_a_server_that_is_not_there(scene: Stage) -> None:
    scene.network.down = True
    agent = scene.visitor()
    for url in (scene.network.url, "nonsense"):
        with pytest.raises(NotConnectedError) as caught:
            await agent.connect_to_server(url)
        assert isinstance(caught.value, socketio.exceptions.ConnectionError), "as programs for socketio expect"
        assert_reads_well(caught.value)
    scene.network.down = False
    await agent.connect_to_server(scene.network.url)
    assert agent.connected, "it can be tried again"


async def test_an_agent_does_not_send_what_only_the_server_may(scene: Stage) -> None:
    computer = await scene.fake()
    agent = await scene.agent()
    for send in (agent.emit, agent.call):
        with pytest.raises(ValueError, match="notify:"):
            await send("notify:enter_office", {"office_id": "office", "computer": "pc"})
    assert not computer.heard[1:]


async def test_plain_socketio_still_works(scene: Stage) -> None:
    await scene.fake()
    agent = await scene.agent()
    payload = {"agent": "agent", "req_id": "r1", "office_id": "office"}
    answer = await agent.call("server:list_room", payload, namespace="/smcp")
    assert len(answer["sessions"]) == 2
    assert await agent.call("server:list_room", payload) == answer


async def test_servers_that_everybody_uses(scene: Stage, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("milk")
    everything, files = npm("server-everything"), npm("server-filesystem", str(tmp_path))
    await scene.computer(
        server_from({"command": everything[0], "args": everything[1:], "default_tool_meta": AUTO}, "everything"),
        server_from({"command": files[0], "args": files[1:], "default_tool_meta": AUTO}, "files"),
    )
    agent = await scene.agent()
    assert (await agent.emit_tool_call("pc", "echo", {"message": "hi"}, 20)).content[0].text == "Echo: hi"
    picture = await agent.emit_tool_call("pc", "get-tiny-image", {}, 20)
    assert "image" in [part.type for part in picture.content]
    read = await agent.emit_tool_call("pc", "read_text_file", {"path": str(tmp_path / "note.txt")}, 20)
    assert text_of(read) == "milk"
    outside = await agent.emit_tool_call("pc", "read_text_file", {"path": "/etc/passwd"}, 20)
    assert outside.isError


# ------------------------------------------------------------------------------------------- time-outs and cancellation


async def test_a_call_that_takes_too_long_is_cancelled_where_it_runs(scene: Stage, tmp_path: Path) -> None:
    log = tmp_path / "log"
    await scene.computer(raw("raw", "--log", str(log)))
    agent = await scene.agent()
    result = await agent.emit_tool_call("pc", "sleep", {"seconds": 60}, 0.5)
    assert result.isError
    assert result.content[0].text == "Tool call timeout"
    assert result.meta["timeout"] is True
    await eventually(lambda: received(log, "notifications/cancelled"))


async def test_a_call_that_nobody_waits_for_is_cancelled_where_it_runs(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with stage("async") as scene:
        await scene.computer(raw("raw", "--log", str(log)))
        agent = await scene.agent()
        call = asyncio.create_task(agent.emit_tool_call("pc", "sleep", {"seconds": 60}, 60))
        await eventually(lambda: received(log, "tools/call"))
        call.cancel()
        await eventually(lambda: received(log, "notifications/cancelled"))
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not (await agent.emit_tool_call("pc", "echo", {"text": "on"}, 10)).isError


async def test_a_request_without_an_answer_times_out(scene: Stage) -> None:
    silent = await scene.fake()
    silent.answer = lambda event, data: asyncio.Event().wait()
    agent = await scene.agent()
    with pytest.raises(SMCPError) as caught:
        await agent.get_finder("pc", timeout=0.2)
    assert caught.value.code == 408


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "10", 4000])
async def test_a_timeout_must_be_a_number_of_seconds(scene: Stage, seconds: Any) -> None:
    await scene.fake()
    agent = await scene.agent()
    with pytest.raises(MalformedRequestError):
        await agent.emit_tool_call("pc", "echo", {}, seconds)


@pytest.mark.parametrize("params", [None, [1], "text", {"a": object()}])
async def test_parameters_must_be_an_object_of_json(scene: Stage, params: Any) -> None:
    await scene.fake()
    agent = await scene.agent()
    with pytest.raises(MalformedRequestError):
        await agent.emit_tool_call("pc", "echo", params, 5)
    assert await agent.get_computers_in_office("office"), "the connection lives on"


async def test_what_the_server_would_not_take_is_not_sent(scene: Stage) -> None:
    await scene.computer(raw())
    agent = await scene.agent()
    with pytest.raises(TooLargeError):
        await agent.emit_tool_call("pc", "echo", {"text": "x" * 10_000_001}, 10)
    assert not (await agent.emit_tool_call("pc", "echo", {"text": "x" * 5_000_000}, 30)).isError


async def test_the_limit_of_the_server_counts_where_it_is_smaller(form: Form) -> None:
    async with stage(form, limits=Limits(message_bytes=100_000)) as scene:
        await scene.computer(raw())
        agent = await scene.agent()
        info = agent.client.server_info
        assert (info.version, info.max_message_bytes) == (__version__, 100_000)
        assert "server:tool_call_progress" in info.features
        # The Server would end the connection: the message is far above its limit.
        with pytest.raises(TooLargeError):
            await agent.emit_tool_call("pc", "echo", {"text": "x" * 1_000_000}, 10)
        assert not (await agent.emit_tool_call("pc", "echo", {"text": "x" * 1_000}, 30)).isError


async def test_two_hundred_calls_at_once(scene: Stage, tmp_path: Path) -> None:
    log = tmp_path / "log"
    await scene.computer(raw("raw", "--log", str(log)))
    agent = await scene.agent()
    calls = [agent.emit_tool_call("pc", "echo", {"text": str(number)}, 30) for number in range(200)]
    results = await asyncio.gather(*calls)
    assert [result.content[0].text for result in results] == [str(number) for number in range(200)]
    assert len([line for line in read_log(log) if line.get("method") == "tools/call"]) == 200
