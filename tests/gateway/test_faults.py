"""Hosts, Computers and Servers that disappear during a call, and many hosts at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psutil
import pytest

from tests.support.gateway import NEW, OLD, Answers, Hall, RawHost, gateway_of, hall, read_messages
from tests.support.hosting import raw
from tests.support.mcp_servers import received
from tests.support.process import ServerProcess, free_port
from tests.support.smcp_tools import smcp_tool
from tests.support.systems import SIGKILL
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

VERSIONS = pytest.mark.parametrize("version", [OLD, NEW])
HOSTS = 200
SLEEP = {"name": "sleep", "arguments": {"seconds": 600}}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "raw"


@pytest.fixture(scope="module")
async def place(log: Path) -> AsyncGenerator[Hall]:
    """A Server, and an office with a real Computer and a real MCP server."""
    async with hall() as here:
        await here.computer(raw("raw", "--log", str(log)))
        yield here


async def said(host: RawHost, text: str) -> str:
    answer = await host.ask("tools/call", {"name": "echo", "arguments": {"text": text}})
    return answer["content"][0]["text"]


async def test_two_hosts_share_the_agent_of_their_office(place: Hall, log: Path) -> None:
    async with place.raw(OLD) as one, place.raw(NEW) as other:
        slow = asyncio.ensure_future(one.ask("tools/call", {"name": "sleep", "arguments": {"seconds": 0.5}}))
        await eventually(lambda: received(log, "tools/call"))
        assert await said(other, "meanwhile") == "meanwhile"
        assert "content" in await slow
        page = (await one.http.get(f"{place.server.url}/metrics")).text
    assert '\na2c_members{role="agent"} 1.0' in page


@VERSIONS
@pytest.mark.parametrize("how", ["closes", "resets"])
async def test_the_tool_of_a_host_that_disappears_is_cancelled(place: Hall, log: Path, version: str, how: str) -> None:
    cancelled = len(received(log, "notifications/cancelled"))
    calls = len(received(log, "tools/call"))
    async with place.raw(version) as host:
        parts = urlsplit(host.url)
        _, writer = await asyncio.open_connection(parts.hostname, parts.port)
        meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params: dict[str, Any] = SLEEP | ({"_meta": meta} if version == NEW else {})
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        fields = {**host.headers("tools/call", SLEEP), "host": parts.netloc, "content-type": "application/json"}
        lines = [f"POST {parts.path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
        writer.write("\r\n".join([*lines, f"content-length: {len(body)}", "", body]).encode())
        await eventually(lambda: len(received(log, "tools/call")) > calls)
        if how == "resets":
            writer.transport.abort()
        else:
            writer.close()
        await eventually(lambda: len(received(log, "notifications/cancelled")) > cancelled)
        assert await said(host, "on it goes") == "on it goes"


@VERSIONS
async def test_a_call_of_a_computer_that_leaves_ends_with_an_error(place: Hall, version: str) -> None:
    answers = Answers(smcp_tool("wait"))

    async def wait(data: Any) -> None:
        await asyncio.Event().wait()

    answers.results["wait"] = wait
    office = f"left-{version}"
    computer = await place.fake(answers, office=office)
    async with place.raw(version, place.url(office)) as host:
        call = asyncio.ensure_future(host.ask("tools/call", {"name": "wait", "arguments": {}}))
        await computer.be_asked("client:tool_call")
        await computer.disconnect()
        async with asyncio.timeout(PATIENCE):
            result = await call
        assert result["isError"] is True
        assert result["content"][0]["text"]
        seat = gateway_of(place).views.office(office).seat
        await eventually(lambda: not seat.current.tools)
        again = await place.fake(Answers(smcp_tool("wait")), office=office)
        await eventually(lambda: seat.current.tools.get("pc"))
        assert (await host.ask("tools/call", {"name": "wait", "arguments": {}}))["content"][0]["text"] == "done"
        await again.disconnect()


async def test_hosts_over_http_open_another_session_after_a_restart() -> None:
    port = str(free_port())
    async with contextlib.AsyncExitStack() as stack:
        server = stack.enter_context(contextlib.closing(ServerProcess("--port", port)))
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=PATIENCE))
        host, modern = (RawHost(http, f"{server.url}/mcp/office", version) for version in (OLD, NEW))
        await host.initialize()
        assert await host.ask("tools/list")
        async with host.http.stream("GET", host.url, headers=host.headers("")) as news:
            await asyncio.to_thread(server.stop, SIGKILL)
            with contextlib.suppress(httpx2.HTTPError):  # it breaks, as the connection does
                await news.aread()
        await asyncio.to_thread(server.close)
        stack.enter_context(contextlib.closing(await asyncio.to_thread(ServerProcess, "--port", port)))
        lost = await host.http.post(host.url, json={}, headers=host.headers(""))
        assert lost.status_code == 404
        host.session = None
        await host.initialize()
        assert (await host.ask("tools/list"))["tools"]
        assert (await modern.ask("tools/list"))["tools"]


async def test_many_hosts_at_once_are_served_in_little_time_and_memory(place: Hall) -> None:
    async def use(number: int) -> None:
        async with place.raw((OLD, NEW)[number % 2]) as host:
            await host.ask("tools/list")
            assert await said(host, f"{number}") == f"{number}"
            hosts.append(host)
            if len(hosts) == HOSTS:
                all_there.set()
            await all_there.wait()
            assert await said(host, f"{number}") == f"{number}"
            if host.session is not None:
                await host.http.delete(host.url, headers=host.headers(""))

    hosts: list[RawHost] = []
    all_there = asyncio.Event()
    before = psutil.Process().memory_info().rss
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        for number in range(HOSTS):
            group.create_task(use(number))
        await all_there.wait()
        assert gateway_of(place).views.sessions >= HOSTS // 2
    # The hosts are in this process, too.
    assert psutil.Process().memory_info().rss - before < 300_000_000
    await eventually(lambda: gateway_of(place).views.sessions < HOSTS // 2)


async def test_a_stream_of_progress_that_is_not_read_ends_with_its_host(place: Hall) -> None:
    answers = Answers(smcp_tool("talk"))
    office = "talkative"

    async def talk(data: Any) -> None:
        while True:
            report = {"computer": "pc", "req_id": data["req_id"], "progress": 1, "message": "x" * 10_000}
            await computer.ask("server:tool_call_progress", report)

    answers.results["talk"] = talk
    computer = await place.fake(answers, office=office)
    async with place.raw(NEW, place.url(office)) as host, place.raw(OLD, place.url(office)) as other:
        params = {"name": "talk", "arguments": {}, "_meta": {"progressToken": 1}}
        async with host.open("tools/call", params, 9) as response:
            messages = read_messages(response)
            await anext(messages)  # and nothing after it
            for _ in range(5):
                assert (await other.ask("tools/list"))["tools"]
        await computer.hear("notify:tool_call_cancel")
    await computer.disconnect()
