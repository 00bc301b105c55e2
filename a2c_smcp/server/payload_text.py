"""The JSON text of events and acks: written for clients, and read in full where the wire read only a part."""

from __future__ import annotations

import json
from typing import Any, cast

import orjson

from a2c_smcp.errors import MalformedRequestError
from a2c_smcp.protocol.dialects.dialect import Dialect
from a2c_smcp.protocol.dialects.known import PLAIN
from a2c_smcp.protocol.server_effects import Call, Written
from a2c_smcp.wire.packets import UNREAD, arguments, read_array, unwrap

MAX_NESTING = 1_000
"""Levels to read of a text whose nesting was checked on arrival."""


def write(value: Any) -> str:
    """A value as JSON.

    Raises:
        TypeError: it cannot be written.
    """
    try:
        return orjson.dumps(value).decode()
    # A value that is nested too deep is not retried: `json` would exhaust the stack, or write what no client can read.
    except TypeError as error:
        if "ecursion" in str(error):
            raise
        return json.dumps(value, separators=(",", ":"))  # types of a host program that orjson rejects, such as IntEnum


def write_event(event: str, data: Any) -> str:
    """An event and its data as a JSON array."""
    return write([event, *arguments(data)])


def write_ack(event: str, ack: Any, dialect: Dialect = PLAIN) -> str:
    """An ack as a JSON array; one that cannot be written becomes an error, in the dialect of the client."""
    try:
        return write(arguments(ack))
    except (TypeError, ValueError, RecursionError):
        error = MalformedRequestError("the answer cannot be written as JSON")
        return write(arguments(dialect.refused(event, error)))


def size_of(ack: Any) -> int:
    """The bytes of an ack as JSON."""
    text = ack.text if isinstance(ack, Written) else write(arguments(ack))
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def read_ack(ack: Written) -> Any:
    """The value of an ack, in full."""
    return unwrap(read_array(ack.text, MAX_NESTING, in_full=True) or []) if ack.text else None


def rewrite(call: Call) -> str:
    """A request whose fields were changed on the way; fields that were not read are taken from the original text."""
    data = call.data
    if isinstance(data, dict) and any(value is UNREAD for value in cast("dict[str, Any]", data).values()):
        # The wire read the large fields only as `UNREAD`. Writing these would replace the parameters of a tool by {}.
        came: dict[str, Any] = (read_array(call.original or "[]", MAX_NESTING, in_full=True) or ["", {}])[1]
        data = {key: came[key] if value is UNREAD else value for key, value in cast("dict[str, Any]", data).items()}
    return write([call.event, data])
