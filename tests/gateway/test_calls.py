"""Calls through the gateway: progress, questions and cancellation, in every version of MCP."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import mcp_types as types
import pytest

from tests.support.gateway import KEY, NEW, OLD, OLDEST, VERSIONS, Answers, Hall, RawHost, hall, read_messages, texts
from tests.support.hosting import asking, raw
from tests.support.mcp_servers import received
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
EVERY = pytest.mark.parametrize("version", VERSIONS)
SERVERS = pytest.mark.parametrize("office", ["old", "new"])
"""An office whose MCP server asks as of 2025-11-25, and one as of 2026-07-28."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
async def place(logs: Path) -> AsyncGenerator[Hall]:
    async with hall() as here:
        await here.computer(asking(OLD, logs / "old"), raw("raw", "--log", str(logs / "raw")), office="old")
        await here.computer(asking(NEW, logs / "new"), office="new")
        yield here


# ------------------------------------------------------------------------------------------------------------- progress


@EVERY
async def test_all_reports_reach_the_host_in_order_and_before_the_result(place: Hall, version: str) -> None:
    answers = Answers(smcp_tool("work"))
    office = f"progress-{version}"
    computer = await place.fake(answers, office=office)

    async def work(data: Any) -> Any:
        for number in range(1, 31):
            report = {
                "computer": "pc",
                "req_id": data["req_id"],
                "progress": number,
                "total": 30,
                "message": f"n{number}",
            }
            await computer.ask("server:tool_call_progress", report)
        return {"content": [{"type": "text", "text": "done"}], "req_id": data["req_id"]}

    answers.results["work"] = work
    async with place.raw(version, place.url(office)) as host:
        params = {"name": "work", "arguments": {}, "_meta": {"progressToken": "t"}}
        *reports, result = [message async for message in host.messages("tools/call", params)]
        assert [report["params"] for report in reports] == [
            {"progressToken": "t", "progress": number, "total": 30, "message": f"n{number}"} for number in range(1, 31)
        ]
        assert result["result"]["content"][0]["text"] == "done"
        assert (await host.ask("tools/call", {"name": "work", "arguments": {}}))["content"][0]["text"] == "done"
    await computer.disconnect()


@EVERY
async def test_log_messages_reach_a_host_from_its_level_on_and_before_the_result(place: Hall, version: str) -> None:
    answers = Answers(smcp_tool("work"))
    office = f"log-{version}"
    computer = await place.fake(answers, office=office)

    async def work(data: Any) -> Any:
        # A Computer that sends what is not wanted, and what is no message of MCP.
        messages = [{"level": level, "data": [level], "logger": "core"} for level in ("info", "error", "loud")]
        parcel = {"computer": "pc", "req_id": data["req_id"], "messages": messages}
        await computer.ask("server:tool_call_log", parcel)
        return {"content": [{"type": "text", "text": str(data.get("log_level"))}], "req_id": data["req_id"]}

    answers.results["work"] = work

    async def call(host: RawHost, **meta: Any) -> tuple[list[Any], str]:
        params = {"name": "work", "arguments": {}, "_meta": meta}
        *messages, result = [message async for message in host.messages("tools/call", params)]
        assert {message["method"] for message in messages} <= {"notifications/message"}
        return [message["params"]["level"] for message in messages], result["result"]["content"][0]["text"]

    async with place.raw(version, place.url(office)) as host:
        if version == NEW:
            # The host asks for messages with each request; otherwise a server must not send any.
            assert await call(host) == ([], "None")
            assert await call(host, **{f"{KEY}logLevel": "error"}) == (["error"], "error")
        else:
            assert await call(host) == (["info", "error"], "info")
            assert await host.ask("logging/setLevel", {"level": "error"}) == {}
            assert await call(host) == (["error"], "error")
    await computer.disconnect()


