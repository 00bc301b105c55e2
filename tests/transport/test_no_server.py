"""Something else answers at the Server's address: that is a connection that failed, and a reason to try again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient, DefaultAgentAuthProvider, SMCPAgentClient
from a2c_smcp.errors import NotConnectedError
from tests.support.agents import Form
from tests.support.mcp_servers import write_config
from tests.support.process import computer_process, free_port, server_process
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


def http(body: bytes, length: int | None = None, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


ANSWERS = {
    "an SSH server": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "nothing": b"",
    "an empty object": http(b"0{}"),
    "an array": http(b"0[]"),
    "no object": http(b"0"),
    "a broken object": http(b'0{"sid'),
    "numbers that are none": http(b'0{"sid":"x","upgrades":[],"pingInterval":"x","pingTimeout":1}'),
    "a body that breaks off": http(b'0{"sid":"x"', length=1_000),
    "bytes": http(b"\xff\xfe\x00"),
    "a web page": http(b"<html></html>"),
    "an empty page": http(b""),
    "another type of packet": http(b"6"),
    "not found": http(b"", status="404 Not Found"),
    "forbidden": http(b'"no"', status="403 Forbidden"),
    "a redirect to nowhere": b"HTTP/1.1 302 Found\r\nLocation: \r\nContent-Length: 0\r\n\r\n",
    "an upgrade that is none": b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
}


@contextlib.asynccontextmanager
async def answering(answer: bytes, port: int = 0) -> AsyncGenerator[str]:
    """Something that gives whoever connects the same answer; its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read(1)
            writer.write(answer)
            await writer.drain()
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("transports", [None, ["websocket"], ["polling"]], ids=["any", "websocket", "polling"])
@pytest.mark.parametrize("form", ["async", "sync"])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
async def test_a_wrong_answer_is_a_failed_connection(answer: bytes, form: Form, transports: list[str] | None) -> None:
    provider = DefaultAgentAuthProvider("agent", "office")
    async with answering(answer) as url, asyncio.timeout(PATIENCE):
        if form == "async":
            agent = AsyncSMCPAgentClient(provider)
            with pytest.raises(NotConnectedError):
                await agent.reach(url, transports=transports)
            await agent.disconnect()
        else:
            blocking = SMCPAgentClient(provider)
            with pytest.raises(NotConnectedError):
                await asyncio.to_thread(blocking.reach, url, transports=transports)
            await asyncio.to_thread(blocking.disconnect)


async def test_a_computer_waits_until_its_server_is_there(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    flags = ("--config", str(write_config(tmp_path, {})), "--url", url, "--office", "office")
    with computer_process(*flags) as computer:
        async with answering(ANSWERS["an SSH server"], port):
            await asyncio.to_thread(computer.wait_for, "not an A2C Server.*trying again")
        with server_process("--port", str(port)):
            await asyncio.to_thread(computer.wait_for, "in office office")
        assert "Traceback" not in computer.text
