"""MCP over HTTP: the plain server that is the floor, in its own process (`python -m benchmarks.mcp_http`), and hosts.

The floor is the low-level server of the `mcp` library on uvicorn, with one tool that echoes.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from typing import Any, Literal, TypeAlias

import httpx2
import mcp_types as types
import uvicorn
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel.server import Server

from benchmarks.mcp_servers import arguments
from benchmarks.servers import HOST, ServerProcess

Era: TypeAlias = Literal["2025-11-25", "2026-07-28"]
OLD: Era = "2025-11-25"
NEW: Era = "2026-07-28"
ERAS: tuple[Era, ...] = (OLD, NEW)
_MODES = {OLD: "legacy", NEW: "auto"}
_META = "io.modelcontextprotocol/"
_PATIENCE = 60.0
TOOL = f"{arguments(1)[0][2]}echo"
"""The tool that the MCP server of `arguments(1)` has, too."""


def serve() -> None:
    """Serve on a free port, and print it."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    tool = types.Tool(name=TOOL, description="Echo a text.", input_schema=schema)

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text=(params.arguments or {})["text"])])

    app = Server("floor", on_list_tools=list_tools, on_call_tool=call_tool).streamable_http_app()
    with socket.create_server((HOST, 0), backlog=2048) as listener:
        print(listener.getsockname()[1], flush=True)
        config = uvicorn.Config(app, loop="uvloop", http="httptools", log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listener])


@contextlib.contextmanager
def serving() -> Generator[ServerProcess]:
    """Start the floor, and end it."""
    command = [sys.executable, "-m", "benchmarks.mcp_http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            if not port:
                raise RuntimeError("the plain MCP server did not start")
            yield ServerProcess("floor", int(port), process.pid)
        finally:
            process.kill()


@contextlib.asynccontextmanager
async def client_of(url: str, era: Era) -> AsyncGenerator[Client]:
    """The client of the `mcp` library, as a host would use it; it keeps no results."""
    async with (
        httpx2.AsyncClient(timeout=_PATIENCE) as http,
        Client(streamable_http_client(url, http_client=http), mode=_MODES[era], cache=None) as client,
    ):
        yield client


class RawHost:
    """A host that does not parse what it does not need: what is measured is the Server."""

    def __init__(self, http: httpx2.AsyncClient, url: str, era: Era) -> None:
        self._http = http
        self._url = url
        self._era: Era = era
        self._session: dict[str, str] = {}
        self._numbers = itertools.count(1)

    @classmethod
    @contextlib.asynccontextmanager
    async def of(cls, url: str, era: Era) -> AsyncGenerator[RawHost]:
        async with httpx2.AsyncClient(timeout=_PATIENCE) as http:
            host = cls(http, url, era)
            if era == OLD:
                await host._initialize()
            yield host

    async def _initialize(self) -> None:
        info = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
        answer = await self._post("initialize", info, next(self._numbers))
        self._session = {"mcp-session-id": answer.headers["mcp-session-id"]}
        await self._post("notifications/initialized", {}, None)

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> str:
        """The body of the response."""
        answer = await self._post(method, params or {}, next(self._numbers))
        if answer.status_code != 200:
            raise RuntimeError(f"{method}: HTTP {answer.status_code}: {answer.text[:300]}")
        return answer.text

    async def result(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """The result, parsed."""
        text = await self.ask(method, params)
        if not text.startswith("{"):
            [text] = [line[6:] for line in text.splitlines() if line.startswith("data: {")]
        return json.loads(text)["result"]

    async def _post(self, method: str, params: Mapping[str, Any], number: int | None) -> httpx2.Response:
        headers = {"accept": "application/json, text/event-stream", **self._session}
        if method != "initialize":
            headers["mcp-protocol-version"] = self._era
        if self._era == NEW:
            params = {**params, "_meta": {f"{_META}protocolVersion": NEW, f"{_META}clientCapabilities": {}}}
            headers |= {"mcp-method": method, **({"mcp-name": params["name"]} if "name" in params else {})}
        body = {"jsonrpc": "2.0", "method": method, "params": params, **({} if number is None else {"id": number})}
        return await self._http.post(self._url, json=body, headers=headers)


if __name__ == "__main__":
    serve()
