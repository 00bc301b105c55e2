"""The state machine of one client's place in the namespace: connect, events, acks, disconnect.

One namespace is served. A client may leave it and enter again over the same connection; each stay has its own id.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from a2c_smcp.wire.limits import WireLimits
from a2c_smcp.wire.packets import (
    ACK,
    BINARY_ACK,
    BINARY_EVENT,
    CONNECT,
    CONNECT_ERROR,
    DISCONNECT,
    EVENT,
    Packet,
    guess_event,
    parse_packet,
    read_array,
    read_json,
    write_json,
    write_packet,
)
from a2c_smcp.wire.session import Fault


class Problem(Enum):
    """The reason why a message cannot be read."""

    NOT_JSON = "payload: not valid JSON, or nested too deep"
    NO_EVENT = "an array that begins with an event name is expected"
    BINARY = "binary attachments are not part of the protocol"
    TOO_LARGE = "the message is too large"


@dataclass(slots=True)
class Enter:
    """The client asks to enter; the hub answers with `admit` or `reject`."""

    auth: Any


@dataclass(slots=True)
class Event:
    """An event. `text` is the JSON array as it came: the name and the arguments. The `args` of a large event are only
    partly read, see `packets.read_array`."""

    name: str
    args: list[Any]
    id: int | None
    """An ack is wanted under this number."""
    text: str


@dataclass(slots=True)
class Answer:
    """The ack of an event that was sent with `ask`, and the `token` it was sent with. The `args` of a large ack are
    only partly read."""

    token: Any
    args: list[Any]
    text: str


@dataclass(slots=True)
class BadEvent:
    """An event that cannot be read."""

    name: str
    """As far as it can be recognized."""
    id: int | None
    problem: Problem
    size: int
    attachments: int = 0


@dataclass(slots=True)
class BadAnswer:
    """An ack that cannot be read."""

    token: Any
    problem: Problem
    size: int
    attachments: int = 0


@dataclass(slots=True)
class Leave:
    """The client left the namespace; `unanswered` are the tokens whose acks will not come."""

    sid: str
    unanswered: list[Any]


Value: TypeAlias = Enter | Event | Answer | BadEvent | BadAnswer | Leave | Fault


class Namespace:
    """A client's place in the namespace. `sid` is None while it is outside."""

    __slots__ = ("_attempts", "_entries", "_is_entering", "_numbers", "_pending", "limits", "name", "sid")

    def __init__(self, name: str, limits: WireLimits) -> None:
        self.name = name
        self.sid: str | None = None
        self.limits = limits
        self._is_entering = False
        self._attempts = 0
        self._entries = 0
        # Never reset, also when the client leaves and enters again: an ack from an earlier stay must not match an event
        # of this one.
        self._numbers = itertools.count(1)
        # None until the first event that wants an ack: Agents and idle Computers never get one.
        self._pending: dict[int, Any] | None = None

    @property
    def is_entering(self) -> bool:
        """Whether the client waits for `admit` or `reject`."""
        return self._is_entering

    # -------------------------------------------------------------------------------------------------------- receiving

    def receive(self, message: str) -> Value | str | None:
        """Receive a message: what it means, a packet to send back, or None."""
        packet = parse_packet(message)
        if packet is None:
            return Fault("the client sent an invalid Socket.IO packet")
        # A client that connects to another namespace gets an error; without one, it would wait until its own timeout.
        # Its other packets have no meaning here.
        if packet.namespace != self.name:
            if packet.kind == CONNECT:
                problem = write_json({"message": f"this Server has only the namespace {self.name}"})
                return write_packet(CONNECT_ERROR, packet.namespace, problem)
            return None
        # Literals, because a bare name in a `case` is a variable that is assigned, not a constant that is compared.
        match packet.kind:
            case "2" | "5":
                return self._receive_event(packet, message)
            case "3" | "6":
                return self._receive_ack(packet, message)
            case "0":
                return self._receive_connect(packet)
            case "1":
                return self.leave()
            case _:
                return None

    def _receive_connect(self, packet: Packet) -> Value | None:
        if self.sid is not None or self._is_entering:
            return Fault("the client is in the namespace already")
        # Each entry starts the authentication provider of the host program, which may ask a database.
        self._entries += 1
        if self._entries > self.limits.entries:
            return Fault(f"the client entered the namespace more than {self.limits.entries} times")
        try:
            auth = read_json(packet.payload) if packet.payload else None
        except ValueError:
            return Fault("the client sent credentials that are not JSON")
        self._is_entering = True
        return Enter(auth)

    def _receive_event(self, packet: Packet, message: str) -> Value | None:
        # An event from outside is no fault: the Server may just have disconnected the client, which has not read that
        # yet. A binary packet is: its attachments would follow, and clients of the protocol never send one.
        if self.sid is None:
            return None if packet.kind == EVENT else Fault("the client sent a binary packet")
        size = _utf8_length(message, self.limits.message_bytes)
        if size > self.limits.message_bytes:
            # The name is guessed from the first characters, because the form of an error ack depends on the event.
            return BadEvent(guess_event(packet.payload), packet.id, Problem.TOO_LARGE, size)
        if packet.kind == BINARY_EVENT:
            return BadEvent(guess_event(packet.payload), packet.id, Problem.BINARY, size, packet.attachments)
        # It contains no event and asks for no ack, so there is nothing to answer.
        if not packet.payload and packet.id is None:
            return None
        data = read_array(packet.payload, self.limits.nesting)
        if data is None:
            return BadEvent(guess_event(packet.payload), packet.id, Problem.NOT_JSON, size)
        name = data[0] if data else None
        if not isinstance(name, str):
            return BadEvent("", packet.id, Problem.NO_EVENT, size)
        del data[0]
        return Event(name, data, packet.id, packet.payload)

    def _receive_ack(self, packet: Packet, message: str) -> Value | None:
        # An ack that comes after its timeout has been forgotten (`forget`), and one that comes twice has been taken.
        if self._pending is None or packet.id not in self._pending:
            return None
        token = self._pending.pop(packet.id)
        size = _utf8_length(message, self.limits.message_bytes)
        if size > self.limits.message_bytes:
            return BadAnswer(token, Problem.TOO_LARGE, size)
        if packet.kind == BINARY_ACK:
            return BadAnswer(token, Problem.BINARY, size, packet.attachments)
        args = read_array(packet.payload, self.limits.nesting) if packet.payload else []
        if args is None:
            return BadAnswer(token, Problem.NOT_JSON, size)
        return Answer(token, args, packet.payload)

    # ---------------------------------------------------------------------------------------------------------- sending

    def admit(self, sid: str) -> str:
        """The packet that accepts the client, under this id."""
        self._is_entering = False
        self._attempts = 0
        self.sid = sid
        return write_packet(CONNECT, self.name, write_json({"sid": sid}))

    def reject(self, message: str, data: Any = None) -> tuple[str, Fault | None]:
        """The packet that rejects the client, and the fault if that was one rejection too many."""
        self._is_entering = False
        self._attempts += 1
        problem = {"message": message} if data is None else {"message": message, "data": data}
        is_last = self._attempts >= self.limits.attempts
        fault = Fault("the client sent too many invalid credentials") if is_last else None
        return write_packet(CONNECT_ERROR, self.name, write_json(problem)), fault

    def event(self, text: str) -> str:
        """The packet of an event; `text` is its JSON array."""
        return write_packet(EVENT, self.name, text)

    def ask(self, text: str, token: Any) -> tuple[int, str] | None:
        """The number and the packet of an event whose ack comes back with the token; None if too many are open."""
        if self._pending is None:
            self._pending = {}
        if len(self._pending) >= self.limits.pending:
            return None
        number = next(self._numbers)
        self._pending[number] = token
        return number, write_packet(EVENT, self.name, text, number)

    def forget(self, number: int) -> None:
        """Ignore the ack of this number, if it still comes."""
        if self._pending is not None:
            self._pending.pop(number, None)

    def ack(self, id: int, text: str) -> str:
        """The packet of an ack; `text` is its JSON array."""
        return write_packet(ACK, self.name, text, id)

    def disconnect(self) -> tuple[str, Leave | None]:
        """The packet that disconnects the client, and its leave."""
        return write_packet(DISCONNECT, self.name), self.leave()

    def leave(self) -> Leave | None:
        """Take the client out of the namespace; None if it was not in it."""
        self._is_entering = False
        sid, self.sid = self.sid, None
        pending, self._pending = self._pending, None
        return Leave(sid, list(pending.values()) if pending else []) if sid is not None else None


def _utf8_length(text: str, enough: int) -> int:
    """The length of `text` in UTF-8. A text that is ASCII or too long anyway is not encoded: `isascii` reads a flag of
    the string, and encoding copies it."""
    return len(text) if text.isascii() or len(text) > enough else len(text.encode("utf-8", "surrogatepass"))
