"""The Server's connections: what is kept of each, and how many one address may have."""

from __future__ import annotations

import ipaddress
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any, cast

from a2c_smcp.errors import NotAuthenticatedError, RateLimitedError
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.limits import Limits, TokenBucket
from a2c_smcp.server.auth import Headers

LAST_SECONDS = 5.0
"""For a peer to read the rest of what it was sent, when its connection is over."""


@dataclass(slots=True)
class Connection:
    """What the Server keeps of one connection; where it is seated is in the registry."""

    address: str | None
    grant: Grant
    bucket: TokenBucket
    lock: Any
    """Held through a join or a leave, so that one connection's moves and their notices come in order."""


class AddressCounter:
    """How many connections each address has; 0 allows any number. Safe in threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def reserve(self, address: str | None) -> None:
        """Count one more; None is exempt.

        Raises:
            RateLimitedError: the address has as many as it may.
        """
        if address is None:
            return
        with self._lock:
            if 0 < self.most <= self._counts[address]:
                raise RateLimitedError(f"more than {self.most} connections from one address")
            self._counts[address] += 1

    def release(self, address: str | None) -> None:
        """Count one less."""
        if address is None:
            return
        with self._lock:
            self._counts[address] -= 1
            if self._counts[address] <= 0:
                del self._counts[address]


class Connections:
    """Every open connection by its sid. Safe in threads."""

    def __init__(self, limits: Limits) -> None:
        self._open: dict[str, Connection] = {}
        self._addresses = AddressCounter(limits.connections_per_ip)

    def limit(self, limits: Limits) -> None:
        """Put other limits in force, for those that are open too."""
        self._addresses.most = limits.connections_per_ip
        for connection in list(self._open.values()):
            connection.bucket.limit(limits.requests_per_second, limits.request_burst)

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, sid: str) -> bool:
        return sid in self._open

    def get(self, sid: str) -> Connection | None:
        """The connection, if it is open."""
        return self._open.get(sid)

    def sids(self) -> list[str]:
        """The sids of all open connections."""
        return list(self._open)

    def grant(self, sid: str) -> Grant:
        """What the connection may join.

        Raises:
            NotAuthenticatedError: the connection is gone.
        """
        connection = self._open.get(sid)
        if connection is None:
            raise NotAuthenticatedError("the connection is closed")
        return connection.grant

    def grants(self) -> dict[str, Grant]:
        """What each open connection may join."""
        return {sid: connection.grant for sid, connection in self._open.copy().items()}

    def reserve(self, address: str | None) -> None:
        """Count a connection that is about to be made; follow with `add` or `release`.

        Raises:
            RateLimitedError: too many from this address.
        """
        self._addresses.reserve(address)

    def release(self, address: str | None) -> None:
        """Undo `reserve`."""
        self._addresses.release(address)

    def add(self, sid: str, address: str | None, grant: Grant, lock: Any, bucket: TokenBucket) -> Connection:
        """Keep a connection that was let in."""
        connection = self._open[sid] = Connection(address, grant, bucket, lock)
        return connection

    def remove(self, sid: str) -> Connection | None:
        """Forget a connection; what was kept of it."""
        connection = self._open.pop(sid, None)
        if connection is not None:
            self.release(connection.address)
        return connection


def client_of(environ: dict[str, Any]) -> tuple[str | None, Headers]:
    """The address a client's connections are counted under, and its headers, from an ASGI or a WSGI request.

    Loopback, and what has no address, counts under None: it is exempt.
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
    """The address that connections are counted under; None for loopback, and where there is none."""
    if not host:
        return None
    try:
        return None if ipaddress.ip_address(host).is_loopback else host
    except ValueError:
        return host
