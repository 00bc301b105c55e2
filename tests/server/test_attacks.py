"""What a client without a key may send to bring the Server down: each is answered at once; others notice nothing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import psutil
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from a2c_smcp.server import DefaultAuthenticationProvider, DefaultSyncAuthenticationProvider, Limits
from a2c_smcp.wire.session import read_handshake
from tests.support.peer import Peer, crowd, request
from tests.support.process import server_process
from tests.support.running import Kind, Running, running
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

KEY = {"token": "key"}


@pytest.fixture
def guarded(kind: Kind) -> Any:
    """A Server that wants a key."""
    provider = DefaultAuthenticationProvider("key") if kind == "async" else DefaultSyncAuthenticationProvider("key")
    with running(kind, provider) as server:
        yield server


@asynccontextmanager
async def undisturbed(server: Running, most: float = 1.0) -> AsyncGenerator[None]:
    """A client with a key calls all the time, and each call is answered.

    The Server works in this process, so its processor time between a call and the answer is what an attack can make the
    client wait for. The time on the clock would also tell how busy the machine is.
    """
    async with crowd(server) as people:
        agent = await people.member("agent", "agent", "o", auth=KEY)
        await people.member("computer", "pc", "o", auth=KEY)
        slowest, done = 0.0, asyncio.Event()

        async def call() -> None:
            nonlocal slowest
            while not done.is_set():
                started = time.process_time()
                assert "echo" in await agent.ask("client:get_tools", request())
                slowest = max(slowest, time.process_time() - started)
                await asyncio.sleep(0.01)

        calling = asyncio.create_task(call())
        try:
            yield
        finally:
            done.set()
            await calling
        assert slowest < most


async def open_session(server: Running, http: httpx.AsyncClient) -> str:
    url = server.url + "/socket.io/?EIO=4&transport=polling"
    handshake = (await http.get(url)).text
    opened = read_handshake(handshake)
    assert opened is not None
    return f"{url}&sid={opened.sid}"


BODIES = {
    "noop": b"6",
    "open": b"0",
    "ping": b"2",
    "upgrade": b"5",
    "letters": b"x",
    "no such type": b"9",
    "binary": b"b!!!",
    "form": b"d=",
    "not UTF-8": b"\xff\xfe",
    "nothing": b"",
    "20,000 empty packets": b"\x1e" * 20_000,
    "a megabyte of empty packets": b"\x1e" * 1_000_000,
    "a megabyte of pongs": b"3\x1e" * 500_000,
    "nine megabytes of noop": b"6" * 9_000_000,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
async def test_a_body_that_is_no_payload_is_refused_at_once_and_nothing_is_kept(
    guarded: Running, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "a2c_smcp")
    async with undisturbed(guarded), httpx.AsyncClient(timeout=PATIENCE) as http:
        session = await open_session(guarded, http)
        caplog.clear()
        answer = await http.post(session, content=body)
        assert answer.status_code in (400, 413)
        assert "Traceback" not in caplog.text
        assert len([record for record in caplog.records if " closed: " in record.getMessage()]) == 1
        assert sum(len(record.getMessage()) for record in caplog.records) < 2_000
        assert len(guarded.app.sio.clients) == 2, "the session is forgotten"
        after = await http.post(session, content=b"40/smcp,")
        assert after.status_code in (200, 400)


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("EIO=4&transport=polling&t=%ff", {}),
        ("EIO=4&transport=polling&sid=%ff%00", {}),
        ("EIO=4&transport=polling", {"Origin": "http://["}),
        ("EIO=4&transport=polling", {"Origin": "\xff"}),
        ("EIO=3&transport=polling", {}),
        ("EIO=4&transport=carrier-pigeon", {}),
        ("EIO=4&transport=websocket", {}),
        ("%%%=&&&==;" * 300, {}),
    ],
)
async def test_an_odd_request_is_no_fault_of_the_server(
    guarded: Running, query: str, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        raw = {name: value.encode("latin-1") for name, value in headers.items()}
        answer = await http.get(f"{guarded.url}/socket.io/?{query}", headers=raw)  # pyright: ignore[reportArgumentType]
    assert answer.status_code in (200, 400)
    assert "Traceback" not in caplog.text


@asynccontextmanager
async def websocket(server: Running) -> AsyncGenerator[ClientConnection]:
    url = server.url.replace("http", "ws") + "/socket.io/?EIO=4&transport=websocket"
    async with connect(url, open_timeout=PATIENCE, close_timeout=0.2, compression=None) as socket:
        await socket.recv()
        yield socket


async def until_closed(socket: ClientConnection) -> list[str]:
    """What comes until the Server hangs up."""
    heard: list[str] = []
    async with asyncio.timeout(PATIENCE):
        with contextlib.suppress(ConnectionClosed):
            while True:
                heard.append(str(await socket.recv()))
    return heard


async def test_wrong_keys_end_the_connection_after_three(guarded: Running) -> None:
    async with undisturbed(guarded), websocket(guarded) as socket:
        for _ in range(3):
            await socket.send('40/smcp,{"token":"guess"}')
        heard = await until_closed(socket)
        assert sum(frame.startswith("44/smcp,") for frame in heard) <= 3
        assert len(guarded.app.sio.clients) == 2


async def test_whoever_guesses_on_waits_longer_and_longer(guarded: Running) -> None:
    async with undisturbed(guarded):
        waits: list[float] = []
        for _ in range(14):
            started = time.perf_counter()
            async with websocket(guarded) as socket:
                await socket.send('40/smcp,{"token":"guess"}')
                assert str(await socket.recv()).startswith("44/smcp,")
            waits.append(time.perf_counter() - started)
        assert waits[-1] > 1, "and a right key is let in at once, as the others show"


async def test_entering_again_and_again_gives_no_fresh_allowance(kind: Kind) -> None:
    with running(kind, limits=Limits(requests_per_second=10, request_burst=20)) as server:
        async with websocket(server) as socket:
            refused = 0
            for _ in range(10):
                await socket.send("40/smcp,")
                while not str(await socket.recv()).startswith("40/smcp,"):
                    pass
                for number in range(10):
                    await socket.send(f'42/smcp,{number}["server:nothing",{{}}]')
                    refused += '"code":429' in str(await socket.recv())
                await socket.send("41/smcp,")
            assert refused > 50


async def test_a_large_frame_before_entering_ends_the_connection(guarded: Running) -> None:
    async with undisturbed(guarded):
        with contextlib.suppress(ConnectionClosed):  # while it sends
            async with websocket(guarded) as socket:
                await socket.send('40/smcp,{"token":"' + "x" * 5_000_000 + '"}')
                await until_closed(socket)
        await eventually(lambda: len(guarded.app.sio.clients) == 2)


async def test_connections_that_never_finish_their_request_keep_nobody_out() -> None:
    with server_process("--api-key", "key") as server:
        process = psutil.Process(server.process.pid)
        idle: list[asyncio.StreamWriter] = []
        host, port = server.url.removeprefix("http://").split(":")
        try:
            for _ in range(1_100):
                _, writer = await asyncio.open_connection(host, int(port))
                writer.write(b"GET /socket.io/?EIO=4 HTTP/1.1\r\nHost: x\r\n")
                idle.append(writer)
            peer = Peer()
            async with asyncio.timeout(PATIENCE):
                assert await peer.connect(server.url, auth=KEY)
            await peer.disconnect()
            await eventually(lambda: len(process.net_connections("tcp")) < 50)
        finally:
            for writer in idle:
                writer.close()
