"""Our Agent at the official Servers: it finds out where it is, and waits for no answer that does not come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient, DefaultAgentAuthProvider, ServerInfo, SMCPAgentClient
from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.errors import (
    NotFoundError,
    NotInOfficeError,
    NotSupportedError,
    TimedOutError,
    TooLargeError,
    VersionRefusedError,
)
from a2c_smcp.protocol.handshake import STACK
from tests.support.agents import Diary, Driven, Form
from tests.support.hosting import hosting, raw
from tests.support.official import LINES, Official, Session, official
from tests.support.peer import crowd
from tests.support.process import free_port
from tests.support.running import running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio
QUICKLY: dict[str, Any] = {"reconnection_delay": 0.05, "reconnection_delay_max": 0.2}
RELEASED = LINES[:4]


def agent_of(form: Form, handler: Any = None, key: str | None = None, **options: Any) -> Driven:
    make = AsyncSMCPAgentClient if form == "async" else SMCPAgentClient
    return Driven(form, make(DefaultAgentAuthProvider("agent", "office", key), handler, **QUICKLY, **options))


@asynccontextmanager
async def visiting(form: Form, place: Official, handler: Any = None, **options: Any) -> AsyncGenerator[Driven]:
    """An Agent in the office of an official Server."""
    agent = agent_of(form, handler, **options)
    try:
        await agent.connect_to_server(place.url)
        await agent.join_office()
        yield agent
    finally:
        await agent.disconnect()


# ---------------------------------------------------------------------------------------------------- finding out where


@pytest.mark.parametrize(("line", "found"), [("0.1", "0.1"), ("0.2", "0.2+"), ("0.3", "0.2+"), ("0.4", "0.2+")])
async def test_the_list_of_members_tells_the_oldest_servers_from_all_later_ones(
    form: Form, line: str, found: str
) -> None:
    async with official(line) as place, visiting(form, place) as agent:
        assert agent.server_info == ServerInfo(max_message_bytes=1_000_000, dialect=found)
        assert agent.server_info.passes_blobs is (line != "0.1")


async def test_a_handshake_names_both_versions(form: Form) -> None:
    async with official() as place, visiting(form, place):
        (query,) = place.namespace.queries
        assert query["a2c_version"] == "0.4.0"
        assert STACK in query


async def test_a_server_of_ours_is_recognized_by_its_ack(form: Form) -> None:
    with running("async") as server:
        agent = agent_of(form)
        await agent.connect_to_server(server.url)
        await agent.join_office()
        assert agent.server_info.dialect == "s"
        assert not agent.server_info.is_official
        assert agent.server_info.passes_blobs
        await agent.disconnect()


@pytest.mark.parametrize("denies", [True, False], ids=["with an HTTP answer", "with a close"])
@pytest.mark.parametrize("demanded", ["0.2.0", "0.3.1", "0.4.7", "0.5.0"])
async def test_a_server_gets_the_version_that_it_demands(form: Form, demanded: str, denies: bool) -> None:
    line = demanded[:3]
    async with (
        official(line, demands=demanded, denies_websockets=denies) as place,
        visiting(form, place) as agent,
    ):
        (query,) = place.namespace.queries
        assert query["a2c_version"] == ("0.4.0" if line == "0.4" else demanded)
        assert agent.server_info.is_official
        assert agent.server_info.dialect == ("0.2+" if line == "0.4" else line)


@pytest.mark.parametrize("demanded", ["0.6.0", "1.0.0"])
@pytest.mark.parametrize("transports", [None, ["polling"]], ids=["any", "polling"])
async def test_a_version_that_nobody_here_speaks_is_an_error_that_names_both(
    form: Form, demanded: str, transports: list[str] | None
) -> None:
    async with official(demands=demanded) as place:
        agent = agent_of(form)
        with pytest.raises(VersionRefusedError, match=rf"{demanded}.*0\.4\.0") as caught:
            await agent.connect_to_server(place.url, transports=transports)
        assert caught.value.details == {"server_version": demanded, "client_version": "0.4.0"}
        assert not agent.connected
        await agent.disconnect()
        assert place.namespace.queries == []


async def test_a_server_that_is_replaced_by_another_version_is_found_again(form: Form) -> None:
    port, diary = free_port(), Diary()
    agent = agent_of(form, diary)
    async with official("0.3", demands="0.3.1", port=port) as place:
        await agent.connect_to_server(place.url)
        await agent.join_office()
        assert agent.server_info.dialect == "0.3"
    await diary.until_heard("disconnected")
    for line in ("0.4", "0.2"):
        times = diary.count("rejoined") + 1
        async with official(line, demands=f"{line}.0", port=port):
            await diary.until_heard("rejoined", times)
            assert agent.server_info.dialect == line
        await diary.until_heard("disconnected", times + 1)
    await agent.disconnect()


@pytest.mark.parametrize(("dialect", "named"), [("0.1", None), ("0.2", "0.2.0"), ("0.3", "0.3.1"), ("0.4", "0.4.0")])
async def test_a_program_may_say_what_the_server_is(form: Form, dialect: str, named: str | None) -> None:
    async with official("0.4") as place, visiting(form, place, dialect=dialect) as agent:
        (query,) = place.namespace.queries
        assert query.get("a2c_version") == named
        assert STACK not in query, "a Server of ours takes it for an official client"
        assert agent.server_info.dialect == dialect
        assert agent.server_info.is_official


async def test_a_version_that_the_program_chose_is_not_replaced(form: Form) -> None:
    async with official("0.4", demands="0.4.0") as place:
        agent = agent_of(form, dialect="0.2")
        with pytest.raises(VersionRefusedError, match=r"0\.4\.0 and rejects 0\.2\.0"):
            await agent.connect_to_server(place.url)
        await agent.disconnect()


async def test_an_older_server_of_ours_is_what_the_program_says(form: Form) -> None:
    async with official("0.1") as place, visiting(form, place, dialect="s") as agent:
        assert agent.server_info == ServerInfo(dialect="s")


def test_there_are_no_other_dialects(form: Form) -> None:
    with pytest.raises(ValueError, match=r"dialect '0\.9'"):
        agent_of(form, dialect="0.9")


def _header(environ: dict[str, Any], name: str) -> Any:
    headers: dict[bytes, bytes] = dict(environ["asgi.scope"]["headers"])
    return headers.get(name.encode(), b"").decode()


@pytest.mark.parametrize("place_of_key", ["x-api-key", "access_token", "token"])
async def test_the_key_is_found_wherever_a_server_looks(form: Form, place_of_key: str) -> None:
    def login(environ: dict[str, Any], auth: Any) -> bool:
        found: Any = auth["token"] if place_of_key == "token" else _header(environ, place_of_key)
        return bool(found == "secret")

    async with official(login=login) as place, visiting(form, place, key="secret") as agent:
        assert agent.office_id == "office"


# ---------------------------------------------------------------------------------------------------- what works there


@pytest.mark.parametrize("line", LINES)
async def test_the_agent_uses_a_computer_of_ours_there(form: Form, line: str) -> None:
    async with AsyncExitStack() as stack:
        place = await stack.enter_async_context(official(line, demands="0.5.0" if line == "0.5" else None))
        agent = await stack.enter_async_context(visiting(form, place))
        computer = await stack.enter_async_context(hosting(raw()))
        client = await stack.enter_async_context(SMCPComputerClient.in_office(computer, place.url, "office"))
        await agent.wait_for("pc", "echo")
        identity = None if line == "0.2" else "raw"  # a Server of 0.2 removes it
        assert all(tool.get("bundle_id") == identity for tool in agent.tools["pc"])
        result = await agent.call_tool("pc", "echo", {"text": "hi"})
        assert not result.is_error
        assert result.content[0].text == "hi"
        assert (await agent.call_tool("pc", "no such tool")).error_code == 4001
        assert (await agent.get_desktop_from_computer("pc"))["desktops"] == []
        if line != "0.1":
            assert set((await agent.get_config_from_computer("pc"))["servers"]) == {"raw"}
        assert client.server_info.is_official
        assert place.namespace.dropped == []


@pytest.mark.parametrize("line", RELEASED)
async def test_what_the_server_does_not_know_is_not_supported_at_once(form: Form, line: str) -> None:
    async with official(line) as place, visiting(form, place) as agent, crowd(place) as people:
        await people.member("computer", "pc", "office", answer_tools)
        await agent.wait_for("pc", timeout=PATIENCE)
        for ask in (agent.get_finder, agent.list_prompts):
            with pytest.raises(NotSupportedError):
                await ask("pc")
        with pytest.raises(NotSupportedError):
            await agent.read_resource("pc", "memo://x")
        if line == "0.1":
            with pytest.raises(NotSupportedError):
                await agent.get_config_from_computer("pc")


@pytest.mark.parametrize("line", RELEASED)
async def test_an_unknown_computer_is_not_found_at_once(form: Form, line: str) -> None:
    async with official(line) as place, visiting(form, place) as agent, crowd(place) as people:
        elsewhere = await people.member("computer", "far", "another office", answer_tools)
        for name in ("nobody", "far"):
            with pytest.raises(NotFoundError):
                await agent.call_tool(name, "echo", timeout=PATIENCE)
            with pytest.raises(NotFoundError):
                await agent.get_tools_from_computer(name, PATIENCE)
        assert elsewhere.asked == []


async def test_a_computer_that_was_not_announced_is_reached(form: Form) -> None:
    async with official() as place, visiting(form, place) as agent, crowd(place) as people:
        silent = await people.newcomer()
        silent.answer = answer_tools
        place.namespace.sessions[silent.sid] = Session("computer", "pc", "office")
        assert (await agent.get_tools_from_computer("pc"))["tools"] == []


async def test_a_request_out_of_an_office_is_rejected_at_once(form: Form) -> None:
    async with official() as place, visiting(form, place) as agent:
        await agent.leave_office()
        with pytest.raises(NotInOfficeError):
            await agent.call_tool("pc", "echo", timeout=PATIENCE)


async def test_a_request_that_is_never_answered_ends_with_its_own_time_limit(form: Form) -> None:
    never = asyncio.Event()

    async def answer(event: str, data: Any) -> Any:
        if event == "client:get_tools":
            return answer_tools(event, data)
        await never.wait()
        return None

    async with official() as place, visiting(form, place) as agent, crowd(place) as people:
        computer = await people.member("computer", "pc", "office", answer)
        await agent.wait_for("pc")
        with pytest.raises(TimedOutError):
            await agent.get_desktop_from_computer("pc", timeout=0.2)
        assert (await agent.call_tool("pc", "echo", timeout=0.2)).meta["timeout"] is True
        assert (await computer.hear("notify:tool_call_cancel"))["agent"] == "agent"
        never.set()


async def test_a_request_that_the_server_would_cut_off_is_not_sent(form: Form) -> None:
    async with official() as place, visiting(form, place) as agent, crowd(place) as people:
        await people.member("computer", "pc", "office", answer_tools)
        await agent.wait_for("pc")
        with pytest.raises(TooLargeError):
            await agent.call_tool("pc", "echo", {"text": "x" * 1_000_000})
        assert (await agent.get_tools_from_computer("pc"))["tools"] == []


async def test_a_member_without_a_name_is_nobody(form: Form) -> None:
    diary = Diary()
    async with official() as place, visiting(form, place, diary) as agent, crowd(place) as people:
        refused = await people.newcomer()
        assert (await refused.join("computer", "agent", "office"))[0] is False
        await place.namespace.emit("notify:enter_office", {"office_id": "office", "computer": ""}, room="office")
        await refused.disconnect()
        await people.member("computer", "pc", "office", answer_tools)
        await diary.until_heard("enter")
        assert agent.computers == ("pc",)
        assert [kind for kind, _ in diary.heard if kind in ("enter", "leave")] == ["enter"]


def answer_tools(event: str, data: Any) -> Any:
    """A Computer without tools that knows nothing else."""
    return {"tools": [], "req_id": data["req_id"]} if event == "client:get_tools" else None
