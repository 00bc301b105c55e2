"""Both Agent clients behind one interface, so that a scenario is written once, and an office for them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from a2c_smcp.agent import AsyncSMCPAgentClient, Change, DefaultAgentAuthProvider, SMCPAgentClient
from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.errors import TimedOutError
from tests.support.hosting import Watched, hosting
from tests.support.peer import Crowd, Peer, crowd
from tests.support.proxy import Network, network
from tests.support.running import Kind, Running, running
from tests.support.waiting import PATIENCE

Form = Literal["async", "sync"]
_END = object()


class Driven:
    """An Agent whose methods are awaited; those of the blocking client run in threads."""

    def __init__(self, form: Form, client: Any) -> None:
        self.form: Form = form
        self.client = client

    def __getattr__(self, name: str) -> Any:
        value: Any = getattr(self.client, name)
        if not callable(value) or name.startswith("iter_") or name == "changes":
            return value

        method: Callable[..., Any] = value

        async def act(*args: Any, **options: Any) -> Any:
            if self.form == "sync":
                return await asyncio.to_thread(method, *args, **options)
            return await method(*args, **options)

        return act

    async def each(self, items: Any, count: int | None = None) -> list[Any]:
        """The first `count` items of an iteration of the client, or all."""
        found: list[Any] = []
        async with asyncio.timeout(PATIENCE):
            while count is None or len(found) < count:
                item: Any
                if self.form == "async":
                    item = await anext(items, _END)
                else:
                    item = await asyncio.to_thread(next, items, _END)
                if item is _END:
                    break
                found.append(item)
        return found


class Diary:
    """An event handler that records its events."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    def note(self, what: str, data: Any = None) -> None:
        """Record an event, from any thread."""
        self.heard.append((what, data))
        self._loop.call_soon_threadsafe(self._changed.set)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds. It is evaluated after each recorded event."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def until_heard(self, what: str, times: int = 1) -> Any:
        """The data of the event of this kind with the number `times`, once it is recorded."""
        await self.until(lambda: self.count(what) >= times)
        return [data for kind, data in self.heard if kind == what][times - 1]

    def count(self, what: str) -> int:
        return sum(kind == what for kind, _ in self.heard)

    def on_computer_enter_office(self, data: Any, client: Any) -> None:
        self.note("enter", data["computer"])

    def on_computer_leave_office(self, data: Any, client: Any) -> None:
        self.note("leave", data["computer"])

    def on_computer_update_config(self, data: Any, client: Any) -> None:
        self.note("config", data["computer"])

    def on_tools_received(self, computer: str, tools: Any, client: Any) -> None:
        self.note("tools", (computer, [tool["name"] for tool in tools]))

    def on_disconnected(self, client: Any) -> None:
        self.note("disconnected")

    def on_rejoined(self, client: Any) -> None:
        self.note("rejoined")


class FullDiary(Diary):
    """An event handler that also receives updates of windows and documents."""

    async def on_desktop_updated(self, computer: str, desktops: list[str], client: Any) -> None:
        self.note("desktop", (computer, desktops))

    async def on_finder_updated(self, computer: str, finder: Any, client: Any) -> None:
        self.note("finder", (computer, finder))


@dataclass
class Stage:
    """A Server, a network that leads to it, and its clients."""

    form: Form
    server: Running
    network: Network
    people: Crowd
    _stack: AsyncExitStack = field(repr=False)

    async def agent(self, name: str = "agent", office: str = "office", handler: Any = None, **options: Any) -> Driven:
        """An Agent in an office."""
        agent = self.visitor(name, office, handler, **options)
        await agent.connect_to_server(self.network.url)
        await agent.join_office(office, name)
        with contextlib.suppress(TimedOutError):
            await agent.wait_for(timeout=5)
        return agent

    def visitor(self, name: str = "agent", office: str = "office", handler: Any = None, **options: Any) -> Driven:
        """An Agent that is not connected yet. It reconnects after short delays."""
        options = {"reconnection_delay": 0.05, "reconnection_delay_max": 0.2, "randomization_factor": 0.01, **options}
        make = AsyncSMCPAgentClient if self.form == "async" else SMCPAgentClient
        agent = Driven(self.form, make(DefaultAgentAuthProvider(name, office), handler, **options))
        self._stack.push_async_callback(agent.disconnect)
        return agent

    async def computer(
        self, *servers: MCPServerConfig, name: str = "pc", office: str = "office", **options: Any
    ) -> Watched:
        """A Computer in an office, connected directly to the Server."""
        computer = await self._stack.enter_async_context(hosting(*servers, **options))
        computer.name = name
        client = SMCPComputerClient(computer=computer, reconnection_delay=0.05, reconnection_delay_max=0.2)
        await client.connect(self.server.url, transports=["websocket"])
        self._stack.push_async_callback(client.disconnect)
        await client.join_office(office)
        return computer

    async def server_says(self, event: str, data: Any, office: str = "office") -> None:
        """Have the Server send an event to all members of an office."""
        app: Any = self.server.app
        assert self.server.loop is not None
        said = app.sio.emit(event, data, room=office, namespace="/smcp")
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(said, self.server.loop))

    async def fake(
        self, name: str = "pc", office: str = "office", answer: Callable[[str, Any], Any] | None = None
    ) -> Peer:
        """A Computer whose answers the test decides."""
        return await self.people.member("computer", name, office, answer)


@asynccontextmanager
async def stage(form: Form, kind: Kind = "async", **options: Any) -> AsyncGenerator[Stage]:
    with running(kind, **options) as server:
        async with crowd(server) as people, network(server.url) as wires, AsyncExitStack() as stack:
            yield Stage(form, server, wires, people, stack)


def kinds(changes: list[Change]) -> list[tuple[str, str | None]]:
    return [(change.kind, change.computer) for change in changes]
