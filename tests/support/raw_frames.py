"""A member of an office whose frames a test writes by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.support.running import Running
from tests.support.waiting import PATIENCE


@asynccontextmanager
async def raw_member(server: Running, role: str = "computer", name: str = "raw") -> AsyncGenerator[ClientConnection]:
    """A WebSocket that has joined office `o` by hand."""
    url = server.url.replace("http", "ws") + "/socket.io/?EIO=4&transport=websocket"
    # Not compressed: what a test sends to fill the network is mostly the same letter.
    async with connect(url, max_size=None, compression=None, open_timeout=PATIENCE, close_timeout=0.2) as socket:
        assert (await socket.recv())[0] == "0"
        await socket.send("40/smcp,")
        assert str(await socket.recv()).startswith("40/smcp,")
        data = {"role": role, "name": name, "office_id": "o"}
        await socket.send("42/smcp,1" + json.dumps(["server:join_office", data]))
        assert await ack(socket, 1) == [True, None]
        yield socket


async def ack(socket: ClientConnection, number: int) -> Any:
    """The arguments of the next ack with this number."""
    head = f"43/smcp,{number}"
    async with asyncio.timeout(PATIENCE):
        while True:
            frame = str(await socket.recv())
            if frame.startswith(head + "["):
                return json.loads(frame[len(head) :])
