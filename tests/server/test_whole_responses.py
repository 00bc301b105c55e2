"""The head of a response is written together with what follows it at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from a2c_smcp.server.whole_responses import WholeResponse

pytestmark = pytest.mark.anyio


class Recorder(asyncio.Transport):
    """A transport that keeps what each call writes."""

    def __init__(self) -> None:
        super().__init__()
        self.packets: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.packets.append(bytes(data))

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.packets.append(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
async def pair() -> tuple[WholeResponse, Recorder]:
    transport = Recorder()
    return WholeResponse(transport, asyncio.get_running_loop()), transport


async def test_head_and_body_are_one_packet(pair: tuple[WholeResponse, Recorder]) -> None:
    response, transport = pair
    response.write(b"head ")
    assert not transport.packets
    response.write(b"body")
    assert transport.packets == [b"head body"]
    await asyncio.sleep(0)
    response.write(b"more")
    assert transport.packets == [b"head body", b"more"]


async def test_a_head_does_not_wait_for_a_body_that_comes_later(pair: tuple[WholeResponse, Recorder]) -> None:
    response, transport = pair
    response.write(b"head")
    await asyncio.sleep(0)
    assert transport.packets == [b"head"]
    response.write(b"an event")
    assert transport.packets == [b"head", b"an event"]


async def test_a_connection_is_closed_after_the_head(pair: tuple[WholeResponse, Recorder]) -> None:
    response, transport = pair
    response.write(b"head")
    response.close()
    assert transport.packets == [b"head"]
    assert response.is_closing()


async def test_nothing_is_written_to_a_connection_that_was_lost(pair: tuple[WholeResponse, Recorder]) -> None:
    response, transport = pair
    response.write(b"head")
    transport.close()
    await asyncio.sleep(0)
    assert not transport.packets