@MODES
async def test_the_progress_of_a_real_tool_reaches_the_host(place: Hall, mode: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with place.host(mode, place.url("old")) as host:
        result = await host.call_tool("progress", {"count": 3}, progress_callback=note)
        assert texts(result) == "done"
        assert heard[-1] == (3, 3, "step 3")
        assert heard == sorted(heard)


@EVERY
async def test_a_result_alone_is_a_document_and_after_progress_it_ends_a_stream(place: Hall, version: str) -> None:
    text = '\u2028\r\n"}\n'
    meta = {"progressToken": "t"}
    requests: list[tuple[dict[str, Any], str, str]] = [
        ({"name": "echo", "arguments": {"text": text}}, "application/json", text),
        ({"name": "progress", "arguments": {"count": 1}, "_meta": meta}, "text/event-stream", "done"),
    ]
    async with place.raw(version, place.url("old")) as host:
        for params, kind, expected in requests:
            async with host.open("tools/call", params, 7) as response:
                assert response.headers["content-type"].startswith(kind)
                *_, answer = [message async for message in read_messages(response)]
                assert answer["id"] == 7
                assert answer["result"]["content"][0]["text"] == expected


# ------------------------------------------------------------------------------------------------------------ questions


class Person:
    """Answers questions with what it is given, one after another."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    async def __call__(self, context: Any, params: Any) -> Any:
        self.asked.append(params)
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            return types.ElicitResult.model_validate({"action": answer})
        return types.ElicitResult(action="accept", content=answer)


def got(result: Any) -> dict[str, Any]:
    """What the MCP server got as an answer."""
    answer: Any = json.loads(texts(result))
    return cast("dict[str, Any]", answer[0] if isinstance(answer, list) else answer)


@MODES
@SERVERS
async def test_a_question_reaches_the_user_of_the_host(place: Hall, mode: str, office: str) -> None:
    person = Person({"name": "Ada", "days": ["tu"]})
    async with place.host(mode, place.url(office), elicitation_callback=person) as host:
        result = await host.call_tool("ask", {})
        assert got(result) == {"action": "accept", "content": {"name": "Ada", "age": 30, "days": ["tu"]}}
        [question] = person.asked
        assert question.message == "asking on pc asks: Who are you?"
        schema = question.requested_schema
        assert schema["properties"]["colour"]["enumNames"] == ["red", "green"]


@MODES
@SERVERS
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_may_decline_or_cancel(place: Hall, mode: str, office: str, action: str) -> None:
    async with place.host(mode, place.url(office), elicitation_callback=Person(action)) as host:
        assert got(await host.call_tool("ask", {}))["action"] == action


@MODES
@SERVERS
async def test_a_host_that_cannot_ask_declines(place: Hall, mode: str, office: str) -> None:
    async with place.host(mode, place.url(office)) as host:
        assert got(await host.call_tool("ask", {}))["action"] == "decline"


@MODES
@SERVERS
async def test_an_answer_that_does_not_fit_is_asked_for_again(place: Hall, mode: str, office: str) -> None:
    person = Person({"name": "A"}, {"name": "Ada"})
    async with place.host(mode, place.url(office, mode="direct"), elicitation_callback=person) as host:
        assert got(await host.call_tool("ask", {}))["content"]["name"] == "Ada"
        first, second = person.asked
        assert first.message == "Who are you?", "in the direct mode, as the MCP server asks"
        assert second.message.startswith("Who are you?\n\nThe last answer does not fit: ")


@MODES
@SERVERS
async def test_two_questions_at_a_time_get_their_answers(place: Hall, mode: str, office: str) -> None:
    person = Person({"name": "Ada"}, {"name": "Bob"})
    async with place.host(mode, place.url(office), elicitation_callback=person) as host:
        answers = json.loads(texts(await host.call_tool("ask_twice", {})))
        assert {key: answer["content"]["name"] for key, answer in answers.items()} in (
            {"first": "Ada", "second": "Bob"},
            {"first": "Bob", "second": "Ada"},
        )


@MODES
@pytest.mark.parametrize("version", [OLD, NEW])
async def test_endless_questions_end(place: Hall, logs: Path, mode: str, version: str) -> None:
    # A server of its own: it asks on after its call has ended, and another call would get the question.
    office = f"endless-{version}-{mode}"
    await place.computer(asking(version, logs / office), office=office)
    person = Person(*[{"name": "Ada"}] * 50)
    options: dict[str, Any] = {"elicitation_callback": person, "input_required_max_rounds": 50}
    async with place.host(mode, place.url(office), **options) as host:
        assert (await host.call_tool("ask_forever", {})).is_error
        assert len(person.asked) <= 20


@SERVERS
async def test_an_address_to_visit_is_shown_to_a_host_that_can(place: Hall, office: str) -> None:
    """The library's client asks for addresses in the same function."""
    person = Person(*["accept"] * 4)
    for mode in ("legacy", "auto"):
        async with place.host(mode, place.url(office), elicitation_callback=person) as host:
            assert not (await host.call_tool("visit", {})).is_error
    assert person.asked[0].url == "https://example.com/login?code=1"


URL_ONLY: dict[str, Any] = {"elicitation": {"url": {}}}
FORM_ONLY: dict[str, Any] = {"elicitation": {"form": {}}}


async def asked_by(place: Hall, version: str, capabilities: dict[str, Any], tool: str) -> dict[str, Any]:
    async with place.raw(version, place.url("new")) as host:
        host.capabilities = capabilities
        if version != NEW:
            host.session = None
            await host.initialize()
        async for message in host.messages("tools/call", {"name": tool, "arguments": {}}):
            return message
        raise AssertionError("no answer")


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_host_is_asked_only_what_it_can_show(place: Hall, version: str) -> None:
    nothing, anything = dict[str, Any](), {"elicitation": dict[str, Any]()}
    for capabilities, tool in ((URL_ONLY, "ask"), (FORM_ONLY, "visit"), (nothing, "ask"), (nothing, "visit")):
        message = await asked_by(place, version, capabilities, tool)
        assert "decline" in message["result"]["content"][0]["text"], (capabilities, tool)
    for capabilities, tool in ((FORM_ONLY, "ask"), (URL_ONLY, "visit"), (anything, "ask")):
        message = await asked_by(place, version, capabilities, tool)
        if version == NEW:
            assert message["result"]["resultType"] == "input_required"
        else:
            assert message["method"] == "elicitation/create"


@pytest.mark.parametrize("state", ["nonsense", '["pc","ask","r","s",[]]', '["pc","visit","r","s",[]]', "[]"])
async def test_a_state_that_is_not_of_this_call_is_rejected(place: Hall, state: str) -> None:
    async with place.raw(NEW, place.url("new")) as host:
        host.capabilities = FORM_ONLY
        answer = await host.ask("tools/call", {"name": "ask", "arguments": {}, "requestState": state})
        assert answer["error"]["code"] == types.INVALID_PARAMS


async def test_a_question_without_an_answer_is_cancelled_when_the_host_answers_nonsense(place: Hall) -> None:
    async with place.raw(OLD, place.url("new")) as host:
        host.capabilities = FORM_ONLY
        host.session = None
        await host.initialize()
        async with host.open("tools/call", {"name": "ask", "arguments": {}}, 5) as response:
            messages = read_messages(response)
            question = await anext(messages)
            body = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "whatever"}}
            assert (await host.http.post(host.url, json=body, headers=host.headers(""))).status_code == 202
            result = await anext(messages)
            assert '"cancel"' in result["result"]["content"][0]["text"]


