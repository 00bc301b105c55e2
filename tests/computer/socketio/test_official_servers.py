"""Our Computer at the official Servers: it spells its answers so that they pass, and sends nothing that is lost."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.errors import OfficeRefusedError
from a2c_smcp.smcp import (
    UPDATE_CONFIG_EVENT,
    UPDATE_DESKTOP_EVENT,
    UPDATE_FINDER_EVENT,
    UPDATE_PROMPTS_EVENT,
    UPDATE_RESOURCES_EVENT,
    UPDATE_SKILLS_EVENT,
    UPDATE_TOOL_LIST_EVENT,
)
from a2c_smcp.utils.results import CallToolResult, read_result
from tests.support.hosting import Watched, asking, hosting, offering, raw
from tests.support.official import LINES, Official, official
from tests.support.peer import Peer, crowd, request, tool_call
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio
RELEASED = LINES[:4]
PICK = {"id": "color", "type": "pickString", "description": "", "options": ["red", "blue"], "default": "blue"}


@dataclass
class Guest:
    """A Computer of ours at an official Server, with an official Agent."""

    computer: Watched
    client: SMCPComputerClient
    agent: Peer
    place: Official

    async def ask(self, what: str, **fields: Any) -> Any:
        """What the Agent gets; an answer that the Server drops never comes, and is an error here."""
        asking_it = asyncio.create_task(self.agent.ask(f"client:{what}", request(**fields)))
        dropped = len(self.place.namespace.dropped)
        await eventually(lambda: asking_it.done() or len(self.place.namespace.dropped) > dropped)
        assert asking_it.done(), self.place.namespace.dropped
        return await asking_it

    async def call(self, tool: str, **params: Any) -> Any:
        """The result of a tool call."""
        return await self.agent.ask("client:tool_call", tool_call(tool_name=tool, params=params))


@asynccontextmanager
async def guest(*servers: MCPServerConfig, line: str = "0.4", **options: Any) -> AsyncGenerator[Guest]:
    version = f"{line}.1" if line == "0.3" else f"{line}.0"
    demands = version if options.pop("is_checked", False) else None
    query = {"query": f"a2c_version={version}"} if line != "0.1" else {}
    async with official(line, demands=demands) as place, crowd(place) as people, hosting(*servers) as computer:
        agent = await people.member("agent", "agent", "office", **query)
        async with SMCPComputerClient.in_office(computer, place.url, "office", **options) as client:
            yield Guest(computer, client, agent, place)


@pytest.mark.parametrize("line", RELEASED[2:])
async def test_tools_pass_with_the_identity_of_their_mcp_server(line: str) -> None:
    async with guest(raw("My Server!"), raw("b", bundle_id="chosen"), line=line) as here:
        answer = await here.ask("get_tools")
        assert {tool["bundle_id"] for tool in answer["tools"]} == {"My_Server"}, "the first keeps the names"
        assert answer["req_id"] == "r1"


async def test_the_list_of_tools_is_never_left_out() -> None:
    async with guest(raw()) as here:
        first = await here.client.on_get_tools({**request(), "known_digest": None})  # pyright: ignore[reportArgumentType]
        digest = here.computer.mcp_manager.book.written(first["tools"])[1]
        assert (await here.ask("get_tools", known_digest=digest))["tools"]


@pytest.mark.parametrize("is_checked", [True, False], ids=["it demands its version", "it demands none"])
@pytest.mark.parametrize("line", RELEASED[1:])
async def test_the_configuration_passes_in_the_form_of_the_server(line: str, is_checked: bool) -> None:
    async with guest(raw("My Server!"), line=line, is_checked=is_checked) as here:
        here.computer.update_inputs([PICK])
        answer = await here.ask("get_config")
        (key,) = answer["servers"]
        assert key == ("My Server!" if line == "0.2" else "My_Server")
        assert answer["servers"][key]["name"] == "My Server!"
        options = answer["inputs"][0]["options"]
        assert options == (
            ["red", "blue"] if line == "0.2" else [{"label": each, "value": each} for each in ("red", "blue")]
        )


@pytest.mark.parametrize("line", RELEASED)
async def test_it_finds_out_by_itself_which_version_a_server_has_that_checks_none(line: str) -> None:
    async with official(line) as place, crowd(place) as people, hosting() as computer:
        computer.update_inputs([PICK])
        async with SMCPComputerClient.in_office(computer, place.url, "office") as client:
            assert (await client.recognized()).dialect == line
            agent = await people.member("agent", "agent", "office")
            answer = await agent.ask("client:get_config", request())
            if line != "0.1":
                option = "red" if line == "0.2" else {"label": "red", "value": "red"}
                assert answer["inputs"][0]["options"][0] == option
            assert place.namespace.dropped == [], "a Server would log what it cannot read"


@pytest.mark.parametrize("demands", [None, "0.3.1", "0.3.0"])
async def test_a_server_from_before_options_had_labels_gets_texts(demands: str | None) -> None:
    async with official("0.3", demands=demands) as place, crowd(place) as people, hosting() as computer:
        place.namespace.has_plain_options = True
        computer.update_inputs([PICK])
        async with SMCPComputerClient.in_office(computer, place.url, "office") as client:
            agent = await people.member("agent", "agent", "office", query="a2c_version=0.3.1")
            # Sent at once: the answer waits until it is known how to write it.
            answer = await agent.ask("client:get_config", request())
            assert answer["inputs"][0]["options"] == ["red", "blue"]
            assert (await client.recognized()).dialect == "0.3.0"


async def test_a_server_that_lets_no_computer_ask_gets_the_newest_form() -> None:
    async with official() as place, crowd(place) as people, hosting() as computer:
        place.namespace.only_agents_ask = True
        computer.update_inputs([PICK])
        async with SMCPComputerClient.in_office(computer, place.url, "office") as client:
            assert (await client.recognized()).dialect == "0.2+"
            agent = await people.member("agent", "agent", "office")
            answer = await agent.ask("client:get_config", request())
            assert answer["inputs"][0]["options"][0] == {"label": "red", "value": "red"}


async def test_errors_are_flat_and_have_a_code_that_the_server_knows() -> None:
    async with guest(offering("My Server!")) as here:
        unknown = await here.ask("get_resources", mcp_server="nobody")
        assert (unknown["code"], unknown["mcp_server"]) == (4014, "nobody")
        wrong = await here.ask("get_desktop", desktop_size="many")
        assert (wrong["code"], wrong["details"]["code"]) == (404, 400)
        assert "error" not in wrong


async def test_the_result_of_a_tool_that_fails_keeps_its_code() -> None:
    async with guest(raw()) as here:
        result = await here.call("no such tool")
        assert result["isError"] is True
        assert result["meta"]["error_code"] == 4001


async def test_an_mcp_server_is_found_by_its_identity_and_by_its_name() -> None:
    async with guest(offering("My Server!")) as here:
        by_identity = await here.ask("get_resources", mcp_server="My_Server")
        assert by_identity["resources"]
        assert await here.ask("get_resources", mcp_server="My Server!") == by_identity


async def test_an_answer_over_the_limit_is_an_error_that_names_the_size() -> None:
    async with guest(raw()) as here:
        assert not (await here.call("big", bytes=900_000))["isError"]
        result = await here.call("big", bytes=1_000_000)
        assert result["meta"]["error_code"] == 413
        assert "1000000" in result["content"][0]["text"]
        assert here.client.connected


@pytest.mark.parametrize(("line", "is_handle"), [("0.1", False), ("0.2", True), ("0.4", True)])
async def test_a_large_binary_becomes_a_handle_where_it_can_be_fetched(line: str, is_handle: bool) -> None:
    async with guest(offering("a"), line=line) as here:
        here.computer.aexecute_tool = picture_of(40_000)
        (item,) = (await here.call("picture"))["content"]
        assert (item["data"] == "") is is_handle
        if is_handle:
            found = await here.ask("get_blob", blob_handle=item["_meta"]["a2c_blob_handle"])
            assert (found["total_size"], found["eof"]) == (40_000, True)
            assert base64.b64decode(found["blob"]) == b"x" * 40_000
            assert (await here.ask("get_blob", blob_handle="nothing"))["code"] == 4018


async def test_a_small_binary_stays_where_it_is() -> None:
    async with guest() as here:
        here.computer.aexecute_tool = picture_of(30_000)
        (item,) = (await here.call("picture"))["content"]
        assert len(base64.b64decode(item["data"])) == 30_000


def picture_of(size: int) -> Any:
    """A tool whose result is a picture."""
    picture = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"x" * size).decode()}

    async def execute(*_: Any, **__: Any) -> CallToolResult:
        return read_result({"content": [picture]})

    return execute


@pytest.mark.parametrize(
    ("what", "fields", "code"),
    [
        ("get_skill", {"name": "a"}, 4014),
        ("put_blob", {"chunk_offset": 0, "eof": True, "blob": "", "total_size": 1, "sha256": "0"}, 4019),
    ],
)
async def test_a_request_that_it_cannot_serve_is_rejected_with_the_right_code(
    what: str, fields: dict[str, Any], code: int
) -> None:
    async with guest() as here:
        assert (await here.ask(what, **fields))["code"] == code


async def test_it_has_no_skills_there() -> None:
    async with guest() as here:
        assert await here.ask("get_skills") == {"skills": [], "req_id": "r1"}


@pytest.mark.parametrize("line", RELEASED)
async def test_updates_that_the_server_does_not_relay_are_not_sent(line: str) -> None:
    async with guest(asking(), line=line) as here:
        await eventually(lambda: here.client.server_info.dialect != "official")
        assert not (await here.call("progress"))["isError"]
        relayed = [UPDATE_CONFIG_EVENT, UPDATE_TOOL_LIST_EVENT, UPDATE_DESKTOP_EVENT]
        relayed += [UPDATE_SKILLS_EVENT] if line != "0.1" else []
        ours = [UPDATE_FINDER_EVENT, UPDATE_RESOURCES_EVENT, UPDATE_PROMPTS_EVENT]
        for event in (*ours, *relayed):
            assert await here.client.emit_update(event) is (event in relayed)
        assert not await here.client.emit_update_resource("memo://x", "asking")
        for event in relayed:
            assert await here.agent.hear(event.replace("server:", "notify:")) == {"computer": "pc"}
        assert {event for event, _ in here.place.namespace.heard} == set(relayed)


@pytest.mark.parametrize(("line", "passes"), [("0.1", False), ("0.2", True), ("0.4", True)])
async def test_it_finds_out_in_the_background_whether_binaries_pass_in_parts(line: str, passes: bool) -> None:
    async with guest(line=line) as here:
        await eventually(lambda: here.client.server_info.dialect != "official")
        assert here.client.server_info.passes_blobs is passes


async def test_a_refused_move_leaves_it_where_it_was() -> None:
    async with guest(raw()) as here, crowd(here.place) as people:
        await people.member("computer", "taken", "elsewhere")
        here.computer.name = "taken"
        with pytest.raises(OfficeRefusedError):
            await here.client.join_office("elsewhere")
        here.computer.name = "pc"
        assert here.client.office_id == "office"
        await here.agent.hear("notify:leave_office")
        await here.agent.hear("notify:enter_office")
        assert await here.client.emit_update(UPDATE_CONFIG_EVENT)
        assert await here.agent.hear("notify:update_config") == {"computer": "pc"}


async def test_a_request_that_overtakes_the_ack_of_the_join_is_answered_in_the_right_form() -> None:
    async with official() as place, hosting(raw("My Server!")) as computer:
        namespace = place.namespace
        announce = namespace.announce
        early: list[asyncio.Task[Any]] = []

        async def announce_and_ask(sid: str, *args: Any) -> None:
            await announce(sid, *args)
            if not early:
                early.append(
                    asyncio.create_task(
                        namespace.server.call("client:get_config", request(), to=sid, namespace="/smcp")
                    )
                )
                for _ in range(2):  # before the first answer, the request is sent; before the second, it has arrived
                    await namespace.server.call("client:nothing", {}, to=sid, namespace="/smcp")

        namespace.announce = announce_and_ask
        async with SMCPComputerClient.in_office(computer, place.url, "office"):
            assert set((await early[0])["servers"]) == {"My_Server"}
