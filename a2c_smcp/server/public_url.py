"""The URLs of offices as MCP hosts see them. Tokens are bound to them, so that a token of one office is rejected by all
others, and by other Servers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

_HOST = re.compile(r"[a-z0-9.:\[\]_-]+")
WELL_KNOWN = "/.well-known/oauth-protected-resource"


def read_public_url(text: str) -> str:
    """A public URL in the form in which it is compared.

    Raises:
        ValueError: hosts cannot log in there.
    """
    url = urlsplit(text)
    if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment or "@" in url.netloc:
        raise ValueError(f"public_url: {text!r} is not a URL such as https://hub.example.com")
    # A key that is typed into a page without TLS can be read on its way.
    if url.scheme == "http" and not is_loopback(url.hostname):
        raise ValueError(f"public_url: {text!r} has no TLS; only loopback addresses may use http")
    return f"{url.scheme}://{url.netloc.lower()}{url.path.rstrip('/')}"


class PublicURL:
    """Where a Server is, and its offices.

    Without a setting, it is taken from each request, if the Host of the request can be trusted: one that the operator
    lists, or an address. Any other could be a name that somebody else made lead here. A connection without TLS is
    trusted on loopback only.
    """

    def __init__(self, url: str | None, allowed_hosts: Iterable[str], mcp_path: str) -> None:
        self._url = read_public_url(url) if url is not None else None
        self._allowed_hosts = frozenset(host.lower() for host in allowed_hosts)
        self._mcp_path = mcp_path.rstrip("/")

    @property
    def fixed(self) -> str | None:
        """The URL that is set."""
        return self._url

    def base(self, scope: Mapping[str, Any], root: str) -> str | None:
        """The URL of the Server, without a slash at its end; None if it is not known. `root` is the path under which
        the Server is mounted."""
        if self._url is not None:
            return self._url
        host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "").lower()
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return None
        if _HOST.fullmatch(host) is None:
            return None
        scheme = scope.get("scheme", "http")
        is_trusted = is_loopback(name) or (scheme == "https" and (name in self._allowed_hosts or _is_address(name)))
        return f"{scheme}://{host}{quote(root.rstrip('/'))}" if is_trusted else None

    def office(self, base: str, office_id: str) -> str:
        """The URL of an office."""
        return f"{base}{self._mcp_path}/{quote(office_id, safe='')}"

    def place(self, base: str, path: str) -> str:
        """The URL of a path below that of all offices, as a host sent it."""
        return f"{base}{self._mcp_path}/{path}"

    def office_in(self, base: str, url: str) -> str | None:
        """The office that a URL leads to, directly or by a profile; None if it is none of this Server."""
        scheme, separator, rest = url.partition("://")
        host, slash, path = rest.partition("/")
        url = f"{scheme.lower()}{separator}{host.lower()}{slash}{path}"
        parts = url.partition("?")[0].removeprefix(f"{base}{self._mcp_path}/").rstrip("/").split("/")
        if not url.startswith(f"{base}{self._mcp_path}/") or len(parts) > 2 or not all(parts):
            return None
        return unquote(parts[0])

    def path_of_metadata(self, path: str) -> str | None:
        """The path below that of all offices whose metadata is asked for; None if it is another page."""
        found = path.removeprefix(WELL_KNOWN)
        # A proxy that removes a prefix from paths leaves it in those of well-known URLs, which have it at the end.
        prefix = urlsplit(self._url).path if self._url is not None else ""
        for start in (f"{prefix}{self._mcp_path}/", f"{self._mcp_path}/"):
            if found != path and found.startswith(start):
                rest = found.removeprefix(start).rstrip("/")
                return rest if rest and rest.count("/") <= 1 else None
        return None


def metadata_url(base: str, place: str) -> str:
    """Where the metadata of an office or profile is, whose URL is `place`.

    Below the URL of the Server, so that a proxy that passes on a prefix passes this on as well.
    """
    return f"{base}{WELL_KNOWN}{place.removeprefix(base)}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name or address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
