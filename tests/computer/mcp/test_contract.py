"""The contract between our MCP session and the inside of `mcp`."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from contextvars import Context, ContextVar
from typing import Any

import anyio
import pytest
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from a2c_smcp.computer.mcp.session import Session
from tests.support.contracts import parameters, watch
from tests.support.hosting import hosting, raw
from tests.support.mcp_servers import http_server
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


def test_what_is_relied_on_is_there() -> None:
    assert parameters(ClientSession._absorb_tool_listing)[:2] == [("result", False), ("complete", False)]
    known = {name for name, _ in parameters(ClientSession.__init__)}
    assert {"dispatcher", "client_info"} <= known
    assert [name for name, _ in parameters(ClientSession._on_request)] == ["dctx", "method", "params"]


async def test_a_listing_is_taken_over_and_a_request_is_stamped(monkeypatch: pytest.MonkeyPatch) -> None:
    called: set[str] = set()
    watch(monkeypatch, ClientSession, {"_absorb_tool_listing"}, called)
    stamps: list[Any] = []
    ask = Session._ask

    async def stamped(self: Session, *args: Any, **options: Any) -> Any:
        stamps.append(self._stamp)
        return await ask(self, *args, **options)

    monkeypatch.setattr(Session, "_ask", stamped)
    async with hosting(raw()) as computer:
        assert await computer.aget_available_tools()
    assert called == {"ClientSession._absorb_tool_listing"}
    assert stamps
    data: dict[str, Any] = {"method": "tools/list", "params": {}}
    options: Any = {}
    stamps[-1](data, options)
    assert options["headers"]["mcp-protocol-version"]


async def test_what_arrives_over_http_has_the_context_of_its_request() -> None:
    number: ContextVar[int] = ContextVar("number")
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    with http_server("mcp 1.x", "streamable") as server:
        async with streamable_http_client(server.url) as (read, write):
            for each in (7, 8):
                number.set(each)
                message = {"jsonrpc": "2.0", "id": each, "method": "initialize", "params": params}
                await write.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
            number.set(9)
            with anyio.fail_after(PATIENCE):
                for _ in range(2):
                    answer = await read.receive()
                    assert isinstance(answer, SessionMessage)
                    context: Context = getattr(read, "last_context")  # noqa: B009
                    assert context[number] == answer.message.model_dump()["id"]
