"""Frames that no Socket.IO library would send: each is answered or ends its own connection; the Server goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.peer import crowd
from tests.support.raw_frames import ack, raw_member
from tests.support.running import Running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ('42/smcp,7["server:update_config",{"computer":]', 400),
        ("42/smcp,7[", 400),
        ("42/smcp,7{}", 400),
        ("42/smcp,7[]", 400),
        ("42/smcp,7[5,{}]", 400),
        ("42/smcp,7[null]", 400),
        ('42/smcp,7[{"a":1}]', 400),
        ('42/smcp,7["server:update_config",{"computer":NaN}]', 400),
        ('42/smcp,7["server:update_config",{"computer":"\\ud800"}]', 400),
        ('42/smcp,7["server:update_config",' + nested(300) + "]", 400),
        ('42/smcp,7["server:update_config",' + nested(5_000) + "]", 400),
        ('42/smcp,7["server:update_config",' + "[" * 100_000 + "]", 400),
        ('451-/smcp,7["server:update_config",{"_placeholder":true,"num":0}]', 400),
        ('459999999999-/smcp,7["server:update_config",{"_placeholder":true,"num":0}]', 400),
    ],
)
async def test_an_event_that_cannot_be_read_is_answered(server: Running, frame: str, code: int) -> None:
    async with crowd(server) as people, raw_member(server) as socket:
        agent = await people.member("agent", "agent", "o")
        await socket.send(frame)
        assert (await ack(socket, 7))[0]["error"]["code"] == code
        await socket.send('42/smcp,8["server:update_config",{"computer":"raw"}]')
        assert await ack(socket, 8) == []
        assert await agent.hear("notify:update_config") == {"computer": "raw"}


@pytest.mark.parametrize(
    "frame", ["4", "4x", "hello", "", "4[[[", "bAAAA", "9", "4²", "4" + "[" * 100_000, b"\x00\xff", "0", "2", "5", "6"]
)
async def test_a_frame_that_is_not_the_transports_ends_its_connection_with_a_leave(
    server: Running, frame: str | bytes
) -> None:
    async with crowd(server) as people, raw_member(server) as socket:
        agent = await people.member("agent", "agent", "o")
        await socket.send(frame)
        assert await agent.hear("notify:leave_office") == {"office_id": "o", "computer": "raw"}
        async with asyncio.timeout(PATIENCE):
            await socket.wait_closed()


@pytest.mark.parametrize("frame", ["41/nowhere,", "42/smcp,", "43/smcp,99[1]", "43/smcp,", "44/smcp,{}", "46", "42"])
async def test_a_frame_that_asks_for_nothing_is_passed_over(server: Running, frame: str) -> None:
    async with raw_member(server) as socket:
        await socket.send(frame)
        await socket.send('42/smcp,8["server:update_config",{"computer":"raw"}]')
        assert await ack(socket, 8) == []


@pytest.mark.parametrize(
    ("answer", "code"),
    [("[{]", 400), ("{}", 400), ('["' + "x" * 11_000_000 + '"]', 413), ("[" + nested(400) + "]", 400)],
)
async def test_an_ack_that_cannot_be_read_reaches_the_agent_as_an_error(
    server: Running, answer: str, code: int
) -> None:
    async with crowd(server) as people, raw_member(server) as socket:
        agent = await people.member("agent", "agent", "o")
        data: dict[str, Any] = {
            "agent": "agent",
            "computer": "raw",
            "req_id": "r",
            "tool_name": "t",
            "params": {},
            "timeout": 30,
        }
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(agent.ask("client:tool_call", data))
            frame = ""
            while "client:tool_call" not in frame:
                frame = str(await socket.recv())
            number = frame.removeprefix("42/smcp,").partition("[")[0]
            await socket.send(f"43/smcp,{number}{answer}")
        assert call.result()["error"]["code"] == code
        assert call.result()["isError"] is True


@pytest.mark.parametrize("depth", [300, 1_000])
async def test_a_request_nested_too_deep_is_400_and_reaches_nobody(server: Running, depth: int) -> None:
    async with crowd(server) as people, raw_member(server, "agent", "agent") as socket:
        computer = await people.member("computer", "pc", "o")
        fields = '"agent":"agent","computer":"pc","req_id":"r","tool_name":"t","timeout":30,"params":'
        await socket.send('42/smcp,9["client:tool_call",{' + fields + nested(depth) + "}]")
        assert (await ack(socket, 9))[0]["error"]["code"] == 400
        await computer.has_heard()
        assert computer.asked == []


async def test_a_client_cannot_fake_its_own_connect_or_disconnect(server: Running) -> None:
    async with crowd(server) as people, raw_member(server) as socket:
        agent = await people.member("agent", "agent", "o")
        for name in ("connect", "disconnect"):
            await socket.send(f'42/smcp,7["{name}",{{"asgi.scope":{{}}}}]')
            assert (await ack(socket, 7))[0]["error"]["code"] == 400
        assert await agent.has_heard() == []
        assert len(server.app.namespace.connections) == 2
