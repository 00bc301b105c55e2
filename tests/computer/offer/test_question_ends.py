"""How questions of MCP servers end: cancelled, repeated, taken back, during several calls, or never."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.hosting.connected import MAX_PROGRESS
from a2c_smcp.computer.mcp.conversation import MAX_ORDERS
from a2c_smcp.computer.offer import calls, parking
from a2c_smcp.computer.offer.calls import Continuation
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.offer.progress import MAX_MESSAGE
from a2c_smcp.protocol.questions import MAX_ROUNDS
from tests.support.hosting import Watched, asking, code_of, hosting, raw, text_of
from tests.support.mcp_servers import AUTO, http_server, read_log, received
from tests.support.questions import ADA, ERAS, NEW, OLD, accept, answer, ended, required
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

ME, YOU = Caller("office", "me"), Caller("office", "you")


def answers_in(log: Path) -> list[dict[str, Any]]:
    """The answers that a server of 2025-11-25 got to its questions."""
    return [message["result"] for message in read_log(log) if "action" in (message.get("result") or {})]


# ------------------------------------------------------------------------------------------------------------ cancelled

ENDS: dict[str, Callable[[Watched], Awaitable[Any]]] = {
    "cancelled": lambda computer: computer.acancel_tool("r1"),
    "agent left": lambda computer: computer.acancel_office("office", "me"),
    "computer left": lambda computer: computer.acancel_office("office"),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
async def test_a_cancelled_call_closes_its_question(end: Callable[[Watched], Awaitable[Any]], tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(OLD, log)) as computer:
        # One more than the questions of a server that may be open at a time.
        for _ in range(MAX_ORDERS + 1):
            assert required(await computer.aexecute_tool("r1", "ask", {}, PATIENCE, caller=ME))
            assert await end(computer)
        await eventually(lambda: len(answers_in(log)) == MAX_ORDERS + 1)
        assert answers_in(log) == [{"action": "cancel"}] * (MAX_ORDERS + 1)
        assert len(received(log, "notifications/cancelled")) == MAX_ORDERS + 1


async def test_a_computer_that_stops_closes_its_questions(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(OLD, log)) as computer:
        assert required(await computer.call("ask_twice"))
    assert answers_in(log)[0] == {"action": "cancel"}


async def test_the_second_question_of_a_cancelled_call_is_not_asked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(OLD, log)) as computer:
        assert required(await computer.call("ask_twice"))
        assert await computer.acancel_tool("r1")
        await eventually(lambda: len(answers_in(log)) == 2)
        assert [given["action"] for given in answers_in(log)] == ["cancel", "decline"]
        assert not await computer.acancel_tool("r1")


@ERAS
async def test_a_server_that_is_removed_ends_its_questions(era: str) -> None:
    async with hosting(asking(era)) as computer:
        result = await computer.call("ask")
        await computer.aremove_server("asking")
        assert code_of(await answer(computer, result, accept(**ADA))) == 4003


# ------------------------------------------------------------------------------------------------------------- repeated


@ERAS
async def test_a_repeated_request_gets_the_same_question(era: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(era, log)) as computer:
        first, second = await computer.call("ask"), await computer.call("ask")
        assert required(first)["request_state"] == required(second)["request_state"]
        assert len(received(log, "tools/call")) == 1
        assert code_of(await computer.call("visit")) == 400, "the id is in use"
        assert not (await answer(computer, second, accept(**ADA), req_id="r1")).is_error
        assert required(await computer.call("ask")), "the call has ended: this is another one"


@ERAS
async def test_a_repeated_answer_gets_the_outcome_of_the_call(era: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(era, log)) as computer:
        asked = await computer.call("ask_and_hold")
        first, second = (
            asyncio.ensure_future(answer(computer, asked, accept(**ADA), tool="ask_and_hold", req_id="r1"))
            for _ in range(2)
        )
        await eventually(lambda: answers_in(log) if era == OLD else len(received(log, "tools/call")) == 2)
        await computer.call("join", req_id="other")
        assert text_of(await first) == text_of(await second)
        assert json.loads(text_of(await first)) == accept(**ADA, age=30)
        assert len(received(log, "tools/call")) == (2 if era == OLD else 3), "nothing ran twice"
        late = await answer(computer, asked, accept(**ADA), tool="ask_and_hold", req_id="r1")
        assert code_of(late) == 400


async def test_a_repeated_answer_gets_the_next_question(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(OLD, log)) as computer:
        asked = await computer.call("ask_twice")
        first = await answer(computer, asked, accept(name="One"), tool="ask_twice")
        again = await answer(computer, asked, accept(name="Other"), tool="ask_twice")
        assert required(again)["request_state"] == required(first)["request_state"] != required(asked)["request_state"]
        final = await answer(computer, again, accept(name="Two"), tool="ask_twice")
        assert [given["content"]["name"] for given in json.loads(text_of(final)).values()] == ["One", "Two"]


async def test_a_repeated_answer_that_did_not_fit_gets_the_same_question_again() -> None:
    async with hosting(asking(OLD)) as computer:
        asked = await computer.call("ask")
        first, again = [await answer(computer, asked, accept(name="A"), req_id="r1") for _ in range(2)]
        assert required(again)["request_state"] == required(first)["request_state"]
        assert required(again)["problem"]
        assert not (await answer(computer, again, accept(**ADA), req_id="r1")).is_error


async def test_an_answer_does_not_take_the_id_of_another_call(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(OLD, log), raw("raw", "--log", str(log))) as computer:
        asked = await computer.call("ask")
        other = asyncio.ensure_future(computer.call("sleep", seconds=600, req_id="other"))
        await eventually(lambda: len(received(log, "tools/call")) == 2)
        assert code_of(await answer(computer, asked, accept(**ADA), req_id="other")) == 400
        assert not (await answer(computer, asked, accept(**ADA), req_id="r1")).is_error
        assert await computer.acancel_tool("other")
        assert (await other).is_error


# ----------------------------------------------------------------------------------------------------------- taken back


async def test_a_question_that_is_taken_back_gives_the_tool_the_time_that_was_left() -> None:
    async with hosting(asking(OLD)) as computer:
        asked = await computer.call("ask_and_take_back", limit=1, then="hang")
        await ended(computer)
        then = {"then": "hang"}
        final = await answer(computer, asked, accept(**ADA), tool="ask_and_take_back", arguments=then)
        assert code_of(final) == 4004


@pytest.mark.parametrize("is_answer", [True, False], ids=["answer", "repeated request"])
async def test_a_tool_that_takes_its_question_back_may_finish(is_answer: bool) -> None:
    then: dict[str, Any] = {"then": "finish"}
    async with hosting(asking(OLD)) as computer:
        asked = await computer.call("ask_and_take_back", **then)
        await ended(computer)
        if is_answer:
            final = await answer(computer, asked, accept(**ADA), tool="ask_and_take_back", arguments=then)
        else:
            final = await computer.call("ask_and_take_back", **then)
        assert text_of(final) == "finished"


async def test_an_answer_to_a_question_that_was_replaced_is_not_for_the_new_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    then: dict[str, Any] = {"then": "ask"}
    async with hosting(asking(OLD, log)) as computer:
        asked = await computer.call("ask_and_take_back", **then)
        (request,) = required(asked)["requests"].values()
        assert request["params"]["message"] == "first"
        # The answers to its two pings show that both questions have been read.
        await eventually(lambda: sum(message.get("result") == {} for message in read_log(log)) == 2)
        again = await answer(computer, asked, accept(**ADA), tool="ask_and_take_back", arguments=then)
        (request,) = required(again)["requests"].values()
        assert request["params"]["message"] == "second"
        assert answers_in(log) == []
        final = await answer(computer, again, {"action": "decline"}, tool="ask_and_take_back", arguments=then)
        assert json.loads(text_of(final)) == {"action": "decline"}


# ------------------------------------------------------------------------------------------------------- several calls


@pytest.mark.parametrize("until", ["asked", "answered"])
async def test_a_question_that_another_call_asks_is_answered_and_both_calls_get_their_results(
    until: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with hosting(asking(OLD, log)) as computer:
        one = asyncio.ensure_future(computer.call("ask_when_joined", req_id="one"))
        await eventually(lambda: received(log, "tools/call"))
        # The latest call asks, although the question is that of the other one.
        asked = await computer.call("join", req_id="two", until=until)
        if until == "asked":
            await ended(computer)
        other = await answer(computer, asked, accept(**ADA), tool="join", req_id="two", arguments={"until": until})
        assert text_of(other) == "joined"
        assert json.loads(text_of(await one)) == accept(**ADA, age=30)
        records = await computer.aget_tool_call_history()
        assert {(record["req_id"], record["tool"]) for record in records} == {
            ("one", "ask_when_joined"),
            ("two", "join"),
        }


@pytest.mark.parametrize("answered", ["one", "two"])
async def test_a_call_whose_time_is_up_waits_for_the_answer_to_a_question_that_may_be_its_own(
    answered: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with hosting(asking(OLD, log)) as computer:
        one = asyncio.ensure_future(computer.call("ask_when_joined", limit=1.0, req_id="one"))
        await eventually(lambda: received(log, "tools/call"))
        two = await computer.call("join", req_id="two", until="answered")
        tools: dict[str, dict[str, Any]] = {
            "one": {"result": await one, "tool": "ask_when_joined"},
            "two": {"result": two, "tool": "join", "arguments": {"until": "answered"}},
        }
        texts: dict[str, str] = {}
        for name in sorted(tools, key=lambda name: name != answered):
            # The second answer is not needed: it only continues the call.
            given = accept(**ADA) if name == answered else {"action": "decline"}
            texts[name] = text_of(await answer(computer, tools[name].pop("result"), given, req_id=name, **tools[name]))
        assert json.loads(texts["one"]) == accept(**ADA, age=30)
        assert texts["two"] == "joined"
        assert len(answers_in(log)) == 1


async def test_a_call_is_not_ended_by_the_endless_questions_of_another(tmp_path: Path) -> None:
    log = tmp_path / "log"
    form = {"type": "object", "properties": {"x": {"type": "object"}}}
    endless: dict[str, Any] = {"question": {"message": "?", "requestedSchema": form}, "when_joined": True}
    async with hosting(asking(OLD, log)) as computer:
        asking_call = asyncio.ensure_future(computer.call("ask_forever", req_id="endless", **endless))
        await eventually(lambda: received(log, "tools/call"))
        innocent = await computer.call("join", req_id="innocent", until="asked")
        assert text_of(innocent) == "joined", "although the questions were taken for its own"
        assert code_of(await asking_call) == 4003


async def test_a_question_over_http_is_asked_by_its_own_call() -> None:
    with http_server("mcp 1.x", "streamable") as server:
        config = server_from({"type": "streamable", "url": server.url, "default_tool_meta": AUTO}, "old")
        async with hosting(config) as computer:
            asked = [
                await computer.aexecute_tool("r1", "ask", {"number": number}, PATIENCE, caller=caller)
                for number, caller in enumerate((ME, YOU))
            ]
            for number, result in enumerate(asked):
                (request,) = required(result)["requests"].values()
                assert request["params"]["message"] == f"Who is number {number}?"
            for number, caller in ((1, YOU), (0, ME)):
                continuation = Continuation(
                    required(asked[number])["request_state"], {"question": accept(name=caller.agent)}
                )
                final = await computer.aexecute_tool(
                    "r1", "ask", {"number": number}, PATIENCE, caller=caller, continuation=continuation
                )
                assert text_of(final) == f"{number} is {caller.agent}"


# --------------------------------------------------------------------------------------------------------------- limits


@ERAS
@pytest.mark.parametrize(
    "question",
    [
        {"mode": "url", "message": "open", "url": "javascript:alert(1)", "elicitationId": "e"},
        {"message": "?", "requestedSchema": {"type": "object", "properties": {"x": {"type": "object"}}}},
        {"requestedSchema": "nothing of a question"},
    ],
    ids=["address", "form", "malformed"],
)
async def test_endless_questions_that_are_rejected_end_the_call(era: str, question: dict[str, Any]) -> None:
    async with hosting(asking(era), raw()) as computer:
        result = await computer.call("ask_forever", question=question)
        assert code_of(result) == 4003
        assert "asks more than" in text_of(result)
        assert len((result.meta or {})["a2c_rejected_questions"]) == MAX_ROUNDS
        assert text_of(await computer.call("echo", text="hi")) == "hi", "other servers do not notice"


@ERAS
async def test_answers_that_never_fit_end_the_question(era: str) -> None:
    async with hosting(asking(era)) as computer:
        result = await computer.call("ask")
        for _ in range(MAX_ROUNDS):
            result = await answer(computer, result, accept(name="A"))
        got = json.loads(text_of(result))
        assert (got[0] if era == NEW else got) == {"action": "decline"}


async def test_all_questions_of_a_call_wait_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "TOTAL_SECONDS", 100)
    async with hosting(asking(OLD)) as computer:
        first = await computer.call("ask_twice")
        assert 90 < required(first)["expires_in"] <= 100
        monkeypatch.setattr(parking, "TOTAL_SECONDS", 0)
        final = await answer(computer, first, accept(name="One"), tool="ask_twice")
        assert json.loads(text_of(final))["second"] == {"action": "decline"}
        assert "have waited" in (final.meta or {})["a2c_rejected_questions"][0]


@ERAS
async def test_a_schema_that_cannot_be_checked_accepts_the_answer(era: str) -> None:
    form = {"type": "object", "properties": {"x": {"type": "integer", "multipleOf": 0}}}
    async with hosting(asking(era)) as computer:
        arguments: dict[str, Any] = {"question": {"message": "?", "requestedSchema": form}}
        asked = await computer.call("ask", **arguments)
        final = await answer(computer, asked, accept(x=3), arguments=arguments)
        got = json.loads(text_of(final))
        assert (got[0] if era == NEW else got) == accept(x=3)


@ERAS
@pytest.mark.parametrize("kind", [["string", "null"], {}, None, 7])
async def test_a_field_of_no_plain_type_is_rejected(era: str, kind: Any) -> None:
    form = {"type": "object", "properties": {"x": {"type": kind}}}
    async with hosting(asking(era)) as computer:
        result = await computer.call("ask", question={"message": "?", "requestedSchema": form})
        assert "a2c_input_required" not in (result.meta or {})
        assert len((result.meta or {})["a2c_rejected_questions"]) == 1
        assert code_of(result) is None


@pytest.mark.parametrize("action", [[], {}, None, 7, "yes"])
async def test_an_answer_without_a_valid_action_is_asked_again(action: Any) -> None:
    async with hosting(asking(OLD)) as computer:
        again = await answer(computer, await computer.call("ask"), {"action": action})
        assert required(again)["problem"].startswith("action")
        await computer.acancel_tool("r1")


async def test_a_secret_at_the_end_of_a_long_report_is_not_cut_in_two(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    secret = "hunter2-s3cr3t"
    reports: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.append(message)

    async with hosting(asking(env={"API_TOKEN": secret})) as computer:
        for width in (MAX_MESSAGE, MAX_PROGRESS):
            # The first secret is shortened, so that more of the text is shown than its beginning.
            words = f"{secret} ".ljust(width - 5 + len(secret) - 3, "x") + secret * 100_000
            arguments = {"words": words, "count": 1}
            await computer.aexecute_tool("r", "progress", arguments, PATIENCE, send_progress=note)
    assert [len(report or "") for report in reports] == [MAX_MESSAGE] * 2
    assert "hun" not in "".join(map(str, reports)) + caplog.text


# ---------------------------------------------------------------------------------------------------------------- tasks


async def test_a_task_whose_question_expires_is_cancelled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(parking, "QUESTION_SECONDS", 0.05)
    monkeypatch.setattr(calls, "ABANDONED_SECONDS", 0.3)
    log = tmp_path / "log"
    async with hosting(asking(NEW, log)) as computer:
        assert required(await computer.call("task", states=["input_required", "working"]))
        await eventually(lambda: received(log, "tasks/cancel"))
        (update,) = received(log, "tasks/update")
        assert update["params"]["inputResponses"] == {"q1": {"action": "decline"}}


async def test_a_task_that_asks_without_end_is_cancelled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    arguments: dict[str, Any] = {"states": ["insisting"]}
    async with hosting(asking(NEW, log)) as computer:
        result = await computer.call("task", **arguments)
        for _ in range(MAX_ROUNDS):
            result = await answer(computer, result, accept(**ADA), tool="task", arguments=arguments)
        assert code_of(result) == 4003
        assert "asks more than" in text_of(result)
        await eventually(lambda: received(log, "tasks/cancel"))


@pytest.mark.parametrize(
    "arguments",
    [{"states": ["input_required"], "wants": "sampling/createMessage"}, {"states": ["working", "forgotten"]}],
    ids=["not offered", "error"],
)
async def test_a_task_is_cancelled_if_its_call_fails(arguments: dict[str, Any], tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(NEW, log)) as computer:
        assert code_of(await computer.call("task", **arguments)) == 4003
        await eventually(lambda: received(log, "tasks/cancel"))


@pytest.mark.parametrize("state", ["completed", "failed", "cancelled"])
async def test_a_task_that_has_ended_is_not_cancelled(state: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(asking(NEW, log)) as computer:
        await computer.call("task", states=["working", state])
        await computer.call("progress", req_id="other")
        assert not received(log, "tasks/cancel")
