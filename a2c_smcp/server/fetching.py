"""Fetches JSON documents of other servers, within limits of time and size, and only from addresses that are allowed."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

IsAllowed = Callable[[ipaddress.IPv4Address | ipaddress.IPv6Address], bool]


class FetchError(Exception):
    """A document cannot be fetched; the message says why."""


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is on the internet, and not in the network of the operator."""
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    return address.is_global and not address.is_multicast and (inner is None or is_public(inner))


async def fetch_json(url: str, *, seconds: float, most: int, is_allowed: IsAllowed | None = None) -> Mapping[str, Any]:
    """The JSON object at a URL. Redirects are not followed: they could lead to an address that is not allowed.

    Raises:
        FetchError: there is none.
    """
    # Imported here: most Servers fetch nothing.
    import aiohttp

    try:
        _check_literal(url, is_allowed)
        async with asyncio.timeout(seconds):
            connector = aiohttp.TCPConnector(resolver=_resolver(is_allowed), use_dns_cache=False)
            async with (
                aiohttp.ClientSession(
                    connector=connector,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    # Not compressed: a small answer could unpack to a large one.
                    headers={"Accept": "application/json", "Accept-Encoding": "identity"},
                    auto_decompress=False,
                ) as session,
                session.get(url, allow_redirects=False) as response,
            ):
                if response.status != 200:
                    raise FetchError(f"{url} answers with HTTP {response.status}")
                body = bytearray()
                async for part in response.content.iter_any():
                    body += part
                    if len(body) > most:
                        raise FetchError(f"{url} is larger than {most} bytes")
    except TimeoutError:
        raise FetchError(f"{url} does not answer within {seconds:g} seconds") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise FetchError(f"{url} cannot be fetched: {error}") from None
    try:
        document: object = json.loads(bytes(body))
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise FetchError(f"{url} is not a JSON object")
    return cast("dict[str, Any]", document)


def _check_literal(url: str, is_allowed: IsAllowed | None) -> None:
    """Check an address in the URL itself, for which no name is looked up.

    Raises:
        OSError: it is not allowed.
    """
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return
    if is_allowed is not None and not is_allowed(address):
        raise OSError(f"the address {host} is not allowed")


def _resolver(is_allowed: IsAllowed | None) -> AbstractResolver:
    from aiohttp.abc import AbstractResolver, ResolveResult
    from aiohttp.resolver import ThreadedResolver

    if is_allowed is None:
        return ThreadedResolver()

    class Checked(AbstractResolver):
        """Checks the addresses that are connected to: a name that is looked up twice may lead elsewhere."""

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> list[ResolveResult]:
            found = await ThreadedResolver().resolve(host, port, family)
            if not found or not all(is_allowed(ipaddress.ip_address(each["host"].partition("%")[0])) for each in found):
                raise OSError(f"the address of {host} is not allowed")
            return found

        async def close(self) -> None:
            """Do nothing: it keeps nothing."""

    return Checked()
