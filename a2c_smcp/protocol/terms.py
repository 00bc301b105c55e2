"""The version of the protocol that a client names in its handshake, and what it therefore knows of its Server.

An official Server speaks one version and may reject all others (4008). A Server of this project rejects no client of
this project. `DIALECTS.md` names the versions and their differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast, get_args

from a2c_smcp import __version__
from a2c_smcp.errors import VersionRefusedError
from a2c_smcp.protocol.dialects.versions import VERSION, Version
from a2c_smcp.protocol.handshake import OFFICIAL, OURS, STACK, ServerInfo

DialectOption: TypeAlias = Literal["auto", "s", "0.1", "0.2", "0.3.0", "0.3", "0.4"]
"""What a program may say of its Server: nothing, that it is one of this project, or its official version."""
DIALECT_OPTIONS: tuple[str, ...] = get_args(DialectOption)
OFFICIAL_MESSAGE_BYTES = 1_000_000
"""The largest message of official Servers: the default of their library. They disconnect the sender of a larger one."""

_NAMED: Mapping[str, str] = {"0.2": "0.2.0", "0.3.0": "0.3.0", "0.3": "0.3.1", "0.4": "0.4.0"}
"""The newest version of each official line that checks versions. 0.1 knows none."""
_NEWEST = _NAMED["0.4"]
_SPOKEN = frozenset(("0.2", "0.3", "0.4", "0.5"))
"""The lines that a client may name when a Server demands them. 0.5 is not released, and is never offered first."""
_RELEASES = frozenset(("0.3.0",))
"""The versions that spell something differently than the others of their line."""
SINCE_0_2 = "0.2+"
"""The dialect of an official Server that is not one of 0.1, as far as its list of members tells."""
_EMPTY_IS_YES = "0.5"
"""The line whose Servers accept a join with an empty ack."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a client says of itself in its handshake."""

    version: str | None
    """Its version of the protocol; None names none."""
    is_marked: bool = True
    """Whether it names the version of this project. A client with an official dialect does not: a Server of this
    project would take it for what it is."""
    dialect: str | None = None
    """What the Server is, if the program says so or the Server demanded this version; None until it is found out."""
    is_pinned: bool = False
    """Whether the program chose the dialect."""

    @property
    def query(self) -> dict[str, str | None]:
        """The parameters of the handshake."""
        return {VERSION: self.version, STACK: __version__ if self.is_marked else None}

    @property
    def empty_is_yes(self) -> bool:
        """Whether an empty ack accepts a join or leave. In all other versions it is no answer."""
        return self.dialect == _EMPTY_IS_YES

    def demanded(self, server_version: Any) -> Terms | None:
        """The terms for a Server that rejected these and named its version; None if there are no others."""
        line = _line_of(server_version)
        if self.is_pinned or line not in _SPOKEN or line == _line_of(self.version):
            return None
        return replace(self, version=cast("str", server_version), dialect=_dialect_of(server_version))

    def learned(self, info: ServerInfo) -> ServerInfo:
        """What the client knows of a Server that let it in, and said this about itself."""
        if self.dialect == OURS or (info.version is not None and not self.is_pinned):
            return replace(info, dialect=OURS)
        return replace(info, dialect=self.dialect or OFFICIAL, max_message_bytes=OFFICIAL_MESSAGE_BYTES)


def terms_of(option: str) -> Terms:
    """The terms for what the program says of its Server.

    Raises:
        ValueError: this is none of `DIALECT_OPTIONS`.
    """
    if option not in DIALECT_OPTIONS:
        raise ValueError(f"dialect {option!r}: one of {', '.join(DIALECT_OPTIONS)} is expected")
    if option == "auto":
        return Terms(_NEWEST)
    if option == OURS:
        return Terms(_NEWEST, dialect=OURS, is_pinned=True)
    return Terms(_NAMED.get(option), is_marked=False, dialect=option, is_pinned=True)


def version_refusal(refusal: Mapping[str, Any], terms: Terms, place: str) -> VersionRefusedError:
    """The error for a Server that rejects the version of this client."""
    theirs, ours = refusal.get("server_version"), terms.version or "none"
    named = theirs if isinstance(theirs, str) and _line_of(theirs) else "an unknown version"
    advice = "" if not terms.is_pinned else '; dialect="auto" chooses the version that the Server demands'
    problem = f"the Server{place} speaks A2C-SMCP {named} and rejects {ours}, the version of this client{advice}"
    return VersionRefusedError(problem, details={"server_version": named, "client_version": ours})


def dialect_in(sessions: Iterable[Mapping[str, Any]], role: str, name: str) -> str | None:
    """The dialect of an official Server by its list of members: from 0.2 on it repeats the version that each client
    named. None if this client is not in the list."""
    own = next((each for each in sessions if each.get("role") == role and each.get("name") == name), None)
    if own is None:
        return None
    return SINCE_0_2 if isinstance(own.get(VERSION), str) else "0.1"


def _dialect_of(version: Any) -> str | None:
    """The name of the dialect of an official version; None if it is none."""
    return version if version in _RELEASES else _line_of(version)


def _line_of(version: Any) -> str | None:
    """The first two numbers of a version; None if it is none."""
    found = Version.parse(version) if isinstance(version, str) else None
    return str(found.line) if found is not None else None
