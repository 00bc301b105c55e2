"""Notifications: lists that change, and resources that are watched, in both eras of MCP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.client import Client

from tests.support.gateway import NEW, OLD, Answers, Hall, RawHost, hall, read_messages
from tests.support.hosting import offering
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

LISTS = {"toolsListChanged": True, "resourcesListChanged": True, "promptsListChanged": True}
TOOLS, RESOURCES, PROMPTS = (f"notifications/{name}/list_changed" for name in ("tools", "resources", "prompts"))
UPDATED = "notifications/resources/updated"
ERAS = pytest.mark.parametrize("version", [OLD, NEW])


@pytest.fixture(scope="module")
async def place() -> AsyncGenerator[Hall]:
    async with hall() as here:
        yield here


class Ear:
    """A host that listens, by a stream of its era."""

    def __init__(self, host: RawHost) -> None:
        self.host = host
        self.heard: list[dict[str, Any]] = []
        self._changed = asyncio.Condition()

    async def listen(self, response: Any) -> None:
        async for message in read_messages(response):
            async with self._changed:
                self.heard.append(message)
                self._changed.notify_all()

    async def hear(self, method: str, uri: str | None = None) -> dict[str, Any]:
        """The next notification of this kind, which is removed, together with those before it."""

        def fits(message: dict[str, Any]) -> bool:
            return message.get("method") == method and uri in (None, message.get("params", {}).get("uri"))

        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: any(map(fits, self.heard)))
            number = next(place for place, message in enumerate(self.heard) if fits(message))
            found = self.heard[number]
            del self.heard[: number + 1]
            return found


@asynccontextmanager
async def listening(place: Hall, version: str, url: str, *watched: str) -> AsyncGenerator[Ear]:
    async with place.raw(version, url) as host:
        for method in ("tools/list", "resources/list", "prompts/list"):
            await host.ask(method)
        ear = Ear(host)
        if version == NEW:
            wanted = {"notifications": {**LISTS, "resourceSubscriptions": list(watched)}}
            opening = host.open("subscriptions/listen", wanted, 1)
        else:
            for uri in watched:
                assert await host.ask("resources/subscribe", {"uri": uri}) == {}
            opening = host.http.stream("GET", host.url, headers=host.headers(""))
        async with opening as response:
            task = asyncio.create_task(ear.listen(response))
            try:
                if version == NEW:
                    await ear.hear("notifications/subscriptions/acknowledged")
                yield ear
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


@ERAS
async def test_a_host_hears_of_computers_that_come_and_go(place: Hall, version: str) -> None:
    office = f"moving-{version}"
    async with listening(place, version, place.url(office)) as ear:
        computer = await place.fake(Answers(smcp_tool("echo")), office=office)
        await ear.hear(TOOLS)
        assert [tool["name"] for tool in (await ear.host.ask("tools/list"))["tools"]][3:] == ["echo"]
        await computer.disconnect()
        await ear.hear(TOOLS)
        assert len((await ear.host.ask("tools/list"))["tools"]) == 3


@ERAS
async def test_a_host_hears_of_lists_that_an_mcp_server_changes(place: Hall, version: str) -> None:
    office = f"lists-{version}"
    await place.computer(offering("a"), office=office)
    async with listening(place, version, place.url(office, mode="direct")) as ear:

        async def call(name: str, **arguments: Any) -> None:
            result = await ear.host.ask("tools/call", {"name": name, "arguments": arguments})
            assert not result["isError"]

        await call("rename", prompt="salute")
        await ear.hear(PROMPTS)
        assert (await ear.host.ask("prompts/list"))["prompts"][0]["name"] == "salute"
        await call("add", resource="memo://new")
        await ear.hear(RESOURCES)


@ERAS
async def test_a_change_of_tools_that_hosts_do_not_see_is_no_news(place: Hall, version: str) -> None:
    office = f"hidden-{version}"
    answers = Answers(smcp_tool("a"))
    computer = await place.fake(answers, office=office)
    async with listening(place, version, place.url(office, tools="a*")) as ear:
        answers.tools = [smcp_tool("a"), smcp_tool("b")]
        await computer.tell("server:update_tool_list", {"computer": "pc"})
        await computer.be_asked("client:get_tools")
        answers.tools = [smcp_tool("a"), smcp_tool("b"), smcp_tool("a2")]
        await computer.tell("server:update_tool_list", {"computer": "pc"})
        await ear.hear(TOOLS)
        assert [tool["name"] for tool in (await ear.host.ask("tools/list"))["tools"]][3:] == ["a", "a2"]
        assert TOOLS not in [message.get("method") for message in ear.heard]


@ERAS
async def test_a_watched_resource_is_reported_under_the_address_that_the_host_used(place: Hall, version: str) -> None:
    office = f"watching-{version}"
    await place.computer(offering("a"), office=office)
    ours, theirs = "a2c://computer/pc/a/memo://1", "memo://2"
    async with listening(place, version, place.url(office), ours, theirs) as ear:
        for number, uri in (("1", ours), ("2", theirs)):
            await ear.host.ask("tools/call", {"name": "update", "arguments": {"uri": f"memo://{number}"}})
            assert (await ear.hear(UPDATED))["params"]["uri"] == uri
        if version == OLD:
            await ear.host.ask("resources/unsubscribe", {"uri": ours})
            for number in ("1", "2"):
                await ear.host.ask("tools/call", {"name": "update", "arguments": {"uri": f"memo://{number}"}})
            assert (await ear.hear(UPDATED))["params"]["uri"] == theirs


async def test_what_cannot_be_watched_is_left_out_of_the_acknowledgement(place: Hall) -> None:
    await place.computer(offering("a"), office="ack")
    async with place.raw(NEW, place.url("ack")) as host:
        uris = ["memo://1", "a2c://computer/nobody/a/memo://1"]
        wanted = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": uris}}
        async with host.open("subscriptions/listen", wanted, 1) as response:
            first = await anext(read_messages(response))
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"]["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["memo://1"]}
        too_many = {"notifications": {"resourceSubscriptions": [f"memo://{number}" for number in range(101)]}}
        assert (await host.ask("subscriptions/listen", too_many))["error"]["code"] == -32602
    async with place.raw(OLD, place.url("ack")) as host:
        for uri in uris[1:]:
            assert "error" in await host.ask("resources/subscribe", {"uri": uri})


async def test_the_client_of_the_library_hears_of_changes_by_its_own_way_to_listen(place: Hall) -> None:
    computer: Callable[[], Any] = lambda: place.fake(Answers(smcp_tool("echo")), office="listen")  # noqa: E731

    def kind(event: Any) -> str:
        return type(event).__name__

    async with place.host("auto", place.url("listen")) as host:
        await host.list_tools()
        async with _listen(host) as events:
            await computer()
            async with asyncio.timeout(PATIENCE):
                async for event in events:
                    assert kind(event) == "ToolsListChanged"
                    break


def _listen(host: Client) -> Any:
    return host.listen(tools_list_changed=True)


@ERAS
async def test_a_resource_of_a_computer_that_returns_is_watched_again(place: Hall, version: str) -> None:
    office, uri = f"returning-{version}", "a2c://computer/pc/a/memo://1"
    answers = Answers()
    answers.further["client:watch_resource"] = {}
    computer = await place.fake(answers, office=office)
    async with listening(place, version, place.url(office), uri) as ear:
        assert "watch" not in await computer.be_asked("client:watch_resource")
        await computer.disconnect()
        computer = await place.fake(answers, office=office)
        assert (await computer.be_asked("client:watch_resource"))["uri"] == "memo://1"
        await computer.tell("server:update_resource", {"computer": "pc", "uri": "memo://1", "mcp_server": "a"})
        assert (await ear.hear(UPDATED))["params"]["uri"] == uri
        if version == OLD:  # the session has to end, too
            assert (await ear.host.http.delete(ear.host.url, headers=ear.host.headers(""))).status_code == 200
    assert (await computer.be_asked("client:watch_resource"))["watch"] is False
    await computer.disconnect()
