"""A relayed request between two members that speak different dialects.

What a dialect spells differently is known to `dialects`. These flows put it together: they ask the Computer, translate
its answer by way of the form of this project, and keep it as small as the Agent can read it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from a2c_smcp import smcp
from a2c_smcp.errors import TooLargeError
from a2c_smcp.protocol.blob_items import INLINE_BYTES
from a2c_smcp.protocol.dialects.dialect import Dialect, needs_translation
from a2c_smcp.protocol.dialects.known import HOME
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.refetching import with_binaries
from a2c_smcp.protocol.server_effects import Call, ReadAck, ReadClock, ServerBackend, SizeOf, Written
from a2c_smcp.utils.result_meta import BLOB_HANDLE, CANCEL_REASON, CANCELLED

ServerFlow: TypeAlias = Flow[ServerBackend, Any]

_INLINE_LIMIT = "max_inline_bytes"


def is_unknown(event: str, theirs: Dialect, ours: Dialect) -> bool:
    """Whether the Computer is known not to answer an event."""
    # A client that named no version may be an older one of this project, which answers more than an official one. An
    # Agent of this project has always asked it.
    return event in theirs.lacks and (theirs.is_official or ours.is_official)


def request_to(theirs: Dialect, ours: Dialect, event: str, data: dict[str, Any]) -> dict[str, Any]:
    """The payload of a request, as the Computer needs it."""
    # Computers of this project make handles only for a requester that says that it reads them.
    if event == smcp.TOOL_CALL_EVENT and theirs is HOME and ours.has_handles and _INLINE_LIMIT not in data:
        return {**data, _INLINE_LIMIT: INLINE_BYTES}
    return data


def translated(call: Call, theirs: Dialect, ours: Dialect, message_bytes: int) -> ServerFlow:
    """Ask the Computer; its answer as the Agent reads it. An answer in which nothing changes is passed on as it came.

    Raises:
        TooLargeError: the Computer cannot read a request of this size, or the Agent an answer.
    """
    sent = Written(None, call.original) if call.original is not None else call.data
    yield from _check_size(theirs, sent, "the request", "this Computer")
    # Handles are for an Agent that knows them by its dialect, or says so in the request.
    restores = (
        call.event == smcp.TOOL_CALL_EVENT
        and theirs.has_handles
        and not ours.has_handles
        and call.data.get(_INLINE_LIMIT) is None
    )
    deadline = (yield from ReadClock()) + call.timeout if restores else 0.0
    ack = yield from call
    value = ack.value if isinstance(ack, Written) else ack
    if value is None:
        return ours.cannot(call.event, call.data)
    if theirs is not ours and needs_translation(call.event, value):
        read = yield from ReadAck(ack)
        spelled = ours.from_home(call.event, theirs.to_home(call.event, read), computer=call.data["computer"])
        ack = ack if spelled is read else spelled
    if restores and _may_have_handles(ack):
        most = min(message_bytes, ours.largest_message or message_bytes)
        ack = yield from with_binaries(call, (yield from ReadAck(ack)), most, deadline)
    yield from _check_size(ours, ack, "the answer", "this client")
    return ack


def cancelled() -> dict[str, Any]:
    """The result of a call that its Agent cancelled, and that its Computer may still run."""
    text = "The call was cancelled. The Computer cannot end it: the tool may still be running."
    return {
        "content": [{"type": "text", "text": text}],
        "isError": True,
        "meta": {CANCELLED: True, CANCEL_REASON: "agent_cancelled"},
    }


def _check_size(reader: Dialect, message: Any, what: str, who: str) -> ServerFlow:
    """Reject a message for which the reader would lose its connection.

    Raises:
        TooLargeError: it is too large.
    """
    most = reader.largest_message
    # A character has at most four bytes. Nearly every message is so small that its bytes need not be counted.
    if most is None or (isinstance(message, Written) and 4 * len(message.text) <= most):
        return
    size = yield from SizeOf(message)
    if size > most:
        raise TooLargeError(f"{what} has {size} bytes; {who} reads at most {most}")


def _may_have_handles(ack: Any) -> bool:
    # A search in the text costs much less than to read it.
    return BLOB_HANDLE in ack.text if isinstance(ack, Written) else isinstance(ack, dict)
