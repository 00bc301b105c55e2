"""Addresses to connect to: their check, what clients add to their query, and where an office is for MCP hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult, parse_qs, quote, urlencode, urlsplit

OF_SERVERS = ("http", "https", "ws", "wss")
OF_MCP_SERVERS = ("http", "https")

OFFICE = "office"
"""The parameter of a handshake's query that names the office."""
_AS_THEY_ARE = "!$'()*,/:?@"
"""Characters that aiohttp would decode again, because a query may contain them. A proxy hashes the text of the query,
which must be the same for all clients."""


def check_url(url: str, schemes: Sequence[str] = OF_SERVERS) -> SplitResult:
    """The parts of a URL that names a host to connect to.

    Raises:
        ValueError: the URL has another scheme, no host, or an invalid port. The message does not repeat the URL, which
            may hold a password.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:  # a port that is no number, or an IPv6 address without its closing bracket
        raise ValueError("has no valid host and port; expected a URL such as http://127.0.0.1:8000") from None
    # `urlsplit` also accepts `http:127.0.0.1`, where the rest is a path.
    if parts.scheme not in schemes or not url[len(parts.scheme) :].startswith("://"):
        *most, last = (f"{scheme}://" for scheme in schemes)
        raise ValueError(f"must start with {', '.join(most)} or {last}")
    if not host:
        raise ValueError("has no host")
    if port == 0:
        raise ValueError("has no valid port: 0 cannot be connected to")
    return parts


def with_parameters(url: str, parameters: Mapping[str, str | None]) -> str:
    """The URL with these parameters in its query, where a proxy can read them.

    One without a value is left out, and one that the query has already stays as it is.
    """
    parts = urlsplit(url)
    present = parse_qs(parts.query, keep_blank_values=True)
    added = [
        f"{name}={quote(value, _AS_THEY_ARE)}" for name, value in parameters.items() if value and name not in present
    ]
    if not added:
        return url
    return parts._replace(query="&".join([parts.query, *added] if parts.query else added)).geturl()


def gateway_url(
    url: str, office: str, profile: str | None = None, query: Mapping[str, str | Sequence[str]] | None = None
) -> str:
    """Where a Server serves an office to MCP hosts; the query has fields of a profile."""
    parts = urlsplit(url)
    scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
    path = "/".join(quote(part, safe="") for part in (office, profile) if part)
    base = parts._replace(scheme=scheme, query="", fragment="").geturl()
    return f"{base.rstrip('/')}/mcp/{path}{f'?{urlencode(query, doseq=True)}' if query else ''}"
