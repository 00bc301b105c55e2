"""Binaries that travel beside an answer: the handles in a result of a tool or in the contents of a resource.

A Computer empties the payload of a large picture, recording or file, and writes a handle into the `_meta` of the item.
Whoever reads the answer fetches the binary with `client:get_blob` and puts it back. Nothing here changes its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from a2c_smcp.utils.result_meta import BLOB_HANDLE, SAVED_TO

TOTAL_SIZE: Final = "a2c_total_size"
SHA256: Final = "a2c_sha256"
"""The keys beside a handle in the `_meta` of an item."""

INLINE_BYTES: Final = 32 * 1024
"""The largest binary that stays in an answer, for a requester that reads handles."""
CHUNK_BYTES: Final = 256 * 1024
"""The bytes of a chunk, before base64."""

_OURS: Final = (BLOB_HANDLE, TOTAL_SIZE, SHA256, SAVED_TO)
_OF_BINARIES: Final = frozenset(("_meta", "meta", "resource", "data", "blob"))
"""The keys of an item of which at least one is there where a binary, or a key of ours, can be."""
_LISTS: Final = ("content", "contents")
"""Where an answer has its items: a result of a tool, the contents of a resource."""
_DIGEST = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BlobItem:
    """An item of an answer whose binary has to be fetched. Size and hash are None if the Computer does not say them."""

    index: int
    """The place of the item in `content` or `contents`."""
    handle: str
    mime_type: str
    total_size: int | None
    sha256: str | None
    uri: str | None
    """The address, if the item is a resource."""
    kind: str
    """The MCP type of the item, such as `image`; `resource` also for contents of a resource."""


def items_of(answer: Mapping[str, Any]) -> list[Any]:
    """The items of a result of a tool, or of the contents of a resource."""
    for key in _LISTS:
        items = answer.get(key)
        if isinstance(items, list):
            return cast("list[Any]", items)
    return []


def may_have_binaries(answer: Mapping[str, Any]) -> bool:
    """Whether an item can have a binary, or a key of ours. False, at the cost of a look, for the usual answer."""
    for item in items_of(answer):  # not `any`: its generator would cost every call more than the look itself
        if isinstance(item, dict) and not _OF_BINARIES.isdisjoint(cast("dict[str, Any]", item)):
            return True
    return False


def may_have_handles(answer: Mapping[str, Any]) -> bool:
    """Whether `find_handles` has to look."""
    return may_have_binaries(answer) and any(_meta_of(item) is not None for item in items_of(answer))


def find_handles(answer: Mapping[str, Any]) -> list[BlobItem]:
    """The items whose binaries have to be fetched, in order. An answer without any costs one look at each item."""
    found: list[BlobItem] = []
    for index, item in enumerate(items_of(answer)):
        meta = _meta_of(item)
        if meta is None or not isinstance(handle := meta.get(BLOB_HANDLE), str) or not handle:
            continue
        holder, key = _holder_of(item)
        # An MCP server can write such keys, too. Only an item that the Computer emptied has a handle.
        if holder is None or holder.get(key) != "":
            continue
        size, digest = meta.get(TOTAL_SIZE), meta.get(SHA256)
        found.append(
            BlobItem(
                index,
                handle,
                mime_type_of(item),
                size if type(size) is int and size >= 0 else None,
                digest.lower() if isinstance(digest, str) and _DIGEST.fullmatch(digest) else None,
                uri_of(item),
                kind_of(item),
            )
        )
    return found


def uri_of(item: Any) -> str | None:
    """The address of an item that is a resource."""
    holder, _ = _holder_of(item)
    return _text(holder.get("uri")) if holder is not None else None


def kind_of(item: Any) -> str:
    """The MCP type of an item; `resource` also for contents of a resource."""
    kind: Any = cast("dict[str, Any]", item).get("type") if isinstance(item, dict) else None
    return _text(kind) or "resource"


def replaced(answer: Mapping[str, Any], items: Mapping[int, Any]) -> dict[str, Any]:
    """The answer with other items at these indexes."""
    copied = dict(answer)
    for key in _LISTS:
        if isinstance(answer.get(key), list):
            copied[key] = [items.get(index, item) for index, item in enumerate(cast("Iterable[Any]", answer[key]))]
            break
    return copied


def filled(item: Any, payload: str) -> dict[str, Any]:
    """The item with its binary, in base64, in place of the handle."""
    return _remade(item, {}, payload)


def saved(item: Any, path: str) -> dict[str, Any]:
    """The item with the path of a file in place of its binary or handle."""
    return _remade(item, {SAVED_TO: path}, "")


def emptied(item: Any, handle: str, total_size: int, sha256: str) -> dict[str, Any]:
    """The item with a handle in place of its binary."""
    return _remade(item, {BLOB_HANDLE: handle, TOTAL_SIZE: total_size, SHA256: sha256}, "")


def cleaned(item: Any) -> Any:
    """The item without keys that only this protocol may write; the item itself, if it has none."""
    meta = _meta_of(item)
    return item if meta is None else _remade(item, {})


def as_text(item: Any, text: str) -> dict[str, Any]:
    """A text in place of an item: an MCP content item, or text contents at the same address."""
    if "type" in item:
        return {"type": "text", "text": text}
    return {"uri": item.get("uri"), "mimeType": "text/plain", "text": text}


def payload_of(item: Any) -> str | None:
    """The binary of an item, in base64; None if the item is no picture, recording or file."""
    holder, key = _holder_of(item)
    payload = holder.get(key) if holder is not None else None
    return payload if isinstance(payload, str) else None


def decoded_size(payload: str) -> int:
    """The bytes that a valid base64 text has, without decoding it."""
    return len(payload) * 3 // 4 - (2 if payload.endswith("==") else 1 if payload.endswith("=") else 0)


def mime_type_of(item: Any) -> str:
    """The MIME type of an item's binary."""
    holder, _ = _holder_of(item)
    return (_text(holder.get("mimeType")) if holder is not None else None) or "application/octet-stream"


