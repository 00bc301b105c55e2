"""The Server's open connections, and how many of them one address may have."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

from a2c_smcp.errors import NotAuthenticatedError, RateLimitedError
from a2c_smcp.protocol.dialects.recognition import SILENT, Greeting
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.limits import Limits, TokenBucket
from a2c_smcp.server.auth import Headers

LAST_SECONDS = 5.0
"""Time for a client to read or fetch what is left for it after its session or its connection has ended."""


@dataclass(slots=True)
class Connection:
    """One open connection. Its place in an office is in the registry, which several processes may share."""

    address: str | None
    grant: Grant
    bucket: TokenBucket | None
    """None for a connection of this process itself, which has no limits."""
    lock: Any
    """Held during a join or a leave: the moves of a connection, and their notifications, come in order."""
    greeting: Greeting = SILENT
    """What the client said about itself in its handshake: its dialect and its version."""
    since: float = field(default_factory=time.time)
    """When it was accepted."""


class AddressCounter:
    """Counts the connections of each address and limits them; 0 allows any number. Safe in threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def reserve(self, address: str | None) -> None:
        """Count one more connection; None is exempt.

        Raises:
            RateLimitedError: the address has reached its limit.
        """
        if address is None:
            return
        with self._lock:
            if 0 < self.most <= self._counts[address]:
                raise RateLimitedError(f"more than {self.most} connections from one address")
            self._counts[address] += 1

    def release(self, address: str | None) -> None:
        """Count one connection less."""
        if address is None:
            return
        with self._lock:
            # Deleted at zero: otherwise the table would keep every address that ever connected.
            self._counts[address] -= 1
            if self._counts[address] <= 0:
                del self._counts[address]


class Connections:
    """Every open connection by its sid. Safe in threads."""

    def __init__(self, limits: Limits) -> None:
        self._open: dict[str, Connection] = {}
        self._addresses = AddressCounter(limits.connections_per_ip)

    def limit(self, limits: Limits) -> None:
        """Change the limits, also of open connections."""
        self._addresses.most = limits.connections_per_ip
        for connection in list(self._open.values()):
            if connection.bucket is not None:
                connection.bucket.limit(limits.requests_per_second, limits.request_burst)

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, sid: str) -> bool:
        return sid in self._open

    def get(self, sid: str) -> Connection | None:
        """The connection, if it is open."""
        return self._open.get(sid)

    def is_limited(self, sid: str) -> bool:
        """Whether the limits of clients apply to a connection."""
        connection = self._open.get(sid)
        return connection is None or connection.bucket is not None

    def all(self) -> dict[str, Connection]:
        """Every open connection by its sid, as of now."""
        return self._open.copy()

    def sids(self) -> list[str]:
        """The sids of all open connections."""
        return list(self._open)

    def grant(self, sid: str) -> Grant:
        """The grant of a connection.

        Raises:
            NotAuthenticatedError: the connection is closed.
        """
        connection = self._open.get(sid)
        if connection is None:
            raise NotAuthenticatedError("the connection is closed")
        return connection.grant

    def grants(self) -> dict[str, Grant]:
        """The grant of each open connection."""
        # `copy` is one operation of the interpreter: other threads may add connections while this one iterates.
        return {sid: connection.grant for sid, connection in self._open.copy().items()}

    def reserve(self, address: str | None) -> None:
        """Count a connection before it is authenticated; follow with `add` or `release`.

        Raises:
            RateLimitedError: the address has reached its limit.
        """
        # Before the provider decides, because it may take seconds: otherwise one address could have any number of
        # undecided connections.
        self._addresses.reserve(address)

    def release(self, address: str | None) -> None:
        """Undo `reserve`."""
        self._addresses.release(address)

    def add(
        self,
        sid: str,
        address: str | None,
        grant: Grant,
        lock: Any,
        bucket: TokenBucket | None,
        greeting: Greeting = SILENT,
    ) -> Connection:
        """Keep a connection that was accepted."""
        connection = self._open[sid] = Connection(address, grant, bucket, lock, greeting)
        return connection

    def remove(self, sid: str) -> Connection | None:
        """Forget a connection, and return what was kept of it."""
        connection = self._open.pop(sid, None)
        if connection is not None:
            self.release(connection.address)
        return connection


def client_of(environ: dict[str, Any]) -> tuple[str | None, Headers]:
    """The address that a client's connections are counted under, and its headers, from an ASGI or WSGI environ.

    The address is None for loopback and for sockets without an address: they are exempt.
    """
    scope = cast("dict[str, Any] | None", environ.get("asgi.scope"))
    if scope is not None:
        client = cast("tuple[str, int] | None", scope.get("client"))
        return countable(client[0] if client else None), list(scope.get("headers") or ())
    headers = [
        (key[5:].replace("_", "-").lower().encode("latin-1"), str(value).encode("latin-1", "replace"))
        for key, value in environ.items()
        if key.startswith("HTTP_")
    ]
    return countable(environ.get("REMOTE_ADDR")), headers


def countable(host: str | None) -> str | None:
    """The address that connections are counted under; None for loopback and for sockets without an address."""
    # Loopback is exempt, because a proxy on the same machine may carry all clients.
    if not host:
        return None
    try:
        return None if ipaddress.ip_address(host).is_loopback else host
    except ValueError:
        return host