async def test_questions_do_not_reach_another_user(tmp_path: Path) -> None:
    """Two users call the same MCP server, which does not say which call its question belongs to."""
    from tests.gateway.test_http import keys

    async with hall(keys(tmp_path, {"ada": ["office"], "bob": ["office"], "pc": ["office"]})) as place:
        computer = await place.computer(asking(OLD), key="pc")
        ada, bob = Person({"name": "Ada"}), Person({"name": "Bob"})
        is_asked = asyncio.Event()
        answer = asyncio.Event()

        async def slowly(context: Any, params: Any) -> Any:
            is_asked.set()
            await answer.wait()
            return await ada(context, params)

        async with (
            place.host("legacy", key="ada", elicitation_callback=slowly) as one,
            place.host("legacy", key="bob", elicitation_callback=bob) as other,
        ):
            first = asyncio.create_task(one.call_tool("ask", {}))
            async with asyncio.timeout(PATIENCE):
                await is_asked.wait()
            assert got(await other.call_tool("ask", {}))["action"] == "decline"
            assert bob.asked == []
            answer.set()
            assert got(await first)["content"]["name"] == "Ada"
        assert {record["success"] for record in await computer.aget_tool_call_history()} == {True}


# --------------------------------------------------------------------------------------------------------------- cancel


async def started(log: Path, before: int) -> None:
    await eventually(lambda: len(received(log, "tools/call")) > before)


def count(log: Path, method: str) -> int:
    return len(received(log, method))


