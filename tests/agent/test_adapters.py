"""The toolkit in agent frameworks, with the real packages.

Each test imports its framework itself: it takes seconds, and each worker of pytest imports every module.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from a2c_smcp.agent.toolkit import SyncToolkit, Toolkit
from tests.support.agents import Driven, Stage
from tests.support.hosting import raw

pytestmark = pytest.mark.anyio


def toolkit(agent: Driven) -> Toolkit | SyncToolkit:
    return Toolkit(agent.client) if agent.form == "async" else SyncToolkit(agent.client)


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
