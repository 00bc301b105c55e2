"""§6: tools as an Agent sees and calls them, through the Server, on MCP servers of a real Computer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.hosting import raw
from tests.support.mcp_servers import received
from tests.support.offices import code, office, text
from tests.support.peer import request, tool_call
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio


# ------------------------------------------------------------------------------------------------------------- SMCPTool


async def test_a_tool_has_name_description_schemas_and_meta() -> None:
    async with office(raw(default_tool_meta=None)) as here:
        tools = await here.tools()
        assert len(tools["echo"]["meta"].pop("a2c_digest")) == 32
        assert tools["echo"] == {
            "name": "echo",
            "description": "The tool echo.",
            "params_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            "return_schema": None,
            "bundle_id": "raw",
            "meta": {"a2c_mcp_server": "raw"},
        }
        assert tools["add"]["return_schema"]["properties"]["result"]
        meta = tools["describe"]["meta"]
        assert json.loads(meta["MCP_TOOL_ANNOTATION"])["readOnlyHint"] is True
        assert (meta["vendor"], meta["list"], json.loads(meta["nested"])) == ("x", [1, 2], {"a": 1})
        assert "a2c_tool_meta" not in meta


async def test_tool_meta_is_merged_field_by_field_and_null_inherits() -> None:
    config = raw(
        default_tool_meta={"auto_apply": True, "tags": ["all"], "team": "x"},
        tool_meta={"echo": {"auto_apply": None, "tags": ["own"], "alias": "say"}, "add": {"auto_apply": False}},
    )
    async with office(config) as here:
        tools = await here.tools()
        assert json.loads(tools["say"]["meta"]["a2c_tool_meta"]) == {
            "auto_apply": True,
            "alias": "say",
            "tags": ["own"],
            "ret_object_mapper": None,
            "team": "x",
        }
        assert json.loads(tools["add"]["meta"]["a2c_tool_meta"])["auto_apply"] is False
        assert json.loads(tools["sleep"]["meta"]["a2c_tool_meta"])["tags"] == ["all"]


async def test_auto_apply_of_read_only_tools_is_a_bool_on_the_wire() -> None:
    config = raw(default_tool_meta={"auto_apply": "read-only"}, tool_meta={"add": {"auto_apply": "read-only"}})
    async with office(config) as here:
        tools = await here.tools()
        applied = {name: json.loads(tool["meta"]["a2c_tool_meta"])["auto_apply"] for name, tool in tools.items()}
        assert applied.pop("describe") is True
        assert set(applied.values()) == {False}
        assert code(await here.call("describe", {})) is None
        assert code(await here.call("echo", {"text": "hi"})) == 4005
        shown = (await here.config())["servers"]["raw"]
        assert shown["default_tool_meta"]["auto_apply"] is False
        assert shown["tool_meta"]["add"]["auto_apply"] is False


async def test_an_alias_is_what_the_agent_sees_and_calls() -> None:
    async with office(raw(tool_meta={"echo": {"alias": "say"}})) as here:
        tools = await here.tools()
        assert "say" in tools
        assert "echo" not in tools
        assert text(await here.call("say", {"text": "hi"})) == "hi"
        assert code(await here.call("echo", {"text": "hi"})) == 4001


async def test_an_alias_for_every_tool_of_a_server_is_ignored_and_said() -> None:
    async with office(raw(default_tool_meta={"auto_apply": True, "alias": "all"})) as here:
        assert "all" not in await here.tools()
        assert any("alias" in note for note in here.computer.status_of("raw").notes)


async def test_of_two_tools_with_one_name_the_first_server_keeps_it() -> None:
    async with office(raw("first", env={"WHO": "first"}), raw("second", env={"WHO": "second"})) as here:
        assert text(await here.call("env", {"name": "WHO"})) == "first"
        (note, *_) = [note for note in here.computer.status_of("second").notes if " env " in note]
        assert "first" in note
        assert '{"env": {"alias": "second_env"}}' in note
        await here.computer.aadd_or_aupdate_server(
            raw("second", env={"WHO": "second"}, tool_meta={"env": {"alias": "second_env"}})
        )
        assert text(await here.call("second_env", {"name": "WHO"})) == "second"


async def test_a_name_stays_with_its_server_while_that_restarts() -> None:
    async with office(raw("first"), raw("second")) as here:
        await here.computer.mcp_manager.astop_client("first")
        assert code(await here.call("echo", {"text": "hi"})) == 4003


# --------------------------------------------------------------------------------------------------------------- access


@pytest.mark.parametrize("named_by", ["echo", "say"])
async def test_a_forbidden_tool_is_unlisted_and_a_call_never_reaches_mcp(named_by: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = raw("raw", "--log", str(log), forbidden_tools=[named_by], tool_meta={"echo": {"alias": "say"}})
    async with office(config) as here:
        assert not {"echo", "say"} & set(await here.tools())
        assert code(await here.call("say", {"text": "hi"})) == 4002
        assert not received(log, "tools/call")


async def test_a_disabled_server_never_starts(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = raw("raw", "--log", str(log), disabled=True, tool_meta={"echo": {"auto_apply": True}})
    async with office(config) as here:
        assert await here.tools() == {}
        assert code(await here.call("echo", {"text": "hi"})) == 4002
        assert not log.exists()


# ---------------------------------------------------------------------------------------------------------------- calls


async def test_a_result_comes_back_whole_with_mcp_names_and_its_metadata_under_meta() -> None:
    async with office(raw()) as here:
        answer = await here.call("media")
        assert answer["isError"] is False
        assert answer["structuredContent"] == {"nothing": None, "nested": [[1, 2], [{"deep": None}]]}
        assert answer["meta"] == {"origin": "raw"}
        assert "_meta" not in answer
        assert [part["type"] for part in answer["content"]] == ["image", "audio", "resource", "resource_link", "text"]
        assert answer["content"][0]["mimeType"] == "image/png"


@pytest.mark.parametrize(
    ("tool", "params", "expected"),
    [
        ("nothing-of-the-kind", {}, 4001),
        ("fail", {"message": "no paper"}, 4003),
        ("raise", {"code": -32099, "message": "no paper"}, 4003),
        ("exit", {"code": 1}, 4003),
        ("broken_schema", {}, 4003),
    ],
)
async def test_a_failure_is_a_result_with_text_structure_and_code(tool: str, params: object, expected: int) -> None:
    async with office(raw()) as here:
        answer = await here.call(tool, params)
        assert (answer["isError"], code(answer)) == (True, expected)
        assert text(answer)
        assert set(answer["structuredContent"]) >= {"error", "error_type"}
        if "message" in str(params):
            assert "no paper" in text(answer)


async def test_an_unconfirmed_call_is_4005() -> None:
    async with office(raw(default_tool_meta=None)) as here:
        assert code(await here.call("echo", {"text": "hi"})) == 4005


async def test_a_time_out_is_4004() -> None:
    async with office(raw()) as here:
        answer = await here.call("sleep", {"seconds": 60}, timeout=1)
        assert code(answer) == 4004
        assert answer["meta"]["a2c_timeout"] is True


@pytest.mark.parametrize(
    "wrong",
    [
        {"params": [1]},
        {"params": "x"},
        {"params": None},
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": 10**9},
        {"timeout": [1.5]},
        {"timeout": True},
        {"tool_name": 7},
        {"req_id": None},
    ],
)
async def test_a_malformed_call_is_400_on_the_computer_too(wrong: dict[str, object]) -> None:
    """The Server refuses these; a Computer asked directly, by another Server say, refuses them as well."""
    async with office(raw()) as here:
        assert (await here.client.on_tool_call({**tool_call(), **wrong}))["error"]["code"] == 400
        through_server = await here.agent.ask("client:tool_call", {**tool_call(), **wrong})
        assert through_server["error"]["code"] == 400


async def test_the_server_decides_how_long_a_call_may_take() -> None:
    async with office(raw()) as here:
        long = tool_call(timeout=7_200)
        assert not (await here.client.on_tool_call(long))["isError"]
        assert (await here.agent.ask("client:tool_call", long))["error"]["code"] == 400


async def test_a_request_for_another_computer_is_404() -> None:
    async with office(raw()) as here:
        for handler in (here.client.on_tool_call, here.client.on_get_tools, here.client.on_get_config):
            data = tool_call("somebody-else")
            assert (await handler(data))["error"]["code"] == 404


async def test_an_unknown_request_gets_an_error() -> None:
    async with office(raw()) as here:
        assert (await here.agent.ask("client:dance", request()))["error"]["code"] == 400


async def test_an_answer_over_the_limit_is_an_error_with_size_and_limit_and_the_connection_lives() -> None:
    async with office(raw()) as here:
        answer = await here.call("big", {"bytes": 11_000_000})
        assert answer["error"]["code"] == 413
        assert "11000" in answer["error"]["message"]
        assert "10000000" in answer["error"]["message"]
        assert text(await here.call("echo", {"text": "still here"})) == "still here"


# --------------------------------------------------------------------------------------------------------------- cancel


async def test_a_cancel_ends_the_call_at_once_and_reaches_the_mcp_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(raw("raw", "--log", str(log))) as here:
        call = asyncio.create_task(here.call("sleep", {"seconds": 60}, req_id="mine"))
        await eventually(lambda: received(log, "tools/call"))
        await here.agent.tell("server:tool_call_cancel", {"agent": "agent", "req_id": "unknown"})
        await here.agent.tell("server:tool_call_cancel", {"agent": "agent", "req_id": "mine"})
        answer = await call
        assert answer["isError"]
        assert answer["meta"]["a2c_cancelled"] is True
        assert answer["meta"]["a2c_cancel_reason"] == "agent_cancelled"
        await eventually(lambda: received(log, "notifications/cancelled"))


async def test_a_duplicate_request_attaches_to_the_running_call(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(raw("raw", "--log", str(log))) as here:
        calls = [here.call("sleep", {"seconds": 0.3}, req_id="same") for _ in range(3)]
        answers = await asyncio.gather(*calls)
        assert not any(answer["isError"] for answer in answers)
        assert len(received(log, "tools/call")) == 1


async def test_when_the_agent_leaves_its_calls_are_cancelled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(raw("raw", "--log", str(log))) as here:
        call = asyncio.create_task(here.call("sleep", {"seconds": 60}))
        await eventually(lambda: received(log, "tools/call"))
        await here.agent.disconnect()
        await eventually(lambda: received(log, "notifications/cancelled"))
        call.cancel()
