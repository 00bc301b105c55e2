"""The identity of an MCP server for peers of A2C-SMCP 0.3 and later."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.utils.bundle_id import bundle_id, is_bundle_id, normalized


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("files", "files"),
        ("My Server!", "My_Server"),
        ("a__b", "a_b"),
        ("a-b--c", "a-b--c"),
        ("__lead_trail__", "lead_trail"),
        ("é", ""),
        ("_-_", ""),
    ],
)
def test_a_name_is_normalized(name: str, expected: str) -> None:
    assert normalized(name) == expected


def test_a_name_without_usable_characters_gives_an_id_of_the_connection() -> None:
    parameters = {"command": "npx", "args": ["-y", "everything"], "env": None}
    assert bundle_id("文档服务", "stdio", parameters) == "bundle_8d2a9232fa76e8a5"


def test_connections_that_differ_have_different_ids() -> None:
    connections = [
        ("stdio", {"command": "a", "args": ["b"]}),
        ("stdio", {"command": "a", "args": ["b"], "env": {"K": "v"}}),
        ("stdio", {"command": "ab"}),
        ("streamable", {"url": "http://127.0.0.1/"}),
        ("sse", {"url": "http://127.0.0.1/"}),
        ("sse", {"url": "http://127.0.0.1/", "headers": {"K": "v"}}),
    ]
    assert len({bundle_id("文", kind, parameters) for kind, parameters in connections}) == len(connections)


def test_the_order_of_variables_does_not_matter() -> None:
    one = bundle_id("文", "stdio", {"command": "a", "env": {"A": "1", "B": "2"}})
    assert bundle_id("文", "stdio", {"command": "a", "env": {"B": "2", "A": "1"}}) == one


@given(st.text(), st.text(), st.lists(st.text()))
def test_every_server_has_a_valid_id(name: str, command: str, args: list[str]) -> None:
    assert is_bundle_id(bundle_id(name, "stdio", {"command": command, "args": args}))