def _remade(item: Any, meta: Mapping[str, Any], payload: str | None = None) -> dict[str, Any]:
    """A copy of an item, with other keys of ours in its metadata, and perhaps another payload."""
    made: dict[str, Any] = dict(item)
    # The Python SDK of the official implementation writes `meta` in items, where MCP has `_meta`.
    for key in ("_meta", "meta"):
        if isinstance(held := made.pop(key, None), dict):
            meta = {**_foreign(cast("dict[str, Any]", held)), **meta}
    resource = made.get("resource")
    if isinstance(resource, dict):
        made["resource"] = resource = _without_ours(cast("dict[str, Any]", resource))
    if meta:
        made["_meta"] = meta
    if payload is not None:
        holder, key = _holder_of(made)
        if holder is not None:
            holder[key] = payload
    return made


def _without_ours(resource: dict[str, Any]) -> dict[str, Any]:
    """A copy of an embedded resource, whose own metadata has no key of ours."""
    copied = dict(resource)
    for key in ("_meta", "meta"):
        if isinstance(held := copied.pop(key, None), dict) and (rest := _foreign(cast("dict[str, Any]", held))):
            copied[key] = rest
    return copied


def _foreign(meta: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in meta.items() if key not in _OURS}


def _holder_of(item: Any) -> tuple[dict[str, Any] | None, str]:
    """The object that has the payload of an item, and its key there."""
    if not isinstance(item, dict):
        return None, ""
    item = cast("dict[str, Any]", item)
    kind = item.get("type")
    if kind in ("image", "audio"):
        return item, "data"
    if kind == "resource":
        resource = item.get("resource")
        holder = cast("dict[str, Any]", resource) if isinstance(resource, dict) else None
    else:
        holder = item if kind is None else None
    return (holder, "blob") if holder is not None and "blob" in holder else (None, "")


def _meta_of(item: Any) -> dict[str, Any] | None:
    """The metadata of an item that may have a handle: its own, or else that of its resource."""
    if not isinstance(item, dict):
        return None
    item = cast("dict[str, Any]", item)
    # Every item of every answer comes here, and nearly all of them are texts without metadata.
    if "_meta" not in item and "meta" not in item and "resource" not in item:
        return None
    for holder in (item, item.get("resource")):
        if isinstance(holder, dict):
            for key in ("_meta", "meta"):
                meta = cast("dict[str, Any]", holder).get(key)
                if isinstance(meta, dict) and any(each in meta for each in _OURS):
                    return cast("dict[str, Any]", meta)
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
