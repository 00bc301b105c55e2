"""Offices and profiles in use: how many there may be, and what one user leaves to the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.test_http import keys
from tests.support.gateway import NEW, Answers, Hall, gateway_of, hall, read_messages
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

OWN = ["look_at_desktop", "find_documents", "read_document"]


async def listed(place: Hall, url: str, key: str = "") -> list[str]:
    async with place.raw(NEW, url, **{"x-api-key": key}) as host:
        return [tool["name"] for tool in (await host.ask("tools/list"))["tools"]]


async def test_a_user_of_many_offices_keeps_others_out_of_none() -> None:
    async with hall(views=3) as place:
        await place.fake(Answers(smcp_tool("echo")), office="last")
        for number in range(10):
            assert await listed(place, place.url(f"office-{number}")) == OWN
        assert await listed(place, place.url("last")) == [*OWN, "echo"]


async def test_options_of_a_user_leave_room_for_those_of_others(tmp_path: Path) -> None:
    listening = {"notifications": {"toolsListChanged": True}}
    auth = keys(tmp_path, {"eve": ["*"], "ann": ["office"]})
    async with (
        hall(auth, views_of_a_principal=2, profiles={"readers": {"read_only": True}}) as place,
        AsyncExitStack() as stack,
    ):
        streams: list[AsyncIterator[Any]] = []  # one that is forgotten closes its connection
        for number in range(2):
            url = place.url(tools=f"x{number}")
            host = await stack.enter_async_context(place.raw(NEW, url, **{"x-api-key": "eve"}))
            stream = await stack.enter_async_context(host.open("subscriptions/listen", listening, 1))
            streams.append(read_messages(stream))
            async with asyncio.timeout(PATIENCE):
                await anext(streams[-1])
        async with place.raw(NEW, place.url("other", tools="x2"), **{"x-api-key": "eve"}) as host:
            refused = await host.http.post(host.url, json={}, headers=host.headers("tools/list"))
            assert refused.status_code == 429
        for url in (place.url(), place.url(mode="merged"), place.url("office", "readers")):
            assert await listed(place, url, "eve") == OWN, "these are nobody's own"
        assert await listed(place, place.url(tools="x2"), "ann") == OWN


async def test_names_are_kept_for_so_many_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("a2c_smcp.gateway.views.MOST_BOOKS", 3)
    async with hall(views_of_a_principal=1) as place:
        await place.fake(Answers(smcp_tool("echo")))
        for number in range(3):
            async with place.raw(NEW, place.url(exclude_tools=f"x{number}")) as host:
                await host.ask("server/discover")
        views = gateway_of(place).views
        assert len(views._names) == 0, "nothing was named there"
        for number in range(6):
            assert await listed(place, place.url(exclude_tools=f"x{number}")) == [*OWN, "echo"]
        assert len(views._names) == 3
