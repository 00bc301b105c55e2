"""Relayed calls that wait: which of them count, and which a cancel ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from a2c_smcp.errors import RateLimitedError
from a2c_smcp.protocol.server_effects import Call, CallEnded
from a2c_smcp.server.calls_in_flight import CANCEL_SECONDS, CallsInFlight
from a2c_smcp.server.reply import Reply


class Table(CallsInFlight):
    """With timers that fire when the test says so."""

    def __init__(self, most: int = 0) -> None:
        super().__init__(most)
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        timer = (seconds, callback)
        self.timers.append(timer)
        return lambda: self.timers.remove(timer)

    def begin(self, **fields: Any) -> Reply:
        call = Call("A", "C", "client:tool_call", {"req_id": "r"}, 60, **fields)
        return self.start(call, lambda sid: True, self.set_timer)

    def cancel_call(self, caller: str = "A", req_id: str = "r") -> None:
        self.cancel(caller, req_id, self.set_timer)

    @property
    def waits(self) -> list[float]:
        return [seconds for seconds, _ in self.timers]


def test_a_part_of_a_request_that_was_let_in_is_not_limited() -> None:
    table = Table(most=1)
    table.begin()
    with pytest.raises(RateLimitedError):
        table.begin()
    part = table.begin(is_part=True)
    assert len(table) == 2
    part.set_result(None)
    assert len(table) == 1


def test_a_cancelled_call_ends_after_a_moment_if_its_computer_may_not_end_it() -> None:
    table = Table()
    reply = table.begin(ends_on_cancel=True)
    table.cancel_call()
    assert table.waits == [60, CANCEL_SECONDS]
    assert not reply.done()
    table.timers[1][1]()
    with pytest.raises(CallEnded):
        reply.result()
    assert table.timers == []
    assert len(table) == 0


def test_the_answer_of_the_computer_comes_first() -> None:
    table = Table()
    reply = table.begin(ends_on_cancel=True)
    table.cancel_call()
    reply.set_result("its own")
    assert reply.result() == "its own"
    assert table.timers == []


@pytest.mark.parametrize("wrong", [{"caller": "B"}, {"req_id": "other"}])
def test_a_cancel_ends_only_the_call_that_it_names(wrong: dict[str, str]) -> None:
    table = Table()
    table.begin(ends_on_cancel=True)
    table.cancel_call(**wrong)
    assert table.waits == [60]


def test_a_call_that_its_computer_ends_is_left_to_it() -> None:
    table = Table()
    table.begin()
    table.cancel_call()
    assert table.waits == [60]


def test_the_end_of_an_older_call_leaves_the_newer_one_of_that_id() -> None:
    table = Table()
    older, newer = table.begin(ends_on_cancel=True), table.begin(ends_on_cancel=True)
    older.set_result(None)
    table.cancel_call()
    table.timers[-1][1]()
    assert newer.has_failed
    table.cancel_call()
    assert table.timers == []
