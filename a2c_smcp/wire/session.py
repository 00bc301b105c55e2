"""The state machine of an Engine.IO 4 session: polling, upgrade, heartbeat, close.

The methods that receive return messages, or a `Fault` that says why the session ends. Packets to send wait in an
outbox, in order, for a WebSocket or for polls.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from a2c_smcp.wire.limits import WireLimits

OPEN, CLOSE, PING, PONG, MESSAGE, UPGRADE, NOOP = "0123456"
BINARY = "b"
"""The first character of a binary message in the body of a POST."""
SEPARATOR = "\x1e"
PACKETS_IN_ANSWER = 16
"""Packets in one answer to a poll. python-engineio rejects a payload with more."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The client violated the protocol or a limit: the session ends."""

    reason: str


class End(Enum):
    """The reason for the end of a session."""

    CLIENT = "the client closed it"
    SERVER = "the Server closed it"
    LOST = "the connection was lost"
    SILENT = "the client did not answer a ping"
    FAULT = "the client violated the protocol"


class Attachment(Enum):
    """A binary message, which belongs to the packet before it."""

    BINARY = "binary"


Message: TypeAlias = str | Attachment
"""The text of a message packet without its type, or a binary message, whose content is not used."""


class Session:
    """One session. `carrier` is "polling" or "websocket"; `now` is the time in seconds on any monotonic clock."""

    __slots__ = (
        "_is_probed",
        "_outbox",
        "carrier",
        "end",
        "limits",
        "ping_at",
        "pong_by",
        "sid",
        "unread",
    )

    def __init__(self, sid: str, limits: WireLimits, now: float, carrier: str) -> None:
        self.sid = sid
        self.carrier = carrier
        self.end: End | None = None
        """The reason of the end; None while the session is open."""
        self.unread = 0
        """Characters in the outbox."""
        self.limits = limits
        # None when it is empty: most clients are idle, and an empty deque takes 760 bytes.
        self._outbox: deque[str] | None = None
        self._is_probed = False
        self.ping_at = now + limits.ping_interval
        self.pong_by: float | None = None
        upgrades = ["websocket"] if carrier == "polling" else []
        handshake = {
            "sid": sid,
            "upgrades": upgrades,
            "pingInterval": round(limits.ping_interval * 1_000),
            "pingTimeout": round(limits.ping_timeout * 1_000),
            "maxPayload": limits.transport_bytes,
        }
        self._put(OPEN + json.dumps(handshake, separators=(",", ":")))

    # -------------------------------------------------------------------------------------------------------- receiving

    def receive_frame(self, frame: str | bytes, now: float) -> Message | Fault | None:
        """Receive a WebSocket frame: a message, nothing to do (None), or the end."""
        if not isinstance(frame, str):
            return Attachment.BINARY
        if frame[:1] == MESSAGE:
            return frame[1:]
        return self._receive_control(frame)

    def receive_body(self, body: bytes, now: float) -> list[Message] | Fault:
        """Receive the body of a POST: all its messages, or the first fault in it."""
        # Counted before the body is split: 20 MB of separators would become 20 million strings.
        if body.count(b"\x1e") >= self.limits.packets:
            return self._fault(f"the client sent more than {self.limits.packets} packets in one request")
        try:
            packets = body.decode().split(SEPARATOR)
        except UnicodeDecodeError:
            return self._fault("the client sent a body that is not UTF-8")
        messages: list[Message] = []
        for packet in packets:
            if packet[:1] == MESSAGE:
                messages.append(packet[1:])
            elif packet[:1] == BINARY:
                messages.append(Attachment.BINARY)
            elif (fault := self._receive_control(packet)) is not None:
                return fault
            # Nothing is read after a close packet.
            if self.end is not None:
                break
        return messages

    def _receive_control(self, packet: str) -> Fault | None:
        if packet == PONG:
            self.pong_by = None
        elif packet == CLOSE:
            self.finish(End.CLIENT)
        else:
            problem = "an invalid Engine.IO packet" if packet[:1] not in _TYPES else "an unexpected Engine.IO packet"
            return self._fault(f"the client sent {problem}")
        return None

    def receive_probe(self, frame: str | bytes) -> bool | Fault:
        """Receive a frame of a WebSocket that takes over from polling: True once it has.

        After the probe the shell answers the waiting poll, with `NOOP` if the outbox is empty: the client waits for
        that answer before it upgrades, so that no packet is in flight on both transports.
        """
        if frame == PING + "probe" and not self._is_probed:
            self._is_probed = True
            return False
        # The carrier is checked as well: of two WebSockets that try to upgrade a session, only one takes over.
        if frame == UPGRADE and self._is_probed and self.carrier == "polling":
            self.carrier = "websocket"
            return True
        return Fault("not an upgrade")

    @property
    def is_probed(self) -> bool:
        """Whether a WebSocket is about to take over."""
        return self._is_probed and self.carrier == "polling"

    def give_up_probe(self) -> None:
        """The WebSocket closed before it took over: polling continues."""
        self._is_probed = False

    # ---------------------------------------------------------------------------------------------------------- sending

    def send(self, packet: str) -> Fault | None:
        """Put a packet into the outbox; a client that leaves too much unread gets a `Fault`."""
        if self.end is not None:
            return None
        # What waits already is compared with the limit, without this packet: a client that reads everything may get a
        # packet of any size.
        if self.unread > self.limits.unread:
            return self._fault("the client does not read what it is sent")
        self._put(packet)
        return None

    def has_output(self) -> bool:
        """Whether anything waits to be sent."""
        return bool(self._outbox)

    def take_frame(self) -> str | None:
        """The next WebSocket frame to send."""
        if not self._outbox:
            return None
        packet = self._outbox.popleft()
        if not self._outbox:
            self._outbox = None
        self.unread -= len(packet)
        return packet

    def take_payload(self, most: int | None = None) -> str:
        """The body that answers a poll, of about `most` characters; empty when the outbox is."""
        packets: list[str] = []
        size = 0
        most = self.limits.transport_bytes if most is None else most
        # The size is checked before a packet is added, so that a packet larger than the limit is sent all the same.
        while self._outbox and len(packets) < PACKETS_IN_ANSWER and size < most:
            packet = self.take_frame() or ""
            size += len(packet)
            packets.append(packet)
        return SEPARATOR.join(packets)

    def _put(self, packet: str) -> None:
        if self._outbox is None:
            self._outbox = deque()
        self._outbox.append(packet)
        self.unread += len(packet)

    # ----------------------------------------------------------------------------------------------------- time, ending

    @property
    def wake_at(self) -> float:
        """When to call `wake`."""
        return self.ping_at if self.pong_by is None else min(self.ping_at, self.pong_by)

    def wake(self, now: float) -> None:
        """Send a ping that is due; end the session if a pong is overdue.

        In Engine.IO 4 the Server pings and the client answers. A connection that is cut without a word, such as that of
        a laptop that went to sleep, is noticed `ping_interval + ping_timeout` seconds later at the latest.
        """
        if self.end is not None:
            return
        if self.pong_by is not None and now >= self.pong_by:
            self.finish(End.SILENT)
        elif now >= self.ping_at:
            self.ping_at = now + self.limits.ping_interval
            # If a pong is still due, its deadline stays: with a timeout longer than the interval, every ping would
            # otherwise move it, and a silent client would never be noticed.
            if self.pong_by is None:
                self.pong_by = now + self.limits.ping_timeout
            # Not `send`: a full outbox is reported when the next packet is sent, and `wake` has no fault to return.
            self._put(PING)

    def close(self) -> None:
        """End the session with a close packet, after what is in the outbox."""
        if self.end is None:
            self._put(CLOSE)
            self.finish(End.SERVER)

    def finish(self, end: End) -> None:
        """Note that the session ended; the first reason counts."""
        if self.end is None:
            self.end = end

    def _fault(self, reason: str) -> Fault:
        self.finish(End.FAULT)
        return Fault(reason)


_TYPES = frozenset((OPEN, CLOSE, PING, PONG, MESSAGE, UPGRADE, NOOP))


@dataclass(frozen=True, slots=True)
class Handshake:
    """The packet with which a Server opens a session, as a client reads it."""

    sid: str
    can_upgrade: bool
    """Whether it offers WebSocket."""


def read_handshake(payload: str) -> Handshake | None:
    """The handshake at the start of a payload or frame; None if there is none."""
    packet = payload.partition(SEPARATOR)[0]
    if not packet.startswith(OPEN + "{"):
        return None
    try:
        opened: Any = json.loads(packet[1:])
    except (ValueError, RecursionError):
        return None
    sid, upgrades = opened.get("sid"), opened.get("upgrades")
    if not isinstance(sid, str):
        return None
    return Handshake(sid, isinstance(upgrades, list) and "websocket" in upgrades)
