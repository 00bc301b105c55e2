"""What counts as one address."""

from __future__ import annotations

from typing import Any

import pytest

from a2c_smcp.errors import NotAuthenticatedError, RateLimitedError
from a2c_smcp.protocol.grants import EVERYTHING
from a2c_smcp.protocol.limits import Limits, TokenBucket
from a2c_smcp.server.connections import Connections, client_of


@pytest.mark.parametrize(
    ("environ", "address"),
    [
        ({"asgi.scope": {"client": ("203.0.113.7", 5), "headers": [(b"x", b"y")]}}, "203.0.113.7"),
        ({"asgi.scope": {"client": ("127.0.0.1", 5), "headers": [(b"x", b"y")]}}, None),
        ({"asgi.scope": {"client": ("::1", 5), "headers": [(b"x", b"y")]}}, None),
        ({"asgi.scope": {"client": None, "headers": [(b"x", b"y")]}}, None),
        ({"REMOTE_ADDR": "2001:db8::1", "HTTP_X": "y"}, "2001:db8::1"),
        ({"REMOTE_ADDR": "127.3.2.1", "HTTP_X": "y"}, None),
        ({"REMOTE_ADDR": "unix:/run/sock", "HTTP_X": "y"}, "unix:/run/sock"),
        ({"HTTP_X": "y"}, None),
    ],
)
def test_a_client_has_an_address_unless_it_is_loopback(environ: dict[str, Any], address: str | None) -> None:
    assert client_of(environ) == (address, [(b"x", b"y")])


def test_connections_of_one_address_are_counted() -> None:
    connections = Connections(Limits(connections_per_ip=1))
    connections.reserve("a")
    connections.add("s", "a", EVERYTHING, None, TokenBucket(1, 1))
    connections.reserve("b")
    connections.reserve(None)
    connections.reserve(None)
    with pytest.raises(RateLimitedError):
        connections.reserve("a")
    connections.remove("s")
    connections.remove("s")
    connections.reserve("a")
    with pytest.raises(NotAuthenticatedError):
        connections.grant("s")
