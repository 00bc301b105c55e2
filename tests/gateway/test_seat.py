"""The Agent's seat, which all hosts of an office share, and the users behind their requests."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server import create_app
from tests.gateway.test_http import keys
from tests.support.gateway import KEY as PREFIX
from tests.support.gateway import NEW, OLD, VERSIONS, Answers, Hall, hall, texts
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

EVERY = pytest.mark.parametrize("version", VERSIONS)
LINGER = 0.1
ARGUMENT = {"name": "who", "value": "A"}


@pytest.fixture(scope="module")
async def place() -> AsyncGenerator[Hall]:
    async with hall(linger=LINGER) as here:
        yield here


async def test_hosts_share_the_seat_which_is_released_after_the_last_of_them(place: Hall) -> None:
    computer = await place.fake(Answers(smcp_tool("echo")), office="shared")
    listening = {"notifications": {"toolsListChanged": True}}
    async with place.raw(NEW, place.url("shared")) as other:
        # A host that listens keeps the seat, while others come and go.
        async with other.open("subscriptions/listen", listening, 1), place.raw(OLD, place.url("shared")) as one:
            for host in (one, other):
                assert len((await host.ask("tools/list"))["tools"]) == 4
            assert (await computer.hear("notify:enter_office"))["agent"] == "mcp-gateway"
            ann = await place.people.newcomer()
            assert "mcp-gateway" in (await ann.join("agent", "ann", "shared"))[1]
        # The last host that listens is gone, and none asks.
        assert (await computer.hear("notify:leave_office"))["agent"] == "mcp-gateway"
        assert (await ann.join("agent", "ann", "shared"))[0] is True
        await ann.disconnect()
    # The first request after that takes it again.
    async with place.raw(NEW, place.url("shared")) as host:
        await computer.hear("notify:leave_office")
        assert len((await host.ask("tools/list"))["tools"]) == 4


@EVERY
async def test_every_answer_names_the_agent_that_has_the_seat(place: Hall, version: str) -> None:
    office = f"taken-{version}"
    ann = await place.people.member("agent", "ann", office)
    async with place.raw(NEW if version == NEW else OLD, place.url(office)) as host:
        host.version, host.session = version, None
        method = "server/discover" if version == NEW else "initialize"
        first = await (host.ask(method) if version == NEW else host.initialize())
        assert "'ann'" in first["instructions"]
        assert first.get("ttlMs", 0) == 0, "it is free at any moment"
        for method, params in (
            ("tools/list", {}),
            ("resources/list", {}),
            ("resources/templates/list", {}),
            ("resources/read", {"uri": "memo://notes"}),
            ("prompts/list", {}),
            ("prompts/get", {"name": "greet"}),
            (
                "completion/complete",
                {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}},
            ),
        ):
            error = (await host.ask(method, params))["error"]
            assert "'ann'" in error["message"], method
            assert "disconnect that Agent" in error["message"]
            assert error["data"]["code"] == 4101
        result = await host.ask("tools/call", {"name": "echo", "arguments": {}})
        assert result["isError"] is True
        assert "'ann'" in result["content"][0]["text"]
    await ann.disconnect()


async def test_a_host_that_listens_is_notified_when_the_seat_is_free(place: Hall) -> None:
    ann = await place.people.member("agent", "ann", "freed")
    await place.fake(Answers(smcp_tool("echo")), office="freed")
    heard = asyncio.Event()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            heard.set()

    async with place.host("legacy", place.url("freed"), message_handler=hear) as host:
        with pytest.raises(Exception, match="'ann'"):
            await host.list_tools()
        await ann.disconnect()
        async with asyncio.timeout(PATIENCE):
            await heard.wait()
        assert len((await host.list_tools()).tools) == 4


# ----------------------------------------------------------------------------------------------------------- principals


async def test_each_user_has_an_own_name_in_calls_logs_and_metrics(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "a2c_smcp.gateway.observing")
    auth = keys(tmp_path, {"ann": ["office"], "bob": ["office"], "pc": ["office"]})
    async with hall(auth, metrics=True) as place:
        computer = await place.fake(Answers(smcp_tool("echo")), auth={"api_key": "pc"})
        for name in ("ann", "bob"):
            async with place.host("auto", key=name) as host:
                assert texts(await host.call_tool("echo", {})) == "done"
            assert (await computer.be_asked("client:tool_call"))["principal"] == name
        async with httpx2.AsyncClient(headers={"x-api-key": "ann"}) as http:
            page = (await http.get(f"{place.server.url}/metrics")).text
    assert 'a2c_mcp_requests_total{method="tools/call",outcome="ok",principal="ann"} 1.0' in page
    assert 'a2c_mcp_requests_total{method="tools/call",outcome="ok",principal="bob"} 1.0' in page
    fields = [vars(record) for record in caplog.records]
    assert {each["principal"] for each in fields if each.get("method") == "tools/call"} == {"ann", "bob"}


async def test_limits_of_one_client_are_not_those_of_all_hosts_together() -> None:
    """The seat is one client of the Server. The hosts behind it have limits of their own."""
    answers = Answers(smcp_tool("wait"))
    go_on = asyncio.Event()

    async def wait(data: Any) -> Any:
        await go_on.wait()
        return {"content": [{"type": "text", "text": "done"}], "req_id": data["req_id"]}

    answers.results["wait"] = wait
    narrow = Limits(calls_in_flight=2, requests_per_second=0.001, request_burst=50)
    own = {"requests_per_second": 0, "request_burst": 0}
    async with hall(limits=narrow, **own) as place:
        computer = await place.fake(answers)
        async with place.raw(NEW) as host:
            calls = [asyncio.ensure_future(host.ask("tools/call", {"name": "wait", "arguments": {}})) for _ in range(5)]
            for _ in calls:
                await computer.be_asked("client:tool_call")
            go_on.set()
            for result in await asyncio.gather(*calls):
                assert result["content"][0]["text"] == "done"
            place.server.app.limit(narrow)  # as when the settings are read again
            for _ in range(60):
                assert "content" in await host.ask("tools/call", {"name": "wait", "arguments": {}})


async def test_streams_of_one_user_leave_room_for_those_of_others(tmp_path: Path) -> None:
    auth = keys(tmp_path, {"ann": ["office"], "bob": ["office"]})
    smcp = create_app(auth)
    acknowledged = asyncio.Semaphore(0)
    meta: dict[str, Any] = {f"{PREFIX}protocolVersion": NEW, f"{PREFIX}clientCapabilities": {}}
    params: dict[str, Any] = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}).encode()

    async def listen(key: str) -> None:
        fields = {
            "host": "127.0.0.1",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": NEW,
            "mcp-method": "subscriptions/listen",
            "x-api-key": key,
        }
        scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": "/mcp/office",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
        }
        asked = [{"type": "http.request", "body": body}]

        async def receive() -> dict[str, Any]:
            return asked.pop() if asked else await asyncio.Future[dict[str, Any]]()

        async def send(message: Any) -> None:
            if b"notifications/subscriptions/acknowledged" in message.get("body", b""):
                acknowledged.release()

        await smcp(scope, receive, send)

    async with smcp.lifespan():
        streams = [asyncio.ensure_future(listen(key)) for key in ("ann",) * 1_000 + ("bob",) * 50]
        async with asyncio.timeout(PATIENCE):
            for _ in streams:
                await acknowledged.acquire()
    await asyncio.gather(*streams)


async def test_limits_are_those_of_each_user(tmp_path: Path) -> None:
    auth = keys(tmp_path, {"ann": ["office"], "bob": ["office"]})
    async with hall(auth, requests_per_second=0.001, request_burst=5) as place, httpx2.AsyncClient() as http:

        async def status(key: str) -> int:
            return (await http.post(place.url(), json={}, headers={"x-api-key": key})).status_code

        assert [await status("ann") for _ in range(7)][4:] == [400, 429, 429]
        assert await status("bob") == 400
