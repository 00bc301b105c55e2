"""The toolkit in agent frameworks, with the real packages.

Each test imports its framework itself: it takes seconds, and each worker of pytest imports every module.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from a2c_smcp.agent import Progress, Question, Reply
from a2c_smcp.agent.toolkit import SyncToolkit, Toolkit
from tests.support.agents import Driven, Stage
from tests.support.hosting import asking, raw

pytestmark = pytest.mark.anyio


def toolkit(agent: Driven, **options: Any) -> Toolkit | SyncToolkit:
    return Toolkit(agent.client, **options) if agent.form == "async" else SyncToolkit(agent.client, **options)


class Program:
    """What a program does with progress and questions, which a model never sees."""

    def __init__(self) -> None:
        self.heard: list[Progress] = []
        self.options: dict[str, Any] = {"on_progress": self.heard.append, "on_question": self.answer}

    def answer(self, question: Question) -> Reply:
        return question.accept(name="Ada")


def call(name: str, **arguments: Any) -> Any:
    """A call as a chat model of LangChain makes it."""
    return {"type": "tool_call", "id": "call-1", "name": name, "args": arguments}


async def test_langchain_calls_tools(scene: Stage) -> None:
    from langchain_core.messages import ToolMessage

    from a2c_smcp.agent.adapters.langchain import langchain_tools

    await scene.computer(raw())
    tools = {tool.name: tool for tool in langchain_tools(toolkit(await scene.agent()))}
    message: Any = await tools["echo"].ainvoke(call("echo", text="hi"))
    assert isinstance(message, ToolMessage)
    assert message.content == [{"type": "text", "text": "hi"}]
    assert message.artifact.text == "hi"
    failed: Any = await tools["fail"].ainvoke(call("fail", message="broken"))
    assert failed.status == "error"
    assert "broken" in failed.content
    pictures: Any = await tools["media"].ainvoke(call("media"))
    assert "image" in [block["type"] for block in pictures.content_blocks]
    if scene.form == "sync":
        blocking: Any = await asyncio.to_thread(tools["echo"].invoke, call("echo", text="hi"))
        assert blocking.content == message.content


async def test_openai_agents_call_tools(scene: Stage) -> None:
    from agents import Agent, FunctionTool, RunConfig, Runner

    from a2c_smcp.agent.adapters.openai_agents import openai_agents_tools
    from tests.support.scripted_model import Scripted

    await scene.computer(raw())
    tools: list[Any] = list(openai_agents_tools(toolkit(await scene.agent())))
    assert {type(tool) for tool in tools} == {FunctionTool}
    model = Scripted(("echo", {"text": "hi"}), ("media", {}), ("fail", {"message": "broken"}))
    outcome = await Runner.run(
        Agent(name="helper", tools=tools, model=model), "go", run_config=RunConfig(tracing_disabled=True)
    )
    assert outcome.final_output == "done"
    assert "echo" in model.offered
    items: list[Any] = list(outcome.to_input_list())
    outputs = [item for item in items if item.get("type") == "function_call_output"]
    assert outputs[0]["output"] == "hi"
    assert "input_image" in [part["type"] for part in outputs[1]["output"]]
    assert "broken" in outputs[2]["output"]


@pytest.mark.parametrize(("options", "action"), [(Program().options, "accept"), ({}, "decline")])
async def test_langchain_leaves_questions_to_the_program(scene: Stage, options: Any, action: str) -> None:
    from a2c_smcp.agent.adapters.langchain import langchain_tools

    await scene.computer(asking())
    tools = {tool.name: tool for tool in langchain_tools(toolkit(await scene.agent(), **options))}
    message: Any = await tools["ask"].ainvoke(call("ask"))
    assert (message.status, json.loads(message.artifact.text)["action"]) == ("success", action)
    assert "Who are you" not in str(message.content)


@pytest.mark.parametrize(("options", "action"), [(Program().options, "accept"), ({}, "decline")])
async def test_openai_agents_leave_questions_to_the_program(scene: Stage, options: Any, action: str) -> None:
    from a2c_smcp.agent.adapters.openai_agents import openai_agents_tools

    await scene.computer(asking())
    tools = openai_agents_tools(toolkit(await scene.agent(), **options))
    [output] = await outputs_of(tools, ("ask", {}))
    assert json.loads(output)["action"] == action


async def test_both_frameworks_report_the_progress_of_tools_to_the_program(scene: Stage) -> None:
    from a2c_smcp.agent.adapters.langchain import langchain_tools
    from a2c_smcp.agent.adapters.openai_agents import openai_agents_tools

    await scene.computer(asking())
    agent = await scene.agent()
    program = Program()
    tools = {tool.name: tool for tool in langchain_tools(toolkit(agent, **program.options))}
    await tools["progress"].ainvoke(call("progress"))
    assert program.heard[-1] == Progress("pc", "progress", 3, 3, "step 3")
    program.heard.clear()
    await outputs_of(openai_agents_tools(toolkit(agent, **program.options)), ("progress", {}))
    assert program.heard[-1] == Progress("pc", "progress", 3, 3, "step 3")


async def outputs_of(tools: list[Any], *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What a model gets for its calls."""
    from agents import Agent, RunConfig, Runner

    from tests.support.scripted_model import Scripted

    agent = Agent(name="helper", tools=tools, model=Scripted(*calls))
    outcome = await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
    items: list[Any] = list(outcome.to_input_list())
    return [item["output"] for item in items if item.get("type") == "function_call_output"]
