"""A model of the OpenAI Agents SDK that follows a plan."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Model, ModelResponse, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class Scripted(Model):
    """A model that makes these calls, one at a time, and is then done."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self._calls = list(calls)
        self.offered: list[str] = []

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        given = options.get("tools") or args[3]
        self.offered = [tool.name for tool in given]
        if self._calls:
            name, arguments = self._calls.pop(0)
            item: Any = ResponseFunctionToolCall(
                type="function_call", call_id=f"call-{len(self._calls)}", name=name, arguments=json.dumps(arguments)
            )
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            item = ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
