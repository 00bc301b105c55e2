"""What an operator may set for the gateway over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from a2c_smcp.gateway.profile import Profile
from a2c_smcp.gateway.seat import LINGER
from a2c_smcp.protocol.limits import Limits

_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """The settings, with their defaults."""

    profiles: Mapping[str, Profile] = field(default_factory=dict[str, Profile])
    """Profiles by name: `/OFFICE/NAME`."""
    allowed_hosts: tuple[str, ...] = ()
    """The values of `Host` that are accepted, without the port; empty for all."""
    allowed_origins: tuple[str, ...] = ()
    """The values of `Origin` that are accepted, beside that of the Server itself; `*` for all."""
    body_bytes: int = _LIMITS.message_bytes
    """The largest body of a request."""
    restored_bytes: int = _LIMITS.message_bytes
    """Bytes of pictures, recordings and files in one answer to a host. A larger one is left out, with a text."""
    views: int = 1_000
    """Combinations of office and profile that are used at the same time."""
    views_of_a_principal: int = 32
    """Of these, those that the hosts of one principal made with the query of their URL."""
    body_seconds: float = _LIMITS.body_timeout
    """Seconds for the body of a request to arrive."""
    sessions: int = 5_000
    """Sessions of all principals."""
    sessions_of_a_principal: int = 500
    requests_per_second: float = _LIMITS.requests_per_second
    """Requests that one principal may send per second, over time."""
    request_burst: int = _LIMITS.request_burst
    """Requests that one principal may send at once."""
    requests_at_once: int = 256
    """Requests of one principal that may run at the same time."""
    requests: int = 4_000
    """Requests of all principals that may run at the same time."""
    streams_at_once: int = 1_000
    """Streams of notifications of one principal."""
    streams: int = 10_000
    """Streams of notifications of all principals."""
    idle_seconds: float = 1800.0
    """Seconds after which a session without requests ends."""
    keep_seconds: float = 300.0
    """Seconds for which a view is kept that no host uses."""
    linger: float = LINGER
    """Seconds for which the Agent's seat is kept that no host uses."""
