"""The Agent's seat: any number of Agents, on an event loop or in threads."""

from __future__ import annotations

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


if __name__ == "__main__":
    start(Agents())
