"""The Agent's seat: any number of Agents, on an event loop or in threads."""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
from typing import Any

from driver import Driver, say, start

from a2c_smcp.agent import AsyncSMCPAgentClient, DefaultAgentAuthProvider, SMCPAgentClient


class Diary:
    """Says what an Agent in threads is told."""

    def __init__(self, name: str) -> None:
        self._name = name

    def on_computer_enter_office(self, data: Any, client: Any = None) -> None:
        say(heard=[self._name, "enter", data])

    def on_computer_leave_office(self, data: Any, client: Any = None) -> None:
        say(heard=[self._name, "leave", data])

    def on_computer_update_config(self, data: Any, client: Any = None) -> None:
        say(heard=[self._name, "config", data])

    def on_tools_received(self, computer: str, tools: list[Any], client: Any = None) -> None:
        say(heard=[self._name, "tools", {"computer": computer, "tools": [tool["name"] for tool in tools]}])


class AsyncDiary:
    """The same, for an Agent that waits for it."""

    def __init__(self, name: str) -> None:
        self._diary = Diary(name)

    async def on_computer_enter_office(self, data: Any, client: Any = None) -> None:
        self._diary.on_computer_enter_office(data)

    async def on_computer_leave_office(self, data: Any, client: Any = None) -> None:
        self._diary.on_computer_leave_office(data)

    async def on_computer_update_config(self, data: Any, client: Any = None) -> None:
        self._diary.on_computer_update_config(data)

    async def on_tools_received(self, computer: str, tools: list[Any], client: Any = None) -> None:
        self._diary.on_tools_received(computer, tools)


class Agents(Driver):
    """Makes Agents."""

    def make(self, name: str, form: str, login: dict[str, Any], options: dict[str, Any]) -> None:
        """An Agent that is not connected yet; `login` is what its auth provider takes."""
        provider = DefaultAgentAuthProvider(**login)
        if form == "async":
            self.objects[name] = AsyncSMCPAgentClient(provider, AsyncDiary(name), **options)
        else:
            self.objects[name] = SMCPAgentClient(provider, Diary(name), **options)

    async def get_picture(
        self, name: str, form: str, computer: str, tool: str, size: int, seconds: int, save_to: str | None = None
    ) -> dict[str, Any]:
        """Call a tool that gives a picture: the hashes of what is in the result, and the texts and files instead."""
        agent = self.objects[name]
        method = agent.emit_tool_call if save_to is None else functools.partial(agent.emit_tool_call, save_to=save_to)
        if form == "async":
            result = await method(computer, tool, {"bytes": size}, seconds)
        else:
            result = await asyncio.to_thread(method, computer, tool, {"bytes": size}, seconds)
        data = [item.data for item in result.content if item.type == "image" and item.data]
        return {
            "sha256": [hashlib.sha256(base64.b64decode(each)).hexdigest() for each in data],
            "text": "".join(item.text for item in result.content if item.type == "text"),
            "saved": [str(path) for path in getattr(result, "saved_files", ())],
        }


if __name__ == "__main__":
    start(Agents())
