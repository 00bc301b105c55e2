"""Questions of MCP servers during a call, as a program with a Computer sees them, with servers of both eras."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.computer.offer import parking
from a2c_smcp.computer.offer.calls import Continuation
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.protocol.questions import MAX_ROUNDS
from tests.support.hosting import asking, code_of, hosting, raw, text_of
from tests.support.mcp_servers import received
from tests.support.questions import ADA, ERAS, NEW, OLD, accept, answer, ended, required
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio


@ERAS
async def test_a_call_asks_and_goes_on_with_the_answer(era: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(era, log)) as computer:
        result = await computer.call("ask")
        asked = required(result)
        (request,) = asked["requests"].values()
        assert request["mcp_server"] == "asking"
        assert request["params"]["message"] == "Who are you?"
        assert request["params"]["requestedSchema"]["properties"]["colour"]["enumNames"] == ["red", "green"]
        assert 0 < asked["expires_in"] <= 300
        assert 'The MCP server asking asks: "Who are you?"' in text_of(result)
        final = await answer(computer, result, accept(**ADA, colour="g", size="s", days=["mo"], mail="a@b.org"))
        assert not final.is_error
        got = json.loads(text_of(final))
        content = {**ADA, "age": 30, "colour": "g", "size": "s", "days": ["mo"], "mail": "a@b.org"}
        if era == NEW:
            assert got == [{"action": "accept", "content": content}, "state 1"]
        else:
            assert got == {"action": "accept", "content": content}
        assert [record["req_id"] for record in await computer.aget_tool_call_history()] == ["r2"], "one call"
    assert len(received(log, "tools/call")) == (2 if era == NEW else 1)


@ERAS
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_question_may_be_declined_or_cancelled(era: str, action: str) -> None:
    async with hosting(asking(era)) as computer:
        final = await answer(computer, await computer.call("ask"), {"action": action, "content": ADA})
        got = json.loads(text_of(final))
        assert (got[0] if era == NEW else got) == {"action": action}


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"name": "A"},
        {"name": 5},
        {"name": "Ada", "age": -1},
        {"name": "Ada", "age": "old"},
        {"name": "Ada", "colour": "green"},
        {"name": "Ada", "size": "small"},
        {"name": "Ada", "days": ["su"]},
        {"name": "Ada", "days": "mo"},
        {"name": "Ada", "days": [1]},
        {"name": "Ada", "mail": "nobody"},
        {"name": "Ada", "other": 1},
        {"name": {"first": "Ada"}},
        {"name": "A" * 20_000},
    ],
)
async def test_an_answer_that_does_not_fit_is_asked_again(content: dict[str, Any], tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(OLD, log)) as computer:
        first = await computer.call("ask")
        again = await answer(computer, first, accept(**content))
        assert "does not fit" in text_of(again)
        assert required(again)["request_state"] != required(first)["request_state"]
        assert not (await answer(computer, again, accept(**ADA))).is_error
    replies = [each for each in map(json.loads, log.read_text("utf-8").splitlines()) if each.get("id") == "s1"]
    assert [reply["result"]["content"]["name"] for reply in replies] == ["Ada"], "the server gets the valid one only"


async def test_a_state_is_for_one_caller_tool_and_parameters_and_usable_once() -> None:
    async with hosting(asking(OLD)) as computer:
        result = await computer.call("ask")
        changes: tuple[dict[str, Any], ...] = (
            {"caller": Caller("office", "other")},
            {"tool": "ask_twice"},
            {"arguments": {"question": None}},
        )
        for change in changes:
            assert code_of(await answer(computer, result, accept(**ADA), **change)) == 400
        assert not (await answer(computer, result, accept(**ADA))).is_error
        assert code_of(await answer(computer, result, accept(**ADA))) == 400


@ERAS
async def test_a_server_may_ask_two_questions_at_a_time(era: str) -> None:
    async with hosting(asking(era)) as computer:
        result = await computer.call("ask_twice")
        if era == NEW:
            final = await answer(computer, result, accept(name="One"), {"action": "decline"}, tool="ask_twice")
            expected = {"first": accept(name="One", age=30), "second": {"action": "decline"}}
        else:
            result = await answer(computer, result, accept(name="One"), tool="ask_twice")
            final = await answer(computer, result, accept(name="Two"), tool="ask_twice")
            expected = {"first": accept(name="One", age=30), "second": accept(name="Two", age=30)}
        assert json.loads(text_of(final)) == expected


@ERAS
async def test_endless_questions_end_the_call(era: str) -> None:
    async with hosting(asking(era), raw()) as computer:
        result = await computer.call("ask_forever")
        for _ in range(MAX_ROUNDS):
            result = await answer(computer, result, accept(**ADA), tool="ask_forever")
        assert code_of(result) == 4003
        assert "asks more than" in text_of(result)
        assert text_of(await computer.call("echo", text="hi")) == "hi", "other servers do not notice"


@ERAS
async def test_a_question_that_nobody_answers_is_declined(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "QUESTION_SECONDS", 0.05)
    async with hosting(asking(era)) as computer:
        result = await computer.call("ask")
        await ended(computer)
        assert code_of(await answer(computer, result, accept(**ADA))) == 400
        (record,) = await computer.aget_tool_call_history()
        assert record["success"], "the tool got its decline, and ended"


@ERAS
async def test_cancelling_ends_a_call_that_waits_for_an_answer(era: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(era, log)) as computer:
        result = await computer.call("ask")
        assert await computer.acancel_tool("r1")
        assert not await computer.acancel_tool("r1"), "it does not wait any more"
        assert code_of(await answer(computer, result, accept(**ADA))) == 400
        if era == OLD:
            await eventually(lambda: received(log, "notifications/cancelled"))


async def test_an_agent_that_leaves_takes_its_questions_along() -> None:
    me = Caller("office", "me")
    async with hosting(asking(OLD)) as computer:
        result = await computer.aexecute_tool("r1", "ask", {}, PATIENCE, caller=me)
        assert await computer.acancel_office("office", "me")
        assert code_of(await answer(computer, result, accept(**ADA), caller=me)) == 400


@ERAS
async def test_the_death_of_the_server_ends_a_call_that_waits_for_an_answer(era: str) -> None:
    async with hosting(asking(era)) as computer:
        result = await computer.call("ask_and_exit")
        await ended(computer)
        final = await answer(computer, result, accept(**ADA), tool="ask_and_exit")
        assert code_of(final) == 4003
        assert "during the call" in text_of(final)


async def test_only_so_many_calls_wait_for_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "MAX_PARKED_PER_CALLER", 2)
    async with hosting(asking(NEW)) as computer:
        results = [await computer.call("ask", req_id=f"r{number}") for number in range(3)]
        assert [required(result)["expires_in"] > 0 for result in results[:2]] == [True, True]
        assert json.loads(text_of(results[2]))[0] == {"action": "decline"}
        assert results[2].meta is not None
        assert "too many calls" in results[2].meta["a2c_rejected_questions"][0]


@ERAS
@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "https://", "a b"])
async def test_an_address_that_is_not_of_the_web_is_rejected_and_reported(era: str, url: str) -> None:
    question = {"mode": "url", "message": "open", "url": url, **({"elicitationId": "e"} if era == OLD else {})}
    async with hosting(asking(era)) as computer:
        result = await computer.call("ask", question=question)
        assert result.meta is not None
        assert "a2c_input_required" not in result.meta
        assert "not http or https" in result.meta["a2c_rejected_questions"][0]
        assert url not in text_of(result)


@ERAS
async def test_a_visit_is_accepted_without_content(era: str) -> None:
    async with hosting(asking(era)) as computer:
        result = await computer.call("visit")
        (request,) = required(result)["requests"].values()
        assert request["params"]["url"] == "https://example.com/login?code=1"
        assert "It asks to visit https://example.com/login?code=1" in text_of(result)
        final = await answer(computer, result, accept(forged=1), tool="visit")
        assert not final.is_error
        if era == NEW:
            assert json.loads(text_of(final))[0] == {"action": "accept"}


async def test_a_call_whose_visit_is_declined_fails_with_the_servers_error() -> None:
    async with hosting(asking(OLD)) as computer:
        final = await answer(computer, await computer.call("visit"), {"action": "decline"}, tool="visit")
        assert code_of(final) == 4003
        assert "URL elicitation required" in text_of(final)


async def test_an_imitated_confirmation_shows_whose_it_is() -> None:
    async with hosting(asking(OLD, name="evil")) as computer:
        result = await computer.call("imitate")
        first, *_ = text_of(result).splitlines()
        assert first.startswith('The MCP server evil asks: "The owner of this Computer')
        assert first.endswith('"')
        assert "\x1b" not in text_of(result)
        await computer.acancel_tool("r1")


@ERAS
async def test_sampling_and_roots_are_declined_as_the_era_expects(era: str) -> None:
    async with hosting(asking(era)) as computer:
        result = await computer.call("sample")
        if era == OLD:
            assert json.loads(text_of(result)) == [-32601, -32601]
        else:
            assert code_of(result) == 4003
            assert "sampling/createMessage" in text_of(result)


async def test_capabilities_are_those_that_are_supported(tmp_path: Path) -> None:
    log, new = tmp_path / "log", tmp_path / "new"
    async with hosting(asking(OLD, log), asking(NEW, new, "new")):
        pass
    (handshake,) = received(log, "initialize")
    assert handshake["params"]["capabilities"] == {"elicitation": {"form": {}, "url": {}}}
    (listing,) = received(new, "tools/list")
    capabilities = listing["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert capabilities == {
        "elicitation": {"form": {}, "url": {}},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    }


@pytest.mark.parametrize("other", [Caller("o", "you"), Caller("o", "me", "bob"), Caller("o", "me")])
async def test_a_question_during_calls_of_different_callers_is_declined(other: Caller) -> None:
    async with hosting(asking(OLD)) as computer:
        mine = await computer.aexecute_tool("r1", "ask", {}, PATIENCE, caller=Caller("o", "me", "ada"))
        theirs = await computer.aexecute_tool("r2", "ask", {}, PATIENCE, caller=other)
        assert required(mine)
        assert json.loads(text_of(theirs)) == {"action": "decline"}


async def test_a_call_goes_on_only_for_the_user_that_was_asked() -> None:
    async with hosting(asking(OLD)) as computer:
        result = await computer.aexecute_tool("r1", "ask", {}, PATIENCE, caller=Caller("o", "me", "ada"))
        refused = await answer(computer, result, accept(**ADA), caller=Caller("o", "me", "bob"))
        assert code_of(refused) == 400
        final = await answer(computer, result, accept(**ADA), caller=Caller("o", "me", "ada"))
        assert json.loads(text_of(final))["action"] == "accept"


async def test_the_time_of_the_person_does_not_count_and_the_timeout_of_the_answer_does() -> None:
    async with hosting(asking(OLD)) as computer:
        result = await computer.aexecute_tool("r1", "ask_twice", {}, 0.5)
        asked = required(result)
        await asyncio.sleep(0.6)
        continuation = Continuation(asked["request_state"], {"question": accept(**ADA)})
        second = await computer.aexecute_tool("r2", "ask_twice", {}, 0.5, continuation=continuation)
        assert required(second)


# ---------------------------------------------------------------------------------------------------------------- tasks


async def test_a_task_is_followed_to_its_result() -> None:
    reports: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.append(message)

    async with hosting(asking(NEW)) as computer:
        arguments = {"states": ["working", "completed"]}
        result = await computer.aexecute_tool("r1", "task", arguments, PATIENCE, send_progress=note)
        assert text_of(result) == "null"
        assert reports[0] == "begun"
        assert reports[-1] == "now completed"


async def test_a_task_may_ask() -> None:
    async with hosting(asking(NEW)) as computer:
        arguments: dict[str, Any] = {"states": ["working", "input_required", "working", "completed"]}
        result = await computer.call("task", **arguments)
        final = await answer(computer, result, accept(**ADA), tool="task", arguments=arguments)
        assert json.loads(text_of(final)) == {"q1": accept(**ADA, age=30)}


@pytest.mark.parametrize(("state", "words"), [("failed", "it broke"), ("cancelled", "cancelled the task")])
async def test_a_task_that_does_not_complete_is_a_failure(state: str, words: str) -> None:
    async with hosting(asking(NEW)) as computer:
        result = await computer.call("task", states=["working", state])
        assert code_of(result) == 4003
        assert words in text_of(result)


@pytest.mark.parametrize("end", ["timeout", "cancel"])
async def test_a_task_is_cancelled_with_its_call(end: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(NEW, log)) as computer:
        call = asyncio.ensure_future(
            computer.call("task", limit=1 if end == "timeout" else PATIENCE, states=["working"])
        )
        await eventually(lambda: received(log, "tasks/get"))
        if end == "cancel":
            await computer.acancel_tool("r1")
        result = await call
        assert code_of(result) == (4004 if end == "timeout" else None)
        await eventually(lambda: received(log, "tasks/cancel"))
        assert received(log, "tasks/cancel")[0]["params"]["taskId"] == "task 1"
