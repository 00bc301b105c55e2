"""The state of one client: its session and its place in the namespace. Frames and bodies go in, values come out."""

from __future__ import annotations

from typing import Any

from a2c_smcp.wire.limits import WireLimits
from a2c_smcp.wire.namespace import BadAnswer, BadEvent, Leave, Namespace, Value
from a2c_smcp.wire.session import Attachment, End, Fault, Message, Session


class Connection:
    """The wire core of one client. After every call, the shell sends what is in the outbox of `session`.

    A `Fault` among the values ends the session, and is the last of them.
    """

    __slots__ = ("_attachments", "_limits", "_outside_since", "namespace", "session")

    def __init__(self, sid: str, namespace: str, limits: WireLimits, now: float, carrier: str) -> None:
        self.session = Session(sid, limits, now, carrier)
        self.namespace = Namespace(namespace, limits)
        self._limits = limits
        self._outside_since: float | None = now
        self._attachments = 0
        """Binary messages to ignore, because they belong to a packet that was rejected."""

    def limit(self, limits: WireLimits) -> None:
        """Change the limits."""
        self._limits = self.session.limits = self.namespace.limits = limits

    # -------------------------------------------------------------------------------------------------------- receiving

    @property
    def largest_input(self) -> int:
        """The bytes of the largest frame or body that is read now."""
        # A client that has not entered has shown no credential: it must not make the Server hold much memory.
        return self._limits.outside_bytes if self.namespace.sid is None else self._limits.transport_bytes

    def receive_frame(self, frame: str | bytes, now: float) -> Value | None:
        """Receive a WebSocket frame; None when there is nothing to do."""
        # The characters of a text are a lower bound of its bytes, and cost nothing to count. `Namespace` counts the
        # bytes of what passes.
        if len(frame) > self.largest_input:
            return self._too_large(f"a frame of {len(frame)} characters")
        found = self.session.receive_frame(frame, now)
        return found if found is None or isinstance(found, Fault) else self._receive(found, now)

    def receive_body(self, body: bytes, now: float) -> list[Value]:
        """Receive the body of a POST."""
        if len(body) > self.largest_input:
            return [self._too_large(f"a body of {len(body)} bytes")]
        messages = self.session.receive_body(body, now)
        if isinstance(messages, Fault):
            return [messages]
        values: list[Value] = []
        for message in messages:
            value = self._receive(message, now)
            if value is not None:
                values.append(value)
            # What follows in the body is not read: a client that was just disconnected must not have events run.
            if isinstance(value, Fault):
                break
        return values

    def _receive(self, message: Message, now: float) -> Value | None:
        if isinstance(message, Attachment):
            self._attachments -= 1
            return None if self._attachments >= 0 else self._fault(Fault("the client sent a binary message"))
        # Set anew by every text message, so that announced attachments which never come are not waited for: a client
        # cannot make the connection swallow later messages.
        value = self.namespace.receive(message)
        self._attachments = value.attachments if isinstance(value, BadEvent | BadAnswer) else 0
        if isinstance(value, str):
            return self.session.send(value)
        if isinstance(value, Fault):
            return self._fault(value)
        if isinstance(value, Leave):
            self._outside_since = now
        return value

    # ---------------------------------------------------------------------------------------------------------- sending

    def admit(self, sid: str) -> Fault | None:
        """Accept the client, under this id."""
        self._outside_since = None
        return self.session.send(self.namespace.admit(sid))

    def reject(self, message: str, data: Any = None) -> Fault | None:
        """Reject the client; after too many rejections the session ends."""
        packet, fault = self.namespace.reject(message, data)
        # The packet goes out before the close, so that the client learns why it was rejected.
        full = self.session.send(packet)
        if fault is not None:
            self.session.close()
        return fault or full

    def emit(self, packet: str) -> Fault | None:
        """Send a packet that was written by `namespace.event`, perhaps for many."""
        return self.session.send(packet)

    def ask(self, text: str, token: Any) -> int | Fault | None:
        """Send an event that wants an ack: its number, for `forget`; None when too many of them are open."""
        asked = self.namespace.ask(text, token)
        if asked is None:
            return None
        # If the outbox is full, the number is not returned and cannot be forgotten. That is not a leak: the fault ends
        # the session, and all its pending acks with it.
        number, packet = asked
        return self.session.send(packet) or number

    def ack(self, id: int, text: str) -> Fault | None:
        """Answer an event."""
        return self.session.send(self.namespace.ack(id, text))

    def disconnect(self, now: float) -> Leave | None:
        """Disconnect the client from the namespace."""
        packet, leave = self.namespace.disconnect()
        self.session.send(packet)
        self._outside_since = now
        return leave

    # ----------------------------------------------------------------------------------------------------- time, ending

    @property
    def wake_at(self) -> float:
        """When to call `wake`."""
        # A client outside the namespace costs a session and has shown no credential. Without a time limit, it could
        # stay there for as long as it answers pings.
        at = self.session.wake_at
        return at if self._outside_since is None else min(at, self._outside_since + self._limits.entry_seconds)

    def wake(self, now: float) -> Fault | None:
        """Send a ping that is due, or end a session that exceeded a time limit."""
        if self._outside_since is not None and now >= self._outside_since + self._limits.entry_seconds:
            if self.namespace.is_entering:  # the authentication provider is slow, which is not the client's fault
                self._outside_since = now
            else:
                self.session.close()
                return Fault("the client did not enter the namespace in time")
        self.session.wake(now)
        return None

    def lose(self, end: End = End.LOST) -> Leave | None:
        """The transport is closed: the session ends, and the client leaves the namespace."""
        self.session.finish(end)
        return self.namespace.leave()

    def _too_large(self, what: str) -> Fault:
        return self._fault(Fault(f"the client sent {what}; at most {self.largest_input} are read"))

    def _fault(self, fault: Fault) -> Fault:
        self.session.finish(End.FAULT)
        return fault
