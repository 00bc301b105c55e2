"""Which requests reach an office over HTTP, and how they end: sites, keys, limits, hostile hosts, shutdown."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from a2c_smcp.protocol.limits import Limits
from tests.gateway.test_http import keys
from tests.support.gateway import NEW, OLD, VERSIONS, Answers, Hall, gateway_of, hall, read_messages
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

SITE = "https://hub.example"
TYPES = {"accept": "application/json, text/event-stream"}
NARROW = {
    "sessions_of_a_principal": 20,
    "sessions": 30,
    "body_bytes": 1_000_000,
    "body_seconds": 0.5,
    "allowed_hosts": ("127.0.0.1", "hub.example"),
    "allowed_origins": ("https://app.example",),
}


def opening(version: str = OLD) -> dict[str, Any]:
    """A message that opens a session."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Hall]:
    """A Server with small limits, and an office with one Computer."""
    provider = keys(tmp_path_factory.mktemp("keys"), {"ann": ["office"], "ben": ["other"], "eve": ["*"]})
    async with hall(provider, limits=Limits(grant_interval=0.1), **NARROW) as here:
        await here.fake(Answers(smcp_tool("echo")), auth={"api_key": "ann"})
        yield here


@pytest.fixture
async def http() -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=PATIENCE, headers={"x-api-key": "ann", **TYPES}) as client:
        yield client


async def is_well(place: Hall) -> None:
    """The office serves a host that behaves."""
    async with place.raw(NEW, None, **{"x-api-key": "ann"}) as host:
        async with asyncio.timeout(PATIENCE):
            assert "echo" in {tool["name"] for tool in (await host.ask("tools/list"))["tools"]}


# ----------------------------------------------------------------------------------------------------------- who may in


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "hub.example"}, 200),
        ({"host": "HUB.example:8443"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "hub.example.evil.example"}, 403),
        ({"host": "hub.example", "origin": SITE}, 200),
        ({"origin": "https://app.example"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "evil.example", "origin": "https://evil.example"}, 403),
        ({"x-api-key": ""}, 401),
        ({"x-api-key": "wrong"}, 401),
        ({"x-api-key": "ben"}, 403),
        ({"x-api-key": "", "authorization": "Bearer ann"}, 200),
        ({"x-api-key": "", "authorization": "Bearer ben"}, 403),
    ],
)
async def test_a_request_needs_the_right_site_and_key(
    place: Hall, http: httpx2.AsyncClient, headers: dict[str, str], status: int
) -> None:
    given = {name: value for name, value in {"x-api-key": "ann", **headers}.items() if value}
    async with httpx2.AsyncClient(timeout=PATIENCE, headers=TYPES) as client:
        answer = await client.post(place.url(), json=opening(), headers=given)
        if answer.status_code == 200:
            session = {"mcp-session-id": answer.headers["mcp-session-id"]}
            assert (await client.delete(place.url(), headers={**given, **session})).status_code == 200
        else:
            assert answer.json()["error"]["data"]["code"] == status
    assert answer.status_code == status


async def test_a_page_of_an_accepted_site_can_be_a_host(place: Hall, http: httpx2.AsyncClient) -> None:
    origin = {"origin": "https://app.example"}
    asked = {**origin, "access-control-request-method": "POST", "access-control-request-headers": "x-api-key"}
    async with httpx2.AsyncClient() as browser:  # which asks without a key
        allowed = await browser.request("OPTIONS", place.url(), headers=asked)
        assert allowed.status_code == 204
        assert allowed.headers["access-control-allow-headers"] == "x-api-key"
        refused = await browser.request("OPTIONS", place.url(), headers={**asked, "origin": "https://evil.example"})
        assert refused.status_code == 403
        assert "access-control-allow-origin" not in refused.headers
        unknown = await browser.post(place.url(), json=opening(), headers={**TYPES, **origin})
        assert unknown.status_code == 401
    for answer in (allowed, unknown):
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        assert "mcp-session-id" in answer.headers["access-control-expose-headers"]
    assert (await http.put(place.url())).status_code == 405


# -------------------------------------------------------------------------------------------------------- hostile hosts


async def _pieces(count: int, piece: bytes) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield piece


