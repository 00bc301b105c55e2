"""Limits for TCP connections before they are clients: how many an address may have, and how long the head of a request
may take to arrive.

A connection that sends nothing costs a file descriptor and some memory. Without these limits, one machine could open as
many of them as the process may have files, and lock all others out.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
from collections.abc import Callable
from typing import Any, Protocol, cast

from a2c_smcp.errors import RateLimitedError
from a2c_smcp.server.connections import AddressCounter, countable
from a2c_smcp.utils.throttle import Throttle

logger = logging.getLogger(__name__)

HEAD_SECONDS = 10.0
"""Time for the head of a request to arrive."""
SPARE = 4
"""TCP connections that an address may have for each client: a browser that polls uses several."""


class Transport(Protocol):
    """The part of `asyncio.Transport` that is used here."""

    def abort(self) -> None:
        """Close the connection at once."""
        ...

    def get_extra_info(self, name: str) -> Any:
        """A fact about it, such as its `peername`."""
        ...


def proxies(allowed: str | list[str] | None) -> Callable[[str], bool]:
    """A function that says whether an address is that of a trusted proxy, which carries many clients; `allowed` is
    uvicorn's `forwarded_allow_ips`."""
    listed = allowed.split(",") if isinstance(allowed, str) else allowed or ()
    names = {name.strip() for name in listed}
    networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
    for name in names:
        with contextlib.suppress(ValueError):  # the name of a socket, or "*"
            networks.append(ipaddress.ip_network(name, strict=False))

    def is_proxy(address: str) -> bool:
        if "*" in names or address in names:
            return True
        try:
            return any(ipaddress.ip_address(address) in network for network in networks)
        except ValueError:
            return False

    return is_proxy


class TcpGate:
    """The open TCP connections, and those whose request has not arrived yet.

    `most_waiting` limits the latter: the one that has waited longest is closed for a new one. A flood of silent
    connections therefore cannot keep others out, because a client that sends its request is quicker. Connections of a
    proxy are not counted here; the clients behind it are counted by their forwarded addresses.
    """

    def __init__(self, connections_per_ip: int, most_waiting: int, is_proxy: Callable[[str], bool]) -> None:
        self._is_proxy = is_proxy
        self._addresses = AddressCounter(SPARE * connections_per_ip)
        self._most_waiting = most_waiting
        self._refusals = Throttle(1)
        self._open: dict[Transport, str | None] = {}
        self._waiting: dict[Transport, Callable[[], None]] = {}

    def limit(self, connections_per_ip: int) -> None:
        """Change the limit."""
        self._addresses.most = SPARE * connections_per_ip

    def enter(self, transport: Transport) -> bool:
        """Count a new connection; if its address has too many, close it and return False."""
        if transport in self._open:
            return True
        peer = cast("tuple[Any, ...] | str | None", transport.get_extra_info("peername"))
        address = countable(str(peer[0]) if isinstance(peer, tuple) and peer else None)  # a Unix socket has none
        if address is not None and self._is_proxy(address):
            address = None
        try:
            self._addresses.reserve(address)
        except RateLimitedError as error:
            if self._refusals.admit(address or "") is not None:
                logger.info("connection from %s rejected: %s", address, error, extra={"address": address, "code": 429})
            # Aborted, not closed: nothing was sent, and waiting for the peer would keep the file descriptor.
            transport.abort()
            return False
        self._open[transport] = address
        return True

    def wait(self, transport: Transport, stop: Callable[[], None]) -> None:
        """The head of a request is awaited; `stop` cancels its time limit."""
        self.arrive(transport)
        self._waiting[transport] = stop
        # The dict is in the order of insertion, so that the first one has waited longest.
        if len(self._waiting) > self._most_waiting:
            oldest = next(iter(self._waiting))
            self.arrive(oldest)
            oldest.abort()

    def arrive(self, transport: Transport) -> None:
        """The head has arrived, or the connection is closed."""
        stop = self._waiting.pop(transport, None)
        if stop is not None:
            stop()

    def leave(self, transport: Transport) -> None:
        """The connection was closed."""
        self.arrive(transport)
        if transport in self._open:
            self._addresses.release(self._open.pop(transport))
