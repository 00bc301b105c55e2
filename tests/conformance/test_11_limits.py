"""PROTOCOL.md §11: over a limit, a clear error, and the connection survives where it can."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from a2c_smcp.server import Limits
from tests.support.peer import Peer, crowd, request, tool_call
from tests.support.running import Kind, running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def test_a_message_over_the_limit_is_413_and_the_connection_lives(kind: Kind, transport: str) -> None:
    with running(kind, limits=Limits(message_bytes=100_000)) as server:
        async with crowd(server, transport) as people:
            agent, computer = await people.office()
            ack = await agent.ask("client:tool_call", tool_call(params={"text": "x" * 150_000}))
            assert ack["error"]["code"] == 413
            assert ack["meta"]["error_code"] == 413
            assert "100000" in ack["error"]["message"]
            assert (await agent.ask("client:tool_call", tool_call(params={"text": "x" * 90_000})))["echo"]
            assert len(computer.asked) == 1


async def test_an_answer_over_the_limit_reaches_the_agent_as_413(kind: Kind) -> None:
    with running(kind, limits=Limits(message_bytes=100_000)) as server:
        async with crowd(server) as people:
            agent, computer = await people.office()
            computer.answer = lambda event, data: "x" * 150_000
            ack = await agent.ask("client:tool_call", tool_call())
            assert ack["error"]["code"] == 413
            assert ack["isError"] is True
            computer.answer = lambda event, data: "short"
            assert await agent.ask("client:tool_call", tool_call()) == "short"


async def test_a_message_far_over_the_limit_ends_the_connection_with_a_leave(kind: Kind) -> None:
    with running(kind, limits=Limits(message_bytes=100_000)) as server:
        async with crowd(server) as people:
            agent, computer = await people.office("o", "pc")
            await computer.tell("server:update_config", {"computer": "x" * 1_000_000})
            assert await agent.hear("notify:leave_office") == {"office_id": "o", "computer": "pc"}


async def test_large_messages_pass_whole(kind: Kind, transport: str) -> None:
    with running(kind) as server:
        async with crowd(server, transport) as people:
            agent, computer = await people.office()
            computer.answer = lambda event, data: data["params"]
            params: dict[str, Any] = {"rows": [{"n": n, "text": "ü" + "x" * 50} for n in range(50_000)]}
            assert await agent.ask("client:tool_call", tool_call(params=params)) == params


async def test_over_the_rate_is_429_and_recovers(kind: Kind) -> None:
    with running(kind, limits=Limits(requests_per_second=1, request_burst=10)) as server:
        async with crowd(server) as people:
            agent, computer = await people.office()
            acks = await asyncio.gather(*(agent.ask("client:get_tools", request(req_id=f"{n}")) for n in range(60)))
            refused = [ack for ack in acks if "error" in ack]
            assert {ack["error"]["code"] for ack in refused} == {429}
            assert 40 <= len(refused) < 60
            assert all(0 < ack["error"]["details"]["retry_after"] <= 1 for ack in refused)
            assert await computer.ask("server:update_config", {"computer": "pc"}) is None  # a bucket for each
            async with asyncio.timeout(PATIENCE):
                while "error" in await agent.ask("client:get_tools", request()):
                    pass


async def test_a_thousand_at_once_are_within_the_default_burst(kind: Kind) -> None:
    with running(kind) as server:
        async with crowd(server) as people:
            agent, _ = await people.office()
            acks = await asyncio.gather(*(agent.ask("client:nope", {}) for _ in range(900)))
            assert {ack["error"]["code"] for ack in acks} == {400}


@pytest.mark.parametrize("kind", ["async", "sync"])  # of one node
async def test_too_many_connections_from_one_address_are_429_and_room_comes_back(kind: Kind) -> None:
    """Loopback is exempt, so the clients say, through a proxy that is believed, that they come from elsewhere."""
    far = {"X-Forwarded-For": "203.0.113.7"}
    with running(kind, limits=Limits(connections_per_ip=2)) as server:
        async with crowd(server) as people:
            first = await people.newcomer(headers=far)
            await people.newcomer(headers=far)
            assert (await people.refused(headers=far))["data"] == {"code": 429}
            await people.newcomer(headers={"X-Forwarded-For": "203.0.113.8"})
            for _ in range(3):
                await people.newcomer()
            await first.disconnect()
            async with asyncio.timeout(PATIENCE):
                while not await (late := Peer()).connect(server.url, headers=far):
                    pass
            await late.disconnect()


async def test_names_may_have_256_characters_or_as_many_as_configured(kind: Kind) -> None:
    with running(kind, limits=Limits(name_length=8)) as server:
        async with crowd(server) as people:
            newcomer = await people.newcomer()
            assert (await newcomer.join("computer", "123456789", "o"))[0] is False
            assert (await newcomer.join("computer", "12345678", "o"))[0] is True
