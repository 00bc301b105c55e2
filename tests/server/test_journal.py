"""The Server's log: who joins and leaves, what is rejected, every request at DEBUG; the same in both forms."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server import CredentialAuthenticationProvider, CredentialSyncAuthenticationProvider, KeyFile
from a2c_smcp.server.key_file import hash_key, write_keys
from a2c_smcp.utils.logger import HumanFormatter, JsonFormatter
from tests.support.peer import crowd, request, tool_call
from tests.support.running import Kind, Running, running
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio


def entries(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """What `--log-format json` writes."""
    ours = [record for record in caplog.records if record.name == "a2c_smcp.server.journal"]
    return [json.loads(JsonFormatter().format(record)) for record in ours]


def lines(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(HumanFormatter().format(record) for record in caplog.records)


async def test_joins_leaves_and_rejections_say_who(kind: Kind, caplog: pytest.LogCaptureFixture, tmp_path: Any) -> None:
    caplog.set_level(logging.INFO)
    write_keys(tmp_path / "keys.toml", [{"id": "lab-key", "hash": hash_key("secret-1"), "offices": ["lab", "attic"]}])
    provider = CredentialAuthenticationProvider if kind == "async" else CredentialSyncAuthenticationProvider
    credentials = {"headers": {"x-api-key": "secret-1", "X-Forwarded-For": "203.0.113.7"}}
    who = {"key": "lab-key", "address": "203.0.113.7"}
    with running(kind, provider(KeyFile(tmp_path / "keys.toml"))) as server:
        async with crowd(server) as people:
            computer = await people.member("computer", "pc", "lab", **credentials)
            await computer.join("computer", "pc", "lab")  # already there: nothing to tell
            await computer.join("computer", "pc", "attic")
            await computer.join("computer", "pc", "bank")
            await computer.ask("server:leave_office", {"office_id": "attic"})
            await computer.join("computer", "pc", "lab")
            await people.refused(headers={"x-api-key": "guess-1", "X-Forwarded-For": "203.0.113.8"})
    facts = [
        {key: entry[key] for key in ("event", "office", "code", "level") if key in entry} for entry in entries(caplog)
    ]
    assert facts == [
        {"event": "joined", "office": "lab", "level": "info"},
        {"event": "left", "office": "lab", "level": "info"},
        {"event": "joined", "office": "attic", "level": "info"},
        {"event": "server:join_office", "office": "bank", "code": 403, "level": "warning"},
        {"event": "left", "office": "attic", "level": "info"},
        {"event": "joined", "office": "lab", "level": "info"},
        {"code": 401, "level": "warning"},
        {"event": "left", "office": "lab", "level": "info"},
    ]
    *moves, rejected, _ = entries(caplog)
    assert all(who.items() <= entry.items() for entry in moves)
    assert all(entry["member"] == "pc" and entry["role"] == "computer" for entry in moves)
    assert rejected["address"] == "203.0.113.8"
    assert "Computer 'pc' joined office 'lab' (203.0.113.7, key 'lab-key')" in lines(caplog)
    assert "secret-1" not in lines(caplog)
    assert "guess-1" not in lines(caplog)


async def test_a_relayed_call_is_one_line_at_debug(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "a2c_smcp.server.journal")
    cancelled: dict[str, Any] = {"content": [], "isError": True, "meta": {"a2c_cancelled": True}}
    answers: dict[str, Any] = {"echo": {"content": []}, "stop": cancelled}
    with running(kind, limits=Limits(default_timeout=0, timeout_grace=0.05)) as server:
        async with crowd(server) as people:
            agent, computer = await people.office()
            forever = asyncio.Event()
            computer.answer = lambda event, data: answers.get(data.get("tool_name")) or forever.wait()
            await agent.ask("client:tool_call", tool_call(req_id="fine"))
            await agent.ask("client:tool_call", tool_call(req_id="wrong", computer="nobody"))
            await agent.ask("client:tool_call", tool_call(req_id="given up", tool_name="stop"))
            await agent.ask("client:get_tools", request(req_id="slow"))
            await agent.tell("client:tool_call", tool_call(req_id="lost", tool_name="hang"))
            while (await computer.be_asked("client:tool_call"))["req_id"] != "lost":
                pass
            await agent.disconnect()
            while (await computer.hear("notify:tool_call_cancel"))["req_id"] != "lost":  # "slow" is cancelled too
                pass
            forever.set()
    calls = {entry["req_id"]: entry for entry in entries(caplog) if entry.get("event", "").startswith("client:")}
    assert {req_id: (each["computer"], each.get("tool"), each["outcome"]) for req_id, each in calls.items()} == {
        "fine": ("pc", "echo", "ok"),
        "wrong": ("nobody", "echo", "404"),
        "given up": ("pc", "stop", "cancelled"),
        "slow": ("pc", None, "timeout"),
        "lost": ("pc", "hang", "cancelled"),
    }
    assert all(entry["ms"] >= 0 for entry in calls.values())
    assert calls["fine"]["member"] == "agent"
    assert calls["fine"]["office"] == "office"
    assert calls["slow"]["code"] == 408


async def test_calls_that_succeed_are_not_logged_at_info(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with crowd(server) as people:
        agent, _ = await people.office()
        await eventually(lambda: len(entries(caplog)) == 2)  # a thread of the Server may log after it has answered
        await agent.ask("client:tool_call", tool_call())
        await agent.has_heard()
        await eventually(lambda: len(entries(caplog)) == 3)
        logged = [entry["event"] for entry in entries(caplog)]
        assert logged == ["joined", "joined", "server:nothing-of-the-kind"], "which is rejected"


@pytest.mark.parametrize("options", [{"limits": Limits(requests_per_second=1, request_burst=100)}])
async def test_rejections_of_one_connection_do_not_flood_the_log(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with crowd(server) as people:
        agent, _ = await people.office()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(agent.ask("client:tool_call", {}) for _ in range(300)))
    codes = [entry["code"] for entry in entries(caplog) if "code" in entry]
    assert 1 <= codes.count(429) < 30
    assert 1 <= codes.count(400) < 90
