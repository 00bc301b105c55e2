"""What an enemy, or an unlucky network, would try: nothing is left behind, and every request is answered."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.frames import Frame, Opcode

from a2c_smcp import server as a2c
from a2c_smcp.server import Limits
from tests.support.peer import crowd, request, tool_call
from tests.support.raw_frames import ack, raw_member
from tests.support.running import Kind, Running, running
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

PONG = Frame(Opcode.PONG, b"").serialize(mask=True)


class Strict(a2c.DefaultAuthenticationProvider):
    async def authenticate(self, sio: Any, environ: Any, auth: Any, headers: Any) -> bool:
        return False


class SyncStrict(a2c.DefaultSyncAuthenticationProvider):
    def authenticate(self, sio: Any, environ: Any, auth: Any, headers: Any) -> bool:
        return False


async def test_an_overridden_authenticate_decides(kind: Kind) -> None:
    with running(kind, Strict("key") if kind == "async" else SyncStrict("key")) as server:
        async with crowd(server) as people:
            assert (await people.refused(auth={"token": "key"}))["data"]["code"] == 401


class Undecided(a2c.AuthenticationProvider):
    async def authenticate(self, sio: Any, environ: Any, auth: Any, headers: Any) -> bool:
        await asyncio.Event().wait()
        return True


class SyncUndecided(a2c.SyncAuthenticationProvider):
    def __init__(self) -> None:
        self.may_decide = threading.Event()

    def authenticate(self, sio: Any, environ: Any, auth: Any, headers: Any) -> bool:
        return self.may_decide.wait()


async def test_a_provider_that_does_not_decide_is_a_refusal(kind: Kind) -> None:
    undecided = SyncUndecided()
    provider = Undecided() if kind == "async" else undecided
    with running(kind, provider, limits=Limits(authentication_timeout=0.2)) as server:
        async with crowd(server) as people:
            assert (await people.refused())["data"]["code"] == 500
    undecided.may_decide.set()


async def test_a_body_that_drips_is_not_waited_for(kind: Kind) -> None:
    path = "/socket.io/?EIO=4&transport=polling"
    with running(kind, limits=Limits(body_timeout=0.5)) as server:
        async with httpx.AsyncClient(timeout=PATIENCE) as http:
            sid = json.loads((await http.get(server.url + path)).text[1:])["sid"]
        host, port = server.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST {path}&sid={sid} HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n"
        writer.write(head.encode())

        async def drip() -> None:
            while True:
                writer.write(b"4")
                await writer.drain()
                await asyncio.sleep(0.05)

        dripping = asyncio.create_task(drip())
        try:
            async with asyncio.timeout(PATIENCE):
                assert b" 408 " in await reader.readline()
        finally:
            dripping.cancel()
            await asyncio.gather(dripping, return_exceptions=True)
            writer.close()


class Careless(a2c.SMCPNamespace):
    async def on_connect(self, sid: str, environ: Any, auth: Any = None) -> bool:
        return True

    async def on_disconnect(self, sid: str, reason: Any = None) -> None:
        raise RuntimeError("a bug in the host program")


class SyncCareless(a2c.SyncSMCPNamespace):
    def on_connect(self, sid: str, environ: Any, auth: Any = None) -> bool:
        return True

    def on_disconnect(self, sid: str, reason: Any = None) -> None:
        raise RuntimeError("a bug in the host program")


async def test_a_subclass_that_calls_no_super_and_fails_leaves_nothing_behind(kind: Kind) -> None:
    careless: Any = Careless if kind == "async" else SyncCareless
    with running(kind, namespace_class=careless) as server:
        async with crowd(server) as people:
            agent, computer = await people.office("o", "pc")
            await computer.disconnect()
            assert await agent.hear("notify:leave_office") == {"office_id": "o", "computer": "pc"}
            await people.member("computer", "pc", "o")
            assert len(server.app.namespace.connections) == 2


class Polling:
    """A long-polling session, packet by packet."""

    def __init__(self, server: Running, http: httpx.AsyncClient) -> None:
        self._url = server.url + "/socket.io/?EIO=4&transport=polling"
        self._http = http

    async def open(self) -> None:
        handshake = json.loads((await self._http.get(self._url)).text[1:])
        self.sid: str = handshake["sid"]
        self._url += "&sid=" + self.sid
        await self.post("40/smcp,")
        assert "40/smcp," in await self.poll()

    async def post(self, *packets: str) -> None:
        await self._http.post(self._url, content="\x1e".join(packets))

    async def poll(self) -> str:
        return (await self._http.get(self._url)).text


async def test_a_connect_faked_while_disconnecting_counts_for_nobody(kind: Kind) -> None:
    with running(kind, limits=Limits(connections_per_ip=1)) as server:
        async with httpx.AsyncClient(timeout=PATIENCE) as http:
            for _ in range(5):
                session = Polling(server, http)
                await session.open()
                faked = json.dumps(
                    ["connect", {"asgi.scope": {"client": ["203.0.113.9", 1]}, "REMOTE_ADDR": "203.0.113.9"}]
                )
                await session.post("42/smcp,1" + faked, "41/smcp,")
        async with crowd(server) as people:
            await people.newcomer(headers={"X-Forwarded-For": "203.0.113.9"})
            assert len(server.app.namespace.connections) == 1


async def test_a_call_sent_with_the_goodbye_does_not_stay_in_flight(kind: Kind) -> None:
    with running(kind) as server:
        async with crowd(server) as people, httpx.AsyncClient(timeout=PATIENCE) as http:
            computer = await people.member("computer", "pc", "o")
            forever = asyncio.Event()
            computer.answer = lambda event, data: forever.wait()
            session = Polling(server, http)
            await session.open()
            await session.post(
                "42/smcp,1" + json.dumps(["server:join_office", {"role": "agent", "name": "agent", "office_id": "o"}])
            )
            assert await computer.hear("notify:enter_office") == {"office_id": "o", "agent": "agent"}
            await session.post("42/smcp,2" + json.dumps(["client:tool_call", tool_call(timeout=3600)]), "41/smcp,")
            assert await computer.hear("notify:leave_office") == {"office_id": "o", "agent": "agent"}
            await computer.has_heard()
            if computer.asked:  # usually the goodbye is read before the call is relayed
                assert await computer.hear("notify:tool_call_cancel") == {"agent": "agent", "req_id": "r1"}
            forever.set()
            async with asyncio.timeout(PATIENCE):
                while len(server.app.namespace.in_flight):
                    await computer.has_heard()


async def test_an_upgrade_that_comes_to_nothing_leaves_long_polling_alive(server: Running) -> None:
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        session = Polling(server, http)
        await session.open()
        url = server.url.replace("http", "ws") + f"/socket.io/?EIO=4&transport=websocket&sid={session.sid}"
        async with connect(url, close_timeout=0.2):
            pass
        await session.post('42/smcp,5["server:nothing",{}]')
        frames = ""
        async with asyncio.timeout(PATIENCE):
            while "43/smcp,5" not in frames:
                frames = await session.poll()


async def test_what_is_sent_right_behind_an_upgrade_is_not_lost(server: Running) -> None:
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        for _ in range(10):
            session = Polling(server, http)
            await session.open()
            url = server.url.replace("http", "ws") + f"/socket.io/?EIO=4&transport=websocket&sid={session.sid}"
            async with connect(url, close_timeout=0.2) as socket, asyncio.timeout(PATIENCE):
                await socket.send("2probe")
                assert await socket.recv() == "3probe"
                frames = [Frame(Opcode.TEXT, text.encode()) for text in ("5", '42/smcp,5["server:nothing",{}]')]
                socket.transport.write(b"".join(frame.serialize(mask=True) for frame in frames))
                assert str(await socket.recv()).startswith("43/smcp,5")


async def test_an_upgrade_is_not_ended_by_another_attempt(server: Running) -> None:
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        session = Polling(server, http)
        await session.open()
        url = server.url.replace("http", "ws") + f"/socket.io/?EIO=4&transport=websocket&sid={session.sid}"
        async with connect(url, close_timeout=0.2) as first, asyncio.timeout(PATIENCE):
            await first.send("2probe")
            assert await first.recv() == "3probe"
            async with connect(url, close_timeout=0.2) as second:
                await second.send("2probe")
                await second.wait_closed()
            await first.send("5")
            await first.send('42/smcp,5["server:nothing",{}]')
            assert str(await first.recv()).startswith("43/smcp,5")


async def test_of_two_polls_the_newer_gets_what_there_is(server: Running) -> None:
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        session = Polling(server, http)
        await session.open()
        polls = [asyncio.create_task(session.poll()) for _ in range(2)]
        done, waiting = await asyncio.wait(polls, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        assert [poll.result() for poll in done] == ["6"], "the older is told that there is nothing"
        await session.post('42/smcp,5["server:nothing",{}]')
        assert "43/smcp,5" in await waiting.pop()


async def test_more_packets_in_one_post_than_the_burst_are_each_answered(kind: Kind) -> None:
    with running(kind, limits=Limits(request_burst=50)) as server:
        async with httpx.AsyncClient(timeout=PATIENCE) as http:
            session = Polling(server, http)
            await session.open()
            await session.post(*(f'42/smcp,{n}["server:nothing",{{}}]' for n in range(200)))
            answered: list[str] = []
            async with asyncio.timeout(PATIENCE):
                while len(answered) < 200:
                    answered += [packet for packet in (await session.poll()).split("\x1e") if packet.startswith("43")]
            assert any('"code":400' in packet for packet in answered)
            assert any('"code":429' in packet for packet in answered)


@pytest.mark.parametrize("frame", ['451-/smcp,7["client:x",{bad', "451-/smcp,7[", '462-/smcp,7["x"'])
async def test_a_malformed_binary_packet_does_not_poison_the_connection(server: Running, frame: str) -> None:
    async with raw_member(server) as socket:
        await socket.send(frame)
        await socket.send('42/smcp,8["server:update_config",{"computer":"raw"}]')
        assert await ack(socket, 8) == []


async def test_who_enters_no_namespace_is_shown_out(kind: Kind) -> None:
    with running(kind, limits=Limits(entry_timeout=0.2)) as server:
        url = server.url.replace("http", "ws") + "/socket.io/?EIO=4&transport=websocket"
        async with crowd(server) as people, connect(url, close_timeout=0.2) as idler:
            agent, _ = await people.office()
            await idler.recv()
            async with asyncio.timeout(PATIENCE):
                assert await idler.recv() == "1"
            await idler.close()
            assert (await agent.ask("client:get_tools", request()))["echo"] == "client:get_tools"


async def test_who_leaves_its_namespace_and_does_not_come_back_is_shown_out(kind: Kind) -> None:
    with running(kind, limits=Limits(entry_timeout=0.2)) as server:
        async with raw_member(server) as idler:
            await idler.send("41/smcp,")
            await idler.send("40/smcp,")
            assert str(await idler.recv()).startswith("40/smcp,")
            await idler.send("41/smcp,")
            async with asyncio.timeout(PATIENCE):
                assert await idler.recv() == "1"


async def test_transport_connections_of_one_address_are_bounded_too(kind: Kind) -> None:
    with running(kind, limits=Limits(connections_per_ip=1)) as server:
        async with httpx.AsyncClient(headers={"X-Forwarded-For": "203.0.113.9"}, timeout=PATIENCE) as http:
            url = server.url + "/socket.io/?EIO=4&transport=polling"
            assert [(await http.get(url)).status_code for _ in range(4)] == [200, 200, 429, 429]


async def test_who_does_not_read_is_disconnected_and_its_calls_end(kind: Kind) -> None:
    with running(kind, limits=Limits(message_bytes=200_000)) as server:
        async with crowd(server) as people, raw_member(server) as deaf:
            deaf.transport.pause_reading()
            agent = await people.member("agent", "agent", "o")
            data = tool_call("raw", params={"text": "x" * 190_000}, timeout=3600)
            for _ in range(20):  # the network takes some megabytes before anything piles up
                for _ in range(40):
                    await agent.tell("client:tool_call", data)
                if await agent.has_heard():
                    break
            assert await agent.hear("notify:leave_office") == {"office_id": "o", "computer": "raw"}
            assert (await agent.ask("client:tool_call", data))["error"]["code"] == 404
            async with asyncio.timeout(PATIENCE):
                while len(server.app.namespace.in_flight):
                    await agent.has_heard()
            deaf.transport.abort()


async def test_the_connection_of_who_does_not_read_ends_even_if_it_does_not_hang_up(kind: Kind) -> None:
    beats = {"ping_interval": 1, "ping_timeout": 1}
    with running(kind, limits=Limits(message_bytes=200_000), **beats) as server:
        async with crowd(server) as people, raw_member(server) as deaf:
            deaf.transport.pause_reading()
            agent = await people.member("agent", "agent", "o")
            data = tool_call("raw", params={"text": "x" * 190_000}, timeout=3600)
            while not await agent.has_heard():
                for _ in range(40):
                    await agent.tell("client:tool_call", data)

            def is_cut() -> bool:
                deaf.transport.write(PONG)  # it reads nothing, so that only this shows it
                return deaf.transport.is_closing()

            await eventually(is_cut)


async def test_more_calls_in_flight_than_allowed_are_429(kind: Kind) -> None:
    with running(kind, limits=Limits(calls_in_flight=3)) as server:
        async with crowd(server) as people:
            agent, computer = await people.office()
            release = asyncio.Event()

            async def answer_late(event: str, data: Any) -> str:
                await release.wait()
                return "done"

            computer.answer = answer_late
            async with asyncio.TaskGroup() as tasks:
                running_calls = [tasks.create_task(agent.ask("client:get_tools", request())) for _ in range(3)]
                for _ in range(3):
                    await computer.be_asked("client:get_tools")
                assert (await agent.ask("client:get_tools", request()))["error"]["code"] == 429
                release.set()
            assert [call.result() for call in running_calls] == ["done"] * 3
            assert await agent.ask("client:get_tools", request()) == "done"


async def test_other_limits_hold_for_open_connections_too(server: Running) -> None:
    async with crowd(server) as people:
        agent, computer = await people.office()
        large = tool_call(params={"text": "x" * 3_000})
        assert "error" not in await agent.ask("client:tool_call", large)
        server.app.limit(Limits(message_bytes=2_000, name_length=8, requests_per_second=0.001, request_burst=4))
        assert (await agent.ask("client:tool_call", large))["error"]["code"] == 413
        assert (await agent.ask("client:tool_call", tool_call(req_id="123456789")))["error"]["code"] == 400
        assert "error" not in await agent.ask("client:tool_call", tool_call())
        codes = [(await agent.ask("client:nothing", {}))["error"]["code"] for _ in range(3)]
        assert codes == [400, 429, 429]
        server.app.limit(Limits())
        assert "error" not in await agent.ask("client:tool_call", large)
        assert not computer.is_gone.is_set()


async def test_a_client_cannot_write_lines_into_the_log(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "a2c_smcp")
    async with crowd(server) as people:
        agent, _ = await people.office()
        await agent.ask("server:x\nWARNING forged", {})
        await agent.ask("client:y\r\n" + "z" * 5_000, request(req_id="r\nforged"))
    assert "WARNING forged" in caplog.text
    for record in caplog.records:
        assert "\n" not in record.getMessage() + str(getattr(record, "req_id", ""))
        assert len(record.getMessage()) < 1_000
