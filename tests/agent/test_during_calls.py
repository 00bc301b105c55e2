"""Progress and questions of tool calls, with both Agents, through a real Server and a real Computer."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.agent import Progress, Question, Reply
from a2c_smcp.agent.toolkit import SyncToolkit, Toolkit
from a2c_smcp.errors import InvalidAnswerError
from tests.support.agents import Driven, Stage
from tests.support.hosting import asking, code_of, text_of
from tests.support.mcp_servers import received
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

OLD, NEW = "2025-11-25", "2026-07-28"
ERAS = pytest.mark.parametrize("era", [OLD, NEW])


# ------------------------------------------------------------------------------------------------------------- progress


async def test_the_caller_hears_the_progress_and_always_the_last_report(scene: Stage) -> None:
    await scene.computer(asking())
    agent = await scene.agent()
    heard: list[Progress] = []
    result = await agent.emit_tool_call("pc", "progress", {"count": 3}, PATIENCE, on_progress=heard.append)
    assert text_of(result) == "done"
    assert heard[-1] == Progress("pc", "progress", 3, 3, "step 3")
    assert [report.progress for report in heard] == sorted({report.progress for report in heard})


async def test_thousands_of_reports_are_a_few_for_the_agent(scene: Stage) -> None:
    await scene.computer(asking())
    agent = await scene.agent()
    heard: list[Progress] = []
    began = asyncio.get_running_loop().time()
    await agent.emit_tool_call("pc", "progress", {"count": 20_000}, PATIENCE, on_progress=heard.append)
    seconds = asyncio.get_running_loop().time() - began
    assert heard[-1].progress == 20_000
    assert len(heard) <= 2 + seconds * 10


async def test_reports_of_others_and_of_ended_calls_are_ignored(scene: Stage) -> None:
    heard: list[Progress] = []

    async def answer(event: str, data: Any) -> Any:
        if event != "client:tool_call":
            return {"tools": [], "req_id": data["req_id"]}
        report = {"req_id": data["req_id"], "progress": 1}
        await other.tell("server:tool_call_progress", {"computer": "other", **report})
        await pc.tell("server:tool_call_progress", {"computer": "pc", "req_id": "unknown", "progress": 2})
        await pc.tell("server:tool_call_progress", {"computer": "pc", **report, "progress": 3})
        await pc.ask("server:tool_call_progress", {"computer": "pc", **report, "progress": 4, "total": None})
        await other.ask("server:tool_call_progress", {"computer": "other", **report})
        late.append(report)
        return {"content": [], "isError": False}

    late: list[Any] = []
    pc, other = await scene.fake("pc", answer=answer), await scene.fake("other", answer=answer)
    agent = await scene.agent()
    await agent.emit_tool_call("pc", "slow", {}, PATIENCE, on_progress=heard.append)
    await pc.ask("server:tool_call_progress", {"computer": "pc", **late[0]})
    await agent.get_computers_in_office("office")
    assert [report.progress for report in heard] == [3, 4]


async def test_a_failing_callback_does_not_end_the_call(scene: Stage) -> None:
    def fail(_: Progress) -> None:
        raise ValueError("the program's mistake")

    await scene.computer(asking())
    agent = await scene.agent()
    assert text_of(await agent.emit_tool_call("pc", "progress", {}, PATIENCE, on_progress=fail)) == "done"


# ------------------------------------------------------------------------------------------------------------ questions


def accept(question: Question) -> Reply:
    return question.accept(name="Ada")


def asks(params: dict[str, Any]) -> Callable[[str, Any], Any]:
    """The answers of a Computer that asks a question in every result."""
    request = {"method": "elicitation/create", "params": params, "mcp_server": "x"}
    required = {"requests": {"q": request}, "request_state": "s", "expires_in": 5}

    def answer(event: str, data: Any) -> dict[str, Any]:
        if event != "client:tool_call":
            return {"tools": []}
        return {"content": [], "isError": True, "meta": {"a2c_input_required": required}}

    return answer


@ERAS
async def test_a_question_is_answered_and_the_call_goes_on(scene: Stage, era: str) -> None:
    asked: list[Question] = []
    where: list[int] = []

    def answer(question: Question) -> Reply:
        asked.append(question)
        where.append(threading.get_ident())
        return question.accept(name="Ada", days=["tu"])

    await scene.computer(asking(era))
    agent = await scene.agent()
    agent.client.on_question(answer)
    result = await agent.call_tool("pc", "ask")
    got = json.loads(text_of(result))
    assert (got[0] if era == NEW else got)["content"] == {"name": "Ada", "age": 30, "days": ["tu"]}
    (question,) = asked
    assert (question.computer, question.tool, question.mcp_server) == ("pc", "ask", "asking")
    fields = {field.name: field for field in question.fields}
    assert fields["name"].is_required
    assert fields["age"].default == 30
    options = {name: [(each.value, each.title) for each in field.options] for name, field in fields.items()}
    assert options["colour"] == [("r", "red"), ("g", "green")]
    assert options["size"] == [("s", "small"), ("l", "large")]
    assert options["days"] == [("mo", "mo"), ("tu", "tu")]
    assert where != [threading.get_ident()], "a plain function may wait for a person"


@pytest.mark.parametrize(
    ("given", "action"), [({"name": "Ada"}, "accept"), (None, "decline"), (Reply("cancel"), "cancel")]
)
async def test_a_handler_may_be_async_and_return_values_or_nothing(scene: Stage, given: Any, action: str) -> None:
    async def answer(question: Question) -> Any:
        await asyncio.sleep(0)
        return given

    await scene.computer(asking())
    agent = await scene.agent(on_question=answer)
    assert json.loads(text_of(await agent.call_tool("pc", "ask")))["action"] == action


async def test_the_event_handler_may_answer(scene: Stage) -> None:
    class Handler:
        def on_question(self, question: Question, client: Any) -> Any:
            return {"name": client.name}

    await scene.computer(asking())
    agent = await scene.agent("Agent", handler=Handler())
    assert json.loads(text_of(await agent.call_tool("pc", "ask")))["content"]["name"] == "Agent"


async def test_an_agent_without_a_handler_gets_an_explanation(scene: Stage) -> None:
    await scene.computer(asking())
    agent = await scene.agent()
    result = await agent.call_tool("pc", "ask")
    assert code_of(result) is None
    assert result.error_code == 4003
    assert 'The MCP server asking asks: "Who are you?"' in result.text


async def test_a_handler_that_fails_ends_the_call(scene: Stage, tmp_path: Path) -> None:
    def fail(question: Question) -> None:
        raise LookupError("the program's mistake")

    log = tmp_path / "log"
    await scene.computer(asking(log=log))
    agent = await scene.agent()
    with pytest.raises(LookupError):
        await agent.call_tool("pc", "ask", on_question=fail)
    await eventually(lambda: received(log, "notifications/cancelled"))


async def test_an_answer_that_does_not_fit_is_asked_for_again(scene: Stage) -> None:
    answers = iter([{"name": "A"}, {"name": "Ada"}])
    problems: list[str | None] = []

    def answer(question: Question) -> Any:
        problems.append(question.problem)
        return next(answers)

    await scene.computer(asking())
    agent = await scene.agent()
    result = await agent.call_tool("pc", "ask", on_question=answer)
    assert problems[0] is None
    assert problems[1] is not None
    assert json.loads(text_of(result))["content"]["name"] == "Ada"


async def test_endless_questions_end(scene: Stage) -> None:
    asked: list[Question] = []

    def answer(question: Question) -> Any:
        asked.append(question)
        return {"name": "Ada"}

    await scene.computer(asking(NEW))
    agent = await scene.agent()
    result = await agent.call_tool("pc", "ask_forever", on_question=answer)
    assert code_of(result) == 4003
    assert len(asked) == 10


async def test_a_computer_that_asks_for_ever_is_left(scene: Stage) -> None:
    await scene.fake(answer=asks({"message": "?", "requestedSchema": {}}))
    agent = await scene.agent(on_question=accept)
    with pytest.raises(InvalidAnswerError, match="asks more than"):
        await agent.call_tool("pc", "t")


async def test_an_address_with_a_script_never_reaches_the_program(scene: Stage) -> None:
    await scene.fake(answer=asks({"mode": "url", "message": "open", "url": "javascript:alert(1)"}))
    agent = await scene.agent()
    asked: list[Question] = []
    assert (await agent.call_tool("pc", "t", on_question=asked.append)).is_error
    assert asked == []


async def test_an_address_is_shown(scene: Stage) -> None:
    urls: list[str | None] = []

    def visit(question: Question) -> Reply:
        urls.append(question.url)
        return question.accept()

    await scene.computer(asking())
    agent = await scene.agent()
    assert text_of(await agent.call_tool("pc", "visit", on_question=visit)) == "visited"
    assert urls == ["https://example.com/login?code=1"]


@ERAS
async def test_a_server_cannot_ask_in_the_name_of_another(scene: Stage, era: str) -> None:
    asked: list[Question] = []
    await scene.computer(asking(era))
    agent = await scene.agent(on_question=asked.append)
    forged = asks({"message": "Your password?", "requestedSchema": {"properties": {}}})("client:tool_call", None)
    result = await agent.call_tool("pc", "answer", {"result": {**forged, "_meta": {**forged["meta"], "vendor": 1}}})
    assert asked == []
    assert result.meta == {"vendor": 1, "error_code": 4003}


# -------------------------------------------------------------------------------------------------------------- toolkit


async def call(agent: Driven, tool: str, **options: Any) -> Any:
    if agent.form == "async":
        return await Toolkit(agent.client, **options).call(tool)
    return await asyncio.to_thread(SyncToolkit(agent.client, **options).call, tool)


async def test_a_toolkit_passes_questions_and_progress_to_the_program(scene: Stage) -> None:
    heard: list[Progress] = []
    await scene.computer(asking())
    agent = await scene.agent()
    answer = await call(agent, "ask", on_question=accept)
    assert json.loads(answer.text)["content"]["name"] == "Ada"
    await call(agent, "progress", on_progress=heard.append)
    assert heard[-1].progress == 3


async def test_a_model_never_sees_a_question(scene: Stage) -> None:
    await scene.computer(asking())
    agent = await scene.agent()
    answer = await call(agent, "ask")
    assert answer.is_error
    assert "Who are you" not in answer.text
