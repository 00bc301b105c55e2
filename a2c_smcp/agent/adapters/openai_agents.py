"""A toolkit's tools for the OpenAI Agents SDK; needs `openai-agents`.

agent = Agent(name="helper", tools=openai_agents_tools(toolkit))
"""

from __future__ import annotations

from typing import Any

from agents import FunctionTool, Tool, ToolOutputImage, ToolOutputText

from a2c_smcp.agent.answers import Answer, Text
from a2c_smcp.agent.toolkit import ModelTool, SyncToolkit, Toolkit
from a2c_smcp.utils.threads import in_thread


def openai_agents_tools(toolkit: Toolkit | SyncToolkit) -> list[Tool]:
    """The current tools. A failure becomes the output of the tool, for the model to read.

    The program hears of their progress and answers their questions with `on_progress` and `on_question` of the toolkit.
    """
    return [_tool(toolkit, tool) for tool in toolkit.tools.values()]


def _tool(toolkit: Toolkit | SyncToolkit, tool: ModelTool) -> FunctionTool:
    async def invoke(context: Any, arguments: str) -> Any:
        if isinstance(toolkit, Toolkit):
            return _output(await toolkit.call(tool.name, arguments))
        # The blocking Agent waits for the answer, for minutes if a person is asked. In this thread it would stop
        # the event loop of the program.
        return _output(await in_thread(toolkit.call, tool.name, arguments))

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,  # see `ToolkitBase.openai_responses`
    )


def _output(answer: Answer) -> Any:
    if not answer.images:
        return answer.text
    return [
        ToolOutputText(text=part.text) if isinstance(part, Text) else ToolOutputImage(image_url=part.url)
        for part in answer.parts
    ]
