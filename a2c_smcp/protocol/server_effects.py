"""The effects of the Server's flows, and the interfaces of the backend and the registry that perform them.

A Server of several processes plugs in here: a registry that its nodes share, and a backend that knows on which node a
connection is. The flows stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from a2c_smcp.errors import ForbiddenError, InternalError
from a2c_smcp.protocol.flow import Effect, MaybeAwaitable
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.handshake import Handshake
from a2c_smcp.protocol.office import Member, Move, Office


class Registry(Protocol):
    """Keeps members and offices. Its methods may return awaitables if the backend is asynchronous."""

    def member(self, sid: str) -> MaybeAwaitable[Member | None]:
        """The member of a connection; None if it never joined."""
        ...

    def office(self, office_id: str, name: str) -> MaybeAwaitable[Office]:
        """An office as a decision about one name needs it: its Agent, and the member that has the name."""
        ...

    def roster(self, office_id: str) -> MaybeAwaitable[Sequence[Member]]:
        """The members of an office, in order of arrival."""
        ...

    def offices_with(self, computer: str, most: int) -> MaybeAwaitable[Sequence[str]]:
        """Offices that have a Computer of this name, at most `most` of them."""
        ...

    def commit(self, move: Move) -> MaybeAwaitable[bool]:
        """Apply a move if everything it was decided on still holds; otherwise change nothing and return False."""
        ...


class ServerBackend(Protocol):
    """Performs the effects of the Server's flows."""

    @property
    def registry(self) -> Registry: ...

    def find(self, office_id: str, name: str) -> MaybeAwaitable[Office]:
        """An office as `Registry.office` has it, perhaps a moment old: to find the target of a call or a notice."""
        ...

    def grant(self, sid: str) -> Grant:
        """The grant of a connection's credential."""
        ...

    def handshake(self, sid: str) -> Handshake:
        """What is known of a connection since its handshake."""
        ...

    def is_connected(self, sid: str) -> bool:
        """Whether the connection is open."""
        ...

    def can_be_room(self, sid: str, office_id: str) -> bool:
        """Whether an office may have this id. Each connection has a room under its own id, so the id of another
        connection cannot name an office: its members would receive what is sent to that connection alone."""
        ...

    def enter(self, sid: str, office_id: str) -> MaybeAwaitable[None]:
        """Let a connection receive what is sent to an office."""
        ...

    def leave(self, sid: str, office_id: str) -> MaybeAwaitable[None]:
        """Stop sending it what is sent to the office."""
        ...

    def notify(
        self, to: str, event: str, data: Mapping[str, Any], skip: str | None, office_id: str | None
    ) -> MaybeAwaitable[None]:
        """Send an event to an office, without the connection `skip`, or to one connection; with `office_id`, only while
        it is in that office."""
        ...

    def call(self, call: Call) -> MaybeAwaitable[Any]:
        """Send an event to one connection and wait for its ack."""
        ...

    def end_call(self, caller: str, req_id: str) -> None:
        """End a call that was marked `ends_on_cancel`, unless its ack comes within a moment."""
        ...

    def read_ack(self, ack: Any) -> Any:
        """The value of an ack in full."""
        ...

    def size_of(self, ack: Any) -> int:
        """The bytes of an ack as JSON."""
        ...

    def now(self) -> float:
        """The time in seconds, on a monotonic clock."""
        ...


class Written:
    """An ack as it was received: its value, as far as it was read, and its text, which is passed on unchanged."""

    __slots__ = ("text", "value")

    def __init__(self, value: Any, text: str) -> None:
        self.value = value
        self.text = text


class CallLost(InternalError):
    """Contact with the target was lost, for example because the target is on another node. The call may still run."""


class EndedByOperator(ForbiddenError):
    """The Server's operator ended the call."""


class CallEnded(Exception):
    """The caller cancelled the call, and its Computer does not end it."""


class CallerGone(Exception):
    """The caller disconnected before there was an answer."""


@dataclass(frozen=True, slots=True)
class ReadMember(Effect[ServerBackend, Member | None]):
    sid: str

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[Member | None]:
        return backend.registry.member(self.sid)


@dataclass(frozen=True, slots=True)
class ReadOffice(Effect[ServerBackend, Office]):
    office_id: str
    name: str

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[Office]:
        return backend.registry.office(self.office_id, self.name)


@dataclass(frozen=True, slots=True)
class FindMember(Effect[ServerBackend, Office]):
    """Read an office to find a member, not to decide: what is read may be a moment old."""

    office_id: str
    name: str

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[Office]:
        return backend.find(self.office_id, self.name)


