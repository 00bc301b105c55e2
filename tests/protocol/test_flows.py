"""Rules that need a world which misbehaves: races, failures, peers that vanish in the middle of a flow."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from a2c_smcp.errors import NotFoundError, TimedOutError
from a2c_smcp.protocol.flow import Effect, run, run_async
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.office import Member, Move, Office
from a2c_smcp.protocol.server import Request, answer, join
from a2c_smcp.protocol.server_effects import Call, CallerGone, Commit, Notify
from tests.support.world import MemoryWorld

CALL: dict[str, Any] = {"agent": "a", "computer": "c", "req_id": "r", "tool_name": "t", "params": {}, "timeout": 7}


@pytest.fixture
def world() -> MemoryWorld:
    return seat_both(MemoryWorld())


def seat_both(world: MemoryWorld) -> MemoryWorld:
    """An office `o` with the Agent `a` (sid A) and the Computer `c` (sid C)."""
    for sid, role, name in (("A", "agent", "a"), ("C", "computer", "c")):
        world.connect(sid)
        assert world.join(sid, role, name, "o") == (True, None)
    world.heard.clear()
    return world


def test_the_computer_gets_what_was_sent_and_its_ack_comes_back_untouched(world: MemoryWorld) -> None:
    sent: dict[str, Any] = {**CALL, "extra": [1, {"deep": None}]}
    calls: list[Call] = []
    reply = {"anything": ["at", "all"]}

    def answer_call(call: Call) -> Any:
        calls.append(call)
        return reply

    world.reply = answer_call
    assert world.ask("A", "client:tool_call", sent) is reply
    assert calls == [Call("A", "C", "client:tool_call", sent, 7 + 5, office_id="o", ends_on_cancel=True)]
    assert calls[0].data is sent


def test_a_request_without_timeout_gets_the_default_and_any_client_event_may_carry_one(world: MemoryWorld) -> None:
    waits: list[float] = []
    world.reply = lambda call: waits.append(call.timeout)
    data = {"agent": "a", "computer": "c", "req_id": "r"}
    world.ask("A", "client:get_tools", data)
    world.ask("A", "client:get_tools", {**data, "timeout": 2})
    assert waits == [65, 7]


def test_a_computer_of_which_the_node_has_not_heard_yet_is_found() -> None:
    class Behind(MemoryWorld):
        """A node that the changes of offices have not reached."""

        def find(self, office_id: str, name: str) -> Office:
            return Office(office_id)

    world = seat_both(Behind())
    assert world.ask("A", "client:tool_call", CALL) == {"from": "C"}
    assert world.ask("A", "client:tool_call", {**CALL, "computer": "x"})["error"]["code"] == 404


@pytest.mark.parametrize(("failure", "code"), [(TimedOutError(), 408), (NotFoundError(), 404)])
def test_a_call_that_fails_is_refused_with_its_code(world: MemoryWorld, failure: Exception, code: int) -> None:
    def fail(call: Call) -> None:
        raise failure

    world.reply = fail
    sent = world.send("A", "client:tool_call", CALL)
    assert sent.error is not None
    assert sent.error.code == code
    assert sent.ack["meta"]["error_code"] == code
    assert sent.ack["meta"].get("a2c_timeout", False) is (code == 408)


@pytest.mark.parametrize("failure", [TimedOutError(), CallerGone()])
def test_a_call_nobody_waits_for_is_cancelled_at_its_computer_alone(world: MemoryWorld, failure: Exception) -> None:
    world.connect("D")
    world.join("D", "computer", "d", "o")
    world.heard.clear()

    def fail(call: Call) -> None:
        raise failure

    world.reply = fail
    world.send("A", "client:tool_call", CALL)
    assert world.heard == [("C", "notify:tool_call_cancel", {"agent": "a", "req_id": "r"})]


def test_a_join_that_loses_the_race_for_a_name_is_refused_and_changes_nothing(world: MemoryWorld) -> None:
    world.connect("X")
    flow = join(Request("server:join_office", "X", {"role": "computer", "name": "n", "office_id": "o"}, world.limits))
    effect = advance_to(Commit, flow, world)
    world.connect("Y")
    assert world.join("Y", "computer", "n", "o") == (True, None)
    world.heard.clear()
    assert effect.perform(world) is False
    with pytest.raises(Exception, match="taken"):
        run_from(flow, world, False)
    assert world.heard == []
    assert world.registry.member("X") is None


def test_a_move_that_loses_the_race_is_heard_to_stay(world: MemoryWorld) -> None:
    flow = join(Request("server:join_office", "C", {"role": "computer", "name": "c", "office_id": "p"}, world.limits))
    effect = advance_to(Commit, flow, world)
    world.connect("Y")
    world.join("Y", "computer", "c", "p")
    with pytest.raises(Exception, match="taken"):
        run_from(flow, world, effect.perform(world))
    notices = [event for sid, event, _ in world.heard if sid == "A"]
    assert notices == ["notify:leave_office", "notify:enter_office"]
    assert world.registry.roster("o")[1].sid == "C"


def advance_to(kind: type[Any], flow: Any, world: MemoryWorld) -> Any:
    """Run a flow up to its first effect of a kind, which is not performed."""
    effect = next(flow)
    while not isinstance(effect, kind):
        effect = flow.send(effect.perform(world))
    return effect


def go_on(flow: Any, world: MemoryWorld, effect: Any) -> Any:
    """Perform an effect and go on with its flow; what an effect raises is the flow's to handle."""
    while True:
        try:
            answer = effect.perform(world)
        except Exception as error:
            effect = flow.throw(error)
        else:
            effect = flow.send(answer)


