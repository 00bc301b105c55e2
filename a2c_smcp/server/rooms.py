"""The members of the namespace by their id, and the rooms that each of them is in."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Generic, TypeVar

ClientT = TypeVar("ClientT")


class Rooms(Generic[ClientT]):
    """The members and their rooms. Every member also has a room of its own, under its id. Safe in threads."""

    def __init__(self) -> None:
        self.members: dict[str, ClientT] = {}
        self._rooms: dict[str, dict[str, ClientT]] = {}
        self._entered: dict[str, set[str]] = {}
        """The rooms of each member that is in any, so that its leave need not search them all."""
        self._lock = threading.Lock()

    def add(self, sid: str, client: ClientT) -> None:
        """A client entered the namespace."""
        with self._lock:
            self.members[sid] = client

    def remove(self, sid: str) -> None:
        """A client left the namespace, and with it every room."""
        with self._lock:
            self.members.pop(sid, None)
            for room in self._entered.pop(sid, ()):
                self._forget(sid, room)

    def join(self, sid: str, room: str) -> None:
        """Let a member receive what is sent to a room.

        Raises:
            KeyError: there is no such member.
        """
        with self._lock:
            self._rooms.setdefault(room, {})[sid] = self.members[sid]
            self._entered.setdefault(sid, set()).add(room)

    def quit(self, sid: str, room: str) -> None:
        """Stop sending a member what is sent to a room."""
        with self._lock:
            entered = self._entered.get(sid)
            if entered is not None:
                entered.discard(room)
                if not entered:
                    del self._entered[sid]
            self._forget(sid, room)

    def listeners(self, to: str | None) -> Mapping[str, ClientT]:
        """The members that receive what is sent to a room, to one member, or to all members (None)."""
        # Copies: the caller sends without the lock, and sending may end clients, which leave their rooms.
        with self._lock:
            if to is None:
                return dict(self.members)
            if to in self.members:
                return {to: self.members[to]}
            return dict(self._rooms.get(to, {}))

    def _forget(self, sid: str, room: str) -> None:
        listeners = self._rooms.get(room)
        if listeners is not None:
            listeners.pop(sid, None)
            if not listeners:
                del self._rooms[room]
