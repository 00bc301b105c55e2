"""What a server flow may ask of the backend, and what a backend and its registry must offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from a2c_smcp.protocol.flow import Effect, MaybeAwaitable
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.office import Member, Move, Office


class Registry(Protocol):
    """Where members and offices are kept. A blocking backend needs plain answers, an asynchronous one takes either."""

    def member(self, sid: str) -> MaybeAwaitable[Member | None]:
        """The member of a connection, if it ever joined."""
        ...

    def office(self, office_id: str, name: str) -> MaybeAwaitable[Office]:
        """An office as seen for one name."""
        ...

    def roster(self, office_id: str) -> MaybeAwaitable[Sequence[Member]]:
        """Everybody in an office, in order of arrival."""
        ...

    def offices_with(self, computer: str, most: int) -> MaybeAwaitable[Sequence[str]]:
        """Offices that have a Computer of this name, `most` of them at the most."""
        ...

    def commit(self, move: Move) -> MaybeAwaitable[bool]:
        """Apply a move if everything it was decided on still holds; otherwise change nothing and say False."""
        ...


class ServerBackend(Protocol):
    """What the shell around the core offers."""

    @property
    def registry(self) -> Registry: ...

    def grant(self, sid: str) -> Grant:
        """What the connection may join."""
        ...

    def is_connected(self, sid: str) -> bool:
        """Whether the connection is still there."""
        ...

    def can_be_room(self, sid: str, office_id: str) -> bool:
        """Whether the id names no connection other than this one; each connection has a room of its own."""
        ...

    def enter(self, sid: str, office_id: str) -> MaybeAwaitable[None]:
        """Let a connection hear an office."""
        ...

    def leave(self, sid: str, office_id: str) -> MaybeAwaitable[None]:
        """Let it hear the office no longer."""
        ...

    def notify(self, to: str, event: str, data: Mapping[str, Any], skip: str | None) -> MaybeAwaitable[None]:
        """Send to an office or to one connection."""
        ...

    def call(self, call: Call) -> MaybeAwaitable[Any]:
        """Send to one connection and wait for its ack."""
        ...


class Written:
    """An ack as it came: what it says, as far as that was read, and how it is written: to be passed on unchanged."""

    __slots__ = ("text", "value")

    def __init__(self, value: Any, text: str) -> None:
        self.value = value
        self.text = text


class CallerGone(Exception):
    """The one who asked is no longer there to hear the answer."""


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
class ReadRoster(Effect[ServerBackend, Sequence[Member]]):
    office_id: str

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[Sequence[Member]]:
        return backend.registry.roster(self.office_id)


@dataclass(frozen=True, slots=True)
class OfficesWith(Effect[ServerBackend, Sequence[str]]):
    """Offices that have a Computer of this name, `most` of them at the most."""

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
    """Send an event to an office (`skip` leaves one connection out) or to a single connection."""

    to: str
    event: str
    data: Mapping[str, Any]
    skip: str | None = None

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[None]:
        return backend.notify(self.to, self.event, self.data, self.skip)


@dataclass(frozen=True, slots=True)
class Call(Effect[ServerBackend, Any]):
    """Send an event to one connection and wait for its ack.

    The backend raises `NotFoundError` when the target vanishes, `TimedOutError` after `timeout` seconds, and
    `CallerGone` when the caller vanishes. It may answer with a `Written` ack.
    """

    caller: str
    target: str
    event: str
    data: Any
    timeout: float
    text: str | None = None
    """Event and data as they came, as a JSON array, where nothing was changed."""
    original: str | None = None
    """The same, also where something was changed."""

    def perform(self, backend: ServerBackend) -> MaybeAwaitable[Any]:
        return backend.call(self)
