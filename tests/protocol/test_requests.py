"""The Agent's requests, without any I/O: a dialogue with a world that says what a test wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from a2c_smcp.errors import NotConnectedError, OfficeRefusedError, SMCPError, TimedOutError
from a2c_smcp.protocol import requests
from a2c_smcp.protocol.client_effects import ClientBackend, Seat
from a2c_smcp.protocol.flow import Flow, run
from a2c_smcp.protocol.handshake import ServerInfo
from a2c_smcp.protocol.seat import come_back, enter, leave, rejoin
from a2c_smcp.protocol.terms import terms_of
from a2c_smcp.utils.results import CallToolResult, read_result

OFFICIAL = ServerInfo(max_message_bytes=1_000_000, dialect="official")


class Answering:
    """A client whose Server answers with what is given, or raises it."""

    def __init__(self, *answers: Any) -> None:
        self.office_id: str | None = None
        self.seat: Seat | None = None
        self.asked: list[tuple[str, Any]] = []
        self.told: list[tuple[str, Any]] = []
        self.rests: list[float] = []
        self.info: ServerInfo | None = None
        self.terms = terms_of("auto")
        self.server = ServerInfo()
        self._answers = list(answers)

    def goes_on(self, refusal: SMCPError) -> bool:
        return True

    def ask(self, event: str, data: Any, timeout: float) -> Any:
        self.asked.append((event, data))
        return self._next()

    def tell(self, event: str, data: Any) -> None:
        self.told.append((event, data))

    def pause(self, seconds: float) -> None:
        self.rests.append(seconds)

    def rest(self, seconds: float) -> bool:
        self.rests.append(seconds)
        return len(self.rests) < 20

    def redial(self) -> bool:
        return self._next()

    def retake(self, seat: Seat) -> bool:
        run(enter(seat), self)
        return True

    def occupy(self, office_id: str | None) -> str | None:
        before, self.office_id = self.office_id, office_id
        return before

    def learn(self, info: ServerInfo) -> None:
        self.info = info

    def read_result(self, answer: dict[str, Any]) -> CallToolResult:
        return read_result(answer)

    def together(self, flows: Sequence[Flow[ClientBackend, None]]) -> None:
        for flow in flows:
            run(flow, self)

    def work(self, function: Callable[[], Any]) -> Any:
        return function()

    def _next(self) -> Any:
        answer = self._answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def test_absent_filters_and_defaults_are_not_sent() -> None:
    world = Answering({"documents": [], "total_count": 0})
    run(requests.get_finder("me", "pc", None, None, 0, 20, 5), world)
    assert set(world.asked[0][1]) == {"agent", "req_id", "computer"}
    world = Answering({"documents": [], "total_count": 0})
    run(requests.get_finder("me", "pc", ["a"], "pdf", 1, 5, 5), world)
    assert world.asked[0][1].items() >= {"keywords": ["a"], "file_type": "pdf", "offset": 1, "limit": 5}.items()
    world = Answering({"desktops": []})
    run(requests.get_desktop("me", "pc", None, None, 5), world)
    assert set(world.asked[0][1]) == {"agent", "req_id", "computer"}


@pytest.mark.parametrize("end", [TimedOutError(), KeyboardInterrupt()])
def test_a_call_that_nobody_waits_for_any_more_is_cancelled(end: BaseException) -> None:
    world = Answering(end)
    flow = requests.call_tool("me", "pc", "tool", {}, 0.5)
    if isinstance(end, Exception):
        assert run(flow, world).is_error
    else:
        with pytest.raises(type(end)):
            run(flow, world)
    request = world.asked[0][1]
    assert request["timeout"] == 1, "whole seconds on the wire"
    assert world.told == [("server:tool_call_cancel", {"agent": "me", "req_id": request["req_id"]})]


def test_a_lost_connection_needs_no_cancel() -> None:
    world = Answering(NotConnectedError())
    with pytest.raises(NotConnectedError):
        run(requests.call_tool("me", "pc", "tool", {}, 5), world)
    assert world.told == []


def test_a_join_without_an_answer_is_taken_back() -> None:
    world = Answering(TimedOutError())
    with pytest.raises(OfficeRefusedError):
        run(enter(Seat("office", "me", "agent")), world)
    assert world.office_id is None
    assert world.told == [("server:leave_office", {"office_id": "office"})]


@pytest.mark.parametrize("ack", [None, (), (False,), "yes", 5, {}, TimedOutError(), KeyboardInterrupt()])
def test_a_move_without_a_valid_answer_is_taken_back_on_both_sides(ack: Any) -> None:
    world = Answering(ack)
    world.office_id, world.seat = "before", Seat("before", "my old name", "agent")
    with pytest.raises(OfficeRefusedError if not isinstance(ack, KeyboardInterrupt) else KeyboardInterrupt):
        run(enter(Seat("office", "me", "agent")), world)
    assert world.office_id == "before"
    assert world.told == [
        ("server:leave_office", {"office_id": "office"}),
        ("server:join_office", {"role": "agent", "name": "my old name", "office_id": "before"}),
    ]


def test_a_refused_join_leaves_us_where_we_were() -> None:
    world = Answering((False, "office already has an Agent (4101)"))
    world.office_id = "before"
    with pytest.raises(OfficeRefusedError) as caught:
        run(enter(Seat("office", "me", "agent")), world)
    assert caught.value.code == 4101
    assert world.office_id == "before"
    assert world.told == []


def test_a_refused_move_at_an_official_server_is_taken_back_there() -> None:
    world = Answering((False, "name already exists"))
    world.office_id, world.server = "before", OFFICIAL
    with pytest.raises(OfficeRefusedError):
        run(enter(Seat("office", "me", "computer")), world)
    assert world.office_id == "before"
    assert world.told == [("server:join_office", {"role": "computer", "name": "me", "office_id": "before"})]


def test_an_empty_ack_is_a_yes_only_in_the_version_that_says_so() -> None:
    terms = terms_of("auto").demanded("0.5.0")
    assert terms is not None
    world = Answering(None, None)
    world.terms = terms
    run(enter(Seat("office", "me", "agent")), world)
    assert (world.office_id, world.info) == ("office", replace(OFFICIAL, dialect="0.5"))
    run(leave("office"), world)
    assert world.office_id is None


def test_a_refusal_without_two_values_is_one() -> None:
    terms = terms_of("auto").demanded("0.5.0")
    assert terms is not None
    world = Answering({"code": 4101, "message": "taken", "details": {}})
    world.terms = terms
    with pytest.raises(OfficeRefusedError) as caught:
        run(enter(Seat("office", "me", "agent")), world)
    assert (caught.value.code, caught.value.message, world.told) == (4101, "taken", [])


@pytest.mark.parametrize("make", [tuple, list])
@pytest.mark.parametrize(
    ("third", "info"),
    [
        ([], OFFICIAL),
        ([None], OFFICIAL),
        (
            [{"a2c_stack": "1", "max_message_bytes": 5, "features": ["a"], "max_tool_timeout": 9}],
            ServerInfo("1", 5, frozenset("a"), 9, "s"),
        ),
        (
            [{"a2c_stack": 1, "max_message_bytes": True, "features": [1, "a"], "x": 1}, 4],
            replace(OFFICIAL, features=frozenset("a")),
        ),
        ([{"max_message_bytes": 0, "features": "a", "max_tool_timeout": "9"}], OFFICIAL),
    ],
)
def test_the_third_value_of_a_join_is_optional_and_may_be_anything(make: Any, third: list[Any], info: Any) -> None:
    world = Answering(make([True, None, *third]))
    run(enter(Seat("office", "me", "agent")), world)
    assert (world.office_id, world.info) == ("office", info)


def test_a_seat_is_asked_for_until_it_is_free() -> None:
    world = Answering((False, "taken (4101)"), (False, "taken (4101)"), (True, None))
    world.seat = Seat("office", "me", "agent")
    assert run(rejoin(), world) is True
    assert world.office_id == "office"
    assert world.rests[1] > world.rests[0]


def test_a_connection_is_tried_again_whatever_went_wrong() -> None:
    world = Answering(OSError("no"), RuntimeError("odd"), False, True)
    assert run(come_back(1, 3, 0, 0), world) is True
    assert world.rests == [1, 2, 3, 3]


def test_it_is_given_up_after_so_many_attempts_or_when_it_is_not_wanted() -> None:
    assert run(come_back(1, 3, 0, 2), Answering(OSError(), OSError())) is False
    assert run(come_back(1, 3, 0, 0), Answering(*[OSError()] * 20)) is False
