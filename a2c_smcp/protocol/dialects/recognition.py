"""Which dialect a client speaks, by the query of its handshake. Nothing else tells it, and nothing it does later."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qs

from a2c_smcp.protocol.dialects.dialect import Dialect
from a2c_smcp.protocol.dialects.known import HOME, PLAIN, V0_2, V0_3, V0_3_0, V0_4, V0_5
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


def recognise(query: str) -> Greeting:
    """What the query of a handshake says."""
    # Most queries have neither, and the search is cheaper than to read the query.
    if STACK not in query and VERSION not in query:
        return SILENT
    stack, named = read_stack(query), _read_version(query)
    if stack is not None:
        # A record of the cluster has the version as one word.
        return Greeting(HOME, stack if _WORD.fullmatch(stack) else None, stack, named)
    version = Version.parse(named) if named is not None else None
    if version is None or version.line < min(_LINES):
        return Greeting(PLAIN, str(version) if version is not None else None, named=named)
    dialect = _RELEASES.get(version) or _LINES.get(version.line, V0_5)
    return Greeting(dialect, str(version), named=named, is_newer=version.line > _NEWEST)


def _read_version(query: str) -> str | None:
    try:
        found = parse_qs(query, keep_blank_values=True, max_num_fields=100).get(VERSION)
    except ValueError:
        return None
    return found[0] if found is not None else None