@pytest.mark.parametrize("version", [OLDEST, OLD])
async def test_a_notification_cancels_the_tool(place: Hall, logs: Path, version: str) -> None:
    log = logs / "raw"
    calls, cancelled = count(log, "tools/call"), count(log, "notifications/cancelled")
    async with place.raw(version, place.url("old")) as host:
        call = asyncio.ensure_future(host.body("tools/call", {"name": "sleep", "arguments": {"seconds": 60}}, 7))
        await started(log, calls)
        assert await host.tell("notifications/cancelled", {"requestId": 7, "reason": "enough"}) == 202
        assert json.loads(await call)["error"]["code"] == -32800
        await eventually(lambda: count(log, "notifications/cancelled") == cancelled + 1)


@EVERY
async def test_a_host_that_closes_the_stream_of_a_call_cancels_the_tool(
    place: Hall, logs: Path, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "a2c_smcp.gateway.observing")
    log = logs / "raw"
    calls, cancelled = count(log, "tools/call"), count(log, "notifications/cancelled")
    async with place.raw(version, place.url("old")) as host:
        arguments = {"name": "sleep", "arguments": {"seconds": 60}, "_meta": {"progressToken": 1}}
        async with host.open("tools/call", arguments, 7) as response:
            await started(log, calls)
            assert (await anext(read_messages(response)))["method"] == "notifications/progress"
        await eventually(lambda: count(log, "notifications/cancelled") == cancelled + 1)
        assert (await host.ask("tools/call", {"name": "echo", "arguments": {"text": "x"}}))["content"]
    fields = [vars(record) for record in caplog.records]
    outcomes = [each["outcome"] for each in fields if each.get("method") == "tools/call"]
    assert outcomes == ["cancelled", "ok"]


@EVERY
async def test_a_host_that_vanishes_cancels_its_tools(place: Hall, logs: Path, version: str) -> None:
    log = logs / "raw"
    calls, cancelled = count(log, "tools/call"), count(log, "notifications/cancelled")

    async def call(host: RawHost, number: int) -> None:
        async with host.open("tools/call", {"name": "sleep", "arguments": {"seconds": 60}}, number) as response:
            await response.aread()

    async with place.raw(version, place.url("old")) as host:
        running = [asyncio.create_task(call(host, number)) for number in (7, 8)]
        await eventually(lambda: count(log, "tools/call") == calls + 2)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    await eventually(lambda: count(log, "notifications/cancelled") == cancelled + 2)


@MODES
async def test_a_caller_that_gives_up_cancels_the_tool(place: Hall, logs: Path, mode: str) -> None:
    log = logs / "raw"
    calls, cancelled = count(log, "tools/call"), count(log, "notifications/cancelled")
    async with place.host(mode, place.url("old")) as host:
        call = asyncio.create_task(host.call_tool("sleep", {"seconds": 60}))
        await started(log, calls)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await eventually(lambda: count(log, "notifications/cancelled") == cancelled + 1)
        assert texts(await host.call_tool("echo", {"text": "still here"})) == "still here"


@pytest.mark.parametrize("version", [OLDEST, OLD])
async def test_a_host_that_vanishes_while_it_is_asked_ends_the_call(place: Hall, logs: Path, version: str) -> None:
    log = logs / "old"
    cancelled = count(log, "notifications/cancelled")
    async with place.raw(version, place.url("old")) as host:
        host.capabilities = FORM_ONLY
        host.session = None
        await host.initialize()
        async with host.open("tools/call", {"name": "ask", "arguments": {}}, 7) as response:
            assert (await anext(read_messages(response)))["method"] == "elicitation/create"
    await eventually(lambda: count(log, "notifications/cancelled") == cancelled + 1)


async def test_the_end_of_a_session_cancels_its_calls(place: Hall, logs: Path) -> None:
    log = logs / "raw"
    calls, cancelled = count(log, "tools/call"), count(log, "notifications/cancelled")
    sleep = {"name": "sleep", "arguments": {"seconds": 60}}
    async with place.raw(OLD, place.url("old")) as host:
        call = asyncio.ensure_future(host.body("tools/call", sleep, 7))
        await started(log, calls)
        assert (await host.http.delete(host.url, headers=host.headers(""))).status_code == 200
        assert b"result" not in await call
    await eventually(lambda: count(log, "notifications/cancelled") == cancelled + 1)


