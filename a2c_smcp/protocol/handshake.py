"""What clients and Servers of this project tell each other about themselves.

A client names its version in the query of its handshake. A Server that reads it adds a third value to the ack of
`server:join_office`. Any other client gets the two values of the protocol, and any other Server sends them, so neither
learns of this.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import parse_qs

from a2c_smcp import __version__

STACK: Final = "a2c_stack"
"""The parameter of a handshake's query, and the key in the third value of the ack, with the version of this project."""
MAX_VERSION = 64
"""Characters of a version."""
OURS: Final = "s"
"""The dialect of this project."""
OFFICIAL: Final = "official"
"""An official Server whose version is not known yet."""
_WITHOUT_BLOBS = frozenset((None, OFFICIAL, "0.1"))


@dataclass(frozen=True, slots=True)
class Handshake:
    """What a Server knows of a connection since its handshake."""

    message_bytes: int
    """The largest message that the Server accepts over it."""
    tool_timeout: int
    """The longest tool call, in seconds."""
    stack: str | None = None
    """The version of the client, if it is one of this project."""
    version: str | None = None
    """The version that the record of the member has; see `office.Member`."""

    def to_wire(self, features: list[str]) -> dict[str, Any]:
        """The third value of the ack of a join."""
        return {
            STACK: __version__,
            "max_message_bytes": self.message_bytes,
            "max_tool_timeout": self.tool_timeout,
            "features": features,
        }


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a client knows of its Server. Of one that says nothing, nothing is assumed."""

    version: str | None = None
    """The version of a Server of this project; None for any other, and for older ones."""
    max_message_bytes: int | None = None
    """The largest message that it accepts."""
    features: frozenset[str] = frozenset()
    """The `server:*` events beyond those of the protocol that it relays."""
    max_tool_timeout: int | None = None
    """The longest tool call that it accepts, in seconds."""
    dialect: str | None = None
    """How it spells the protocol: `s` for a Server of this project; for an official one its version, such as `0.4`, or
    `0.2+` where only that is known, or `official` until its list of members tells; None before the first join."""

    # Worked out once: every call asks.
    is_official: bool = field(init=False, repr=False, compare=False)
    """Whether it is an official Server."""
    passes_blobs: bool = field(init=False, repr=False, compare=False)
    """Whether it relays `client:get_blob`, so that a large binary can be fetched in parts."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_official", self.dialect not in (None, OURS))
        object.__setattr__(self, "passes_blobs", self.dialect not in _WITHOUT_BLOBS)


def read_stack(query: str) -> str | None:
    """The version that a client names in the query of its handshake."""
    # Most clients name none, and the search is cheaper than to read the query.
    if STACK not in query:
        return None
    try:
        (version, *_) = parse_qs(query, max_num_fields=100).get(STACK, [""])
    except ValueError:
        return None
    return version if 0 < len(version) <= MAX_VERSION and version.isprintable() else None


def read_server_info(ack: Any) -> ServerInfo:
    """The third value of the ack of a join; fields that are missing or invalid count as unknown."""
    # python-socketio hands over several ack arguments as a tuple, and one array as a list.
    values: list[Any] = list(cast("list[Any]", ack)) if isinstance(ack, list | tuple) else []
    given = cast("dict[str, Any]", values[2]) if len(values) > 2 and isinstance(values[2], dict) else {}
    version, listed = given.get(STACK), given.get("features")
    features = [each for each in cast("list[Any]", listed) if isinstance(each, str)] if isinstance(listed, list) else []
    return ServerInfo(
        version if isinstance(version, str) else None,
        _positive(given.get("max_message_bytes")),
        frozenset(features),
        _positive(given.get("max_tool_timeout")),
    )


def _positive(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None
