"""Binaries that a Computer replaced by handles, for an Agent that knows no handles: the Server fetches them and puts
them back.

This is a part of the call that the Agent waits for: it has the call's time, and the result that of one message. A
binary that cannot be put back becomes a text that says why.
"""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64decode, b64encode
from itertools import count
from typing import Any, NamedTuple, TypeAlias, cast

from a2c_smcp import smcp
from a2c_smcp.errors import BlobUnavailableError, InvalidAnswerError, SMCPError, TimedOutError, TooLargeError
from a2c_smcp.protocol.answers import failure_in
from a2c_smcp.protocol.blob_items import CHUNK_BYTES, BlobItem, as_text, filled, find_handles, items_of, replaced
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.server_effects import Call, ReadClock, ServerBackend, SizeOf, Written

ServerFlow: TypeAlias = Flow[ServerBackend, Any]

_TEXT_BYTES = 300
"""Room for the text in place of a binary."""


class _Chunk(NamedTuple):
    data: bytes
    total_size: int
    sha256: str
    is_last: bool


def with_binaries(call: Call, result: Any, most: int, deadline: float) -> ServerFlow:
    """The result of a call with its binaries, in a message of at most `most` bytes."""
    if not isinstance(result, dict):
        return result
    result = cast("dict[str, Any]", result)
    handles = find_handles(result)
    if not handles:
        return result
    room = most - (yield from SizeOf(result)) - _TEXT_BYTES * len(handles)
    items: dict[int, Any] = {}
    for handle in handles:
        item = items_of(result)[handle.index]
        try:
            data = yield from _fetch(call, handle, room, most, deadline)
        except SMCPError as problem:
            size = f"{handle.total_size} bytes" if handle.total_size is not None else "unknown size"
            text = f"[{handle.mime_type} of {size} left out: {problem.message[:200]}]"
            items[handle.index] = as_text(item, text)
        else:
            payload = b64encode(data).decode()
            room -= len(payload)
            items[handle.index] = filled(item, payload)
    return replaced(result, items)


def _fetch(call: Call, handle: BlobItem, room: int, most: int, deadline: float) -> Flow[ServerBackend, bytearray]:
    """A binary in full.

    Raises:
        SMCPError: it cannot be had, is not what the result says, or is too large.
    """
    data, digest = bytearray(), hashlib.sha256()
    size, expected = handle.total_size, handle.sha256
    for number in count(1):
        if size is not None and _encoded(size) > room:
            raise TooLargeError(f"a message has at most {most} bytes")
        left = deadline - (yield from ReadClock())
        if left <= 0:
            raise TimedOutError("it could not be fetched in time")
        chunk = yield from _ask(call, handle, number, len(data), left)
        size = chunk.total_size if size is None else size
        expected = chunk.sha256 if expected is None else expected
        if chunk.total_size != size or chunk.sha256 != expected:
            raise BlobUnavailableError("it changed meanwhile")
        data += chunk.data
        digest.update(chunk.data)
        if chunk.is_last or len(data) >= size:
            break
        if not chunk.data:
            raise InvalidAnswerError("the Computer sent an empty part")
    if len(data) != size or digest.hexdigest() != expected:
        raise BlobUnavailableError("its contents do not have the announced hash")
    return data


def _ask(call: Call, handle: BlobItem, number: int, offset: int, seconds: float) -> Flow[ServerBackend, _Chunk]:
    request: smcp.GetBlobReq = {
        "agent": call.data["agent"],
        "computer": call.data["computer"],
        "req_id": f"{call.data['req_id']}#{handle.index}.{number}",
        "blob_handle": handle.handle,
        "chunk_offset": offset,
        "max_chunk_bytes": CHUNK_BYTES,
    }
    part = Call(call.caller, call.target, smcp.GET_BLOB_EVENT, request, seconds, office_id=call.office_id, is_part=True)
    ack = yield from part
    return _read(ack.value if isinstance(ack, Written) else ack, offset)


def _read(answer: Any, offset: int) -> _Chunk:
    problem = failure_in(answer)
    if problem is not None:
        raise problem
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    size, digest, blob = fields.get("total_size"), fields.get("sha256"), fields.get("blob")
    if type(size) is not int or not isinstance(digest, str) or not isinstance(blob, str):
        raise InvalidAnswerError("the Computer sent no part of it")
    if fields.get("chunk_offset", offset) != offset:
        raise InvalidAnswerError("the Computer sent another part")
    try:
        data = b64decode(blob, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidAnswerError("the Computer sent invalid base64") from None
    return _Chunk(data, size, digest.lower(), fields.get("eof") is True)


def _encoded(size: int) -> int:
    return 4 * ((size + 2) // 3)
