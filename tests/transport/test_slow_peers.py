"""A peer that reads slowly gets everything, in order, and nobody else waits for it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from a2c_smcp.computer import SMCPComputerClient
from tests.support.hosting import hosting, raw
from tests.support.peer import crowd, tool_call
from tests.support.proxy import network
from tests.support.raw_frames import raw_member
from tests.support.running import Kind, running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

MESSAGES = 80
SIZE = 300_000
"""Together more than the sockets on both sides hold."""


def numbered(computer: str, number: int) -> dict[str, Any]:
    text = f"{number} " + "x" * (SIZE if number % 2 else 10)  # small ones would overtake large ones, if any could
    return tool_call(computer, req_id=f"r{number}", params={"text": text})


def number_of(data: dict[str, Any]) -> int:
    return int(data["params"]["text"].partition(" ")[0])


async def events(socket: ClientConnection, count: int) -> list[Any]:
    """The data of the next so many events."""
    found: list[Any] = []
    async with asyncio.timeout(PATIENCE):
        while len(found) < count:
            frame = str(await socket.recv())
            if frame.startswith("42/smcp,"):
                found.append(json.loads(frame[frame.index("[") :])[1])
    return found


async def test_what_a_server_sends(kind: Kind) -> None:
    with running(kind) as server:
        async with crowd(server) as people, raw_member(server) as slow:
            agent = await people.member("agent", "agent", "o")
            other = await people.member("computer", "pc", "o")
            await events(slow, 2)  # both came
            slow.transport.pause_reading()
            for number in range(MESSAGES):
                await agent.tell("client:tool_call", numbered("raw", number))
            await agent.ask("client:tool_call", tool_call())
            assert other.asked, "meanwhile, others are served"
            slow.transport.resume_reading()
            seen = [number_of(data) for data in await events(slow, MESSAGES)]
            assert (seen if kind == "async" else sorted(seen)) == list(range(MESSAGES)), "threads have no order"
            await agent.tell("client:tool_call", numbered("raw", MESSAGES))
            assert number_of((await events(slow, 1))[0]) == MESSAGES


async def test_what_a_computer_sends() -> None:
    answered: list[int] = []
    with running("async") as server:
        async with crowd(server) as people, network(server.url) as wires, hosting(raw()) as computer:
            client = SMCPComputerClient(computer=computer)
            await client.reach(wires.url, transports=["websocket"])
            await client.join_office("o")
            agent = await people.member("agent", "agent", "o")

            async def ask(number: int) -> None:
                answer = await agent.ask("client:tool_call", numbered("pc", number))
                assert not answer["isError"]
                answered.append(number)

            wires.listens.clear()
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
                for number in range(MESSAGES):
                    tasks.create_task(ask(number))
                last = f"r{MESSAGES - 1}"
                while last not in [call["req_id"] for call in await computer.aget_tool_call_history()]:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                assert not answered
                wires.listens.set()
            assert answered == list(range(MESSAGES))
            await client.disconnect()
