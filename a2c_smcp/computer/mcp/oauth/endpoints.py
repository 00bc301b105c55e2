"""Requests to authorization servers: only to addresses that can be trusted, and with limits on time and size.

An MCP server names its authorization server, which names its endpoints. Neither may lead this Computer to a service of
the machine or the network it runs on, to a plain connection, or to an address that is no web page.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx2

from a2c_smcp.computer.config.oauth import is_loopback
from a2c_smcp.utils.text import one_line
from a2c_smcp.utils.url import OF_MCP_SERVERS, check_url

SECONDS = 30.0
"""For one request, from connecting to the end of the answer."""
MAX_BYTES = 1_000_000
"""Of one answer. Metadata and tokens have a few thousand."""
SHOWN = 200


class Untrusted(Exception):
    """An address that must not be used."""


class Unreachable(Exception):
    """An authorization server cannot be reached, or does not work: another attempt may succeed."""


def check_endpoint(url: str, server: str) -> None:
    """Check an address that a login of an MCP server leads to.

    Raises:
        Untrusted: it must not be used; the message says why.
    """
    shown = one_line(url.partition("?")[0], SHOWN)
    try:
        parts = check_url(url, OF_MCP_SERVERS)
    except ValueError as error:
        raise Untrusted(f"the login leads to {shown}, which {error}") from None
    host, own = (parts.hostname or "").lower(), (urlsplit(server).hostname or "").lower()
    if host == own or (is_loopback(host) and is_loopback(own)):
        # The owner configured this host. Plain HTTP to it is the owner's choice, and is no new risk.
        if parts.scheme == "https" or urlsplit(server).scheme == "http":
            return
        raise Untrusted(f"the login leads to {shown}, which is not encrypted")
    if _is_local(host):
        raise Untrusted(f"the login leads to {shown}, an address of this machine or its network")
    if parts.scheme != "https":
        raise Untrusted(f"the login leads to {shown}, which is not encrypted")


def _is_local(host: str) -> bool:
    """Whether a host means this machine, its link, or a group of machines."""
    host = host.rstrip(".")
    if is_loopback(host):
        return True
    address = _address(host)
    if address is None:
        return False
    # An address of the link serves the credentials of cloud machines, and `0.0.0.0` is this machine.
    return address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))  # `127.1` and `0x7f000001` are 127.0.0.1, too
        except OSError:
            return None
    return (address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None) or address


class Endpoints:
    """Sends the requests of one login of an MCP server."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._client = httpx2.AsyncClient(timeout=SECONDS)
        self.status: int | None = None
        """The HTTP status of the last answer."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and read its whole answer. Redirects are not followed.

        Raises:
            Untrusted: the address must not be used.
            Unreachable: there is no answer in time, it is too large, or it says that the server does not work.
        """
        check_endpoint(str(request.url), self._server)
        # A small answer may decompress to gigabytes.
        request.headers["Accept-Encoding"] = "identity"
        place = f"{request.url.scheme}://{request.url.netloc.decode('ascii')}{request.url.path}"
        self.status = None
        try:
            async with asyncio.timeout(SECONDS):
                response = await self._client.send(request, stream=True)
                try:
                    body = await _read(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise Unreachable(f"{place} did not answer within {SECONDS:g} s") from None
        except httpx2.HTTPError as error:
            raise Unreachable(f"{place} cannot be reached: {one_line(str(error) or type(error).__name__)}") from None
        if body is None:
            raise Unreachable(f"{place} answered with more than {MAX_BYTES:,} bytes, or compressed data")
        self.status = response.status_code
        if request.method == "POST" and (response.status_code >= 500 or response.status_code == 429):
            raise Unreachable(f"{place} answered HTTP {response.status_code}")
        whole = httpx2.Response(response.status_code, headers=response.headers, content=body, request=request)
        whole.next_request = response.next_request
        return whole


async def _read(response: httpx2.Response) -> bytes | None:
    """The body; None if it is too large, or compressed."""
    if response.headers.get("content-encoding", "identity") != "identity":
        return None
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > MAX_BYTES:
            return None
    return bytes(body)
