"""Prompts, resources of any scheme, watches and log messages of MCP servers, as an Agent gets them on the wire."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.inputs import InputResolver
from a2c_smcp.computer.config.model import MCPServerPromptStringInput
from a2c_smcp.computer.mcp import messages
from a2c_smcp.computer.mcp.session import MAX_LISTED
from a2c_smcp.computer.offer import watches
from a2c_smcp.computer.offer.paging import page_of
from a2c_smcp.computer.types import ServerState
from a2c_smcp.utils.tool_meta import mcp_tool
from tests.servers.offering import ICON, UI
from tests.support.hosting import QUICK, hosting, offering
from tests.support.mcp_servers import AUTO, modern, read_log, received
from tests.support.offices import Office, office
from tests.support.peer import request
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

NOTES = "memo://notes"


async def every(here: Office, event: str, key: str, **fields: Any) -> list[Any]:
    """The items of all pages."""
    found: list[Any] = []
    more: dict[str, Any] = {}
    while True:
        page = await here.agent.ask(event, request(**fields, **more))
        found += page[key]
        if "next_cursor" not in page:
            return found
        more = {"cursor": page["next_cursor"]}


def code(answer: Any) -> int:
    return answer["error"]["code"]


# -------------------------------------------------------------------------------------------------------------- prompts


async def test_prompts_are_those_of_the_server_with_its_name() -> None:
    async with office(
        offering("a"), offering("b", "--prefix", "b_"), offering("c", "--mode", "bare", "--prefix", "c_")
    ) as here:
        listed = await every(here, "client:list_prompts", "prompts")
        assert [(prompt["name"], prompt["mcp_server"]) for prompt in listed] == [
            (f"{prefix}{name}", server)
            for server, prefix in (("a", ""), ("b", "b_"))
            for name in ("greet", "plain", "third")
        ]
        assert (listed[0]["icons"], listed[0]["_meta"], listed[2]["later"]) == ([ICON], {"k": {"v": 1}}, 1)
        only = await every(here, "client:list_prompts", "prompts", mcp_server="b")
        assert {prompt["mcp_server"] for prompt in only} == {"b"}
        answer = await here.agent.ask("client:get_prompt", request(name="b_greet", arguments={"who": "Ada"}))
        assert answer == {
            "description": "A greeting",
            "messages": [{"role": "user", "content": {"type": "text", "text": "Greet Ada.", "_meta": {"k": 1}}}],
            "meta": {"m": 1},
            "req_id": "r1",
        }
        for fields, expected in (
            ({"mcp_server": "nobody"}, 4014),
            ({"mcp_server": "c"}, 4015),
            ({"cursor": "x"}, 400),
        ):
            assert code(await here.agent.ask("client:list_prompts", request(**fields))) == expected
        assert code(await here.agent.ask("client:get_prompt", request(name="nothing"))) == 404
        assert code(await here.agent.ask("client:get_prompt", request(name="nothing", mcp_server="a"))) == 400
        assert code(await here.agent.ask("client:get_prompt", request(name="greet", arguments={"who": 1}))) == 400


async def test_a_prompt_that_two_servers_have_needs_the_name_of_one() -> None:
    async with office(offering("a"), offering("b")) as here:
        asked = request(name="greet", arguments={"who": "Ada"})
        answer = await here.agent.ask("client:get_prompt", asked)
        assert (code(answer), answer["error"]["details"]) == (400, {"mcp_servers": ["a", "b"]})
        answer = await here.agent.ask("client:get_prompt", {**asked, "mcp_server": "b"})
        assert answer["description"] == "A greeting"


async def test_prompts_are_asked_for_once_until_the_list_changes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(offering("a", "--log", str(log))) as here:
        for _ in range(3):
            await every(here, "client:list_prompts", "prompts")
        assert len(received(log, "prompts/list")) == 2, "two pages"
        await here.call("rename", {"prompt": "salute"})
        listed = await every(here, "client:list_prompts", "prompts")
        assert listed[0]["name"] == "salute"


# ------------------------------------------------------------------------------------------------------------ resources


async def test_resources_of_every_scheme_are_listed_as_the_server_wrote_them() -> None:
    async with office(
        offering("a"), offering("b", "--prefix", "b-"), offering("c", "--mode", "bare", "--prefix", "c_")
    ) as here:
        listed = await every(here, "client:get_resources", "resources")
        assert [(each["uri"], each["mcp_server"]) for each in listed] == [
            (f"{prefix}memo://{name}", server)
            for server, prefix in (("a", ""), ("b", "b-"))
            for name in ("notes", "0", "1", "2")
        ]
        assert listed[0] == {
            "uri": NOTES,
            "name": "notes",
            "title": "Notes",
            "mime_type": "text/plain",
            "size": 5,
            "icons": [ICON],
            "annotations": {
                "audience": ["user"],
                "priority": 0.5,
                "last_modified": "2026-01-01T00:00:00Z",
                "later": 1,
            },
            "_meta": {"k": [1]},
            "mcp_server": "a",
        }
        assert len(await every(here, "client:get_resources", "resources", mcp_server="b")) == 4
        answer = await here.agent.ask("client:get_resources", request(mcp_server="nobody"))
        assert (code(answer), answer["error"]["details"]) == (4014, {"mcp_server": "nobody"})
        answer = await here.agent.ask("client:get_resources", request(mcp_server="c"))
        expected = {"mcp_server": "c", "capability": "resources"}
        assert (code(answer), answer["error"]["details"]) == (4015, expected)
        for cursor in ("x", "[]", '["a",1,2]', '["a",null,-1]', '["nobody",null,0]'):
            assert code(await here.agent.ask("client:get_resources", request(cursor=cursor))) == 400


async def test_any_resource_is_read_by_its_list_a_template_or_a_tool_that_names_it() -> None:
    async with office(offering("a")) as here:
        for uri in (NOTES, "db://rows/7", UI):
            answer = await here.agent.ask("client:read_resource", request(uri=uri))
            [part] = answer["contents"]
            assert (part["uri"], part["_meta"]) == (uri, {"ui": {"csp": {"x": []}}})
        assert code(await here.agent.ask("client:read_resource", request(uri="other://x"))) == 404
        answer = await here.agent.ask("client:read_resource", request(uri="other://x", mcp_server="a"))
        assert answer["contents"][0]["text"] == "text of other://x"
        assert code(await here.agent.ask("client:read_resource", request(uri="db://rows/missing"))) == 404
        assert code(await here.agent.ask("client:read_resource", request(uri=NOTES, mcp_server="nobody"))) == 4014


async def test_an_address_that_two_servers_have_needs_the_name_of_one() -> None:
    async with office(offering("a"), offering("b")) as here:
        await here.computer.mcp_manager.be_listed(PATIENCE)
        for event in ("client:read_resource", "client:watch_resource"):
            for uri in (NOTES, "db://rows/7"):
                answer = await here.agent.ask(event, request(uri=uri))
                assert (code(answer), answer["error"]["details"]) == (400, {"mcp_servers": ["a", "b"]})
                assert "error" not in await here.agent.ask(event, request(uri=uri, mcp_server="b"))


# ------------------------------------------------------------------------------------------------------------- watching


def subscriptions(log: Path) -> list[str]:
    """What a server was asked to announce: the requests to subscribe to a resource and to unsubscribe."""
    methods = ("resources/subscribe", "resources/unsubscribe")
    return [each["method"].rpartition("/")[2] for each in read_log(log) if each.get("method") in methods]


async def test_a_watched_resource_is_announced_to_the_agent_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(offering("a", "--log", str(log))) as here:
        other = await here.people.member("computer", "other", "office")
        for _ in range(2):
            assert await here.agent.ask("client:watch_resource", request(uri=NOTES)) == {"req_id": "r1"}
        assert subscriptions(log) == ["subscribe"]
        await here.call("update", {"uri": NOTES})
        notice = {"computer": "pc", "uri": NOTES, "mcp_server": "a"}
        assert await here.agent.hear("notify:update_resource") == notice
        await here.call("update", {"uri": NOTES, "parts": True})
        assert await here.agent.hear("notify:update_resource") == notice
        for _ in range(2):
            asked = request(uri=NOTES, watch=False)
            assert await here.agent.ask("client:watch_resource", asked) == {"req_id": "r1"}
        await eventually(lambda: subscriptions(log) == ["subscribe", "unsubscribe"])
        assert not [event for event, _ in await other.has_heard() if event == "notify:update_resource"]


async def test_watches_end_with_their_agent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(offering("a", "--log", str(log))) as here:
        await here.agent.ask("client:watch_resource", request(uri=NOTES))
        await here.agent.ask("server:leave_office", {"office_id": "office"})
        await eventually(lambda: subscriptions(log) == ["subscribe", "unsubscribe"])
        agent = await here.people.member("agent", "second", "office")
        await agent.ask("client:watch_resource", request(uri=NOTES, agent="second"))
        await here.client.leave_office("office")
        await eventually(lambda: subscriptions(log) == ["subscribe", "unsubscribe"] * 2)


async def test_a_server_that_restarts_is_asked_again_and_the_agent_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(offering("a", "--log", str(log))) as here:
        await here.agent.ask("client:watch_resource", request(uri=NOTES))
        await here.call("leave")
        assert (await here.agent.hear("notify:update_resource"))["uri"] == NOTES
        assert subscriptions(log) == ["subscribe"] * 2
        await here.call("update", {"uri": NOTES})
        assert (await here.agent.hear("notify:update_resource"))["uri"] == NOTES


async def test_a_server_of_2026_07_28_announces_what_is_watched_and_logs_as_asked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command, *args = [*modern(), "--log", str(log)]
    config = server_from({"command": command, "args": args, "default_tool_meta": AUTO, "log_level": "info"}, "m")
    async with office(config) as here:
        memo = {"uri": "memo://modern", "text": "x"}
        await here.call("set_window", memo)
        assert await here.agent.ask("client:watch_resource", request(uri="memo://modern", mcp_server="m"))
        await here.call("set_window", memo)
        assert (await here.agent.hear("notify:update_resource"))["uri"] == "memo://modern"
        messages = here.computer.status_of("m").log
        assert [(each.level, each.text) for each in messages] == [("info", "set_window is called")] * 2
        [listen] = [
            each
            for each in received(log, "subscriptions/listen")
            if each["params"]["notifications"].get("resourceSubscriptions") == ["memo://modern"]
        ]
        await here.agent.ask("client:watch_resource", request(uri="memo://modern", watch=False))
        await eventually(
            lambda: listen["id"] in [each["params"]["requestId"] for each in received(log, "notifications/cancelled")]
        )


async def test_watches_are_limited_and_what_cannot_be_watched_is_said() -> None:
    many = watches.OF_AN_AGENT
    async with office(
        offering("a", "--count", str(many)), offering("b", "--mode", "no_subscribe", "--prefix", "b-")
    ) as here:
        for number in range(many):
            assert "error" not in await here.agent.ask("client:watch_resource", request(uri=f"memo://{number}"))
        assert code(await here.agent.ask("client:watch_resource", request(uri=NOTES))) == 429
        await here.agent.ask("client:watch_resource", request(uri="memo://0", watch=False))
        assert "error" not in await here.agent.ask("client:watch_resource", request(uri=NOTES))
        await here.agent.ask("client:watch_resource", request(uri=NOTES, watch=False))
        answer = await here.agent.ask("client:watch_resource", request(uri="b-memo://0"))
        assert answer["error"]["details"] == {"mcp_server": "b", "capability": "resources.subscribe"}
        assert code(answer) == 4015
        assert code(await here.agent.ask("client:watch_resource", request(uri="memo://unknown"))) == 404


async def test_a_flood_of_updates_becomes_a_few_notices_and_the_last_is_sent() -> None:
    async with office(offering("a")) as here:
        await here.agent.ask("client:watch_resource", request(uri=NOTES))
        await here.call("update", {"uri": NOTES, "times": 20_000})
        await here.agent.hear("notify:update_resource")
        await here.call("update", {"uri": NOTES})
        await here.agent.hear("notify:update_resource")
        # The calls of 20,000 updates took some tenths of a second: ten notices each second are possible.
        assert len([event for event, _ in await here.agent.has_heard() if event == "notify:update_resource"]) < 200


# ------------------------------------------------------------------------------------------------------ hostile servers


async def test_a_server_with_endless_or_huge_lists_is_bounded() -> None:
    endless, huge = offering("endless", "--mode", "endless"), offering("huge", "--mode", "huge", "--prefix", "h-")
    # Of a list that takes longer, the first pages are offered: on a busy machine, these may be fewer than the most.
    policy = replace(QUICK, list_timeout=PATIENCE)
    async with office(endless, huge, offering("good", "--prefix", "g-"), policy=policy) as here:
        for key, event in (("prompts", "client:list_prompts"), ("resources", "client:get_resources")):
            page = await here.agent.ask(event, request(mcp_server="huge"))
            assert (len(page[key]), "next_cursor" in page) == (500, True)
            page = await here.agent.ask(event, request(mcp_server="good"))
            assert len(page[key]) in (2, 3)
        assert len(await every(here, "client:list_prompts", "prompts", mcp_server="endless")) == MAX_LISTED
        page = await here.agent.ask("client:get_resources", request(mcp_server="endless"))
        assert len(page["resources"]) == 100
        assert here.computer.status_of("good").state is ServerState.READY


def test_a_page_fits_into_a_message_of_every_server() -> None:
    items = [{"uri": f"memo://{number}", "description": "x" * 3_000} for number in range(1_000)]
    page, after = page_of(items, None)
    answer = {"resources": page, "next_cursor": after, "req_id": "r" * 64}
    # An official Server disconnects the sender of more than 1,000,000 bytes, and the frame takes some of them.
    assert 800_000 < len(orjson.dumps(answer)) < 990_000


async def test_of_a_list_that_takes_too_long_the_pages_that_arrived_are_offered() -> None:
    policy = replace(QUICK, list_timeout=1.0)
    stuck, silent = offering("stuck", "--mode", "stuck"), offering("silent", "--hold", "prompts/list")
    async with office(stuck, silent, policy=policy) as here:
        asked = request(mcp_server="stuck")
        for page in [await here.agent.ask("client:list_prompts", asked) for _ in range(2)]:
            assert [prompt["name"] for prompt in page["prompts"]] == ["greet", "plain"]
        assert any("1 s" in note for note in here.computer.status_of("stuck").notes)
        assert code(await here.agent.ask("client:list_prompts", request(mcp_server="silent"))) == 408


# ------------------------------------------------------------------------------------------------ pass-through, digests


async def test_what_mcp_says_about_a_tool_and_its_result_is_passed_on() -> None:
    async with office(offering("a")) as here:
        tool: Any = (await here.tools())["update"]
        assert all(isinstance(value, str) for value in tool["meta"].values())
        assert mcp_tool(tool) == {
            "name": "update",
            "title": "Update",
            "inputSchema": {"type": "object"},
            "icons": [ICON],
            "annotations": {"readOnlyHint": False, "later": "kept"},
            "_meta": {"ui": {"resourceUri": UI}, "n": None},
            "later": {"x": 1},
        }
        result = await here.call("log", {"level": "debug", "data": "x"})
        assert result["content"] == [
            {
                "type": "text",
                "text": "done",
                "annotations": {"priority": 1, "later": True},
                "further": [1],
                "_meta": {"a": {"b": 1}},
            }
        ]
        assert result["meta"]["c"] == 2


async def test_an_agent_that_knows_the_list_gets_unchanged() -> None:
    async with office(offering("a")) as here:
        answer = await here.agent.ask("client:get_tools", request())
        digest = answer["digest"]
        unchanged = {"unchanged": True, "digest": digest, "req_id": "r1"}
        assert await here.agent.ask("client:get_tools", request(known_digest=digest)) == unchanged
        other = await here.agent.ask("client:get_tools", request(known_digest="x"))
        assert other == answer
        await here.computer.aadd_or_aupdate_server(offering("a", forbidden_tools=["log"]))
        changed = await here.agent.ask("client:get_tools", request(known_digest=digest))
        assert changed["digest"] != digest
        assert len(changed["tools"]) == len(answer["tools"]) - 1
        digests = [{tool["name"]: tool["meta"]["a2c_digest"] for tool in each["tools"]} for each in (answer, changed)]
        assert digests[1].items() <= digests[0].items(), "a tool that is the same has the same digest"
        assert len(set(digests[0].values())) == len(digests[0])


# --------------------------------------------------------------------------------------------------------- log messages


async def test_log_messages_are_kept_from_the_level_of_the_owner(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with hosting(offering("a", "--log", str(log))) as computer:
        for level in messages.LEVELS:
            await computer.call("log", level=level, data={"is": level})
        kept = computer.status_of("a").log
        assert [(each.level, each.logger, each.text) for each in kept] == [
            (level, "core", f'{{"is":"{level}"}}') for level in messages.LEVELS[messages.LEVELS.index("warning") :]
        ]
        assert [each["params"] for each in received(log, "logging/setLevel")] == [{"level": "warning"}]
        await computer.aadd_or_aupdate_server(offering("a", "--log", str(log), log_level="off"))
        await computer.call("log", level="emergency", data="x")
        assert computer.status_of("a").log == kept
        await computer.aadd_or_aupdate_server(offering("a", "--log", str(log), log_level="debug"))
        await computer.call("log", level="debug", data="x")
        assert len(computer.status_of("a").log) == len(kept) + 1
        assert computer.status_of("a").restarts == 0
        assert json.dumps(computer.status_of("a").to_json()["log"])
        assert "log_level" not in computer.get_config()["servers"]["a"]


async def test_a_flood_of_log_messages_is_bounded_and_secrets_are_hidden() -> None:
    resolver = InputResolver()
    resolver.define(MCPServerPromptStringInput(id="token", password=True))
    resolver.set_value("token", "tok-5ecret-9f2c")
    config = offering("a", env={"TOKEN": "${input:token}"})
    async with hosting(config, input_resolver=resolver) as computer:
        await computer.call("log", level="error", data="the token is tok-5ecret-9f2c")
        assert "5ecret" not in computer.status_of("a").log[0].text
        await computer.call("log", level="error", data="x" * 5_000, times=5_000)
        kept = computer.status_of("a").log
        assert len(kept) <= messages.MOST
        assert sum(len(each.text) for each in kept) <= messages.MOST_BYTES
        assert any("left out" in each.text for each in kept)
        assert not (await computer.call("log", level="debug", data="x")).is_error
