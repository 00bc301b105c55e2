"""The registry of a node: its own members, and a picture of the offices that they are in.

Redis has the truth about seats, and every decision is committed there. To read, a node has a picture of each office in
which it has members: Redis sends each change of a seat to the nodes that have members in the office, in order. A call
therefore finds its Computer without asking Redis.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol, cast

from a2c_smcp.errors import InternalError
from a2c_smcp.protocol.office import Member, Move, Office
from a2c_smcp.server.cluster.link import LinkLost
from a2c_smcp.server.cluster.messages import Seat, read_seat, speech_of
from a2c_smcp.server.reply import Reply

SETTLING_PAUSE = 0.2
"""Seconds between attempts to take a seat while Redis may lack seats that it lost."""
SID = re.compile(r"n[0-9a-f]{10}\.[\w-]{20}")
"""The id of a connection or a session; see `node_of`."""
AWAY = "this Server has no connection to its cluster: try again"


class Node(Protocol):
    """What the registry needs of its node."""

    id: str

    @property
    def is_serving(self) -> bool:
        """Whether the node may act for its members."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether the node serves and is connected to Redis."""
        ...

    def ask(self, script: str, *arguments: str | int) -> Reply:
        """Run a script when the node is connected; the reply fails if that takes too long."""
        ...

    def ask_patiently(self, script: str, *arguments: str | int) -> None:
        """Run a script when the node is connected, however long that takes, unless the node is fenced before."""
        ...

    def read(self, command: str, table: str, *arguments: str | int) -> Reply:
        """Run a command that reads one table; the reply fails if that takes too long."""
        ...

    def announce(self, member: Member, *, is_taken: bool) -> None:
        """Tell the members of an office on this node that a member took its seat, or gave it up."""
        ...

    def show_out(self, sid: str) -> None:
        """Disconnect a client of this node, which connects again."""
        ...

    def set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function later; the returned function cancels that."""
        ...


class Picture:
    """An office as a node sees it: its seats, its Agent, and how many seats each node has."""

    __slots__ = ("agent", "nodes", "seats")

    def __init__(self, seats: Iterable[Seat] = ()) -> None:
        self.seats: dict[str, Seat] = {}
        self.nodes: Counter[str] = Counter()
        self.agent: Member | None = None
        for seat in seats:
            self.add(seat)

    def add(self, seat: Seat) -> None:
        """A member took its seat."""
        self.remove(seat.member.name)
        self.seats[seat.member.name] = seat
        self.nodes[node_of(seat.member.sid)] += 1
        if seat.member.role == "agent":
            self.agent = seat.member

    def remove(self, name: str) -> None:
        """The seat of this name is free."""
        seat = self.seats.pop(name, None)
        if seat is not None:
            node = node_of(seat.member.sid)
            self.nodes[node] -= 1
            if not self.nodes[node]:
                del self.nodes[node]
            if seat.member is self.agent:
                self.agent = None


class ClusterRegistry:
    """The members of one node, and the seats in their offices. Safe in threads."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._members: dict[str, Member] = {}
        self._pictures: dict[str, Picture] = {}
        self._own: Counter[str] = Counter()  # office -> members of this node
        self._lock = threading.RLock()

    # ---------------------------------------------------------------------------------------------------------- reading

    def member(self, sid: str) -> Member | None:
        """The member of a connection of this node; None if it never joined."""
        return self._members.get(sid)

    def office(self, office_id: str, name: str) -> Reply:
        """An office as a decision about one name needs it, read from Redis."""

        def read(answer: Any) -> Office:
            agent, agent_seat, agent_speech, seat, speech = answer
            incumbent = _member(office_id, agent, agent_seat, agent_speech)
            return Office(office_id, incumbent, _member(office_id, name, seat, speech))

        # Not from the picture, which may be some milliseconds behind: a client that moves to another node and asks for
        # the name that it just gave up would be told that the name is taken.
        return _read(self._node.ask("look", office_id, name), read)

    def picture(self, office_id: str, name: str) -> Office:
        """An office as this node sees it, without asking Redis: to find the target of a call or a notice."""
        picture = self._pictures.get(office_id)
        if picture is None:
            return Office(office_id)
        seat = picture.seats.get(name)
        return Office(office_id, picture.agent, seat.member if seat is not None else None)

    def roster(self, office_id: str) -> Sequence[Member]:
        """The members of an office of one of this node's members, in order of arrival."""
        with self._lock:
            picture = self._pictures.get(office_id)
            return [seat.member for seat in sorted(picture.seats.values())] if picture is not None else []

    def offices_with(self, computer: str, most: int) -> Reply:
        """Offices that have a Computer of this name, at most `most` of them."""
        return _read(self._node.read("SRANDMEMBER", f"computer:{computer}", most), list)

    def other_nodes(self, office_id: str) -> list[str]:
        """The other nodes that have members in an office of one of this node's members."""
        with self._lock:
            picture = self._pictures.get(office_id)
            if picture is None or len(picture.nodes) < 2:
                return []
            return [node for node in picture.nodes if node != self._node.id]

    def members(self) -> list[Member]:
        """All members of the offices that this node has members in."""
        with self._lock:
            return [seat.member for picture in self._pictures.values() for seat in picture.seats.values()]

    def own_members(self) -> list[Member]:
        """The members of this node that are in an office."""
        with self._lock:
            return [member for member in self._members.values() if member.office_id is not None]

    def count(self) -> tuple[int, int, int]:
        """The numbers of offices, Agents and Computers of this node's members."""
        members = self.own_members()
        agents = sum(member.role == "agent" for member in members)
        return len(self._own), agents, len(members) - agents

    # ------------------------------------------------------------------------------------------------------- committing

    def commit(self, move: Move) -> bool | Reply:
        """Apply a move if everything it was decided on still holds; otherwise change nothing and return False."""
        member = move.before or move.after
        if member is None:
            return True
        taken = move.after.office_id if move.after is not None else None
        freed = move.before.office_id if move.before is not None else None
        with self._lock:
            # Only this node changes its own members, so `before` is compared here, and the office in Redis.
            if self._members.get(member.sid) != move.before:
                return False
            if taken is None and (freed is None or not self._node.is_ready):
                # A member may always go. Redis frees its seat when it can be reached, or with all of a fenced node.
                if freed is not None:
                    self._node.ask_patiently("commit", *_freeing(member))
                return self._apply(move, None)
        if not self._node.is_serving:
            raise InternalError(AWAY)
        done = Reply()
        self._try(move, done)
        return done

    def _try(self, move: Move, done: Reply) -> None:
        before, after, seen = move.before, move.after, move.seen
        member = before or after
        assert member is not None
        if after is not None and after.office_id is not None and node_of(member.sid) != self._node.id:
            # The other nodes removed this one, which goes on under another id. A member of before is about to be shown
            # out: with a seat under the new id, it would be left over when the seats of the old one are freed.
            done.set_exception(InternalError(AWAY))
            return
        freed = (before.office_id or "", before.name) if before is not None else ("", "")
        taken = (after.office_id or "", after.name) if after is not None else ("", "")
        agent = seen.agent.sid if seen is not None and seen.agent is not None else ""
        namesake = seen.namesake.sid if seen is not None and seen.namesake is not None else ""
        speech = speech_of(after) if after is not None else ""
        reply = self._node.ask("commit", member.sid, member.role, *freed, *taken, agent, namesake, speech)
        reply.then(partial(self._committed, self._node.id, move, done))

    def _committed(self, node: str, move: Move, done: Reply, reply: Reply) -> None:
        cause: BaseException | None = None
        try:
            answer = reply.result() if node == self._node.id else "fenced"
        except Exception as error:
            answer, cause = "fenced", error
        if answer == "settling":
            self._node.set_timer(SETTLING_PAUSE, partial(self._try_again, move, done))
        elif answer == "fenced":
            # If the connection was lost, whether the script ran is not known. A member that goes is gone; one that came
            # has no seat. One that changed its office may have lost its old seat already, and has to come again. In
            # any case, the node writes its seats again when it is connected again (`restate`), or has lost them all.
            before, after = move.before, move.after
            if after is None or after.office_id is None:
                done.set_result(self._apply(move, None))
            else:
                if isinstance(cause, LinkLost) and before is not None and before.office_id is not None:
                    self._node.show_out(before.sid)
                done.set_exception(_unavailable(cause))
        elif isinstance(answer, int) and move.after is not None and move.after.office_id not in self._pictures:
            # Redis counts another member of this node in the office, whose seat is about to be given back (`_apply`).
            office = self._node.ask("office", move.after.office)
            office.then(partial(self._committed, node, move, done))
        else:
            done.set_result(answer != "changed" and self._apply(move, answer))

    def _try_again(self, move: Move, done: Reply) -> None:
        if self._node.is_serving:
            self._try(move, done)
        else:
            done.set_exception(InternalError(AWAY))

    def _apply(self, move: Move, answer: Any) -> bool:
        """Change what this node keeps, after Redis did; False if the member moved meanwhile."""
        before, after = move.before, move.after
        member = before or after
        assert member is not None
        with self._lock:
            if self._members.get(member.sid) != before:
                # The connection closed while it moved, and its leave was faster. The seat that it took is given back.
                if after is not None and after.office_id is not None and answer is not None:
                    self._node.ask_patiently("commit", *_freeing(after))
                return False
            if before is not None and before.office_id is not None:
                self._unseat(before, before.office_id)
            if after is None:
                self._members.pop(member.sid, None)
            else:
                self._members[after.sid] = after
                if after.office_id is not None:
                    self._seat(after, after.office_id, answer)
        # Only now, together with the picture: an Agent that lists its office between a notification and the change
        # would keep a member that is gone.
        if before is not None and before.office_id is not None:
            self._node.announce(before, is_taken=False)
        if after is not None and after.office_id is not None:
            self._node.announce(after, is_taken=True)
        return True

    def _seat(self, member: Member, office_id: str, answer: Any) -> None:
        self._own[office_id] += 1
        if isinstance(answer, list):
            self._pictures[office_id] = self._pictured(office_id, cast("list[str]", answer))
        else:
            self._pictures[office_id].add(Seat(answer, member))

    def _pictured(self, office_id: str, answer: Sequence[str]) -> Picture:
        """An office as Redis says, without members of this node that are gone: their seats are about to be freed, and
        Redis does not tell this node."""
        return Picture(
            seat
            for seat in _seats(office_id, answer)
            if node_of(seat.member.sid) != self._node.id or self._members.get(seat.member.sid) == seat.member
        )

    def _unseat(self, member: Member, office_id: str) -> None:
        self._own[office_id] -= 1
        # Without a member in the office, this node gets no more changes of its seats.
        if not self._own[office_id]:
            del self._own[office_id]
            self._pictures.pop(office_id, None)
        else:
            self._pictures[office_id].remove(member.name)

    # ---------------------------------------------------------------------------------------------------------- changes

    def change(self, seat: Seat, *, is_taken: bool) -> bool:
        """A member of another node took its seat or gave it up; whether this node has members in that office."""
        office_id, name = seat.member.office, seat.member.name
        with self._lock:
            picture = self._pictures.get(office_id)
            if picture is None:
                return False
            if is_taken:
                picture.add(seat)
                return True
            known = picture.seats.get(name)
            if known is None or known.member.sid != seat.member.sid:
                return False
            picture.remove(name)
            return True

    def offices(self) -> list[str]:
        """The offices that this node has members in."""
        with self._lock:
            return list(self._pictures)

    def reload(self, office_id: str, answer: Any) -> tuple[list[Member], list[Member], list[Member]]:
        """Replace the picture of an office by what Redis says; the members of other nodes that left it meanwhile, that
        came, and that stayed."""
        with self._lock:
            before = self._pictures.get(office_id)
            if before is None:
                return [], [], []
            after = self._pictures[office_id] = self._pictured(office_id, answer)
            were = {seat.member for seat in before.seats.values() if seat.member.sid not in self._members}
            are = {seat.member for seat in after.seats.values() if seat.member.sid not in self._members}
            return list(were - are), list(are - were), list(were & are)

    def members_on(self, node: str) -> list[Member]:
        """The members of another node in the offices of this one."""
        with self._lock:
            pictures = [picture for picture in self._pictures.values() if node in picture.nodes]
            seats = [seat for picture in pictures for seat in picture.seats.values()]
            return [seat.member for seat in seats if node_of(seat.member.sid) == node]

    def clear(self) -> None:
        """Forget everything: this node may not act for its members any more."""
        with self._lock:
            self._members.clear()
            self._pictures.clear()
            self._own.clear()


def node_of(sid: str) -> str:
    """The node of a connection."""
    return sid.partition(".")[0]


def _freeing(member: Member) -> tuple[str, ...]:
    """The arguments of a commit that frees a member's seat."""
    return member.sid, member.role, member.office, member.name, "", "", "", "", ""


def _seats(office_id: str, answer: Sequence[str]) -> list[Seat]:
    triples = zip(answer[::3], answer[1::3], answer[2::3], strict=True)
    return [read_seat(office_id, name, seat, speech) for name, seat, speech in triples]


def _member(office_id: str, name: str, seat: str, speech: str) -> Member | None:
    return read_seat(office_id, name, seat, speech).member if seat else None


def _read(asked: Reply, read: Callable[[Any], Any]) -> Reply:
    """What Redis answered, as the flows need it; or that this node is away."""
    outcome = Reply()

    def answered(reply: Reply) -> None:
        try:
            value = read(reply.result())
        except Exception as error:
            outcome.set_exception(_unavailable(error))
        else:
            outcome.set_result(value)

    asked.then(answered)
    return outcome


def _unavailable(cause: BaseException | None) -> BaseException:
    unavailable = InternalError(AWAY)
    unavailable.__cause__ = cause
    return unavailable
