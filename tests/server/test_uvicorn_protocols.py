"""Our WebSocket under uvicorn, as any ASGI application and any client sees it: here the `websockets` client."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from a2c_smcp.server import create_app, uvicorn_protocols
from a2c_smcp.server.serving import GracefulServer, bind, transport_options
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


@contextlib.asynccontextmanager
async def served(application: Application) -> AsyncGenerator[tuple[str, GracefulServer]]:
    """An application behind our protocols: its address, and what serves it."""
    smcp = create_app(None)
    config = uvicorn.Config(
        application, lifespan="off", log_config=None, **transport_options(smcp.namespace.limits, None)
    )
    listener = bind("127.0.0.1", 0)
    started = asyncio.Event()
    server = GracefulServer(config, smcp, started.set)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await asyncio.wait_for(started.wait(), PATIENCE)
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}", server
    finally:
        server.should_exit = True
        await asyncio.wait_for(serving, PATIENCE)


async def echo(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    assert await receive() == {"type": "websocket.connect"}
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({**message, "type": "websocket.send"})


async def code_of(socket: ClientConnection) -> int | None:
    """The code that the server closes with."""
    async with asyncio.timeout(PATIENCE):
        with contextlib.suppress(ConnectionClosed):
            while True:
                await socket.recv()
        await socket.wait_closed()
    return socket.close_code


async def test_texts_and_bytes_of_any_size_come_back() -> None:
    async with served(echo) as (url, _), connect(url, max_size=None) as socket:
        for message in ("", "é", b"\0\xff", "x" * 126, b"y" * 70_000, "z" * 5_000_000):
            await socket.send(message)
            assert await socket.recv() == message


async def test_many_messages_at_once_come_back_in_order() -> None:
    async with served(echo) as (url, _), connect(url) as socket:
        for number in range(500):
            await socket.send(str(number))
        assert [await socket.recv() for _ in range(500)] == [str(number) for number in range(500)]


async def test_a_message_in_fragments_is_one_message() -> None:
    async with served(echo) as (url, _), connect(url) as socket:
        await socket.send(["a", "b", "c"])
        assert await socket.recv() == "abc"


async def test_a_ping_is_answered() -> None:
    async with served(echo) as (url, _), connect(url) as socket:
        async with asyncio.timeout(PATIENCE):
            await (await socket.ping())


async def test_the_application_sees_the_request_and_answers_with_headers_and_a_subprotocol() -> None:
    seen: dict[str, Any] = {}

    async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        seen.update(scope)
        await receive()
        await send({"type": "websocket.accept", "subprotocol": "b", "headers": [(b"x-answer", b"42")]})
        await send({"type": "websocket.close", "code": 4001})

    async with served(application) as (url, _):
        protocols = [Subprotocol("a"), Subprotocol("b")]
        headers = {"X-Question": "everything"}
        async with connect(f"{url}/a%20b?c=d", subprotocols=protocols, additional_headers=headers) as socket:
            assert socket.subprotocol == "b"
            assert socket.response is not None
            assert socket.response.headers["x-answer"] == "42"
            assert await code_of(socket) == 4001
    assert (seen["path"], seen["raw_path"], seen["query_string"]) == ("/a b", b"/a%20b", b"c=d")
    assert seen["scheme"] == "ws"
    assert seen["subprotocols"] == ["a", "b"]
    assert (b"x-question", b"everything") in seen["headers"]
    assert seen["client"][0] == "127.0.0.1"


async def test_a_close_before_the_acceptance_is_a_403() -> None:
    async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        await send({"type": "websocket.close"})

    async with served(application) as (url, _):
        with pytest.raises(InvalidStatus) as refused:
            await connect(url)
        assert refused.value.response.status_code == 403


async def test_an_application_may_refuse_with_a_response_of_its_own() -> None:
    async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        start = {"type": "websocket.http.response.start", "status": 429, "headers": [(b"Retry-After", b"7")]}
        await send(start)
        await send({"type": "websocket.http.response.body", "body": b"later"})

    async with served(application) as (url, _):
        with pytest.raises(InvalidStatus) as refused:
            await connect(url)
        response = refused.value.response
        assert (response.status_code, response.headers["retry-after"], response.body) == (429, "7", b"later")


async def test_an_application_that_fails_is_a_500_or_a_close_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["path"] == "/later":
            await send({"type": "websocket.accept"})
        raise ValueError("a bug")

    with caplog.at_level(logging.ERROR):
        async with served(application) as (url, _):
            with pytest.raises(InvalidStatus) as refused:
                await connect(url)
            assert refused.value.response.status_code == 500
            async with connect(f"{url}/later") as socket:
                assert await code_of(socket) == 1000
    assert caplog.text.count("ValueError: a bug") == 2


async def test_an_application_hears_of_the_end_and_cannot_send_after_it() -> None:
    ended: asyncio.Future[tuple[Any, str]] = asyncio.get_running_loop().create_future()

    async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        end = await receive()
        try:
            await send({"type": "websocket.send", "text": "too late"})
        except ConnectionError as error:
            ended.set_result((end, str(error)))

    async with served(application) as (url, _):
        async with connect(url) as socket:
            await socket.close(4002)
        end, problem = await asyncio.wait_for(ended, PATIENCE)
        assert end == {"type": "websocket.disconnect", "code": 4002}
        assert "closed" in problem


async def test_a_client_that_does_not_read_holds_up_only_its_own_application() -> None:
    sent = 0

    async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        nonlocal sent
        if scope["path"] == "/echo":
            await echo(scope, receive, send)
            return
        await send({"type": "websocket.accept"})
        for _ in range(200):
            await send({"type": "websocket.send", "text": "x" * 1_000_000})
            sent += 1

    async with served(application) as (url, _):
        async with connect(url, max_queue=1, max_size=None) as idle, connect(f"{url}/echo") as other:
            for _ in range(100):
                await other.send("?")
                assert await other.recv() == "?"
            assert sent < 100
            for _ in range(200):
                await idle.recv()
        assert sent == 200


@pytest.mark.parametrize(
    "head",
    [
        "Sec-WebSocket-Version: 13\r\n",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 8\r\n",
    ],
    ids=["no key", "no version", "an old version"],
)
async def test_a_bad_handshake_is_a_400(head: str) -> None:
    async with served(echo) as (url, _):
        host, port = url.removeprefix("ws://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            request = f"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{head}\r\n"
            writer.write(request.encode())
            answer = await asyncio.wait_for(reader.read(), PATIENCE)
            assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
            assert b"sec-websocket-version: 13" in answer
        finally:
            writer.close()


async def test_what_breaks_the_protocol_ends_the_connection_with_its_code_and_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        async with served(echo) as (url, _), connect(url) as socket:
            socket.transport.write(b"\x83\x80\0\0\0\0")  # an opcode that does not exist
            assert await code_of(socket) == 1002
    assert [record.message for record in caplog.records if "invalid WebSocket frame" in record.message]


async def test_uvicorn_closes_what_is_open_when_it_stops() -> None:
    async with served(echo) as (url, server), connect(url) as socket:
        await socket.send("?")
        await socket.recv()
        server.should_exit = True
        assert await code_of(socket) == 1012


@pytest.mark.parametrize("is_reading", [True, False])
async def test_a_client_that_does_not_read_its_response_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, is_reading: bool
) -> None:
    monkeypatch.setattr(uvicorn_protocols, "READ_SECONDS", 0.3)
    size = 30_000_000
    left = asyncio.Event()

    async def large(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        length = [(b"content-length", str(size).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": b"x" * size})
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    async with served(large) as (url, server):
        host, _, port = url.removeprefix("ws://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1_000)
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            await reader.readuntil(b"\r\n\r\n")
            if is_reading:
                assert len(await reader.readexactly(size)) == size
            else:
                while server.server_state.connections:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            await left.wait()
        writer.close()
