"""PROTOCOL.md §4: who may be in an office, and what the others hear of it."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.support.peer import Crowd, Peer, crowd, request, tool_call
from tests.support.running import Running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def names_in(agent: Peer, office_id: str) -> list[str]:
    ack = await agent.ask("server:list_room", {"agent": "agent", "req_id": "l", "office_id": office_id})
    return [session["name"] for session in ack["sessions"]]


async def test_join_and_leave_are_heard_by_the_others_only(server: Running, transport: str) -> None:
    async with crowd(server, transport) as people:
        agent, computer = await people.office("o", "pc")
        assert await agent.has_heard() == []
        assert await computer.has_heard() == []
        assert await computer.ask("server:leave_office", {"office_id": "o"}) == (True, None)
        assert await agent.hear("notify:leave_office") == {"office_id": "o", "computer": "pc"}
        assert await computer.has_heard() == []
        assert await agent.ask("server:leave_office", {"office_id": "o"}) == (True, None)


async def test_second_agent_is_refused_and_hears_nothing(people: Crowd) -> None:
    agent, computer = await people.office("o")
    rival = await people.newcomer()
    accepted, reason = await rival.join("agent", "rival", "o")
    assert accepted is False
    assert reason == "office 'o' already has an Agent: 'agent' (4101)"
    await computer.ask("server:update_desktop", {"computer": "pc"})
    await agent.hear("notify:update_desktop")
    assert await rival.has_heard() == []
    assert await names_in(agent, "o") == ["agent", "pc"]
    assert await computer.has_heard() == []


async def test_computer_with_a_taken_name_is_refused_before_it_hears_anything(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    double = await people.newcomer()
    assert (await double.join("computer", "pc", "o"))[0] is False
    await computer.ask("server:update_config", {"computer": "pc"})
    await agent.hear("notify:update_config")
    assert await double.has_heard() == []
    assert await agent.has_heard() == []


async def test_the_same_name_is_free_in_another_office(people: Crowd) -> None:
    await people.office("o", "pc")
    await people.member("computer", "pc", "other")


async def test_joining_again_succeeds_without_a_second_notice(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    assert await computer.join("computer", "pc", "o") == (True, None)
    assert await agent.has_heard() == []


async def test_joining_again_under_another_name_is_refused(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    assert (await computer.join("computer", "pc2", "o"))[0] is False
    assert await names_in(agent, "o") == ["agent", "pc"]


async def test_computer_that_joins_a_second_office_leaves_the_first(people: Crowd) -> None:
    first_agent, computer = await people.office("first", "pc")
    second_agent = await people.member("agent", "agent", "second")
    assert await computer.join("computer", "pc", "second") == (True, None)
    assert await first_agent.hear("notify:leave_office") == {"office_id": "first", "computer": "pc"}
    assert await second_agent.hear("notify:enter_office") == {"office_id": "second", "computer": "pc"}
    assert await names_in(first_agent, "first") == ["agent"]


async def test_computer_refused_by_a_second_office_stays_in_the_first(people: Crowd) -> None:
    agent, computer = await people.office("first", "pc")
    await people.member("computer", "pc", "second")
    assert (await computer.join("computer", "pc", "second"))[0] is False
    assert await agent.has_heard() == []
    assert await agent.ask("client:tool_call", tool_call()) == {"echo": "client:tool_call", "data": tool_call()}


async def test_agent_in_an_office_is_refused_by_a_second_until_it_leaves(people: Crowd) -> None:
    agent, _ = await people.office("first")
    assert (await agent.join("agent", "agent", "second"))[0] is False
    assert await agent.ask("server:leave_office", {"office_id": "first"}) == (True, None)
    assert await agent.join("agent", "agent", "second") == (True, None)


async def test_role_is_fixed_by_the_first_join_even_after_leaving(people: Crowd) -> None:
    computer = await people.member("computer", "pc", "o")
    assert (await computer.join("agent", "pc", "o"))[0] is False
    await computer.ask("server:leave_office", {"office_id": "o"})
    assert (await computer.join("agent", "pc", "o"))[0] is False
    assert await computer.join("computer", "pc", "o") == (True, None)


async def test_target_in_another_office_is_4104_and_never_reached(people: Crowd) -> None:
    agent, _ = await people.office("o", "pc")
    stranger = await people.member("computer", "far", "other")
    ack = await agent.ask("client:get_tools", request("far"))
    assert ack["error"]["code"] == 4104
    await stranger.has_heard()
    assert stranger.asked == []


@pytest.mark.parametrize(
    ("event", "data"),
    [
        ("client:tool_call", tool_call()),
        ("client:get_tools", request()),
        ("client:something_new", request()),
        ("server:update_config", {"computer": "pc"}),
        ("server:tool_call_cancel", {"agent": "agent", "req_id": "r"}),
        ("server:list_room", {"agent": "agent", "req_id": "r", "office_id": "o"}),
    ],
)
async def test_any_event_before_joining_is_4103(people: Crowd, event: str, data: object) -> None:
    newcomer = await people.newcomer()
    assert (await newcomer.ask(event, data))["error"]["code"] == 4103


async def test_after_leaving_one_is_a_stranger_again(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    await agent.ask("server:leave_office", {"office_id": "o"})
    assert (await agent.ask("client:get_tools", request()))["error"]["code"] == 4103
    await computer.hear("notify:leave_office")
    await computer.ask("server:update_config", {"computer": "pc"})
    assert await agent.has_heard() == []


async def test_leaving_the_wrong_office_changes_nothing(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    accepted, reason = await computer.ask("server:leave_office", {"office_id": "other"})
    assert accepted is False
    assert isinstance(reason, str)
    assert await agent.has_heard() == []
    assert await names_in(agent, "o") == ["agent", "pc"]


async def test_leaving_twice_is_refused(people: Crowd) -> None:
    computer = await people.member("computer", "pc", "o")
    assert await computer.ask("server:leave_office", {"office_id": "o"}) == (True, None)
    assert (await computer.ask("server:leave_office", {"office_id": "o"}))[0] is False


async def test_disconnect_is_a_leave_and_frees_the_name_at_once(server: Running, transport: str) -> None:
    async with crowd(server, transport) as people:
        agent, computer = await people.office("o", "pc")
        await computer.disconnect()
        assert await agent.hear("notify:leave_office") == {"office_id": "o", "computer": "pc"}
        await people.member("computer", "pc", "o")


async def test_agent_that_disconnects_makes_room_for_the_next(people: Crowd) -> None:
    agent, computer = await people.office("o")
    await agent.disconnect()
    assert await computer.hear("notify:leave_office") == {"office_id": "o", "agent": "agent"}
    await people.member("agent", "successor", "o")
    assert await computer.hear("notify:enter_office") == {"office_id": "o", "agent": "successor"}


async def test_target_that_disconnects_in_flight_gives_404_at_once(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    forever = asyncio.Event()
    computer.answer = lambda event, data: forever.wait()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        call = tasks.create_task(agent.ask("client:tool_call", tool_call(timeout=3600)))
        await computer.be_asked("client:tool_call")
        await computer.disconnect()
        ack = await call
    assert ack["error"]["code"] == 404
    assert ack["isError"] is True
    forever.set()


async def test_agent_that_disconnects_in_flight_has_its_call_cancelled(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    forever = asyncio.Event()
    computer.answer = lambda event, data: forever.wait()
    await agent.tell("client:tool_call", tool_call(req_id="lost", timeout=3600))
    await computer.be_asked("client:tool_call")
    await agent.disconnect()
    assert await computer.hear("notify:tool_call_cancel") == {"agent": "agent", "req_id": "lost"}
    forever.set()
    assert await computer.hear("notify:leave_office") == {"office_id": "o", "agent": "agent"}
    assert await computer.has_heard() == []


@pytest.mark.parametrize("kind", ["async", "sync"])  # of one node
async def test_shutdown_ends_calls_announces_leaves_and_disconnects(server: Running, people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    release = asyncio.Event()

    async def answer_late(event: str, data: object) -> str:
        await release.wait()
        return "late but whole"

    computer.answer = answer_late
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        call = tasks.create_task(agent.ask("client:tool_call", tool_call()))
        await computer.be_asked("client:tool_call")
        stopping = tasks.create_task(server.shutdown())
        async with httpx.AsyncClient() as http:
            while (await http.get(server.url + "/readyz")).status_code == 200:
                pass
        assert (await people.refused())["data"]["code"] == 500
        assert (await agent.ask("client:get_tools", request()))["error"]["code"] == 500
        release.set()
        assert await call == "late but whole"
        await stopping
        await agent.is_gone.wait()
        await computer.is_gone.wait()
    assert ("notify:leave_office", {"office_id": "o", "agent": "agent"}) in computer.heard