def run_from(flow: Any, world: MemoryWorld, value: Any) -> Any:
    """Go on with a flow that was started by hand."""
    effect = flow.send(value)
    while True:
        effect = flow.send(effect.perform(world))


def test_a_connection_that_goes_while_it_joins_leaves_no_ghost(world: MemoryWorld) -> None:
    world.connect("X")
    flow = join(Request("server:join_office", "X", {"role": "computer", "name": "x", "office_id": "o"}, world.limits))
    effect = advance_to(Notify, flow, world)
    world.disconnect("X")
    with pytest.raises(CallerGone):
        run_from(flow, world, effect.perform(world))
    assert world.registry.member("X") is None
    assert world.heard[-1] == ("C", "notify:leave_office", {"office_id": "o", "computer": "x"})
    assert [member.name for member in world.registry.roster("o")] == ["a", "c"]


def test_a_connection_that_goes_before_its_join_is_committed_leaves_no_ghost(world: MemoryWorld) -> None:
    world.connect("X")
    flow = join(Request("server:join_office", "X", {"role": "computer", "name": "x", "office_id": "o"}, world.limits))
    effect = advance_to(Commit, flow, world)
    world.disconnect("X")
    with pytest.raises(CallerGone):
        go_on(flow, world, effect)
    assert world.registry.member("X") is None
    assert [member.name for member in world.registry.roster("o")] == ["a", "c"]


def test_a_computer_refused_for_its_office_id_stays_where_it_was(world: MemoryWorld) -> None:
    assert world.join("C", "computer", "c", "A")[0] is False
    assert world.registry.roster("o")[1].sid == "C"
    assert world.heard == []


def test_an_office_named_like_a_connection_is_refused_and_nothing_stays(world: MemoryWorld) -> None:
    world.connect("X")
    accepted, reason = world.join("X", "computer", "x", "A")
    assert accepted is False
    assert "400" in str(reason)
    assert world.registry.roster("A") == []
    assert world.heard == []


def test_a_leave_is_committed_even_if_its_notice_fails(world: MemoryWorld) -> None:
    def fail(to: str, event: str, data: Any, skip: str | None, office_id: str | None) -> None:
        raise ConnectionError("the message bus is down")

    world.notify = fail
    with pytest.raises(ConnectionError):
        world.leave_office("C", "o")
    assert world.registry.roster("o") == [Member("A", "a", "agent", "o")]


def test_only_who_may_join_a_full_office_learns_who_its_agent_is(world: MemoryWorld) -> None:
    rival = {"role": "agent", "name": "rival", "office_id": "o"}
    world.connect("X")
    world.connect("Y", Grant(offices=("acme-*",)))
    refused, hidden = world.send("X", "server:join_office", rival), world.send("Y", "server:join_office", rival)
    assert refused.error is not None
    assert (refused.error.code, refused.error.details) == (4101, {"office_id": "o", "role": "agent", "agent": "a"})
    assert "'a'" in refused.ack[1]
    assert hidden.error is not None
    assert (hidden.error.code, hidden.error.details) == (403, None)
    assert "'a'" not in hidden.ack[1]


def test_a_join_outside_the_grant_is_403(world: MemoryWorld) -> None:
    world.connect("X", Grant(offices=("acme-*",), roles=frozenset(("computer",)), name="x"))
    for role, name, office in (("agent", "x", "acme-1"), ("computer", "x", "o"), ("computer", "y", "acme-1")):
        sent = world.send("X", "server:join_office", {"role": role, "name": name, "office_id": office})
        assert sent.error is not None
        assert sent.error.code == 403
        assert sent.ack[0] is False
    assert world.join("X", "computer", "x", "acme-1") == (True, None)


def test_a_move_decided_on_old_facts_is_not_committed(world: MemoryWorld) -> None:
    member = world.registry.member("C")
    assert world.registry.commit(Move(None, Member("C", "z", "computer", "o"))) is False
    assert world.registry.member("C") is member


def test_both_drivers_hand_errors_to_the_flow_and_return_its_value() -> None:
    class Look(Effect[Any, str]):
        def perform(self, backend: Any) -> Any:
            return backend()

    def flow() -> Any:
        try:
            return (yield from Look())
        except LookupError:
            return "recovered"

    def fail() -> None:
        raise LookupError("no")

    async def later() -> str:
        await asyncio.sleep(0)
        return "awaited"

    assert run(flow(), fail) == "recovered"
    assert asyncio.run(run_async(flow(), fail)) == "recovered"
    assert asyncio.run(run_async(flow(), later)) == "awaited"


def test_an_unknown_event_is_refused_whatever_its_name(world: MemoryWorld) -> None:
    for event, code in (("server:nope", 400), ("nope", 400), ("", 400), ("notify:enter_office", 403)):
        sent = run(answer(Request(event, "A", {}, world.limits)), world)
        assert sent.error is not None
        assert sent.error.code == code
    assert world.heard == []