# ------------------------------------------------------------------------------------------------- Computers that leave


@EVERY
async def test_a_computer_that_leaves_during_a_call_ends_it_at_once(place: Hall, version: str) -> None:
    answers = Answers(smcp_tool("wait"))
    is_running = asyncio.Event()

    async def wait(_: Any) -> Any:
        is_running.set()
        await asyncio.Event().wait()

    answers.results["wait"] = wait
    office = f"leaving-{version}"
    computer = await place.fake(answers, office=office)
    async with place.raw(version, place.url(office)) as host:
        call = asyncio.create_task(host.ask("tools/call", {"name": "wait", "arguments": {}}))
        async with asyncio.timeout(PATIENCE):
            await is_running.wait()
            await computer.disconnect()
            result = await call
        assert result["isError"] is True
        assert result["_meta"]["error_code"] == 404


async def test_a_call_takes_no_longer_than_the_server_allows() -> None:
    from a2c_smcp.server import Limits

    async with hall(limits=Limits(tool_timeout=7)) as place:
        answers = Answers(smcp_tool("look"))
        computer = await place.fake(answers)
        async with place.raw(OLD) as host:
            assert "isError" not in await host.ask("tools/call", {"name": "look", "arguments": {}}) or True
        data = await computer.be_asked("client:tool_call")
        assert data["timeout"] == 7


# ---------------------------------------------------------------------------------------------- what goes with requests

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@EVERY
async def test_the_trace_of_a_host_reaches_the_computer(place: Hall, version: str) -> None:
    office = f"trace-{version}"
    computer = await place.fake(Answers(smcp_tool("look")), office=office)
    async with place.raw(version, place.url(office)) as host:
        await host.ask("tools/call", {"name": "look", "arguments": {}, "_meta": {"traceparent": TRACE}})
        assert (await computer.be_asked("client:tool_call"))["traceparent"].split("-")[1] == TRACE.split("-")[1]
        await host.ask("tools/call", {"name": "look", "arguments": {}})
        assert "traceparent" not in await computer.be_asked("client:tool_call")
    async with place.raw(version, place.url(office), traceparent=TRACE) as host:
        await host.ask("tools/call", {"name": "look", "arguments": {}})
        assert (await computer.be_asked("client:tool_call"))["traceparent"] == TRACE
    await computer.disconnect()


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_question_that_cannot_be_shown_is_declined_and_one_without_an_answer_cancelled_in_time(
    place: Hall, version: str
) -> None:
    form: dict[str, Any] = {
        "method": "elicitation/create",
        "mcp_server": "s",
        "params": {"message": "Who?", "requestedSchema": {}},
    }
    page: dict[str, Any] = {"method": "elicitation/create", "mcp_server": "s"}
    page["params"] = {"mode": "url", "message": "Go", "url": "javascript:alert(1)"}
    asked: dict[str, Any] = {"requests": {"who": form, "odd": page}, "request_state": "s1", "expires_in": 1}
    answers = Answers(smcp_tool("ask"))
    done = {"content": [{"type": "text", "text": "done"}]}
    question: dict[str, Any] = {
        "content": [{"type": "text", "text": "?"}],
        "isError": True,
        "meta": {"a2c_input_required": asked},
    }

    def ask(data: dict[str, Any]) -> dict[str, Any]:
        return done if "input_responses" in data else question

    answers.results["ask"] = ask
    office = f"expiring-{version}"
    computer = await place.fake(answers, office=office)
    async with place.raw(version, place.url(office)) as host:
        host.capabilities = FORM_ONLY
        if version == OLD:
            host.session = None
            await host.initialize()
        params: dict[str, Any] = {"name": "ask", "arguments": {}}
        *_, last = [message async for message in host.messages("tools/call", params)]
        result = last["result"]
        if version == NEW:
            assert list(result["inputRequests"]) == ["who"]
            params |= {"requestState": result["requestState"], "inputResponses": {"who": {"action": "cancel"}}}
            result = await host.ask("tools/call", params)
        assert result["content"] == done["content"]
        await computer.be_asked("client:tool_call")
        replies = (await computer.be_asked("client:tool_call"))["input_responses"]
        assert {key: reply["action"] for key, reply in replies.items()} == {"who": "cancel", "odd": "decline"}
    await computer.disconnect()
