"""TCP connections before they are clients: how many an address has, and how long each may take to say what it wants."""

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
"""For the head of a request to arrive."""
SPARE = 4
"""Connections of one address for each of its clients: pages, polls and posts need some of their own."""


class Transport(Protocol):
    """What is needed of an `asyncio.Transport`."""

    def abort(self) -> None:
        """End the connection at once."""
        ...

    def get_extra_info(self, name: str) -> Any:
        """Something about it, such as its `peername`."""
        ...


def proxies(allowed: str | list[str] | None) -> Callable[[str], bool]:
    """Whether an address is that of a proxy, by uvicorn's `forwarded_allow_ips`: its connections are those of many."""
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
    """The open connections, and those whose request has not arrived. `most_waiting` bounds the latter: the one that has
    waited longest makes room for a new one. Connections of a proxy are not counted: the clients behind it are."""

    def __init__(self, connections_per_ip: int, most_waiting: int, is_proxy: Callable[[str], bool]) -> None:
        self._is_proxy = is_proxy
        self._addresses = AddressCounter(SPARE * connections_per_ip)
        self._most_waiting = most_waiting
        self._refusals = Throttle(1)
        self._open: dict[Transport, str | None] = {}
        self._waiting: dict[Transport, Callable[[], None]] = {}

    def limit(self, connections_per_ip: int) -> None:
        """Put another limit in force."""
        self._addresses.most = SPARE * connections_per_ip

    def enter(self, transport: Transport) -> bool:
        """A connection was made; False, and it is ended, if its address has too many."""
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
            transport.abort()
            return False
        self._open[transport] = address
        return True

    def wait(self, transport: Transport, stop: Callable[[], None]) -> None:
        """The head of a request is due; `stop` ends the time it has."""
        self.arrive(transport)
        self._waiting[transport] = stop
        if len(self._waiting) > self._most_waiting:
            oldest = next(iter(self._waiting))
            self.arrive(oldest)
            oldest.abort()

    def arrive(self, transport: Transport) -> None:
        """The head has come, or is not waited for any more."""
        stop = self._waiting.pop(transport, None)
        if stop is not None:
            stop()

    def leave(self, transport: Transport) -> None:
        """The connection has ended."""
        self.arrive(transport)
        if transport in self._open:
            self._addresses.release(self._open.pop(transport))
