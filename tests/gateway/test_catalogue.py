"""The lists of tools in all modes, without an office."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import ListToolsResult

from a2c_smcp.gateway import builtin
from a2c_smcp.gateway.catalogue import SEARCH_FROM, Catalogue
from a2c_smcp.gateway.described import Reader
from a2c_smcp.gateway.naming import NameBook
from a2c_smcp.gateway.profile import Profile
from a2c_smcp.smcp import SMCPTool
from tests.support.smcp_tools import smcp_tool

FIT = re.compile("[a-z][a-z0-9_]{0,39}")
TEXT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
OTHER = {"type": "object", "properties": {"query": {"type": "string"}}}
OWN = ["look_at_desktop", "find_documents", "read_document"]
FULL: dict[str, Any] = {
    "title": "Echo it",
    "description": "Says it again.",
    "inputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema", **TEXT},
    "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    "icons": [{"src": "data:image/png;base64,AAAA", "mimeType": "image/png", "sizes": ["16x16"]}],
    "annotations": {"readOnlyHint": True, "title": "Echo", "later": 1},
    "_meta": {"ui": {"resourceUri": "ui://x"}, "n": None, "a": [1, "2"]},
    "execution": {"taskSupport": "optional"},
    "later": {"x": [1]},
}


def catalogue(offered: Mapping[str, Sequence[SMCPTool]], names: NameBook | None = None, /, **profile: Any) -> Catalogue:
    names = NameBook(frozenset(builtin.NAMES)) if names is None else names
    return Catalogue(Profile.of(profile), Reader().read(offered), names)


def names_in(made: Catalogue) -> list[str]:
    return [tool["name"] for tool in made.listed]


# --------------------------------------------------------------------------------------------------------------- merged


def test_a_tool_of_several_computers_is_one_tool_with_a_choice() -> None:
    made = catalogue({pc: [smcp_tool("echo", inputSchema=TEXT, description="Says it.")] for pc in ("b", "a")})
    assert names_in(made) == [*OWN, "echo"]
    [*_, echo] = made.listed
    assert echo["inputSchema"] == {
        "type": "object",
        "properties": {
            "computer": {"type": "string", "enum": ["a", "b"], "description": "The computer to use."},
            **TEXT["properties"],
        },
        "required": ["computer", "text"],
    }
    assert echo["description"] == "Says it.\n\nRuns on the computer you choose."
    found = made.find("echo")
    assert found is not None
    assert (found.computers, found.choice, found.tool) == (("a", "b"), "computer", "echo")


def test_a_tool_of_one_computer_needs_no_choice_and_is_otherwise_unchanged() -> None:
    made = catalogue({"a": [smcp_tool("echo", **FULL)], "b": []})
    [*_, echo] = made.listed
    assert echo == {"name": "echo", **FULL, "description": "Says it again.\n\nRuns on a."}
    found = made.find("echo")
    assert found is not None
    assert (found.computers, found.choice, found.is_read_only) == (("a",), None, True)


def test_tools_with_one_name_and_different_schemas_are_different_tools() -> None:
    offered = {
        "a": [smcp_tool("find", inputSchema=TEXT)],
        "b": [smcp_tool("find", inputSchema=OTHER)],
        "c": [smcp_tool("find", inputSchema=dict(reversed(TEXT.items())))],
    }
    made = catalogue(offered)
    first, second = names_in(made)[3:]
    assert first == "find"
    assert re.fullmatch("find_[0-9a-f]{6}", second)
    assert [made.find(name).computers for name in (first, second)] == [("a", "c"), ("b",)]  # type: ignore[union-attr]


def test_a_parameter_of_the_tool_that_is_called_computer_stays_its_own() -> None:
    schema = {"type": "object", "properties": {"computer": {"type": "integer"}, "target_computer": {}}}
    made = catalogue({pc: [smcp_tool("ping", inputSchema=schema)] for pc in ("a", "b")})
    found = made.find("ping")
    assert found is not None
    assert found.choice == "a2c_computer"
    properties = found.listed["inputSchema"]["properties"]
    assert (properties["computer"], properties["a2c_computer"]["enum"]) == ({"type": "integer"}, ["a", "b"])


def test_the_gateways_own_tools_keep_their_names_and_say_which_computers_there_are() -> None:
    tools = [smcp_tool("find_tools"), smcp_tool("look_at_desktop")]
    made = catalogue({"a": tools, "b": []})
    assert names_in(made)[:3] == OWN
    assert len(set(names_in(made))) == 5
    assert made.listed[0]["inputSchema"]["properties"]["computer"]["enum"] == ["a", "b"]
    assert "computer" not in catalogue({"a": tools}).listed[0]["inputSchema"]["properties"]
    assert catalogue({}).listed == catalogue({"a": []}).listed, "an empty office shows what it can do"


def test_tools_that_do_what_the_gateway_does_are_left_out_except_in_the_direct_mode() -> None:
    tool = smcp_tool("search_documents", _meta={"a2c_finder": True})
    assert names_in(catalogue({"a": [tool]})) == OWN
    assert names_in(catalogue({"a": [tool]}, mode="direct")) == ["search_documents"]


# --------------------------------------------------------------------------------------------------------------- search


def many(count: int) -> list[SMCPTool]:
    return [smcp_tool(f"tool_{number}") for number in range(count)]


def test_auto_is_a_search_from_forty_distinct_tools() -> None:
    assert catalogue({"a": many(SEARCH_FROM - 1), "b": many(SEARCH_FROM - 1)}).form == "merged"
    made = catalogue({"a": many(SEARCH_FROM - 1), "b": [smcp_tool("one_more")]})
    assert made.form == "search"
    assert names_in(made) == ["find_tools", "call_tool", "read_tool", *OWN]
    assert len(made) == SEARCH_FROM
    assert made.find("tool_3") is not None
    assert catalogue({"a": many(1)}, mode="search").form == "search"
    assert catalogue({"a": many(100)}, mode="merged").form == "merged"


def test_the_list_of_a_search_does_not_change_with_the_tools() -> None:
    one, other = catalogue({"a": many(50)}), catalogue({"a": many(60)})
    assert one.digest == other.digest
    assert one.digest != catalogue({"a": many(50), "b": []}).digest, "there is another computer to choose"


def test_what_is_read_only_can_be_read() -> None:
    made = catalogue({"a": many(1)}, mode="search")
    hints = {tool["name"]: tool.get("annotations") for tool in made.listed}
    assert hints.pop("call_tool") is None
    assert set(map(str, hints.values())) == {"{'readOnlyHint': True}"}


def test_a_search_without_words_gives_the_first_tools() -> None:
    made = catalogue({"a": many(50)})
    assert [tool.name for tool in made.search("", 3)] == ["tool_0", "tool_1", "tool_10"]
    assert [tool.name for tool in made.search("tool_7", 1)] == ["tool_7"]
    assert made.search("nothing of the kind", 5) == []


# --------------------------------------------------------------------------------------------------------------- direct


def test_the_direct_mode_passes_tools_through_unchanged() -> None:
    tools = [
        smcp_tool("echo", **FULL),
        smcp_tool("Some.Tool-2", inputSchema=OTHER),
        smcp_tool("read_document", description="A tool of its own."),
        smcp_tool("untitled", title="Only a title"),
    ]
    written = [
        {"name": "Some.Tool-2", "inputSchema": OTHER},
        {"name": "echo", **FULL},
        {"name": "read_document", "description": "A tool of its own.", "inputSchema": {"type": "object"}},
        {"name": "untitled", "title": "Only a title", "inputSchema": {"type": "object"}},
    ]
    assert catalogue({"a": tools}, mode="direct").listed == written


def test_names_that_are_not_unique_or_not_valid_get_others_in_the_direct_mode() -> None:
    offered = {
        "Ann's PC": [smcp_tool("echo"), smcp_tool("only here"), smcp_tool("搜索")],
        "lab": [smcp_tool("echo"), smcp_tool("add")],
    }
    made = catalogue(offered, mode="direct")
    names = names_in(made)
    assert names[:4] == ["add", "echo_ann_s_pc", "echo_lab", "only_here"]
    assert FIT.fullmatch(names[4])
    found = made.find("echo_lab")
    assert found is not None
    assert (found.tool, found.computers, found.choice) == ("echo", ("lab",), None)


def test_a_name_of_one_mode_is_free_in_the_others() -> None:
    names = NameBook(frozenset(builtin.NAMES))
    offered = {"a": [smcp_tool("echo"), smcp_tool("read_document")]}
    merged = names_in(catalogue(offered, names))
    assert merged[3] == "echo"
    assert merged[4].startswith("read_document_")
    assert names_in(catalogue(offered, names, mode="direct")) == ["echo", "read_document"]


# ------------------------------------------------------------------------------------------------------------- profiles


def test_a_profile_shows_a_part_of_the_tools() -> None:
    reading: dict[str, Any] = {"annotations": {"readOnlyHint": True}}
    offered = {
        "a": [smcp_tool("read_x", server="files", tags=["t"], **reading), smcp_tool("write_x", server="files")],
        "b": [smcp_tool("read_y", server="web", **reading)],
    }
    expected: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["read_x", "read_y", "write_x"]),
        ({"read_only": True}, ["read_x", "read_y"]),
        ({"computers": ["b"]}, ["read_y"]),
        ({"exclude_computers": ["b"]}, ["read_x", "write_x"]),
        ({"servers": ["web"]}, ["read_y"]),
        ({"exclude_servers": ["web"]}, ["read_x", "write_x"]),
        ({"tags": ["t"]}, ["read_x"]),
        ({"exclude_tags": ["t"]}, ["read_y", "write_x"]),
        ({"tools": ["read_*"]}, ["read_x", "read_y"]),
        ({"exclude_tools": ["*_x"]}, ["read_y"]),
        ({"computers": ["a"], "read_only": True}, ["read_x"]),
    ]
    for profile, names in expected:
        for mode in ("merged", "direct"):
            made = catalogue(offered, **{**profile, "mode": mode})
            assert [name for name in names_in(made) if name not in OWN] == names, profile


def test_a_computer_that_does_not_name_its_servers_is_not_shown_where_servers_are_chosen() -> None:
    tool: Any = smcp_tool("echo")
    del tool["meta"]["a2c_mcp_server"]
    for profile in ({"servers": ["s"]}, {"exclude_servers": ["s"]}):
        assert names_in(catalogue({"a": [tool]}, **profile)) == OWN


# ------------------------------------------------------------------------------------------------------ odd tools


@pytest.mark.parametrize(
    "change",
    [
        {"params_schema": {}},
        {"params_schema": {"anyOf": [{"type": "object"}]}},
        {"params_schema": {"type": "nonsense", "properties": 7}},
        {"return_schema": "nonsense"},
        {"meta": {"MCP_TOOL_ANNOTATION": '{"readOnlyHint": {"no": "bool"}}'}},
        {"meta": {"a2c_mcp_tool": '{"icons": 5, "title": ["x"]}'}},
        {"meta": {"a2c_mcp_tool": "not JSON", "MCP_TOOL_ANNOTATION": "[1]"}},
        {"meta": {"a2c_mcp_tool": '{"inputSchema": 5, "name": 7}'}},
        {"meta": None},
        {"description": ""},
    ],
)
def test_a_tool_that_mcp_does_not_accept_is_listed_without_what_is_wrong(change: Any) -> None:
    odd: Any = {"name": "odd", "description": "d", "params_schema": {"type": "object"}, "return_schema": None}
    odd.update(change)
    made = catalogue({"a": [odd, smcp_tool("good")]}, mode="direct")
    listed = ListToolsResult.model_validate({"tools": made.listed}, by_name=False)
    assert [tool.name for tool in listed.tools] == ["good", "odd"]
    assert all(tool.input_schema["type"] == "object" for tool in listed.tools)


def test_a_tool_that_cannot_be_written_does_not_hide_the_others() -> None:
    huge: Any = {
        "name": "huge",
        "description": "",
        "params_schema": {"type": "object", "properties": {"n": {"maximum": 1 << 80}}},
        "return_schema": None,
    }
    assert names_in(catalogue({"a": [huge, smcp_tool("good")]}, mode="direct")) == ["good"]


# ------------------------------------------------------------------------------------------------------------ stability

SCHEMAS = (TEXT, OTHER, {"type": "object"})
OFFERS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "Ann's PC", "电脑"]),
    st.lists(
        st.tuples(st.sampled_from(["find", "Find", "find!", "查找", "y" * 60, "look_at_desktop"]), st.integers(0, 2)),
        unique_by=lambda tool: tool[0],
        max_size=4,
    ),
    max_size=4,
)


def offer(drawn: dict[str, list[tuple[str, int]]]) -> dict[str, Sequence[SMCPTool]]:
    return {pc: [cached_tool(name, number) for name, number in tools] for pc, tools in drawn.items()}


@cache
def cached_tool(name: str, schema: int) -> SMCPTool:
    return smcp_tool(name, inputSchema=SCHEMAS[schema])


def meanings(made: Catalogue) -> dict[str, Any]:
    """What each name stands for: a tool with a schema, or a tool of a Computer, which may change its schema."""
    found: dict[str, Any] = {}
    for tool in made.search("", 1_000):
        schema = {name for name in tool.listed["inputSchema"].get("properties", {}) if name != tool.choice}
        found[tool.name] = tool.tool, tool.computers if made.form == "direct" else frozenset(schema)
    return found


@given(st.lists(OFFERS, max_size=6), st.sampled_from(["merged", "search", "direct"]))
def test_a_name_never_changes_its_meaning_while_computers_come_and_go(history: list[Any], mode: str) -> None:
    names = NameBook(frozenset(builtin.NAMES))
    known: dict[str, Any] = {}
    for drawn in history:
        made = catalogue(offer(drawn), names, mode=mode)
        for name, meaning in meanings(made).items():
            assert known.setdefault(name, meaning) == meaning
            assert mode == "direct" or FIT.fullmatch(name)
    assert len(set(map(str, known.values()))) == len(known), "and a meaning has one name"


@given(OFFERS, st.sampled_from(["merged", "direct"]), st.integers())
def test_the_same_office_has_the_same_names_in_every_process(drawn: Any, mode: str, seed: int) -> None:
    """Whatever the order in which Computers arrive, and in which they list their tools."""
    offered = offer(drawn)
    order = random.Random(seed)
    shuffled = {
        pc: order.sample(list(offered[pc]), len(offered[pc])) for pc in order.sample(sorted(offered), len(offered))
    }
    assert catalogue(offered, mode=mode).listed == catalogue(shuffled, mode=mode).listed


def test_tools_are_read_once() -> None:
    tools = many(3)
    reader = Reader()
    first = reader.read({"a": tools})["a"]
    again = reader.read({"b": [], "a": [*tools[1:], smcp_tool("new")]})["a"]
    assert again[:2] == first[1:], "the same objects"
    assert [tool.name for tool in again] == ["tool_1", "tool_2", "new"]
