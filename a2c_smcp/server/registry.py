"""The registry in memory: the members and offices of one Server process.

A registry that several processes share implements the same five methods (`protocol.server_effects.Registry`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from threading import Lock

from a2c_smcp.protocol.office import Member, Move, Office


@dataclass(slots=True)
class _Seats:
    agent: Member | None = None
    by_name: dict[str, Member] = field(default_factory=dict[str, Member])


class MemoryRegistry:
    """The offices and their members, in memory, for `create_app(registry=…)`. Safe in threads."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._offices: dict[str, _Seats] = {}
        self._computers: dict[str, dict[str, None]] = {}  # name -> the offices that have a Computer of that name
        self._lock = Lock()

    def member(self, sid: str) -> Member | None:
        """The member of a connection; None if it never joined."""
        # Without the lock, here and in `office`: a decision on values that change meanwhile is rejected by `commit`.
        return self._members.get(sid)

    def office(self, office_id: str, name: str) -> Office:
        """An office as a decision about one name needs it: its Agent, and the member that has the name."""
        seats = self._offices.get(office_id)
        return Office(office_id) if seats is None else Office(office_id, seats.agent, seats.by_name.get(name))

    def roster(self, office_id: str) -> list[Member]:
        """The members of an office, in order of arrival."""
        with self._lock:
            seats = self._offices.get(office_id)
            return list(seats.by_name.values()) if seats is not None else []

    def offices_with(self, computer: str, most: int) -> list[str]:
        """Offices that have a Computer of this name, at most `most` of them."""
        with self._lock:
            return list(islice(self._computers.get(computer, ()), most))

    def commit(self, move: Move) -> bool:
        """Apply a move if everything it was decided on still holds; otherwise change nothing and return False."""
        # Compare and set under one lock. Members and offices are immutable values, so that the comparison is `!=`: it
        # finds every change since they were read, whatever it was.
        before, after, seen = move.before, move.after, move.seen
        member = before or after
        if member is None:
            return True
        with self._lock:
            if self._members.get(member.sid) != before:
                return False
            if after is not None and seen is not None and self.office(seen.id, after.name) != seen:
                return False
            if before is not None and before.office_id is not None:
                self._unseat(before, before.office_id)
            if after is None:
                self._members.pop(member.sid, None)
            else:
                self._members[after.sid] = after
                if after.office_id is not None:
                    self._seat(after, after.office_id)
            return True

    def members(self) -> list[Member]:
        """All members that are in an office."""
        with self._lock:
            return [member for seats in self._offices.values() for member in seats.by_name.values()]

    def count(self) -> tuple[int, int, int]:
        """The numbers of offices, Agents and Computers."""
        with self._lock:
            agents = sum(seats.agent is not None for seats in self._offices.values())
            return len(self._offices), agents, sum(map(len, self._computers.values()))

    def _seat(self, member: Member, office_id: str) -> None:
        seats = self._offices.setdefault(office_id, _Seats())
        seats.by_name[member.name] = member
        if member.role == "agent":
            seats.agent = member
        else:
            self._computers.setdefault(member.name, {})[office_id] = None

    def _unseat(self, member: Member, office_id: str) -> None:
        seats = self._offices[office_id]
        del seats.by_name[member.name]
        if member.role == "agent":
            seats.agent = None
        else:
            offices = self._computers[member.name]
            del offices[office_id]
            if not offices:
                del self._computers[member.name]
        # Empty offices are deleted: their ids are chosen by clients, and would accumulate.
        if not seats.by_name:
            del self._offices[office_id]
