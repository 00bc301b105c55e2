"""MCP hosts of one office on several nodes of a cluster: any node answers, and the office has one Agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import pytest

from a2c_smcp.server import DefaultAuthenticationProvider
from tests.support.gateway import NEW, OLD, Answers, Hall, RawHost, read_messages, texts
from tests.support.peer import Peer, crowd
from tests.support.running import Running, RunningCluster, running
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

KEY = {"x-api-key": "key"}
VERSIONS = pytest.mark.parametrize("version", [OLD, NEW])


@asynccontextmanager
async def cluster(**options: Any) -> AsyncGenerator[tuple[Hall, list[Running]]]:
    """Three nodes."""
    with running("cluster", DefaultAuthenticationProvider("key"), **options) as server:
        async with crowd(server) as people, AsyncExitStack() as stack:
            yield Hall(server, people, stack), cast("RunningCluster", server).nodes


@pytest.fixture(scope="module")
async def place() -> AsyncGenerator[tuple[Hall, list[Running]]]:
    async with cluster() as it:
        yield it


def repeat(data: Any) -> Any:
    """The answer of a tool that repeats a text."""
    return {"content": [{"type": "text", "text": data["params"]["text"]}]}


@asynccontextmanager
async def office(hall: Hall, name: str) -> AsyncGenerator[tuple[Peer, Answers]]:
    """An office with one Computer, whose tools tell which call it was, wait, or return much."""
    answers = Answers(smcp_tool("echo"), smcp_tool("wait"))
    answers.results["echo"] = repeat

    async def wait(data: Any) -> None:
        await computer.ask(
            "server:tool_call_progress", {"computer": "pc", "req_id": data["req_id"], "progress": 1, "total": 2}
        )
        await asyncio.Event().wait()

    answers.results["wait"] = wait
    computer = await hall.fake(answers, office=name, auth={"api_key": "key"})
    yield computer, answers
    await computer.disconnect()


def at(node: Running, office: str) -> str:
    return f"{node.url}/mcp/{office}"


async def echo(host: RawHost, text: str) -> str:
    answer = await host.ask("tools/call", {"name": "echo", "arguments": {"text": text}})
    return answer["content"][0]["text"]


@VERSIONS
async def test_hosts_on_different_nodes_share_the_agent_of_their_office(
    place: tuple[Hall, list[Running]], version: str
) -> None:
    hall, nodes = place
    name = f"shared-{version}"
    async with office(hall, name) as (computer, _), AsyncExitStack() as stack:
        # All at once: each node wants the seat.
        hosts = await asyncio.gather(
            *(stack.enter_async_context(hall.raw(version, at(node, name), **KEY)) for node in nodes for _ in range(3))
        )
        said = [f"{number}" for number in range(len(hosts))]
        assert await asyncio.gather(*map(echo, hosts, said)) == said
        entered = [notice for event, notice in computer.heard if event == "notify:enter_office"]
        assert [notice.get("agent") for notice in entered] == ["mcp-gateway"]


@VERSIONS
async def test_each_request_may_reach_another_node(place: tuple[Hall, list[Running]], version: str) -> None:
    hall, nodes = place
    name = f"scattered-{version}"
    async with office(hall, name), hall.raw(version, at(nodes[0], name), **KEY) as host:
        for number in range(6):
            host.url = at(nodes[number % 3], name)
            assert await echo(host, f"{number}") == f"{number}"
        assert await echo(host, "x" * 3_000_000) == "x" * 3_000_000
        if host.session is not None:
            assert (await host.http.delete(host.url, headers=host.headers(""))).status_code == 200
            host.url = at(nodes[1], name)
            ended = await host.http.post(host.url, json={}, headers=host.headers(""))
            assert ended.status_code == 404


@VERSIONS
async def test_notifications_progress_and_cancellation_pass_between_nodes(
    place: tuple[Hall, list[Running]], version: str
) -> None:
    hall, nodes = place
    name = f"streams-{version}"
    async with office(hall, name) as (computer, answers), AsyncExitStack() as stack:
        first = await stack.enter_async_context(hall.raw(version, at(nodes[0], name), **KEY))
        await first.ask("tools/list")
        host = await stack.enter_async_context(hall.raw(version, at(nodes[1], name), **KEY))
        host.url = at(nodes[2], name)
        await host.ask("tools/list")
        async with asyncio.timeout(PATIENCE):
            listening = (
                host.open("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 5)
                if version == NEW
                else host.http.stream("GET", host.url, headers=host.headers(""))
            )
            async with listening as stream:
                answers.tools.append(smcp_tool("another"))
                await computer.tell("server:update_tool_list", {"computer": "pc"})
                heard = read_messages(stream)
                while (await anext(heard))["method"] != "notifications/tools/list_changed":
                    pass
            params = {"name": "wait", "arguments": {}, "_meta": {"progressToken": 1}}
            async with host.open("tools/call", params, 9) as call:
                assert (await anext(read_messages(call)))["method"] == "notifications/progress"
            await computer.hear("notify:tool_call_cancel")
        assert await echo(host, "on it goes") == "on it goes"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_library_works_when_each_request_reaches_another_node(
    place: tuple[Hall, list[Running]], mode: str
) -> None:
    hall, nodes = place
    async with office(hall, mode), AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(hall.host(mode, at(node, mode), key="key")) for node in nodes]
        for client in clients:
            assert "echo" in {tool.name for tool in (await client.list_tools()).tools}
            assert texts(await client.call_tool("echo", {"text": "hello"})) == "hello"


async def test_every_node_checks_keys_and_sessions_that_do_not_exist(place: tuple[Hall, list[Running]]) -> None:
    hall, nodes = place
    async with office(hall, "checked"), hall.raw(OLD, at(nodes[0], "checked"), **KEY) as host:
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        headers = host.headers("tools/list")
        assert host.session is not None
        node, _, name = host.session.rpartition(".")
        for session in (f"n0123456789.{name}", name, f"{node}.{'0' * 32}", f"no node.{name}", ".", "n0123456789."):
            answer = await host.http.post(
                at(nodes[1], "checked"), json=body, headers={**headers, "mcp-session-id": session}
            )
            assert answer.status_code == 404, session
        refused = await host.http.post(at(nodes[1], "checked"), json=body, headers={**headers, "x-api-key": "wrong"})
        assert refused.status_code == 401


@VERSIONS
async def test_while_another_agent_has_the_seat_every_node_names_it(
    place: tuple[Hall, list[Running]], version: str
) -> None:
    hall, nodes = place
    agent = await hall.people.newcomer(auth={"api_key": "key"})
    assert (await agent.join("agent", "ada", f"taken-{version}"))[0] is True
    for node in nodes:
        async with hall.raw(version, at(node, f"taken-{version}"), **KEY) as host:
            assert "ada" in (await host.ask("tools/list"))["error"]["message"]
    await agent.disconnect()


async def test_a_node_that_stops_leaves_its_hosts_to_the_others() -> None:
    async with cluster() as (hall, nodes):
        answers = Answers(smcp_tool("echo"))
        computer = Peer()
        assert await computer.connect(nodes[2].url, auth={"api_key": "key"})
        computer.answer = answers
        assert (await computer.join("computer", "pc", "office"))[0] is True
        async with (
            hall.raw(OLD, at(nodes[0], "office"), **KEY) as old,
            hall.raw(NEW, at(nodes[1], "office"), **KEY) as new,
        ):
            assert await new.ask("tools/list")
            async with new.open("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 5) as stream:
                heard = read_messages(stream)
                await anext(heard)
                await nodes[0].shutdown(0.1)
                async with asyncio.timeout(PATIENCE):
                    async for _ in heard:
                        pass
            lost = await old.http.post(at(nodes[1], "office"), json={}, headers=old.headers(""))
            assert lost.status_code == 404

            async def is_served() -> bool:
                answer = await new.ask("tools/list")
                return "tools" in answer

            async with asyncio.timeout(PATIENCE):
                while not await is_served():  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            old.session = None
            old.url = at(nodes[1], "office")
            await old.initialize()
            assert (await old.ask("tools/list"))["tools"]
        await computer.disconnect()
