"""Log messages that an MCP server writes during a call: who gets them, and how many."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.offer.progress import MAX_DATA, MOST_MESSAGES
from a2c_smcp.protocol.questions import LOG_LEVELS
from a2c_smcp.smcp import LogEntry
from tests.support.hosting import Watched, hosting, offering
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def log_of(
    computer: Watched, at: str = "info", *, agent: str = "ada", wanted: str | None = "debug", **arguments: Any
) -> list[LogEntry]:
    """What an Agent that wants messages of a level gets during a call that writes one at another."""
    heard: list[LogEntry] = []

    async def note(messages: list[LogEntry]) -> None:
        heard.extend(messages)

    caller = Caller("office", agent)
    await computer.aexecute_tool(
        f"r-{agent}", "log", {"level": at, **arguments}, PATIENCE, caller=caller, send_log=note, log_level=wanted
    )
    return heard


@pytest.mark.parametrize(("owner", "caller"), [("info", "warning"), ("warning", "info"), ("warning", "warning")])
async def test_a_caller_gets_messages_from_its_level_and_that_of_the_owner_on(owner: str, caller: str) -> None:
    async with hosting(offering(log_level=owner)) as computer:
        heard = [entry for level in LOG_LEVELS for entry in await log_of(computer, level, wanted=caller, data=[1])]
    expected = LOG_LEVELS[LOG_LEVELS.index("warning") :]
    assert heard == [{"level": level, "data": [1], "logger": "core"} for level in expected]


async def test_a_caller_that_names_no_level_or_an_unknown_one_gets_nothing() -> None:
    async with hosting(offering(log_level="debug")) as computer:
        for level in (None, "loud"):
            assert await log_of(computer, "emergency", wanted=level, data="x") == []


async def test_a_message_has_no_secrets_and_is_not_endless() -> None:
    secret = "hunter2-s3cr3t"
    async with hosting(offering(log_level="debug", env={"API_TOKEN": secret})) as computer:
        [entry] = await log_of(computer, data={"key": [secret], "n": 1})
        assert entry["data"]["n"] == 1
        assert secret not in str(entry)
        [entry] = await log_of(computer, data="x" * 100_000)
        assert len(entry["data"]) == MAX_DATA


async def test_of_a_flood_the_rest_is_counted() -> None:
    async with hosting(offering(log_level="debug")) as computer:
        heard = await log_of(computer, data="x", times=5_000)
    assert len(heard) <= 20 * (MOST_MESSAGES + 1)
    assert any("more messages are left out" in str(entry["data"]) for entry in heard)


async def test_nobody_gets_a_message_of_another_user_and_one_user_gets_all() -> None:
    async with hosting(offering(log_level="debug")) as computer:
        for _ in range(5):
            ada, bob = await asyncio.gather(
                *(log_of(computer, agent=agent, data=f"for {agent}") for agent in ("ada", "bob"))
            )
            assert {entry["data"] for entry in ada} <= {"for ada"}
            assert {entry["data"] for entry in bob} <= {"for bob"}
