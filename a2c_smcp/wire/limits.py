"""The limits of one connection: everything that a client can make the Server keep or do is bounded here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WireLimits:
    """The limits of a connection. `server.app.wire_limits` derives them from the settings."""

    message_bytes: int = 10_000_000
    """The largest message that is read. A larger one, up to `transport_bytes`, is answered with an error."""
    transport_bytes: int = 20_000_000
    """The largest frame or body; a larger one ends the connection."""
    outside_bytes: int = 100_000
    """The largest frame or body of a client that has not entered the namespace, and so shown no credential."""
    packets: int = 1_000
    """Packets in the body of one POST."""
    nesting: int = 250
    """Levels of arrays and objects in a message."""
    unread: int = 40_000_000
    """Characters in the outbox; a client that leaves more unread is disconnected."""
    pending: int = 10_000
    """Events sent to the client whose acks have not come."""
    attempts: int = 3
    """Rejected credentials after which the connection ends."""
    entries: int = 100
    """Times that a client may enter the namespace over one connection."""
    entry_seconds: float = 10.0
    """Time for a client to enter the namespace."""
    ping_interval: float = 25.0
    ping_timeout: float = 20.0
