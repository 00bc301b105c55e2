"""The Computers that are compared, each in its own process: `python -m benchmarks.computers ours|chain|floor|lean`.

The floor is a Socket.IO client that answers whatever it is asked, and has no MCP servers. The chain is the least that
has one: the same client, which hands every call to the `mcp` library's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import socketio
import uvloop

from a2c_smcp import smcp
from a2c_smcp.computer import Computer, SMCPComputerClient
from a2c_smcp.utils.system.resources import keep_freed_memory
from benchmarks.mcp_servers import children, configs, direct_session, text_of
from benchmarks.servers import FLOORS, HOST, cpu_seconds

NAME = "computer"
OFFICE = "bench"
READY = "ready"
_PATIENCE = 20.0


async def run_ours(port: int, lines: list[list[str]]) -> None:
    """A Computer with these MCP servers, in the office until standard input ends."""
    keep_freed_memory()  # as `a2c computer` does
    async with Computer(NAME, mcp_servers=configs(lines)) as computer:
        client = SMCPComputerClient(computer=computer)
        await client.connect(f"http://{HOST}:{port}", transports=["websocket"])
        await client.join_office(OFFICE)
        try:
            await _stay()
        finally:
            await client.disconnect()


async def run_floor(kind: str, port: int, answer: Any) -> None:
    """Answer every call with the text it carries, or with what is given."""

    async def work(data: dict[str, Any]) -> dict[str, Any]:
        if answer is not None:
            return answer
        return {"content": [{"type": "text", "text": data["params"]["text"]}], "isError": False}

    await _answer_until_the_end(plain_client(kind), port, work)


async def run_chain(port: int, lines: list[list[str]]) -> None:
    """Hand every call to the MCP server, and its text back."""
    client = plain_client("lean")
    async with direct_session(lines[0]) as session:

        async def work(data: dict[str, Any]) -> dict[str, Any]:
            result = await session.call_tool(data["tool_name"], data["params"])
            return {"content": [{"type": "text", "text": text_of(result)}], "isError": False}

        await _answer_until_the_end(client, port, work)


async def _answer_until_the_end(client: socketio.AsyncClient, port: int, work: Callable[..., Any]) -> None:
    client.on(smcp.TOOL_CALL_EVENT, work, namespace=smcp.SMCP_NAMESPACE)
    client.on(smcp.GET_TOOLS_EVENT, _list_no_tools, namespace=smcp.SMCP_NAMESPACE)
    await enter(client, port, "computer", NAME)
    try:
        await _stay()
    finally:
        await client.disconnect()


async def _list_no_tools(data: dict[str, Any]) -> dict[str, Any]:
    """Every Agent of ours asks for them when it comes."""
    return {"tools": [], "req_id": data["req_id"]}


def plain_client(kind: str) -> socketio.AsyncClient:
    """python-socketio's client with the JSON library of ours."""
    return socketio.AsyncClient(
        serializer=FLOORS[kind], reconnection=False, handle_sigint=False, websocket_extra_options={"max_msg_size": 0}
    )


async def enter(client: socketio.AsyncClient, port: int, role: str, name: str) -> None:
    """Connect and join the office."""
    namespace = smcp.SMCP_NAMESPACE
    await client.connect(f"http://{HOST}:{port}", transports=["websocket"], namespaces=[namespace])
    request = {"role": role, "name": name, "office_id": OFFICE}
    ack: Any = await client.call(smcp.JOIN_OFFICE_EVENT, request, namespace=namespace)
    if ack[0] is not True:
        raise RuntimeError(f"join refused: {ack}")


async def _stay() -> None:
    """Say that all is ready; return when the parent closes the pipe, however it ends."""
    print(READY, flush=True)
    await asyncio.to_thread(sys.stdin.read)


@dataclass(frozen=True, slots=True)
class ComputerProcess:
    """A running Computer, and what it and its MCP servers used so far."""

    pid: int
    family: frozenset[int]
    """Itself and everything it started."""

    def cpu_seconds(self) -> float:
        return sum(map(cpu_seconds, self.family))


@contextlib.contextmanager
def computing(kind: str, port: int, argument: Any = None) -> Generator[ComputerProcess]:
    """Start a Computer in a process of its own, and end it: in good order, so that no MCP server is left."""
    command = [sys.executable, "-m", "benchmarks.computers", kind, str(port), json.dumps(argument)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if process.stdout.readline().strip() != READY:
                raise RuntimeError(f"the {kind} Computer did not start")
            yield ComputerProcess(process.pid, frozenset({process.pid, *children(process.pid)}))
        finally:
            process.stdin.close()
            try:
                process.wait(_PATIENCE)
            finally:
                process.kill()


def main(kind: str, port: str, argument: str) -> None:
    """The argument is JSON: the MCP servers, or the file with the floor's answer."""
    given = json.loads(argument)
    if kind in ("ours", "chain"):
        uvloop.run((run_ours if kind == "ours" else run_chain)(int(port), given))
    else:
        uvloop.run(run_floor(kind, int(port), given and orjson.loads(Path(given).read_bytes())))


if __name__ == "__main__":
    main(*sys.argv[1:])
