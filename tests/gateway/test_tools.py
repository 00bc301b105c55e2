"""Tools of real Computers through the gateway, in every version of MCP."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from tests.servers.raw import PNG, media
from tests.support.gateway import NEW, VERSIONS, Answers, Hall, hall, texts
from tests.support.hosting import offering, raw
from tests.support.smcp_tools import smcp_tool

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
EVERY = pytest.mark.parametrize("version", VERSIONS)
OWN = ["look_at_desktop", "find_documents", "read_document"]


@pytest.fixture(scope="module")
async def place() -> AsyncGenerator[Hall]:
    """One Computer in `office`; two in `both`; one that hosts nothing and answers anything in `odd`."""
    async with hall() as here:
        await here.computer(raw(), offering("a"))
        await here.computer(raw(), name="one", office="both")
        await here.computer(raw(), raw("more", "--prefix", "two_"), name="two", office="both")
        yield here


def written(tool: Any) -> dict[str, Any]:
    return tool.model_dump(by_alias=True, mode="json", exclude_none=True)


@MODES
async def test_a_host_lists_and_calls_the_tools_of_a_computer(place: Hall, mode: str) -> None:
    async with place.host(mode) as host:
        assert host.server_info is not None
        assert (host.server_info.name, host.server_info.title) == ("a2c-office", "Office office")
        tools = {tool.name: tool for tool in (await host.list_tools()).tools}
        assert list(tools)[:3] == OWN
        assert tools["echo"].description == "The tool echo.\n\nRuns on pc."
        assert texts(await host.call_tool("echo", {"text": "grüezi 你好"})) == "grüezi 你好"
        with pytest.raises(MCPError, match="there is no tool nothing"):
            await host.call_tool("nothing", {})


@MODES
async def test_lists_change_and_capabilities_are_announced(place: Hall, mode: str) -> None:
    async with place.host(mode) as host:
        capabilities = host.server_capabilities
        assert capabilities.tools is not None
        assert capabilities.resources is not None
        assert capabilities.prompts is not None
        assert (capabilities.tools.list_changed, capabilities.prompts.list_changed) == (True, True)
        assert (capabilities.resources.list_changed, capabilities.resources.subscribe) == (True, True)
        assert capabilities.completions is not None


@EVERY
async def test_the_direct_mode_shows_what_the_mcp_server_wrote(place: Hall, version: str) -> None:
    async with place.raw(version, place.url(mode="direct")) as host:
        tools = {tool["name"]: tool for tool in (await host.ask("tools/list"))["tools"]}
        assert tools["add"]["outputSchema"]["required"] == ["result"]
        assert tools["describe"] == {
            "name": "describe",
            "description": "The tool describe.",
            "inputSchema": {"type": "object", "properties": {}, "required": []},
            "annotations": {"title": "Describe it", "readOnlyHint": True, "destructiveHint": False},
            "_meta": {"vendor": "x", "nested": {"a": 1}, "list": [1, 2]},
        }
        assert (tools["update"]["title"], tools["update"]["later"]) == ("Update", {"x": 1})
        assert tools["update"]["annotations"] == {"readOnlyHint": False, "later": "kept"}
        assert tools["update"]["_meta"] == {"ui": {"resourceUri": "ui://offering/form"}, "n": None}
        assert tools["update"]["icons"][0]["theme"] == "dark"


@EVERY
async def test_results_arrive_as_the_mcp_server_wrote_them(place: Hall, version: str) -> None:
    async with place.raw(version) as host:
        result = await host.ask("tools/call", {"name": "media", "arguments": {}})
        for key in ("content", "structuredContent"):
            assert result[key] == media()[key]
        assert result["_meta"]["origin"] == "raw"
        assert ("resultType" in result) == (version == NEW)
        result = await host.ask("tools/call", {"name": "rename", "arguments": {"prompt": "greet"}})
        [content] = result["content"]
        assert content["annotations"] == {"priority": 1, "later": True}
        assert (content["further"], content["_meta"], result["_meta"]["c"]) == ([1], {"a": {"b": 1}}, 2)
        result = await host.ask("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
        assert result["structuredContent"] == {"result": 3}


@EVERY
async def test_a_tool_that_fails_is_a_result_for_the_model(place: Hall, version: str) -> None:
    async with place.raw(version) as host:
        result = await host.ask("tools/call", {"name": "fail", "arguments": {"message": "no luck"}})
        assert result["isError"] is True
        assert result["content"] == [{"type": "text", "text": "no luck"}]
        assert "structuredContent" not in result, "the MCP server gave none"
        assert result["_meta"]["error_code"] == 4003
        result = await host.ask("tools/call", {"name": "raise", "arguments": {"code": -32000, "message": "broken"}})
        assert result["isError"] is True
        assert "broken" in result["content"][0]["text"]


@MODES
async def test_pictures_arrive(place: Hall, mode: str) -> None:
    async with place.host(mode) as host:
        image, *_ = (await host.call_tool("media", {})).content
        assert image.type == "image"
        assert image.data == PNG


@EVERY
async def test_malformed_requests_are_errors_of_the_protocol(place: Hall, version: str) -> None:
    async with place.raw(version) as host:
        for method, params in (
            ("tools/call", {}),
            ("tools/call", {"name": "echo", "arguments": "text"}),
            ("resources/read", {}),
            ("tools/list", {"cursor": 5}),
            ("tools/list", {"cursor": "nonsense"}),
            ("prompts/get", {"name": "nothing"}),
        ):
            answer = await host.ask(method, params)
            assert answer["error"]["code"] == -32602, (method, params)
        assert (await host.ask("tools/destroy"))["error"]["code"] == -32601


async def test_a_list_of_the_new_era_says_how_long_it_lasts(place: Hall) -> None:
    async with place.raw(NEW) as host:
        listed = await host.ask("tools/list")
        assert (listed["resultType"], listed["cacheScope"]) == ("complete", "private")
        assert listed["ttlMs"] > 0
        assert listed["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "a2c-office"
        assert (await host.ask("server/discover"))["ttlMs"] == listed["ttlMs"]
        read = await host.ask("resources/read", {"uri": "memo://notes"})
        assert read["ttlMs"] == 0


async def test_a_request_before_initialize_is_rejected(place: Hall) -> None:
    async with place.raw(VERSIONS[0]) as host:
        host.session = None
        async with host.open("tools/list", None, 1) as response:
            assert response.status_code == 400


# -------------------------------------------------------------------------------------------------------- two Computers


@MODES
async def test_a_tool_of_two_computers_runs_where_the_host_chooses(place: Hall, mode: str) -> None:
    async with place.host(mode, place.url("both")) as host:
        tools = {tool.name: tool for tool in (await host.list_tools()).tools}
        assert tools["env"].input_schema["properties"]["computer"]["enum"] == ["one", "two"]
        assert "computer" not in tools["two_env"].input_schema["properties"]
        for computer in ("one", "two"):
            assert texts(await host.call_tool("echo", {"computer": computer, "text": computer})) == computer
        for chosen in ({}, {"computer": "three"}, {"computer": None}, {"computer": ["one"]}):
            result = await host.call_tool("echo", {"text": "x", **chosen})
            assert result.is_error
            assert "one, two" in texts(result)


@MODES
async def test_tools_of_two_computers_have_names_of_their_own_in_the_direct_mode(place: Hall, mode: str) -> None:
    async with place.host(mode, place.url("both", mode="direct")) as host:
        names = {tool.name for tool in (await host.list_tools()).tools}
        assert {"echo_one", "echo_two", "two_echo"} <= names
        assert "echo" not in names
        assert texts(await host.call_tool("echo_two", {"text": "x"})) == "x"


@MODES
async def test_a_profile_shows_one_computer(place: Hall, mode: str) -> None:
    async with place.host(mode, place.url("both", mode="direct", computers="two", servers="raw")) as host:
        names = {tool.name for tool in (await host.list_tools()).tools}
        assert "echo" in names, "as if the host were connected to it directly"
        assert "two_echo" not in names
        with pytest.raises(MCPError):
            await host.call_tool("two_echo", {"text": "x"})


# --------------------------------------------------------------------------------------------------------------- search


@MODES
async def test_tools_are_found_and_called_by_the_tools_for_that(place: Hall, mode: str) -> None:
    async with place.host(mode, place.url("both", mode="search")) as host:
        tools = (await host.list_tools()).tools
        assert [tool.name for tool in tools] == ["find_tools", "call_tool", "read_tool", *OWN]
        found = json.loads(texts(await host.call_tool("find_tools", {"query": "describing things", "limit": 1})))
        [tool] = found["tools"]
        assert (tool["name"], tool["computers"], tool["read_only"]) == ("describe", ["one", "two"], True)
        call: dict[str, Any] = {"name": "describe", "computer": "two"}
        assert texts(await host.call_tool("read_tool", call)) == "described"
        assert texts(await host.call_tool("call_tool", call)) == "described"
        inside: dict[str, Any] = {"name": "echo", "arguments": {"computer": "one", "text": "x"}}
        assert texts(await host.call_tool("call_tool", inside)) == "x"
        for tool_name, wrong in (
            ("read_tool", inside),
            ("call_tool", {"name": "nothing"}),
            ("call_tool", {"name": "echo", "arguments": ["x"], "computer": "one"}),
            ("call_tool", {"name": "describe"}),
            ("call_tool", {}),
            ("find_tools", {}),
            ("find_tools", {"query": "x", "limit": "many"}),
        ):
            assert (await host.call_tool(tool_name, wrong)).is_error, (tool_name, wrong)
        assert "None of the" in texts(await host.call_tool("find_tools", {"query": "zzz"}))


# ------------------------------------------------------------------------------------------------------------ odd tools


@EVERY
async def test_a_long_list_has_pages(place: Hall, version: str) -> None:
    tools = [smcp_tool(f"tool_{number:04}", description="x" * 10_000) for number in range(200)]
    computer = await place.fake(Answers(*tools), office=f"long-{version}")
    async with place.raw(version, place.url(f"long-{version}", mode="direct")) as host:
        page = await host.ask("tools/list")
        listed, cursor = page["tools"], page["nextCursor"]
        while cursor is not None:
            page = await host.ask("tools/list", {"cursor": cursor})
            listed += page["tools"]
            cursor = page.get("nextCursor")
        assert [tool["name"] for tool in listed] == [tool["name"] for tool in tools]
        for wrong in ("1", "99.x", "1.0000", "-1.x", "x"):
            assert (await host.ask("tools/list", {"cursor": wrong}))["error"]["code"] == -32602
    await computer.disconnect()


@EVERY
async def test_results_that_are_no_objects_reach_only_hosts_that_know_them(place: Hall, version: str) -> None:
    answers = Answers(smcp_tool("count", outputSchema={"type": "integer"}), smcp_tool("plain"))
    answers.results["count"] = {"content": [{"type": "text", "text": "5"}], "structuredContent": 5}
    office = f"objects-{version}"
    computer = await place.fake(answers, office=office)
    async with place.raw(version, place.url(office)) as host:
        tools = {tool["name"]: tool for tool in (await host.ask("tools/list"))["tools"]}
        assert ("outputSchema" in tools["count"]) == (version == NEW)
        result = await host.ask("tools/call", {"name": "count", "arguments": {}})
        assert result["content"] == [{"type": "text", "text": "5"}]
        assert ("structuredContent" in result) == (version == NEW)
    await computer.disconnect()


def _give(answer: Any, _: Any) -> Any:
    return answer


@EVERY
async def test_a_computer_that_answers_nonsense_is_an_error_result(place: Hall, version: str) -> None:
    answers = Answers(smcp_tool("odd"))
    office = f"nonsense-{version}"
    computer = await place.fake(answers, office=office)
    async with place.raw(version, place.url(office)) as host:
        every: list[Any] = [{"content": 5}, [], None, {"error": {"code": 4002, "message": "not allowed"}}]
        for nonsense in every:
            answers.results["odd"] = partial(_give, nonsense)
            result = await host.ask("tools/call", {"name": "odd", "arguments": {}})
            assert result["isError"] is True
            assert result["_meta"]["error_code"] in (4002, 501, 502)
    await computer.disconnect()
