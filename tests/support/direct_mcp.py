"""A client that is connected to an MCP server directly, without an SDK: it shows what a server sends, unchanged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.support.process import Command
from tests.support.waiting import PATIENCE


class Direct:
    """Requests over standard input and output. Notifications are collected."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._number = 0
        self.notices: list[dict[str, Any]] = []
        self.replies: dict[str, Callable[[dict[str, Any]], Any]] = {}
        """What gives the results for requests of the server, by their method."""
        self.asked: list[dict[str, Any]] = []
        """The parameters of the requests of the server that had one."""

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request, or its error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        self._write(id=self._number, method=method, params=params)
        async with asyncio.timeout(PATIENCE):
            while True:
                message = json.loads(await self._process.stdout.readline())
                if message.get("method") in self.replies:
                    self.asked.append(message["params"])
                    self._write(id=message["id"], result=self.replies[message["method"]](message["params"]))
                elif "method" in message and "id" in message:
                    self._write(id=message["id"], error={"code": -32601, "message": "not offered"})
                elif message.get("id") == self._number:
                    return message["result"] if "result" in message else {"error": message["error"]}
                else:
                    self.notices.append(message)

    async def all(self, method: str, key: str) -> list[dict[str, Any]]:
        """The items of all pages of a list."""
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = await self.ask(method, **params)
            found += page[key]
            if not page.get("nextCursor"):
                return found
            params = {"cursor": page["nextCursor"]}

    def tell(self, method: str) -> None:
        """Send a notification."""
        self._write(method=method)

    def _write(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


@asynccontextmanager
async def direct(
    command: Command, version: str = "2025-11-25", env: Mapping[str, str] | None = None
) -> AsyncGenerator[Direct]:
    """A server, after its handshake. `env`: all that its environment has; without it, that of the tests."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *map(str, command), stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, limit=100_000_000, env=env
    )
    try:
        client = Direct(process)
        info = {"name": "direct", "version": "1"}
        # The capabilities of a Computer: servers offer more to a client that has them.
        capabilities: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
        await client.ask("initialize", protocolVersion=version, capabilities=capabilities, clientInfo=info)
        client.tell("notifications/initialized")
        yield client
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
