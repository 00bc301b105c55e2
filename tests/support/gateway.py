"""MCP hosts that use an office through the gateway of a real Server, and Computers in the office."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote, urlencode

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.smcp import SMCPTool
from tests.support.hosting import Watched, hosting
from tests.support.peer import Crowd, Peer, crowd
from tests.support.running import Running, running
from tests.support.waiting import PATIENCE

OLDEST, OLD, NEW = "2025-06-18", "2025-11-25", "2026-07-28"
VERSIONS = (OLDEST, OLD, NEW)
KEY = "io.modelcontextprotocol/"
TRUST = ssl.create_default_context()
"""Of all clients: to make one takes a tenth of a second, in which the event loop stands still."""


_NOTHING: dict[str, Any] = {
    "resources": [], "prompts": [], "templates": [], "desktops": [], "documents": [], "total_count": 0,
}  # fmt: skip


class Answers:
    """The answers of a Computer that hosts no MCP servers."""

    def __init__(self, *tools: SMCPTool) -> None:
        self.tools = list(tools)
        self.results: dict[str, Any] = {}
        """By the name of a tool; a function is called with the request."""
        self.further: dict[str, Any] = {}
        """By event."""

    def __call__(self, event: str, data: Any) -> Any:
        if event == "client:tool_call":
            given = self.results.get(data["tool_name"], {"content": [{"type": "text", "text": "done"}]})
        else:
            given = self.further.get(event, {"tools": self.tools} if event == "client:get_tools" else _NOTHING)
        answer: Any = given(data) if callable(given) else given
        if isinstance(answer, dict) and "error" not in answer:
            return {**cast("dict[str, Any]", answer), "req_id": data["req_id"]}
        return cast("Any", answer)


@dataclass
class Hall:
    """A Server with its gateway, and what is connected to it."""

    server: Running
    people: Crowd
    _stack: AsyncExitStack = field(repr=False)

    def url(self, office: str = "office", profile: str | None = None, **query: Any) -> str:
        """Where the gateway serves an office."""
        path = "/".join(quote(part, safe="") for part in (office, profile) if part)
        return f"{self.server.url}/mcp/{path}{'?' + urlencode(query, doseq=True) if query else ''}"

    async def computer(
        self, *servers: MCPServerConfig, name: str = "pc", office: str = "office", key: str | None = None
    ) -> Watched:
        """A Computer with MCP servers. It stays until the end."""
        computer = await self._stack.enter_async_context(hosting(*servers))
        computer.name = name
        await self._stack.enter_async_context(
            SMCPComputerClient.in_office(computer, self.server.url, office, api_key=key)
        )
        return computer

    async def fake(self, answers: Answers, name: str = "pc", office: str = "office", **options: Any) -> Peer:
        """A Computer without MCP servers. It stays until the end, or until it disconnects."""
        peer = await self.people.newcomer(**options)
        peer.answer = answers
        assert (await peer.join("computer", name, office))[0] is True
        return peer

    @asynccontextmanager
    async def host(
        self, mode: str, url: str | None = None, *, key: str | None = None, **options: Any
    ) -> AsyncGenerator[Client]:
        """A host with the client of the `mcp` library: `legacy`, or `auto` for 2026-07-28."""
        headers = {"x-api-key": key} if key is not None else {}
        options.setdefault("cache", None)
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE, verify=TRUST) as http,
            Client(
                streamable_http_client(url or self.url(), http_client=http, max_sse_event_size=None),
                mode=mode,
                **options,
            ) as client,
        ):
            yield client

    @asynccontextmanager
    async def raw(self, version: str, url: str | None = None, **headers: str) -> AsyncGenerator[RawHost]:
        """A host without a library, of one version of MCP."""
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE, verify=TRUST) as http:
            host = RawHost(http, url or self.url(), version)
            if version != NEW:
                await host.initialize()
            yield host


class RawHost:
    """Sends JSON-RPC messages over HTTP."""

    def __init__(self, http: httpx2.AsyncClient, url: str, version: str) -> None:
        self.http = http
        self.url = url
        self.version = version
        self.capabilities: dict[str, Any] = {}
        self.session: str | None = None
        self._number = 0

    async def initialize(self) -> dict[str, Any]:
        """Open a session."""
        info = {"clientInfo": {"name": "raw", "version": "1"}, "capabilities": self.capabilities}
        answer = await self.ask("initialize", {"protocolVersion": self.version, **info})
        await self.tell("notifications/initialized")
        return answer

    async def ask(self, method: str, params: Mapping[str, Any] | None = None, /) -> dict[str, Any]:
        """The result or the error of a request."""
        *_, answer = [message async for message in self.messages(method, params)]
        return answer["result"] if "result" in answer else {"error": answer["error"]}

    async def messages(self, method: str, params: Mapping[str, Any] | None = None) -> AsyncGenerator[dict[str, Any]]:
        """All messages until the response to a request."""
        self._number += 1
        async with self.open(method, params, self._number) as response:
            async for message in read_messages(response):
                yield message

    @asynccontextmanager
    async def open(
        self, method: str, params: Mapping[str, Any] | None = None, number: int | None = None
    ) -> AsyncGenerator[httpx2.Response]:
        """The response to a request, which ends with the block."""
        body = self._body(method, params, number)
        async with self.http.stream("POST", self.url, json=body, headers=self.headers(method, params)) as response:
            if "mcp-session-id" in response.headers:
                self.session = response.headers["mcp-session-id"]
            yield response

    async def body(self, method: str, params: Mapping[str, Any] | None = None, number: int | None = None) -> bytes:
        """The whole response to a request, of which the head arrives with the first message."""
        async with self.open(method, params, number) as response:
            return await response.aread()

    async def tell(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a notification; the status."""
        body = self._body(method, params, None)
        return (await self.http.post(self.url, json=body, headers=self.headers(method, params))).status_code

    def _body(self, method: str, params: Mapping[str, Any] | None, number: int | None) -> dict[str, Any]:
        given = dict(params or {})
        if self.version == NEW:
            meta = {f"{KEY}protocolVersion": NEW, f"{KEY}clientCapabilities": self.capabilities}
            given["_meta"] = {**meta, **given.get("_meta", {})}
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": given}
        return body if number is None else {**body, "id": number}

    def headers(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, str]:
        """The headers of a request."""
        headers = {"accept": "application/json, text/event-stream"}
        if self.session is not None:
            headers["mcp-session-id"] = self.session
        if method != "initialize":
            headers["mcp-protocol-version"] = self.version
        if self.version == NEW:
            headers["mcp-method"] = method
            name = (params or {}).get("name") or (params or {}).get("uri")
            if name is not None and method in ("tools/call", "prompts/get", "resources/read"):
                headers["mcp-name"] = str(name)
        return headers


async def read_messages(response: httpx2.Response) -> AsyncGenerator[dict[str, Any]]:
    """The JSON-RPC messages in a response, which is JSON or a stream of events."""
    if not response.headers["content-type"].startswith("text/event-stream"):
        yield json.loads(await response.aread())
        return
    async for line in response.aiter_lines():
        if line.startswith("data: ") and line != "data: ":
            yield json.loads(line[6:])


@asynccontextmanager
async def hall(auth_provider: Any = None, **options: Any) -> AsyncGenerator[Hall]:
    """A Server with its gateway; `options` are settings of the gateway."""
    server_options = {name: options.pop(name) for name in ("limits", "grace", "metrics") if name in options}
    with running("async", auth_provider, mcp_options=options, **server_options) as server:
        async with crowd(server) as people, AsyncExitStack() as stack:
            yield Hall(server, people, stack)


def texts(result: Any) -> str:
    """The text of a result of the library's client."""
    return "".join(part.text for part in result.content if part.type == "text")


def gateway_of(hall: Hall) -> Any:
    """The gateway inside the Server, which runs in another thread."""
    app: Any = hall.server.app
    mount, *_ = app._mounts
    return mount._app
