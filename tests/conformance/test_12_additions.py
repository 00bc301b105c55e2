"""PROTOCOL.md §12: what this project adds to the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from a2c_smcp import __version__
from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.server import CredentialAuthenticationProvider, CredentialSyncAuthenticationProvider, KeyFile, Limits
from a2c_smcp.server.key_file import hash_key, write_keys
from a2c_smcp.utils.tool_meta import mcp_tool
from tests.support.hosting import asking, hosting, offering, raw, shelves
from tests.support.mcp_servers import received
from tests.support.offices import office
from tests.support.peer import Crowd, crowd, request, tool_call
from tests.support.running import Kind, Running, running
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio

# ------------------------------------------------------------------------------------------------------------ handshake

FEATURES = [
    "server:tool_call_log",
    "server:tool_call_progress",
    "server:update_prompts",
    "server:update_resource",
    "server:update_resources",
    "server:update_skills",
]


async def test_a_client_that_names_its_version_learns_what_the_server_accepts_and_relays(
    server: Running, transport: str
) -> None:
    async with crowd(server, transport) as people:
        ours, plain = await people.newcomer(query="office=o&a2c_stack=9.9"), await people.newcomer()
        limits = {"max_message_bytes": 10_000_000, "max_tool_timeout": 3600}
        about = {"a2c_stack": __version__, **limits, "features": FEATURES}
        assert await plain.join("computer", "plain", "o") == (True, None)
        for _ in range(2):
            assert await ours.join("computer", "ours", "o") == (True, None, about)
        accepted, reason = await ours.join("computer", "plain", "o")
        assert (accepted, "(403)" in reason) == (False, True)
        assert await ours.ask("server:leave_office", {"office_id": "o"}) == (True, None)


@pytest.mark.parametrize("query", ["a2c_stack=", "a2c_stack=%00", f"a2c_stack={'9' * 65}", "x=a2c_stack", "&" * 200])
async def test_an_invalid_version_is_none(people: Crowd, query: str) -> None:
    peer = await people.newcomer(query=query)
    assert await peer.join("computer", "pc", "o") == (True, None)


async def test_a_computer_keeps_the_limit_of_its_server(kind: Kind) -> None:
    with running(kind, limits=Limits(message_bytes=100_000)) as server:
        async with hosting(raw()) as computer, crowd(server) as people:
            agent = await people.member("agent", "agent", "o")
            async with SMCPComputerClient.in_office(computer, server.url, "o") as client:
                assert client.server_info.max_message_bytes == 100_000
                await agent.hear("notify:enter_office")
                call = tool_call(tool_name="big", params={"bytes": 1_000_000})
                answer = await agent.ask("client:tool_call", call)
                assert answer["error"]["code"] == 413
                assert "at most 100000" in answer["error"]["message"], "the Computer says so, not the Server"
                assert (await agent.ask("client:tool_call", tool_call()))["isError"] is False


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


async def test_progress_reaches_the_agent_of_the_office_only(people: Crowd) -> None:
    agent, computer, other = await people.office("o", "pc", "other")
    stranger, *_ = await people.office("p", "pc")
    report = {"computer": "other", "req_id": "r1", "progress": 1, "total": 2.5, "message": "half"}
    assert await computer.ask("server:tool_call_progress", {**report, "other": [1]}) is None
    assert await agent.hear("notify:tool_call_progress") == {**report, "computer": "pc"}
    for peer in (computer, other, stranger):
        assert "notify:tool_call_progress" not in [event for event, _ in await peer.has_heard()]


async def test_progress_is_checked_and_needs_no_agent(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    for wrong in ({"req_id": "r1"}, {"req_id": "r1", "progress": "1"}, {"progress": 1}, {"req_id": "", "progress": 1}):
        assert (await computer.ask("server:tool_call_progress", {"computer": "pc", **wrong}))["error"]["code"] == 400
    report = {"computer": "pc", "req_id": "r1", "progress": 1}
    assert (await agent.ask("server:tool_call_progress", report))["error"]["code"] == 403
    await agent.disconnect()
    await computer.hear("notify:leave_office")
    assert await computer.ask("server:tool_call_progress", report) is None


async def test_log_messages_of_a_call_reach_the_agent_of_the_office_only(people: Crowd) -> None:
    agent, computer, other = await people.office("o", "pc", "other")
    messages = [{"level": "info", "data": {"n": 1}, "logger": "core"}, {"level": "error", "data": None}]
    parcel = {"computer": "other", "req_id": "r1", "messages": messages}
    assert await computer.ask("server:tool_call_log", {**parcel, "other": [1]}) is None
    assert await agent.hear("notify:tool_call_log") == {**parcel, "computer": "pc"}
    assert "notify:tool_call_log" not in [event for event, _ in await other.has_heard()]
    for wrong in ({"messages": "x"}, {"messages": [{"level": 1, "data": 1}]}, {"messages": [{"level": "info"}]}, {}):
        answer = await computer.ask("server:tool_call_log", {"computer": "pc", "req_id": "r1", **wrong})
        assert answer["error"]["code"] == 400
    assert (await agent.ask("server:tool_call_log", parcel))["error"]["code"] == 403


async def test_4104_only_tells_of_offices_that_the_sender_may_join(
    kind: Kind, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keys = tmp_path / "keys.toml"
    entries = [
        {"id": "narrow", "hash": hash_key("narrow"), "offices": ["acme-1"]},
        {"id": "wide", "hash": hash_key("wide"), "offices": ["acme-*"]},
        {"id": "all", "hash": hash_key("all"), "offices": ["*"]},
    ]
    write_keys(keys, entries)
    provider = CredentialAuthenticationProvider if kind != "sync" else CredentialSyncAuthenticationProvider
    caplog.set_level("INFO")
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
                caplog.clear()
                ack = await agent.ask("client:tool_call", tool_call(computer))
                assert ack["error"]["code"] == ack["meta"]["error_code"] == code
                assert (ack["structuredContent"]["error_type"] == "NotFoundError") == (code == 404)
                [record] = [record for record in caplog.records if vars(record).get("code") == code]
                assert (record.levelname == "WARNING") == (computer != "nobody"), "an attempt to reach another office"
            for agent, office, code in ((narrow, "acme-3", 404), (wide, "acme-3", 4104), (wide, "globex", 404)):
                ack = await agent.ask("server:list_room", {"agent": "a", "req_id": "r", "office_id": office})
                assert ack["error"]["code"] == code
                accepted, reason = await agent.ask("server:leave_office", {"office_id": office})
                assert (accepted, f"({code})" in reason) == (False, True)
            assert theirs.asked == other.asked == []
            assert await theirs.has_heard() == await other.has_heard() == []


# ------------------------------------------------------------------------------------------------------------- metadata


@pytest.mark.parametrize("is_error", [False, True])
async def test_what_only_a_computer_may_say_of_a_result_is_taken_out_of_that_of_a_server(is_error: bool) -> None:
    kept = {"vendor": {"x": [1]}, "a2c_finder": True, "a2c_digest": "theirs", "io.modelcontextprotocol/x": None}
    forged = {
        "a2c_input_required": {},
        "a2c_rejected_questions": ["x"],
        "a2c_vrl_transformed": "{}",
        "a2c_cancelled": True,
        "a2c_cancel_reason": "x",
        "a2c_timeout": True,
        "timeout": True,
        "error_code": 4006,
        "mcp_server": "bank",
        "auth_hint": {"action": "login", "message": "call 555"},
    }
    async with office(asking()) as here:
        for meta, expected in (({**kept, **forged}, kept), (forged, {}), (kept, kept)):
            result = {"content": [{"type": "text", "text": "x"}], "isError": is_error, "_meta": meta}
            answer = await here.call("answer", {"result": result})
            assert answer.get("meta", {}) == {**expected, **({"error_code": 4003} if is_error else {})}


async def test_what_only_a_computer_may_say_of_a_tool_is_taken_out_of_that_of_a_server() -> None:
    config = asking().model_copy(update={"default_tool_meta": None})
    async with office(config) as here:
        tool: Any = (await here.tools())["answer"]
        assert "a2c_tool_meta" not in tool["meta"]
        assert "MCP_TOOL_ANNOTATION" not in tool["meta"]
        assert tool["meta"]["a2c_digest"] != "0"
        assert tool["meta"]["error_code"] == 1, "only the keys of tools are reserved there"
        assert mcp_tool(tool)["_meta"] == {"error_code": 1, "vendor": {"x": 1}}


# ---------------------------------------------------------------------------------------------------- watched resources


async def test_an_update_of_a_resource_reaches_only_the_agent_of_the_office(people: Crowd) -> None:
    agent, computer, other = await people.office("o", "pc", "other")
    stranger, _ = await people.office("o2", "pc")
    for peer in (computer, agent, other):
        await peer.has_heard()
    update = {"computer": "somebody", "uri": "memo://x", "mcp_server": "s"}
    assert await computer.ask("server:update_resource", {**update, "further": 1}) is None
    assert await agent.hear("notify:update_resource") == {**update, "computer": "pc"}
    for peer in (computer, other, stranger):
        assert "notify:update_resource" not in [event for event, _ in await peer.has_heard()]
    assert (await agent.ask("server:update_resource", update))["error"]["code"] == 403
    assert (await computer.ask("server:update_resource", {"computer": "pc"}))["error"]["code"] == 400


async def test_an_update_of_a_resource_in_an_office_without_an_agent_is_no_error(people: Crowd) -> None:
    computer = await people.member("computer", "pc", "o")
    assert await computer.ask("server:update_resource", {"computer": "pc", "uri": "memo://x"}) is None


# ---------------------------------------------------------------------------------------------------- updates of lists


@pytest.mark.parametrize("word", ["", "x" * 65, "Upper", "with-dash", "digit1", "two words", "x\n"])
async def test_an_update_of_a_word_that_is_none_is_an_unknown_event(people: Crowd, word: str) -> None:
    agent, computer = await people.office("o", "pc")
    assert (await computer.ask(f"server:update_{word}", {"computer": "pc"}))["error"]["code"] == 400
    assert await agent.has_heard() == []


async def test_an_update_that_the_server_does_not_know_is_checked_like_the_others(people: Crowd) -> None:
    agent, computer = await people.office("o", "pc")
    longest = f"server:update_{'x' * 64}"
    assert await computer.ask(longest, {"computer": "another", "further": 1}) is None
    assert await agent.hear(f"notify:update_{'x' * 64}") == {"computer": "pc"}
    for wrong in ({}, {"computer": ""}, {"computer": 1}, None):
        assert (await computer.ask("server:update_later", wrong))["error"]["code"] == 400
    assert (await agent.ask("server:update_later", {"computer": "pc"}))["error"]["code"] == 403


def lists_in(heard: list[tuple[str, Any]]) -> list[str]:
    """The updates of lists that a peer has heard."""
    return [event for event, _ in heard if event in ("notify:update_resources", "notify:update_prompts")]


async def test_a_computer_announces_that_its_resources_and_prompts_changed(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def listings() -> int:
        return sum(not message.get("params", {}).get("cursor") for message in received(log, "resources/list"))

    async with office(offering("a", "--log", str(log))) as here:
        await here.agent.ask("client:list_prompts", request())
        await here.computer.mcp_manager.be_listed()
        here.agent.heard.clear()
        await here.call("rename", {"prompt": "salute"})
        assert await here.agent.hear("notify:update_prompts") == {"computer": "pc"}
        await here.call("rename", {"prompt": "wave"})
        assert lists_in(await here.agent.has_heard()) == [], "no Agent has listed the prompts since the last change"
        await here.call("add", {"resource": "memo://new"})
        assert await here.agent.hear("notify:update_resources") == {"computer": "pc"}
        before = listings()
        await here.call("announce", {"what": "resources"})
        await eventually(lambda: listings() > before)
        await here.call("log", {"level": "info", "data": "this comes after the list"})
        assert lists_in(await here.agent.has_heard()) == [], "the list is the same"
        await here.agent.ask("client:list_resource_templates", request())
        await here.call("announce", {"what": "resources"})
        assert await here.agent.hear("notify:update_resources") == {"computer": "pc"}, "the templates may differ"


async def test_a_server_that_stops_or_starts_changes_the_lists() -> None:
    async with office(offering("a")) as here:
        await here.computer.mcp_manager.be_listed()
        await here.agent.has_heard()
        here.agent.heard.clear()
        for change in (here.computer.mcp_manager.astop_client, here.computer.mcp_manager.astart_client):
            await change("a")
            for event in LISTS:
                assert await here.agent.hear(event) == {"computer": "pc"}


LISTS = ("notify:update_resources", "notify:update_prompts")


# ------------------------------------------------------------------------------------------- templates and completion

PAGE_TEMPLATE = "dpe://shelf/{doc_ref}/pages/{page_index}"
ELEMENT_TEMPLATE = "dpe://shelf/{doc_ref}/elements/{element_id}"


def suggestions(template: str, name: str, value: str = "", **fields: Any) -> dict[str, Any]:
    """The payload of a `client:complete` for a resource template."""
    ref = {"type": "ref/resource", "uri": template}
    return request(ref=ref, argument={"name": name, "value": value}, **fields)


async def test_templates_of_all_mcp_servers_are_listed_with_their_server() -> None:
    second = shelves("b", "--host", "other", "--prefix", "b_")
    async with office(shelves("a"), second, shelves("c", "--no-templates", "--prefix", "c_")) as here:
        answer = await here.agent.ask("client:list_resource_templates", request())
        assert answer == {
            "req_id": "r1",
            "templates": [
                {"name": name, "uriTemplate": template.replace("shelf", host), "mcp_server": server}
                for server, host in (("a", "shelf"), ("b", "other"))
                for name, template in (("page", PAGE_TEMPLATE), ("element", ELEMENT_TEMPLATE))
            ],
        }
        answer = await here.agent.ask("client:list_resource_templates", request(mcp_server="b"))
        assert {template["mcp_server"] for template in answer["templates"]} == {"b"}
        answer = await here.agent.ask("client:list_resource_templates", request(mcp_server="nobody"))
        assert answer["error"]["code"] == 404
        for cursor in ("x", "-1", "²", "9" * 400):
            answer = await here.agent.ask("client:list_resource_templates", request(cursor=cursor))
            assert answer["error"]["code"] == 400


async def test_templates_are_asked_for_once_until_the_list_changes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(shelves("a", "--documents", "1", "--log", str(log))) as here:
        for _ in range(3):
            await here.agent.ask("client:list_resource_templates", request())
        assert len(received(log, "resources/templates/list")) == 1
        await here.call("set_document", {"ref": "new", "fields": {}})
        await here.agent.hear("notify:update_finder")
        await here.agent.ask("client:list_resource_templates", request())
        assert len(received(log, "resources/templates/list")) == 2


async def test_completion_follows_the_chain_from_document_to_page_to_element(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(shelves("a", "--documents", "12", "--by-page", "--log", str(log))) as here:
        ask = here.agent.ask
        answer = await ask("client:complete", suggestions(PAGE_TEMPLATE, "doc_ref", "d0001"))
        assert answer == {"completion": {"values": ["d00010", "d00011"]}, "req_id": "r1"}
        chosen: dict[str, Any] = {"arguments": {"doc_ref": "d00001"}}
        answer = await ask("client:complete", suggestions(PAGE_TEMPLATE, "page_index", context=chosen))
        assert answer["completion"]["values"] == ["0", "1", "2"]
        chosen = {"arguments": {"doc_ref": "d00001", "page_index": "2"}}
        answer = await ask("client:complete", suggestions(ELEMENT_TEMPLATE, "element_id", "e1", context=chosen))
        assert answer["completion"]["values"] == ["e1-of-2"]
        asked = received(log, "completion/complete")[-1]["params"]
        assert asked["context"] == chosen


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"ref": {"type": "ref/resource", "uri": "dpe://nobody/{doc_ref}"}}, 404),
        ({"ref": {"type": "ref/prompt", "name": "nothing"}}, 404),
        ({"mcp_server": "nobody"}, 404),
        ({"ref": {"type": "ref/resource"}}, 400),
        ({"ref": {"type": "ref/other", "uri": "x"}}, 400),
        ({"ref": "dpe://shelf"}, 400),
        ({"argument": {"name": "doc_ref"}}, 400),
        ({"context": {"arguments": {"doc_ref": 5}}}, 400),
    ],
)
async def test_a_completion_that_cannot_be_is_an_error(change: dict[str, Any], code: int) -> None:
    async with office(shelves("a")) as here:
        answer = await here.agent.ask("client:complete", {**suggestions(PAGE_TEMPLATE, "doc_ref"), **change})
        assert answer["error"]["code"] == code
