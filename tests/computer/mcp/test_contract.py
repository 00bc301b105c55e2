"""The contract between our MCP session and the inside of `mcp`."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import pytest
from mcp.client.session import ClientSession

from a2c_smcp.computer.mcp.session import Session
from tests.support.contracts import parameters, watch
from tests.support.hosting import hosting, raw

pytestmark = pytest.mark.anyio


def test_what_is_relied_on_is_there() -> None:
    assert parameters(ClientSession._absorb_tool_listing)[:2] == [("result", False), ("complete", False)]
    known = {name for name, _ in parameters(ClientSession.__init__)}
    assert {"dispatcher", "client_info"} <= known


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
