"""Handles in results and contents: found, put back, made, and never confused with what an MCP server writes."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from a2c_smcp.protocol import blob_items

SUM = "ab" * 32
OURS = {"a2c_blob_handle": "h", "a2c_total_size": 5, "a2c_sha256": SUM}
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png", "annotations": {"priority": 1}}
FILE = {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "AAAA", "mimeType": "x/y", "_meta": {"k": 1}}}
CONTENTS = {"uri": "file:///a.bin", "mimeType": "x/y", "blob": "AAAA"}
EVERY_KIND = pytest.mark.parametrize(
    ("key", "item"),
    [("content", IMAGE), ("content", {**IMAGE, "type": "audio"}), ("content", FILE), ("contents", CONTENTS)],
)


@EVERY_KIND
@pytest.mark.parametrize("meta", [None, {"own": 1}])
def test_what_is_emptied_is_found_and_can_be_put_back_unchanged(
    key: str, item: dict[str, Any], meta: dict[str, Any] | None
) -> None:
    item = item if meta is None else {**item, "_meta": meta}
    before = copy.deepcopy(item)
    answer: dict[str, Any] = {
        key: [{"type": "text", "text": "a"}, blob_items.emptied(item, "h", 5, SUM)],
        "isError": False,
    }
    [found] = blob_items.find_handles(answer)
    assert (found.index, found.handle, found.total_size, found.sha256) == (1, "h", 5, SUM)
    assert blob_items.payload_of(answer[key][1]) == ""
    restored = blob_items.replaced(answer, {1: blob_items.filled(answer[key][1], "AAAA")})
    assert restored == {key: [{"type": "text", "text": "a"}, before], "isError": False}
    assert item == before


@EVERY_KIND
def test_a_saved_item_names_its_file_and_has_no_handle(key: str, item: dict[str, Any]) -> None:
    saved = blob_items.saved(blob_items.emptied(item, "h", 5, SUM), "/tmp/a.bin")
    assert blob_items.find_handles({key: [saved]}) == []
    assert saved["_meta"] == {"a2c_saved_to": "/tmp/a.bin"}
    assert blob_items.payload_of(saved) == ""


@pytest.mark.parametrize(
    "item",
    [
        {**IMAGE, "data": "", "meta": {**OURS, "own": 1}},
        {**IMAGE, "data": "", "_meta": OURS, "meta": None},
        {"type": "resource", "resource": {"uri": "u:", "blob": "", "_meta": OURS}},
    ],
)
def test_handles_are_read_wherever_peers_write_them(item: dict[str, Any]) -> None:
    [found] = blob_items.find_handles({"content": [item]})
    assert (found.handle, found.total_size, found.sha256) == ("h", 5, SUM)
    filled = blob_items.filled(item, "AAAA")
    assert blob_items.find_handles({"content": [filled]}) == []
    assert "a2c_" not in str(filled)
    assert blob_items.payload_of(filled) == "AAAA"


NO_HANDLES: list[dict[str, Any]] = [
    {},
    {"content": None},
    {"content": ["text", None, {}]},
    {"content": [{**IMAGE, "_meta": OURS}]},
    {"content": [{**IMAGE, "data": "", "_meta": {**OURS, "a2c_blob_handle": 3}}]},
    {"content": [{**IMAGE, "data": "", "_meta": {**OURS, "a2c_blob_handle": ""}}]},
    {"content": [{"type": "text", "text": "", "_meta": OURS}]},
    {"contents": [{"uri": "u:", "text": "", "_meta": OURS}]},
]


@pytest.mark.parametrize("answer", NO_HANDLES)
def test_what_is_no_handle_is_not_found(answer: dict[str, Any]) -> None:
    assert blob_items.find_handles(answer) == []


def test_a_handle_without_valid_size_and_hash_is_found_without_them() -> None:
    meta = {"a2c_blob_handle": "h", "a2c_total_size": -1, "a2c_sha256": "short"}
    [found] = blob_items.find_handles({"content": [{**IMAGE, "data": "", "_meta": meta}]})
    assert (found.total_size, found.sha256) == (None, None)


def test_keys_of_ours_that_an_mcp_server_writes_are_removed() -> None:
    assert blob_items.cleaned({**IMAGE, "_meta": {**OURS, "own": 1}}) == {**IMAGE, "_meta": {"own": 1}}
    assert blob_items.cleaned(IMAGE) is IMAGE


@pytest.mark.parametrize("size", range(8))
def test_the_size_of_a_binary_is_known_without_decoding_it(size: int) -> None:
    assert blob_items.decoded_size(base64.b64encode(bytes(size)).decode()) == size


def test_a_text_replaces_an_item_of_either_kind() -> None:
    assert blob_items.as_text(IMAGE, "too large") == {"type": "text", "text": "too large"}
    assert blob_items.as_text(CONTENTS, "too large") == {
        "uri": "file:///a.bin",
        "mimeType": "text/plain",
        "text": "too large",
    }
