"""PROTOCOL.md §3: every event, its payload and its ack."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.peer import Crowd, crowd, request, tool_call
from tests.support.running import Running

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("event", "data"),
    [
        ("client:tool_call", tool_call()),
        ("client:get_tools", request()),
        ("client:get_config", request()),
        ("client:get_desktop", request(desktop_size=3, window="window://h")),
        ("client:get_desktop", request(desktop_size=None)),
        ("client:get_finder", request(keywords=["a"], file_type="pdf", offset=0, limit=20)),
        ("client:read_resource", request(uri="dpe://h/d")),
        ("client:of_the_future", request(anything={"goes": [1, 2.5, None, "ü"]})),
    ],
)
async def test_every_client_event_is_relayed_by_one_rule(
    server: Running, transport: str, event: str, data: dict[str, Any]
) -> None:
    async with crowd(server, transport) as people:
        agent, computer, bystander = await people.office("o", "pc", "other")
        computer.answer = lambda event, data: {"said": data, "list": [None, True, 1.5, {"ü": "\u2028"}]}
        ack = await agent.ask(event, data)
        assert ack == {"said": data, "list": [None, True, 1.5, {"ü": "\u2028"}]}
        assert computer.asked == [(event, data)]
        assert bystander.asked == []


@pytest.mark.parametrize("ack", [None, "text", 0, [], [1, 2], {"error": {"code": 4001, "message": "m"}}, ("a", "b")])
async def test_an_ack_comes_back_verbatim(people: Crowd, ack: Any) -> None:
    agent, computer = await people.office()
    computer.answer = lambda event, data: ack
    assert await agent.ask("client:get_tools", request()) == ack


async def test_two_hundred_calls_at_once_find_their_way_back(server: Running, transport: str) -> None:
    async with crowd(server, transport) as people:
        agent, *computers = await people.office("o", "pc0", "pc1", "pc2")
        for computer in computers:
            computer.answer = lambda event, data: data["req_id"]
        asked = [request(f"pc{n % 3}", req_id=f"r{n}") for n in range(200)]
        acks = await asyncio.gather(*(agent.ask("client:get_tools", data) for data in asked))
        assert acks == [f"r{n}" for n in range(200)]


@pytest.mark.parametrize(
    ("event", "notification"),
    [
        ("server:update_config", "notify:update_config"),
        ("server:update_tool_list", "notify:update_tool_list"),
        ("server:update_desktop", "notify:update_desktop"),
        ("server:update_finder", "notify:update_finder"),
        ("server:update_resources", "notify:update_resources"),
        ("server:update_prompts", "notify:update_prompts"),
        ("server:update_of_the_future", "notify:update_of_the_future"),
    ],
)
async def test_an_update_is_heard_by_its_office_alone(people: Crowd, event: str, notification: str) -> None:
    agent, computer, colleague = await people.office("o", "pc", "other")
    await computer.hear("notify:enter_office")
    stranger = await people.member("agent", "agent", "elsewhere")
    assert await computer.ask(event, {"computer": "pc"}) is None
    assert await agent.hear(notification) == {"computer": "pc"}
    assert await colleague.hear(notification) == {"computer": "pc"}
    assert await computer.has_heard() == []
    assert await stranger.has_heard() == []
    await computer.tell(event, {"computer": "pc"})  # an ack is given only if asked for
    assert await agent.hear(notification) == {"computer": "pc"}


async def test_a_cancel_is_heard_by_the_computers(people: Crowd) -> None:
    agent, computer = await people.office()
    assert await agent.ask("server:tool_call_cancel", {"agent": "agent", "req_id": "r9"}) is None
    assert await computer.hear("notify:tool_call_cancel") == {"agent": "agent", "req_id": "r9"}
    assert await agent.has_heard() == []


async def test_list_room_shows_everybody_in_ones_own_office(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    await people.member("computer", "pc", "elsewhere")
    ack = await agent.ask("server:list_room", {"agent": "agent", "req_id": "r", "office_id": "o"})
    assert ack == {
        "req_id": "r",
        "sessions": [
            {"sid": agent.sid, "name": "agent", "role": "agent", "office_id": "o"},
            {"sid": computer.sid, "name": "pc", "role": "computer", "office_id": "o"},
        ],
    }


async def test_list_room_of_another_office_is_refused(people: Crowd) -> None:
    agent, _ = await people.office("o")
    await people.member("computer", "pc", "elsewhere")
    ack = await agent.ask("server:list_room", {"agent": "agent", "req_id": "r", "office_id": "elsewhere"})
    assert ack["error"]["code"] == 4104


@pytest.mark.parametrize("agent_name", ["agent", "somebody else"])
async def test_a_large_request_and_its_answer_arrive_whole(people: Crowd, agent_name: str) -> None:
    agent, computer = await people.office()
    rows = [{"id": number, "text": f'row "{number}" [é]'} for number in range(20_000)]
    answer: dict[str, Any] = {"content": [], "structuredContent": {"rows": rows}, "isError": False}
    computer.answer = lambda event, data: answer
    data = tool_call(agent=agent_name, params={"rows": rows})
    assert await agent.ask("client:tool_call", data) == answer
    assert computer.asked == [("client:tool_call", {**data, "agent": "agent"})]
