"""Socket.IO 5 packets as text: the envelope, and the JSON inside it.

The envelope is read without the payload. So a message whose JSON is invalid can still be answered, and a message that
is only passed on keeps its text and is never written again.

A large payload is read one level deep: the Server routes by a few short fields, and the rest of a request or result is
for the Computer or the Agent. The text is validated as JSON as a whole either way, because it is passed on as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import orjson

from a2c_smcp.nesting import is_deeper

CONNECT, DISCONNECT, EVENT, ACK, CONNECT_ERROR, BINARY_EVENT, BINARY_ACK = "0123456"

# Kind, number of attachments, namespace, ack id. The digits are bounded, because `int` takes quadratic time for long
# texts and rejects those of more than 4,300 digits. A namespace ends with a comma, or with the packet ("0/smcp").
_ENVELOPE = re.compile(r"([0-6])(?:([0-9]{1,10})-)?(?:(/[^,]*)(?:,|\Z))?([0-9]{1,18})?", re.ASCII)
_EVENT_NAME = re.compile(r'\[\s*"([^"\\]{0,200})"')
_items = msgspec.json.Decoder(list[msgspec.Raw])
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])

LARGE = 4_000
"""Characters from which on a message is read one level deep. Below, reading all of it costs no more."""
SMALL = 1_000
"""Bytes up to which an object or array inside a large message is read as well."""
MANY = 100
"""Values of an array, or fields of an object, that are read one by one; an attacker could send millions."""


@dataclass(slots=True)
class Packet:
    """A packet whose payload has not been read."""

    kind: str
    namespace: str
    id: int | None
    payload: str
    attachments: int = 0
    """Binary frames that follow it."""


def parse_packet(message: str) -> Packet | None:
    """The envelope of a message; None if it has none."""
    found = _ENVELOPE.match(message)
    if found is None:
        return None
    kind, attachments, namespace, number = found.groups()
    # Some clients append a query to the namespace, as revision 4 of the protocol did.
    place = (namespace or "/").partition("?")[0]
    rest = message[found.end() :]
    return Packet(kind, place, int(number) if number else None, rest, int(attachments) if attachments else 0)


def write_packet(kind: str, namespace: str, payload: str = "", id: int | None = None) -> str:
    """A Socket.IO packet in an Engine.IO message packet."""
    place = f"{namespace}," if namespace != "/" else ""
    return f"4{kind}{place}{'' if id is None else id}{payload}"


def arguments(data: Any) -> list[Any]:
    """The arguments of an event or an ack: a tuple is several, None is none, anything else is one."""
    if isinstance(data, tuple):
        return list(cast("tuple[Any, ...]", data))
    return [] if data is None else [data]


def unwrap(args: Sequence[Any]) -> Any:
    """The arguments of an ack in the form a handler returns them: one value, several as a tuple, or None."""
    return args[0] if len(args) == 1 else tuple(args) or None


def write_json(value: Any) -> str:
    """A value as JSON.

    Raises:
        TypeError: it cannot be written, or is nested too deep.
    """
    return orjson.dumps(value).decode()


def read_json(text: str) -> Any:
    """A value from JSON.

    Raises:
        ValueError: the text is not JSON.
    """
    return orjson.loads(text)


class Unread(dict[str, Any]):
    """Stands for an object or array inside a large message that was validated but not read. It looks like an empty
    object; `read_array(…, in_full=True)` gives the real one."""


UNREAD = Unread()


def read_array(text: str, nesting: int, *, in_full: bool = False) -> list[Any] | None:
    """The JSON array in a message; None if it is not an array, or is nested too deep.

    A large message is read one level deep, unless it is wanted `in_full`: larger values in its objects are `UNREAD`.
    """
    is_small = len(text) < LARGE
    # A sample from the middle: many escaped quotes mean one long string with JSON in it, as tools that return JSON as
    # text send it. Searching that for brackets outside strings takes longer than parsing all of it with orjson.
    holds_text = not is_small and text.count('\\"', len(text) // 2, len(text) // 2 + LARGE) > LARGE // 12
    try:
        value: Any = orjson.loads(text) if is_small or in_full or holds_text else _read_shallow(text)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None
    if not isinstance(value, list):
        return None
    if _holds_deeper(value, nesting) if holds_text else is_deeper(text, nesting):
        return None
    return cast("list[Any]", value)


def _holds_deeper(value: Any, limit: int) -> bool:
    """Whether a value is nested deeper than `limit`, found level by level: recursion would need a stack that deep."""
    level: list[Any] = [value]
    for _ in range(limit):
        level = [item for each in level for item in _inside(each) if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    return cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)


def _read_shallow(text: str) -> list[Any]:
    # msgspec validates all of the text and returns its items as slices, without building their values.
    items = _items.decode(text)
    read = [_fields(item) if _begins(item, b"{") else _value(item) for item in items[:MANY]]
    return read + [UNREAD] * (len(items) - len(read))


def _fields(item: msgspec.Raw) -> dict[str, Any]:
    fields = _members.decode(item)
    if len(fields) > MANY:
        return orjson.loads(memoryview(item))  # reading so many one by one would take much longer
    return {name: _value(value) for name, value in fields.items()}


def _value(item: msgspec.Raw) -> Any:
    view = memoryview(item)
    return UNREAD if len(view) > SMALL and view[0] in b"[{" else orjson.loads(view)


def _begins(item: msgspec.Raw, how: bytes) -> bool:
    return bytes(memoryview(item)[:1]) == how


def guess_event(payload: str) -> str:
    """The name of an event whose payload is invalid, if the payload starts with one; else an empty string."""
    found = _EVENT_NAME.match(payload)
    return found[1] if found is not None else ""