@pytest.mark.parametrize("version", [None, NEW])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b" " * 10_000_000, 413),
        ("pieces", 413),
        (b'{"a":' * 100_000, 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 300 + b"1" + b"}" * 301, 400),
        (b"[" * 201 + b"]" * 201, 400),
        (b"not JSON", 400),
        (b"", 400),
        (b'"\xff\xfe"', 400),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 100_000 + b',"method":"ping"}', 400),
    ],
)
async def test_a_body_that_cannot_be_a_message_is_rejected(
    place: Hall, http: httpx2.AsyncClient, body: Any, status: int, version: str | None
) -> None:
    content = _pieces(50, b" " * 100_000) if body == "pieces" else body
    headers = {"content-type": "application/json"} | ({"mcp-protocol-version": version} if version else {})
    try:
        answer = await http.post(place.url(), content=content, headers=headers)
    except (httpx2.WriteError, httpx2.ReadError):  # the Server closed the connection while the body was being sent
        assert status == 413
    else:
        assert answer.status_code == status
    await is_well(place)


async def test_a_body_that_does_not_arrive_is_given_up(place: Hall) -> None:
    parts = urlsplit(place.url())
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    head = f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\nx-api-key: ann\r\ncontent-length: 100\r\n\r\n{{"
    writer.write(head.encode())
    async with asyncio.timeout(PATIENCE):
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
    writer.close()
    await is_well(place)


async def test_a_host_can_open_so_many_sessions_and_others_still_can(place: Hall) -> None:
    async def flood(key: str, attempts: int) -> list[httpx2.Response]:
        async with httpx2.AsyncClient(timeout=PATIENCE, headers={"x-api-key": key, **TYPES}) as client:
            return await asyncio.gather(*(client.post(place.url(), json=opening()) for _ in range(attempts)))

    answers = [*await flood("eve", 40), *await flood("eve", 40)]
    opened = [answer.headers["mcp-session-id"] for answer in answers if answer.status_code == 200]
    assert 15 <= len(opened) <= 20
    rejected = [answer for answer in answers if answer.status_code != 200]
    assert {answer.status_code for answer in rejected} == {429}
    assert "retry-after" in rejected[0].headers
    await is_well(place)
    # In all, there is room for ten more.
    others = await flood("ann", 20)
    assert {answer.status_code for answer in others} == {200, 503}
    assert gateway_of(place).views.sessions <= 30
    async with httpx2.AsyncClient(timeout=PATIENCE, headers=TYPES) as client:
        for key, session in [
            *(("eve", session) for session in opened),
            *(("ann", each.headers["mcp-session-id"]) for each in others if each.status_code == 200),
        ]:
            ended = await client.delete(place.url(), headers={"x-api-key": key, "mcp-session-id": session})
            assert ended.status_code == 200
    await eventually(lambda: gateway_of(place).views.sessions == 0)


async def test_requests_that_open_no_session_leave_none_behind(place: Hall, http: httpx2.AsyncClient) -> None:
    for _ in range(5):
        answer = await http.post(place.url(), json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert answer.status_code == 400
        assert (await http.get(place.url())).status_code == 400
    assert gateway_of(place).views.sessions == 0


async def test_a_host_that_reads_no_stream_delays_nobody(place: Hall) -> None:
    """Streams of both eras are opened and not read, while the office changes all the time."""
    answers = Answers(smcp_tool("first"))
    computer = await place.fake(answers, "restless", "streams", auth={"api_key": "eve"})
    key = {"x-api-key": "eve"}
    async with (
        place.raw(OLD, place.url("streams"), **key) as idle,
        place.raw(NEW, place.url("streams"), **key) as reader,
    ):
        assert (await idle.ask("tools/list"))["tools"]
        async with (
            idle.http.stream("GET", idle.url, headers=idle.headers("")),
            idle.open("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 5),
            reader.open("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 5) as stream,
        ):
            heard = read_messages(stream)
            await anext(heard)
            for number in range(20):
                answers.tools = [smcp_tool(f"tool{number}")]
                await computer.tell("server:update_tool_list", {"computer": "restless"})
            async with asyncio.timeout(PATIENCE):
                assert (await anext(heard))["method"] == "notifications/tools/list_changed"
    await computer.disconnect()


# ---------------------------------------------------------------------------------------------------------- how it ends


async def test_a_removed_key_ends_open_streams_and_calls(tmp_path: Path) -> None:
    provider = keys(tmp_path, {"ann": ["*"], "ben": ["*"]})
    answers = Answers(smcp_tool("wait"))

    async def wait(data: Any) -> None:
        await asyncio.Event().wait()

    answers.results["wait"] = wait
    async with hall(provider) as place:
        computer = await place.fake(answers, auth={"api_key": "ben"})
        async with place.raw(OLD, None, **{"x-api-key": "ann"}) as host:
            await host.ask("tools/list")
            async with host.http.stream("GET", host.url, headers=host.headers("")) as news:
                call = asyncio.ensure_future(host.body("tools/call", {"name": "wait", "arguments": {}}, 7))
                await computer.be_asked("client:tool_call")
                keys(tmp_path, {"ben": ["*"]})
                async with asyncio.timeout(PATIENCE):
                    assert b"result" not in await call
                    await news.aread()
            await computer.hear("notify:tool_call_cancel")
            refused = await host.http.post(host.url, json=opening(), headers=host.headers("initialize"))
            assert refused.status_code == 401


async def test_hosts_see_the_end_of_their_streams_when_the_server_stops() -> None:
    answers = Answers(smcp_tool("work"))
    go_on = asyncio.Event()

    async def work(data: Any) -> Any:
        await go_on.wait()
        return {"content": [{"type": "text", "text": "done"}], "req_id": data["req_id"]}

    answers.results["work"] = work
    async with hall(grace=PATIENCE) as place:
        computer = await place.fake(answers)
        async with place.raw(OLD) as old, place.raw(NEW) as new, place.raw(NEW) as caller:
            await old.ask("tools/list")
            async with (
                old.http.stream("GET", old.url, headers=old.headers("")) as old_news,
                new.open("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 5) as new_news,
            ):
                lines = read_messages(new_news)
                assert (await anext(lines))["method"] == "notifications/subscriptions/acknowledged"
                call = asyncio.ensure_future(caller.ask("tools/call", {"name": "work", "arguments": {}}))
                await computer.be_asked("client:tool_call")
                stop = asyncio.ensure_future(place.server.shutdown(PATIENCE))
                await eventually(lambda: place.server.app.namespace.draining)
                late = await old.http.post(old.url, json=opening(), headers=TYPES)
                assert late.status_code == 503
                go_on.set()
                assert (await call)["content"][0]["text"] == "done"
                async with asyncio.timeout(PATIENCE):
                    await stop
                    assert await old_news.aread() == b""  # without an error: the last chunk came
                    assert [message async for message in lines if "result" not in message] == []
            gone = await old.http.post(old.url, json=opening(), headers=old.headers("ping"))
            assert gone.status_code == 503


# ---------------------------------------------------------------------------------------------------- who it is, traces


async def test_logs_and_metrics_name_the_principal(place: Hall, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "a2c_smcp"):
        async with place.raw(OLD, None, **{"x-api-key": "ann"}) as host:
            await host.ask("tools/call", {"name": "echo", "arguments": {}})
            refused = await host.http.get(place.url("office", "missing"))
            assert refused.status_code == 404
            page = (await host.http.get(f"{place.server.url}/metrics")).text
    assert "an MCP host of 'ann' opened a session in office 'office' (raw 1)" in caplog.text
    assert re.search(r"request of 'ann' from loopback rejected: there is no profile 'missing'", caplog.text)
    assert re.search(r'^a2c_mcp_requests_total\{method="tools/call",outcome="ok",principal="ann"\} [1-9]', page, re.M)
    assert re.search(r"^a2c_mcp_sessions [1-9]", page, re.M)
    assert "\na2c_mcp_streams 0.0" in page


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_trace_of_a_call_reaches_the_computer(place: Hall, version: str) -> None:
    header, meta = (f"00-{'a' * 31}{number}-{'b' * 16}-01" for number in (1, 2))
    office = f"traces-{version}"
    computer = await place.fake(Answers(smcp_tool("echo")), office=office, auth={"api_key": "eve"})
    params: dict[str, Any] = {"name": "echo", "arguments": {}}
    async with place.raw(version, place.url(office), **{"x-api-key": "eve", "traceparent": header}) as host:
        await host.ask("tools/call", params)
        assert (await computer.be_asked("client:tool_call"))["traceparent"] == header
        await host.ask("tools/call", {**params, "_meta": {"traceparent": meta}})
        data = await computer.be_asked("client:tool_call")
        assert data["traceparent"].split("-")[1] == meta.split("-")[1]
        assert data["principal"] == "eve"
    await computer.disconnect()
