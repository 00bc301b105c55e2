"""Items and results of an MCP server that are nested too deeply: each costs only itself, over every transport."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Generator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.mcp.parsing import MAX_LEVELS, flaw, is_too_deep, parse
from a2c_smcp.computer.types import ServerState
from a2c_smcp.nesting import cut, is_deeper
from tests.support.hosting import raw
from tests.support.mcp_servers import AUTO, SERVERS, HttpServer
from tests.support.offices import code, office
from tests.support.peer import request

TRANSPORTS = ("stdio", "json", "events", "sse")
# Below and above what each library on the way accepts: the parser of HTTP about 200, orjson 254 and 1,024.
LEVELS = (MAX_LEVELS + 1, 230, 600, 5_000)


@contextlib.contextmanager
def nested(transport: str, levels: int) -> Generator[MCPServerConfig]:
    command = [sys.executable, str(SERVERS / "nested.py"), "--levels", str(levels), "--transport", transport]
    if transport == "stdio":
        yield server_from({"command": command[0], "args": command[1:], "default_tool_meta": AUTO}, "nested")
        return
    with contextlib.closing(HttpServer(command)) as server:
        kind = "sse" if transport == "sse" else "streamable"
        yield server_from({"type": kind, "url": server.url, "default_tool_meta": AUTO}, "nested")


@pytest.mark.anyio
@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_one_item_or_result_that_is_nested_too_deeply_costs_only_itself(transport: str, levels: int) -> None:
    with nested(transport, levels) as config:
        async with office(config, raw("other", "--prefix", "o_")) as here:
            tools = await here.tools()
            assert {"echo", "text", "structured", "failure", "meta", "o_echo"} <= set(tools)
            assert not {"deep schema", "deep meta"} & set(tools)
            for event, key in (
                ("client:list_prompts", "prompts"),
                ("client:get_resources", "resources"),
                ("client:list_resource_templates", "templates"),
            ):
                answer = await here.agent.ask(event, request(mcp_server="nested"))
                assert [each["name"] for each in answer[key]] == ["good"]
            for tool in ("text", "structured", "failure", "meta"):
                answer = await here.call(tool)
                assert code(answer) == 4003
                assert "nested" in answer["content"][0]["text"]
            for event, field, bad, good in (
                ("client:get_prompt", "name", "deep", "good"),
                ("client:read_resource", "uri", "x://deep", "x://other"),
            ):
                answer = await here.agent.ask(event, request(mcp_server="nested", **{field: bad}))
                assert answer["error"]["code"] == 500
                assert "nested" in answer["error"]["message"]
                assert "error" not in await here.agent.ask(event, request(mcp_server="nested", **{field: good}))
            assert code(await here.call("echo")) is None
            status = here.computer.status_of("nested")
            assert (status.state, status.restarts) == (ServerState.READY, 0)
            left_out = [note.partition(" is left out")[0] for note in status.notes if "nested" in note]
            assert sorted(left_out) == [
                "prompt deep",
                "resource deep",
                "resource template deep",
                "tool deep meta",
                "tool deep schema",
            ]


@pytest.mark.anyio
async def test_parameters_that_are_nested_too_deeply_fail_one_call() -> None:
    deep: Any = {}
    for _ in range(400):
        deep = {"a": deep}
    with nested("json", 1) as config:
        async with office(config) as here:
            answer = await here.computer.aexecute_tool("r1", "echo", deep, 30)
            assert (answer.meta or {})["error_code"] == 400
            assert code(await here.call("echo")) is None
            assert here.computer.status_of("nested").restarts == 0


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('a"\\[]{}é', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('b"\\[{', max_size=2), inner, max_size=3),
    max_leaves=20,
)


def without(value: Any, levels: int) -> Any:
    """What is left of a value when everything deeper is null."""
    if isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        return {key: without(each, levels - 1) for key, each in named.items()} if levels else None
    if isinstance(value, list):
        return [without(each, levels - 1) for each in cast("list[Any]", value)] if levels else None
    return value


@given(values, st.integers(1, 4), st.booleans())
def test_a_text_is_cut_below_its_level(value: Any, levels: int, is_wide: bool) -> None:
    text = json.dumps(value, indent=2 if is_wide else None)
    shallow = cut(text, levels)
    assert shallow is not None
    assert json.loads(shallow) == without(value, levels)
    assert is_deeper(text, levels) == (without(value, levels) != value)


@pytest.mark.parametrize("text", ["[" * 1_000, '"' + '\\"' * 100_000, '{"a":"[', "nothing", '{"a":1'])
def test_a_text_that_is_no_json_has_no_value(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize("width", [1, 5_000])
def test_the_depth_is_that_of_the_deepest_part(width: int) -> None:
    for levels in (1, 2, MAX_LEVELS, MAX_LEVELS + 1, 2_000):
        value: Any = [0] * width
        for _ in range(levels - 1):
            value = {"a": value, "b": [0]} if levels > 2 else [value]
        assert is_too_deep(value) == (levels > MAX_LEVELS)
        assert (flaw(value) is not None) == (levels > MAX_LEVELS)
