"""What a Computer whose documents change all the time costs an Agent that keeps them: fetches, and none in vain."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from typing import Any

from a2c_smcp import smcp
from a2c_smcp.agent import AsyncSMCPAgentClient, SMCPAgentClient
from benchmarks.agents import Form
from benchmarks.computers import NAME, OFFICE, enter, plain_client
from benchmarks.servers import HOST, running
from benchmarks.support import Row

FORMS: tuple[Form, ...] = ("async", "sync")
NOTICES = 1_000
SECONDS = 1.0
TARGET = 20.0
"""Fetches."""

_PATIENCE = 10.0
_LOOK = 0.01
_SETTLE = 0.5
"""Seconds of silence after which nothing more is fetched."""
_LATE = 1.5
"""A storm that takes so many times as long is none."""


class ChangingComputer:
    """Has one document more with every notice, and counts who asks for them."""

    def __init__(self) -> None:
        self.version = 0
        self.fetches = 0
        self._client = plain_client("lean")
        self._client.on(smcp.GET_TOOLS_EVENT, self._list_tools, namespace=smcp.SMCP_NAMESPACE)
        self._client.on(smcp.GET_FINDER_EVENT, self._find, namespace=smcp.SMCP_NAMESPACE)

    @contextlib.asynccontextmanager
    async def on(self, port: int) -> AsyncGenerator[None]:
        """In the office, for as long as the block runs."""
        await enter(self._client, port, "computer", NAME)
        try:
            yield
        finally:
            await self._client.disconnect()

    async def storm(self) -> float:
        """Change a thousand times in about a second; how many seconds it was."""
        began = time.perf_counter()
        for number in range(NOTICES):
            early = began + number * SECONDS / NOTICES - time.perf_counter()
            if early > 0:
                await asyncio.sleep(early)
            self.version += 1
            await self._client.emit(smcp.UPDATE_FINDER_EVENT, {"computer": NAME}, namespace=smcp.SMCP_NAMESPACE)
        return time.perf_counter() - began

    async def _list_tools(self, data: dict[str, Any]) -> smcp.GetToolsRet:
        return {"tools": [], "req_id": data["req_id"]}

    async def _find(self, data: dict[str, Any]) -> smcp.GetFinderRet:
        self.fetches += 1
        return {"documents": [], "total_count": self.version, "req_id": data["req_id"]}


class Handler:
    """Wants to hear of documents; notes how many there are."""

    def __init__(self) -> None:
        self.total: int | None = None

    def on_finder_updated(self, computer: str, finder: smcp.GetFinderRet, client: Any) -> None:
        self.total = finder["total_count"]


async def measure(starts: int) -> list[Row]:
    """Both forms of the Agent; the worst of some storms."""
    return [_row(form, max([await _fetches(form) for _ in range(starts)])) for form in FORMS]


async def _fetches(form: Form) -> int:
    """How often the Agent asked, from the first notice until it is current and silent."""
    computer, handler = ChangingComputer(), Handler()
    with running("ours") as server:
        async with computer.on(server.port), _keeping(form, server.port, handler):
            before = computer.fetches
            took = await computer.storm()
            if took > _LATE * SECONDS:
                raise RuntimeError(f"the storm took {took:.1f} s: this machine is too busy")
            async with asyncio.timeout(_PATIENCE):
                while handler.total != computer.version:  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK)
            await asyncio.sleep(_SETTLE)
    return computer.fetches - before


@contextlib.asynccontextmanager
async def _keeping(form: Form, port: int, handler: Handler) -> AsyncGenerator[None]:
    """An Agent in the office that knows what is there."""
    url = f"http://{HOST}:{port}"
    if form == "async":
        async with AsyncSMCPAgentClient.in_office(url, OFFICE, "agent", event_handler=handler):
            yield
        return
    presence = SMCPAgentClient.in_office(url, OFFICE, "agent", event_handler=handler)
    await asyncio.to_thread(presence.__enter__)
    try:
        yield
    finally:
        await asyncio.to_thread(presence.__exit__, None, None, None)


def _row(form: Form, fetches: int) -> Row:
    what = f"storm of {NOTICES:,} update_finder in {SECONDS:g} s, {form} (ratio: fetches)"
    return Row(what, "-", f"{fetches} fetches", fetches, TARGET)
