"""Which dialect a client speaks, by its handshake. Nothing that it does later tells it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs

from a2c_smcp.protocol.dialects.dialect import Dialect
from a2c_smcp.protocol.dialects.known import HOME, PLAIN, V0_1, V0_2, V0_3, V0_3_0, V0_4, V0_5
from a2c_smcp.protocol.dialects.versions import VERSION, Line, Version
from a2c_smcp.protocol.handshake import STACK, read_stack

_LINES = {Line(0, 2): V0_2, Line(0, 3): V0_3, Line(0, 4): V0_4}
_RELEASES = {Version(0, 3, 0): V0_3_0}
"""The versions that differ from the others of their line."""
_NEWEST = Line(0, 5)
_WORD = re.compile(r"[\w.+-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a client says about itself in the query of its handshake."""

    dialect: Dialect = PLAIN
    version: str | None = None
    """The version of the protocol that it names, or of this project if the client is one of ours."""
    stack: str | None = None
    """The version of this project, if the client is one of ours."""
    named: str | None = None
    """What it names as the version of the protocol, whatever that is."""
    is_newer: bool = False
    """Whether the version is newer than the newest that this Server knows."""


SILENT = Greeting()
"""What a client says that names no version."""
SILENT_ON_AIOHTTP = Greeting(V0_1)
"""The same of one whose WebSocket has the limit of aiohttp."""


def greeting_in(environ: Mapping[str, Any]) -> Greeting:
    """What the first request of a client says."""
    return recognise(environ.get("QUERY_STRING") or "", environ.get("HTTP_USER_AGENT") or "")


def recognise(query: str, user_agent: str = "") -> Greeting:
    """What the query of a handshake says, and the name of the library that sent it."""
    # Most queries have neither, and the search is cheaper than to read the query.
    if STACK not in query and VERSION not in query:
        return _without_version(query, user_agent)
    stack, named = read_stack(query), _read_version(query)
    if stack is not None:
        # A record of the cluster has the version as one word.
        return Greeting(HOME, stack if _WORD.fullmatch(stack) else None, stack, named)
    version = Version.parse(named) if named is not None else None
    if version is None or version.line < min(_LINES):
        silent = _without_version(query, user_agent)
        return replace(silent, version=str(version) if version is not None else None, named=named)
    dialect = _RELEASES.get(version) or _LINES.get(version.line, V0_5)
    return Greeting(dialect, str(version), named=named, is_newer=version.line > _NEWEST)


def _without_version(query: str, user_agent: str) -> Greeting:
    # Asynchronous clients of python-socketio begin with long-polling, and go on over a WebSocket of aiohttp, which
    # closes at a message of more than 4 MiB. Clients of this project have lifted that limit. The older ones begin with
    # a WebSocket; the few that long-polling is left to get an error instead of an answer that they could read.
    return SILENT_ON_AIOHTTP if "aiohttp/" in user_agent and "transport=polling" in query else SILENT


def _read_version(query: str) -> str | None:
    try:
        found = parse_qs(query, keep_blank_values=True, max_num_fields=100).get(VERSION)
    except ValueError:
        return None
    return found[0] if found is not None else None
