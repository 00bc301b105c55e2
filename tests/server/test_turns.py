"""The order of one client's requests."""

from __future__ import annotations

import asyncio

import pytest

from a2c_smcp.server.turns import Turns
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def test_a_turn_that_comes_before_anybody_awaits_it_is_not_lost() -> None:
    turns = Turns()
    assert turns.acquire() is None
    second, third = turns.acquire(), turns.acquire()
    turns.release()
    assert second is not None
    assert third is not None
    async with asyncio.timeout(PATIENCE):
        await second
        turns.release()
        await third
    turns.release()
    assert not turns.locked()
