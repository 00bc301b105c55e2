"""The description of tools: what their MCP servers may say about them."""

from __future__ import annotations

from typing import Any

import pytest

from a2c_smcp.utils.tool_meta import tool_meta
from tests.support.smcp_tools import smcp_tool

DECLARED = {"a2c_tool_meta": {"tags": ["theirs"], "auto_apply": True, "alias": "mine", "team": "x"}}


def test_of_what_a_server_declares_about_a_tool_only_the_tags_count() -> None:
    tool = smcp_tool("echo", _meta=DECLARED)
    nothing = {"auto_apply": None, "alias": None, "ret_object_mapper": None}
    assert (tool["name"], tool_meta(tool)) == ("echo", {**nothing, "tags": ["theirs"]})


@pytest.mark.parametrize("tags", [["ours"], []])
def test_the_tags_of_the_owner_replace_those_that_the_server_declares(tags: list[str]) -> None:
    assert tool_meta(smcp_tool(tags=tags, _meta=DECLARED))["tags"] == tags


@pytest.mark.parametrize("declared", ['{"tags": ["x"]}', ["x"], {"tags": "x"}, {"tags": [1, "", "x" * 101, None]}])
def test_tags_that_are_none_are_ignored(declared: Any) -> None:
    tool = smcp_tool(_meta={"a2c_tool_meta": declared, "other": 1})
    assert tool_meta(tool) == {}
    assert (tool.get("meta") or {}).get("other") == 1
