"""A toolkit's tools for LangChain and LangGraph; needs `langchain-core`.

tools = langchain_tools(toolkit)
model.bind_tools(tools)                              # or create_agent(model, tools)
"""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, ToolException

from a2c_smcp.agent.answers import Answer, Text
from a2c_smcp.agent.toolkit import SyncToolkit, Toolkit
from a2c_smcp.utils.threads import in_thread


def langchain_tools(toolkit: Toolkit | SyncToolkit) -> list[BaseTool]:
    """The current tools. Those of a `Toolkit` need `ainvoke`.

    The program hears of their progress and answers their questions with `on_progress` and `on_question` of the toolkit.
    """
    return [
        _OfficeTool(toolkit=toolkit, name=tool.name, description=tool.description, args_schema=tool.parameters)
        for tool in toolkit.tools.values()
    ]


class _OfficeTool(BaseTool):
    """A tool of the office. Its artifact is the `Answer`; a failure becomes a message with status `error`."""

    response_format: Any = "content_and_artifact"
    handle_tool_error: Any = True
    toolkit: Any

    def _run(self, **arguments: Any) -> Any:
        # The Agent belongs to an event loop, which this call would block: the answer could never arrive.
        if isinstance(self.toolkit, Toolkit):
            raise NotImplementedError("this tool belongs to an asynchronous Agent: use ainvoke")
        return _content(self.toolkit.call(self.name, arguments))

    async def _arun(self, **arguments: Any) -> Any:
        if isinstance(self.toolkit, Toolkit):
            return _content(await self.toolkit.call(self.name, arguments))
        # The blocking Agent waits for the answer, for minutes if a person is asked. In this thread it would stop
        # the event loop of the program.
        return _content(await in_thread(self.toolkit.call, self.name, arguments))


def _content(answer: Answer) -> tuple[list[dict[str, Any]], Answer]:
    # With `handle_tool_error`, LangChain turns this exception into a message for the model. Any other ends the run.
    if answer.is_error:
        raise ToolException(answer.text)
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": part.text}
        if isinstance(part, Text)
        else {"type": "image", "base64": part.data, "mime_type": part.mime_type}
        for part in answer.parts
    ]
    return blocks, answer
