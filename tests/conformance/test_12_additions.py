"""PROTOCOL.md §12: what this project adds to the protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from a2c_smcp.server import CredentialAuthenticationProvider, CredentialSyncAuthenticationProvider, KeyFile
from a2c_smcp.server.credentials import hash_key, write_keys
from tests.support.peer import Crowd, crowd, request, tool_call
from tests.support.running import Kind, running

pytestmark = pytest.mark.anyio

# ------------------------------------------------------------------------------------------------------------- identity


async def test_a_request_in_another_name_is_forwarded_in_the_senders(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    for event, data in (
        ("client:tool_call", tool_call(agent="somebody else", further=[1])),
        ("client:get_tools", request(agent="pc")),
        ("client:of_the_future", request(agent="o")),
    ):
        assert await agent.ask(event, data) == {"echo": event, "data": {**data, "agent": "agent"}}
    assert all(data["agent"] == "agent" for _, data in computer.asked)


async def test_an_old_agent_that_sends_its_office_id_as_its_name_is_answered(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    assert (await agent.ask("client:get_tools", request(agent="o")))["data"]["agent"] == "agent"
    sessions = (await agent.ask("server:list_room", {"agent": "o", "req_id": "r", "office_id": "o"}))["sessions"]
    assert [session["name"] for session in sessions] == ["agent", "pc"]
    assert await agent.ask("server:tool_call_cancel", {"agent": "o", "req_id": "r9"}) is None
    assert await computer.hear("notify:tool_call_cancel") == {"agent": "agent", "req_id": "r9"}


async def test_an_update_in_another_name_is_one_of_the_sender(people: Crowd) -> None:
    agent, computer, other = await people.office("o", "pc", "other")
    await computer.hear("notify:enter_office")
    assert await computer.ask("server:update_desktop", {"computer": "other"}) is None
    for peer in (agent, other):
        assert await peer.hear("notify:update_desktop") == {"computer": "pc"}
    assert await computer.has_heard() == []


async def test_4104_only_tells_of_offices_that_the_sender_may_join(kind: Kind, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    entries = [
        {"id": "narrow", "hash": hash_key("narrow"), "offices": ["acme-1"]},
        {"id": "wide", "hash": hash_key("wide"), "offices": ["acme-*"]},
        {"id": "all", "hash": hash_key("all"), "offices": ["*"]},
    ]
    write_keys(keys, entries)
    provider = CredentialAuthenticationProvider if kind == "async" else CredentialSyncAuthenticationProvider
    with running(kind, provider(KeyFile(keys))) as server:
        async with crowd(server) as people:
            theirs = await people.member("computer", "their-pc", "globex", auth={"token": "all"})
            other = await people.member("computer", "other-pc", "acme-3", auth={"token": "all"})
            narrow = await people.member("agent", "a", "acme-1", auth={"token": "narrow"})
            wide = await people.member("agent", "a", "acme-2", auth={"token": "wide"})
            for agent, computer, code in (
                (narrow, "their-pc", 404),
                (narrow, "other-pc", 404),
                (wide, "their-pc", 404),
                (wide, "other-pc", 4104),
                (wide, "nobody", 404),
            ):
                assert (await agent.ask("client:get_tools", request(computer)))["error"]["code"] == code
            for agent, office, code in ((narrow, "acme-3", 404), (wide, "acme-3", 4104), (wide, "globex", 404)):
                ack = await agent.ask("server:list_room", {"agent": "a", "req_id": "r", "office_id": office})
                assert ack["error"]["code"] == code
                accepted, reason = await agent.ask("server:leave_office", {"office_id": office})
                assert (accepted, f"({code})" in reason) == (False, True)
            assert theirs.asked == other.asked == []
            assert await theirs.has_heard() == await other.has_heard() == []
