"""What the head of a request says: the office, the site that sent it, the principal, and whether it stays open."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote

from a2c_smcp.errors import ForbiddenError, NotFoundError
from a2c_smcp.protocol.grants import Grant

Scope: TypeAlias = MutableMapping[str, Any]
Header: TypeAlias = tuple[bytes, bytes]

METHODS = ("GET", "POST", "DELETE")
_EXPOSED = b"mcp-session-id, mcp-protocol-version, www-authenticate, retry-after"


@dataclass(frozen=True, slots=True)
class Sites:
    """The values of Host and Origin that are accepted; no hosts mean all."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @staticmethod
    def of(hosts: Iterable[str], origins: Iterable[str]) -> Sites:
        """From the settings."""
        return Sites(frozenset(host.lower() for host in hosts), frozenset(origins))

    def check(self, scope: Scope) -> list[Header]:
        """The headers that let the web page read the answer that sent the request, if one did.

        Raises:
            ForbiddenError: the Host or the Origin is not accepted.
        """
        host, origin = (header(scope, b"host") or "").lower(), header(scope, b"origin")
        name = _without_port(host)
        if self.hosts and name not in self.hosts:
            raise ForbiddenError(f"Host {host!r} is not served here")
        if origin is None:
            return []
        # A site can make its own name lead to this machine (DNS rebinding): its pages then have our Host as Origin. A
        # name that the operator set, and an address, cannot be such a site.
        is_ours = origin.lower().partition("://")[2] == host and (name in self.hosts or _is_address(name))
        if not is_ours and "*" not in self.origins and origin not in self.origins:
            raise ForbiddenError(f"Origin {origin!r} is not accepted")
        allowed = origin.encode("latin-1")
        return [
            (b"access-control-allow-origin", allowed),
            (b"access-control-expose-headers", _EXPOSED),
            (b"vary", b"origin"),
        ]


def preflight(scope: Scope) -> list[Header]:
    """The headers that answer what a browser asks before it sends the request of a page."""
    asked = header(scope, b"access-control-request-headers")
    return [
        (b"allow", ", ".join(METHODS).encode()),
        (b"access-control-allow-methods", ", ".join(METHODS).encode()),
        *([(b"access-control-allow-headers", asked.encode("latin-1"))] if asked is not None else []),
        (b"access-control-max-age", b"600"),
    ]


def office_and_profile(scope: Scope) -> tuple[str, str | None]:
    """The office and the profile in the path.

    Raises:
        NotFoundError: it has another form.
    """
    # From the path as it was sent: the names may have slashes and percent signs.
    raw = scope.get("raw_path")
    if isinstance(raw, bytes):
        above = len([part for part in scope.get("root_path", "").split("/") if part])
        parts = [unquote(part) for part in raw.decode("latin-1").strip("/").split("/")[above:]]
    else:
        parts = scope["path"].strip("/").split("/")
    match parts:
        case [office] if office:
            return office, None
        case [office, profile] if office and profile:
            return office, profile
        case _:
            raise NotFoundError("name an office: /mcp/OFFICE or /mcp/OFFICE/PROFILE")


def header(scope: Scope, name: bytes) -> str | None:
    """A header of a request."""
    headers: Iterable[Header] = scope["headers"]
    return next((value.decode("latin-1") for key, value in headers if key == name), None)


def is_stream(scope: Scope) -> bool:
    """Whether a request is for a stream of notifications, which stays open."""
    return scope["method"] == "GET" or header(scope, b"mcp-method") == "subscriptions/listen"


def opens_session(scope: Scope) -> bool:
    """Whether a request opens a session, as hosts before 2026-07-28 do."""
    return header(scope, b"mcp-session-id") is None and header(scope, b"mcp-method") is None


def principal_of_grant(grant: Grant, scope: Scope) -> str:
    """Whose limits a request counts against, and whose calls it makes."""
    if grant.subject:
        return grant.subject
    client = scope.get("client")
    return f"anonymous at {client[0]}" if client else "anonymous"


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _is_address(host: str) -> bool:
    """Whether a host is no name that somebody could make lead elsewhere."""
    if host == "localhost":
        return True
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
