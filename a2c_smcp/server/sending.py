"""Sending to the clients of a Server: to one, to a room or to all, with or without an ack."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from a2c_smcp.errors import NotFoundError, RateLimitedError
from a2c_smcp.protocol.limits import TokenBucket
from a2c_smcp.server.payload_text import read_ack, write_event
from a2c_smcp.server.reply import Reply
from a2c_smcp.server.rooms import Rooms
from a2c_smcp.wire.clock import Timer
from a2c_smcp.wire.connection import Connection
from a2c_smcp.wire.packets import EVENT, arguments, write_packet
from a2c_smcp.wire.session import Fault

if TYPE_CHECKING:
    from a2c_smcp.server.hub import Hub

logger = logging.getLogger(__name__)


class Recipient(ABC):
    """A member of the namespace that events are sent to: a client, or a part of this process (`local`)."""

    @abstractmethod
    def tell(self, sid: str, packet: str, text: str) -> None:
        """Send an event, written as a packet and as a JSON array, if the recipient still has this id."""

    @abstractmethod
    def ask(self, sid: str, text: str, reply: Reply) -> int | None:
        """Send an event whose ack settles the reply; its number, for `forget`, if it was sent."""

    @abstractmethod
    def forget(self, number: int) -> None:
        """Ignore the ack of an event that `ask` sent."""

    @abstractmethod
    def show_out(self, sid: str) -> None:
        """Disconnect the recipient from the namespace, if it still has this id."""


class Client(Recipient):
    """A client, as a shell carries it. Its lock guards its wire core; no flow runs under it."""

    def __init__(self, hub: Hub[Any], wire: Connection, environ: dict[str, Any], address: str | None) -> None:
        self.hub = hub
        self.wire = wire
        self.environ = environ
        self.address = address
        self.bucket = TokenBucket(hub.limits.requests_per_second, hub.limits.request_burst)
        self.lock = threading.RLock()
        self.timer: Timer | None = None
        self.is_ended = False

    @abstractmethod
    def flush(self) -> None:
        """Send what is in the outbox, as far as the client's socket takes it without waiting."""

    def fit(self) -> None:
        """Apply a changed limit of message size: the client entered the namespace, or the limits changed."""
        return

    @abstractmethod
    def finish(self) -> None:
        """The session ended: send the rest, then close."""

    # The id is compared under the lock, in each of these: the client may have left the namespace meanwhile, and entered
    # it again under another id.

    def tell(self, sid: str, packet: str, text: str) -> None:
        """Send an event."""
        with self.lock:
            fault = self.wire.emit(packet) if self.wire.namespace.sid == sid else None
        self.hub.sent(self, fault)

    def ask(self, sid: str, text: str, reply: Reply) -> int | None:
        """Send an event whose ack settles the reply."""
        with self.lock:
            is_there = self.wire.namespace.sid == sid
            asked = self.wire.ask(text, reply) if is_there else None
        # If the outbox is full, `sent` ends the session, and the leave ends the calls that wait for this client.
        if asked is not None:
            self.hub.sent(self, asked)
            return asked if isinstance(asked, int) else None
        busy = RateLimitedError("too many requests wait for this Computer's answer")
        reply.set_exception(busy if is_there else NotFoundError("the Computer disconnected"))
        return None

    def forget(self, number: int) -> None:
        """Ignore an ack."""
        with self.lock:
            self.wire.namespace.forget(number)

    def show_out(self, sid: str) -> None:
        """Disconnect the client from the namespace."""
        self.hub.show_out_client(self, sid)


ClientT = TypeVar("ClientT", bound=Client)


class Sender(ABC, Generic[ClientT]):
    """The sending half of a hub."""

    def __init__(self, namespace: str) -> None:
        self._namespace_name = namespace
        self.rooms: Rooms[Recipient] = Rooms()
        self.members = self.rooms.members
        """The clients in the namespace, by their id in it."""

    @abstractmethod
    def sent(self, client: ClientT, fault: Fault | int | None) -> None:
        """Have the outbox of a client sent; a `Fault` says that it is full, and ends the session."""

    def send(
        self,
        event: str,
        data: Any = None,
        to: str | None = None,
        room: str | None = None,
        skip_sid: Any = None,
        namespace: str | None = None,
        callback: Callable[..., Any] | None = None,
        **_: Any,
    ) -> None:
        """Send an event to a room or a client for a host program; `callback` gets the ack of one client."""
        recipient = to or room
        if callback is None or recipient is None:
            self.tell(recipient, event, data, skip_sid)
            return

        def settled(reply: Reply) -> None:
            if reply.has_failed:  # the client disconnected: there is no ack
                return
            try:
                callback(*arguments(read_ack(reply.result())))
            except Exception:  # the host program's; it must not end the session of the client whose ack this is
                logger.exception("the callback of an emit failed")

        reply = Reply()
        reply.then(settled)
        self.ask(recipient, write_event(event, data), reply)

    def request(self, event: str, data: Any = None, to: str | None = None, sid: str | None = None) -> Reply:
        """Send an event to a client for a host program; the reply is settled by its ack."""
        reply = Reply()
        self.ask(to or sid or "", write_event(event, data), reply)
        return reply

    def join_room(self, sid: str, room: str, namespace: str | None = None) -> None:
        """Let a client receive what is sent to a room."""
        self.rooms.join(sid, room)

    def quit_room(self, sid: str, room: str, namespace: str | None = None) -> None:
        """Stop sending a client what is sent to a room."""
        self.rooms.quit(sid, room)

    def tell(self, to: str | None, event: str, data: Any, skip: Any = None) -> None:
        """Send an event to a room, to one client, or to all clients (None). It is written once for all of them."""
        self.tell_text(to, write_event(event, data), skip)

    def tell_text(self, to: str | None, text: str, skip: Any = None) -> None:
        """Send an event that is written as a JSON array, likewise."""
        skipped = {skip} if isinstance(skip, str) else set(skip or ())
        packet = write_packet(EVENT, self._namespace_name, text)
        for sid, recipient in self.rooms.listeners(to).items():
            if sid not in skipped:
                recipient.tell(sid, packet, text)

    def ask(self, sid: str, text: str, reply: Reply) -> int | None:
        """Send an event to one client, whose ack settles the reply; its number, for `forget`, if it was sent."""
        recipient = self.members.get(sid)
        if recipient is None:
            reply.set_exception(NotFoundError("the Computer disconnected"))
            return None
        return recipient.ask(sid, text, reply)

    def forget(self, sid: str, number: int) -> None:
        """Ignore the ack of an event that `ask` sent."""
        recipient = self.members.get(sid)
        if recipient is not None:
            recipient.forget(number)
