"""PROTOCOL.md §5, and everything a client can send that it should not: an error ack at once, nothing changed,
nobody hears of it, the connection lives on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from a2c_smcp.errors import SMCPError, error_for, from_payload, to_payload
from a2c_smcp.server import Limits
from tests.support.peer import Crowd, Peer, crowd, request, tool_call
from tests.support.running import Kind, running

pytestmark = pytest.mark.anyio

LONG = "x" * 100_000


async def assert_refused(peer: Peer, event: str, *data: Any, code: int) -> None:
    """Refused with this code, in the form its event is answered."""
    ack = await peer.ask(event, *data)
    if event in ("server:join_office", "server:leave_office"):
        assert ack[0] is False
        assert len(ack) == 2
        assert f"({code})" in ack[1]
        return
    assert ack["error"]["code"] == code
    assert isinstance(ack["error"]["message"], str)
    assert len(str(ack)) < 1_000
    if event == "client:tool_call":
        assert ack["isError"] is True
        assert ack["content"][0]["type"] == "text"
        assert ack["meta"]["error_code"] == code
        assert set(ack["structuredContent"]) == {"error", "error_type"}


NOT_OBJECTS: list[Any] = [None, 5, "text", [], [1], True]


@pytest.mark.parametrize(
    "event",
    [
        "client:tool_call",
        "client:get_tools",
        "client:of_the_future",
        "server:leave_office",
        "server:update_config",
        "server:tool_call_cancel",
        "server:list_room",
    ],
)
async def test_a_payload_that_is_not_one_object_is_400(people: Crowd, event: str) -> None:
    agent, computer = await people.office()
    peer = computer if event.startswith("server:update") else agent
    for payload in NOT_OBJECTS:
        await assert_refused(peer, event, payload, code=400)
    await assert_refused(peer, event, code=400)
    await assert_refused(peer, event, {}, {}, code=400)
    assert await agent.ask("client:get_tools", request()) == {"echo": "client:get_tools", "data": request()}
    assert computer.asked == [("client:get_tools", request())]


async def test_a_join_that_is_not_one_object_is_400(people: Crowd) -> None:
    newcomer = await people.newcomer()
    for payload in NOT_OBJECTS:
        await assert_refused(newcomer, "server:join_office", payload, code=400)
    assert await newcomer.join("agent", "a", "o") == (True, None)


@pytest.mark.parametrize(
    "change",
    [
        {"agent": None},
        {"agent": 5},
        {"computer": ["pc"]},
        {"computer": ""},
        {"computer": LONG},
        {"computer": "pc\n"},
        {"computer": "p\x00c"},
        {"req_id": 7},
        {"req_id": LONG},
        {"tool_name": None},
        {"tool_name": "a\x1bb"},
        {"params": None},
        {"params": []},
        {"params": "{}"},
        {"timeout": None},
        {"timeout": "30"},
        {"timeout": [1.5]},
        {"timeout": True},
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": 3601},
        {"timeout": 10**30},
    ],
)
async def test_a_mistyped_field_is_400_and_never_reaches_the_computer(people: Crowd, change: dict[str, Any]) -> None:
    agent, computer = await people.office()
    await assert_refused(agent, "client:tool_call", tool_call(**change), code=400)
    await computer.has_heard()
    assert computer.asked == []


@pytest.mark.parametrize("field", ["agent", "computer", "req_id", "tool_name", "params", "timeout"])
async def test_a_missing_field_is_400_and_is_named(people: Crowd, field: str) -> None:
    agent, _ = await people.office()
    data = tool_call()
    del data[field]
    await assert_refused(agent, "client:tool_call", data, code=400)
    assert field in (await agent.ask("client:tool_call", data))["error"]["message"]


@pytest.mark.parametrize(
    "data",
    [
        {"role": "agent", "name": "a"},
        {"role": "boss", "name": "a", "office_id": "o"},
        {"role": "agent", "name": "", "office_id": "o"},
        {"role": "agent", "name": LONG, "office_id": "o"},
        {"role": "agent", "name": "a\tb", "office_id": "o"},
        {"role": "agent", "name": "a", "office_id": ""},
        {"role": "agent", "name": "a", "office_id": LONG},
        {"role": "agent", "name": "a", "office_id": "o\u0085"},
        {"role": "agent", "name": "a", "office_id": 5},
        {"role": ["agent"], "name": "a", "office_id": "o"},
    ],
)
async def test_a_malformed_join_is_refused(people: Crowd, data: Any) -> None:
    newcomer = await people.newcomer()
    await assert_refused(newcomer, "server:join_office", data, code=400)
    await assert_refused(newcomer, "client:get_tools", request(), code=4103)
    assert await newcomer.join("agent", "a" * 256, "办公室") == (True, None)


async def test_events_from_the_wrong_role_are_403(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    await assert_refused(computer, "client:tool_call", tool_call("pc", agent="pc"), code=403)
    await assert_refused(computer, "client:get_tools", request("pc", agent="agent"), code=403)
    await assert_refused(computer, "server:list_room", {"agent": "pc", "req_id": "r", "office_id": "o"}, code=403)
    await assert_refused(computer, "server:tool_call_cancel", {"agent": "agent", "req_id": "r"}, code=403)
    await assert_refused(agent, "server:update_config", {"computer": "agent"}, code=403)
    assert await agent.has_heard() == []
    assert await computer.has_heard() == []
    assert computer.asked == []


async def test_an_unknown_computer_is_404_and_so_is_the_agent_itself(people: Crowd) -> None:
    agent, _ = await people.office()
    await assert_refused(agent, "client:tool_call", tool_call("nobody"), code=404)
    await assert_refused(agent, "client:get_finder", request("agent"), code=404)


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ("server:no_such_event", 400),
        ("hello", 400),
        ("", 400),
        ("client_tool_call", 400),
        ("connect", 400),
        ("disconnect", 400),
        ("notify:enter_office", 403),
        ("notify:anything", 403),
    ],
)
async def test_events_that_are_not_a_clients_to_send(people: Crowd, event: str, code: int) -> None:
    agent, computer = await people.office("o", "pc")
    await assert_refused(agent, event, {"office_id": "o", "computer": "ghost"}, code=code)
    await assert_refused(agent, event, code=code)
    assert await computer.has_heard() == []
    assert await agent.ask("client:get_tools", request()) == {"echo": "client:get_tools", "data": request()}


async def test_no_answer_is_408_after_the_timeout_plus_the_grace(kind: Kind) -> None:
    with running(kind, limits=Limits(timeout_grace=0.2)) as server:
        async with crowd(server) as people:
            agent, computer = await people.office()
            forever = asyncio.Event()
            computer.answer = lambda event, data: forever.wait()
            started = asyncio.get_running_loop().time()
            await assert_refused(agent, "client:tool_call", tool_call(timeout=1, req_id="slow"), code=408)
            assert asyncio.get_running_loop().time() - started >= 1.2
            assert await computer.hear("notify:tool_call_cancel") == {"agent": "agent", "req_id": "slow"}
            forever.set()
            await computer.has_heard()  # the late ack is dropped quietly
            computer.answer = lambda event, data: "still here"
            assert await agent.ask("client:get_tools", request()) == "still here"
            assert len(server.app.namespace.in_flight) == 0


CODES = [400, 401, 403, 404, 408, 413, 429, 500, *range(4001, 4006), *range(4101, 4105), *range(4201, 4205)]


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_its_exception_both_ways(code: int) -> None:
    error = error_for(code, "why", {"uri": "dpe://h"})
    assert type(error) is not SMCPError
    payload = to_payload(error)
    assert payload == {"error": {"code": code, "message": "why", "details": {"uri": "dpe://h"}}}
    back = from_payload(payload)
    assert type(back) is type(error)
    assert back is not None
    assert (back.code, back.message, back.details) == (code, "why", {"uri": "dpe://h"})
    assert to_payload(error_for(code))["error"]["message"]


def test_a_code_nobody_knows_is_kept() -> None:
    error = from_payload({"error": {"code": 4999, "message": "new"}})
    assert error is not None
    assert error.code == 4999
    assert SMCPError.code == 500


@pytest.mark.parametrize(
    "payload", [None, [], "error", {}, {"error": "text"}, {"error": {"code": "404"}}, {"tools": []}]
)
def test_what_is_no_error_payload_is_none(payload: object) -> None:
    assert from_payload(payload) is None