@dataclass(frozen=True, slots=True)
class ReadRoster(Effect[ServerBackend, Sequence[Member]]):
    office_id: str

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[Sequence[Member]]:
        return backend.registry.roster(self.office_id)


@dataclass(frozen=True, slots=True)
class OfficesWith(Effect[ServerBackend, Sequence[str]]):
    """Offices that have a Computer of this name, at most `most` of them."""

    computer: str
    most: int

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[Sequence[str]]:
        return backend.registry.offices_with(self.computer, self.most)


@dataclass(frozen=True, slots=True)
class Commit(Effect[ServerBackend, bool]):
    move: Move

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[bool]:
        return backend.registry.commit(self.move)


@dataclass(frozen=True, slots=True)
class ReadGrant(Effect[ServerBackend, Grant]):
    sid: str

    def perform(self, backend: ServerBackend) -> Grant:
        return backend.grant(self.sid)


@dataclass(frozen=True, slots=True)
class ReadHandshake(Effect[ServerBackend, Handshake]):
    sid: str

    def perform(self, backend: ServerBackend) -> Handshake:
        return backend.handshake(self.sid)


@dataclass(frozen=True, slots=True)
class IsConnected(Effect[ServerBackend, bool]):
    sid: str

    def perform(self, backend: ServerBackend) -> bool:
        return backend.is_connected(self.sid)


@dataclass(frozen=True, slots=True)
class CanBeRoom(Effect[ServerBackend, bool]):
    sid: str
    office_id: str

    def perform(self, backend: ServerBackend) -> bool:
        return backend.can_be_room(self.sid, self.office_id)


@dataclass(frozen=True, slots=True)
class EnterRoom(Effect[ServerBackend, None]):
    sid: str
    office_id: str

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[None]:
        return backend.enter(self.sid, self.office_id)


@dataclass(frozen=True, slots=True)
class LeaveRoom(Effect[ServerBackend, None]):
    sid: str
    office_id: str

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[None]:
        return backend.leave(self.sid, self.office_id)


@dataclass(frozen=True, slots=True)
class Notify(Effect[ServerBackend, None]):
    """Send an event to an office (`skip` leaves one connection out) or to a single connection. With `office_id`, the
    connection gets it only while it is in that office."""

    to: str
    event: str
    data: Mapping[str, Any]
    skip: str | None = None
    office_id: str | None = None

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[None]:
        return backend.notify(self.to, self.event, self.data, self.skip, self.office_id)


# Not frozen, although nobody changes it: see `server.Request`.
@dataclass(slots=True)
class Call(Effect[ServerBackend, Any]):
    """Send an event to one connection and wait for its ack.

    The backend raises `NotFoundError` when the target disconnects, `TimedOutError` after `timeout` seconds, `CallLost`
    when it cannot know any more, `CallerGone` when the caller disconnects, and `CallEnded` as `EndCall` says. It may
    answer with a `Written` ack.
    """

    caller: str
    target: str
    event: str
    data: Any
    timeout: float
    text: str | None = None
    """The JSON array of event and data as the Server received it, if nothing in it was changed."""
    original: str | None = None
    """The JSON array as the Server received it, also if a field was changed since."""
    office_id: str = ""
    """The office of both. In a cluster, the target may leave it while the call is on its way."""
    ends_on_cancel: bool = False
    """Whether the Server ends the call itself if the caller cancels it: its Computer may not."""
    is_part: bool = False
    """Whether it belongs to a request that was let in: it does not count as another one."""

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[Any]:
        return backend.call(self)


@dataclass(frozen=True, slots=True)
class EndCall(Effect[ServerBackend, None]):
    """End a call that its caller cancelled, if its Computer may not end it."""

    caller: str
    req_id: str

    def perform(self, backend: ServerBackend) -> None:
        backend.end_call(self.caller, self.req_id)


@dataclass(frozen=True, slots=True)
class ReadAck(Effect[ServerBackend, Any]):
    """Read an ack in full. Of a large one, only the outermost fields have been read."""

    ack: Any

    def perform(self, backend: ServerBackend) -> Any:
        return backend.read_ack(self.ack)


@dataclass(frozen=True, slots=True)
class SizeOf(Effect[ServerBackend, int]):
    """The bytes of an ack as JSON."""

    ack: Any

    def perform(self, backend: ServerBackend) -> int:
        return backend.size_of(self.ack)


class ReadClock(Effect[ServerBackend, float]):
    """The time in seconds, on a monotonic clock."""

    __slots__ = ()

    def perform(self, backend: ServerBackend) -> float:
        return backend.now()
