"""What one client may make the Server keep or do. Everything that can grow has its limit here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WireLimits:
    """The limits of a connection; a shell sets them from outside."""

    message_bytes: int = 10_000_000
    """The largest message that is read. One that is larger, up to `transport_bytes`, is answered with an error."""
    transport_bytes: int = 20_000_000
    """The largest frame or body; what is larger ends the connection."""
    outside_bytes: int = 100_000
    """The largest frame or body of a client that has not entered the namespace."""
    packets: int = 1_000
    """Packets in the body of one request."""
    nesting: int = 250
    """Levels of arrays and objects in a message."""
    unread: int = 40_000_000
    """Characters that wait to be read by the client."""
    pending: int = 10_000
    """Questions to the client that wait for its answer."""
    attempts: int = 3
    """Rejected credentials after which the connection ends."""
    entries: int = 100
    """How often a client may enter the namespace over one connection."""
    entry_seconds: float = 10.0
    """For a client to enter the namespace."""
    ping_interval: float = 25.0
    ping_timeout: float = 20.0
