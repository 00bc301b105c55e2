"""Random joins, leaves, moves, disconnects and calls; the rules of an office hold after every one of them."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.world import MemoryWorld

SIDS = ["s1", "s2", "s3", "s4", "s5"]
sids = st.sampled_from(SIDS)
names = st.sampled_from(["a", "b", "c"])
offices = st.sampled_from(["o1", "o2", "o3"])
roles = st.sampled_from(["agent", "computer"])


class Offices(RuleBasedStateMachine):
    """The model is what acks said; the registry and the rooms must agree with it."""

    def __init__(self) -> None:
        super().__init__()
        self.world = MemoryWorld()
        self.seats: dict[str, tuple[str, str, str]] = {}  # sid -> role, name, office
        self.fixed_roles: dict[str, str] = {}

    def connected(self, sid: str) -> None:
        if not self.world.is_connected(sid):
            self.world.connect(sid)

    def expected_refusal(self, sid: str, role: str, name: str, office: str) -> bool:
        if self.fixed_roles.get(sid, role) != role:
            return True
        seat = self.seats.get(sid)
        if seat is not None and seat[2] == office:
            return seat[1] != name
        if seat is not None and role == "agent":
            return True
        others = [other for key, other in self.seats.items() if key != sid and other[2] == office]
        return any(other[1] == name or (role == "agent" and other[0] == "agent") for other in others)

    @rule(sid=sids, role=roles, name=names, office=offices)
    def join(self, sid: str, role: str, name: str, office: str) -> None:
        self.connected(sid)
        refused = self.expected_refusal(sid, role, name, office)
        before, rooms = dict(self.seats), {room: set(who) for room, who in self.world.rooms.items()}
        self.world.heard.clear()
        accepted, reason = self.world.join(sid, role, name, office)
        assert accepted is not refused, reason
        if refused:
            assert isinstance(reason, str)
            assert self.world.heard == []
            assert {room: who for room, who in self.world.rooms.items() if who} == {
                room: who for room, who in rooms.items() if who
            }
            return
        old = before.get(sid)
        self.seats[sid] = (role, name, office)
        self.fixed_roles[sid] = role
        expected: list[tuple[str, str, Any]] = []
        if old is not None and old[2] != office:
            expected += self.notices(sid, "notify:leave_office", old, before)
        if old is None or old[2] != office:
            expected += self.notices(sid, "notify:enter_office", self.seats[sid], before)
        assert self.world.heard == expected

    def notices(
        self, sid: str, event: str, seat: tuple[str, str, str], among: dict[str, tuple[str, str, str]]
    ) -> list[tuple[str, str, Any]]:
        """What the others in that office hear."""
        role, name, office = seat
        return [
            (other, event, {"office_id": office, role: name})
            for other, (_, _, where) in sorted(among.items())
            if where == office and other != sid
        ]

    @rule(sid=sids, office=offices)
    def leave(self, sid: str, office: str) -> None:
        self.connected(sid)
        seat = self.seats.get(sid)
        self.world.heard.clear()
        accepted, _ = self.world.leave_office(sid, office)
        assert accepted is (seat is not None and seat[2] == office)
        if seat is None or not accepted:
            assert self.world.heard == []
            return
        assert self.world.heard == self.notices(sid, "notify:leave_office", seat, self.seats)
        del self.seats[sid]

    @rule(sid=sids)
    def disconnect(self, sid: str) -> None:
        self.connected(sid)
        seat = self.seats.get(sid)
        self.world.heard.clear()
        self.world.disconnect(sid)
        assert self.world.heard == (self.notices(sid, "notify:leave_office", seat, self.seats) if seat else [])
        self.seats.pop(sid, None)
        self.fixed_roles.pop(sid, None)

    @rule(sid=sids, agent=names, computer=names)
    def call(self, sid: str, agent: str, computer: str) -> None:
        self.connected(sid)
        self.world.asked.clear()
        sent = self.world.send(sid, "client:get_tools", {"agent": agent, "computer": computer, "req_id": "r"})
        seat = self.seats.get(sid)
        targets = {
            key for key, other in self.seats.items()
            if seat is not None and other[2] == seat[2] and other[1] == computer and other[0] == "computer"
        }  # fmt: skip
        if seat is None:
            expected = 4103
        elif seat[0] != "agent":
            expected = 403
        elif not targets:
            elsewhere = any(other[:2] == ("computer", computer) for other in self.seats.values())
            expected = 4104 if elsewhere else 404
        else:
            expected = None
        assert (sent.error.code if sent.error else None) == expected
        assert {target for target, _, _ in self.world.asked} == (targets if expected is None else set())
        assert all(seat is not None and data["agent"] == seat[1] for _, _, data in self.world.asked)

    @rule(sid=sids, name=names)
    def announce(self, sid: str, name: str) -> None:
        self.connected(sid)
        self.world.heard.clear()
        self.world.ask(sid, "server:update_desktop", {"computer": name})
        seat = self.seats.get(sid)
        if seat is not None and seat[0] == "computer":
            others = sorted(key for key, other in self.seats.items() if other[2] == seat[2] and key != sid)
            assert self.world.heard == [(key, "notify:update_desktop", {"computer": seat[1]}) for key in others]
        else:
            assert self.world.heard == []

    @invariant()
    def registry_and_rooms_agree_with_the_model(self) -> None:
        for office in ("o1", "o2", "o3"):
            expected = {sid for sid, seat in self.seats.items() if seat[2] == office}
            roster = self.world.registry.roster(office)
            assert {member.sid for member in roster} == expected
            assert self.world.rooms.get(office, set()) == expected
            assert sum(member.role == "agent" for member in roster) <= 1
            assert len({member.name for member in roster}) == len(roster)
        seated = [seat[0] for seat in self.seats.values()]
        offices = {seat[2] for seat in self.seats.values()}
        assert self.world.registry.count() == (len(offices), seated.count("agent"), seated.count("computer"))


TestOffices = Offices.TestCase
TestOffices.settings = settings(max_examples=150, stateful_step_count=40)
