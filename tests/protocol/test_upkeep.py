"""What an Agent knows of its office, without any I/O: what happened goes in, what to do comes out."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.errors import NotFoundError, SMCPError, TimedOutError
from a2c_smcp.protocol.upkeep import INTERVAL, Actions, Change, Fetch, Upkeep

ENTER, LEAVE = "notify:enter_office", "notify:leave_office"


class Player:
    """Plays the world around an upkeep: a clock, and fetches that are begun and ended when a test says so."""

    def __init__(self, *keep: Any) -> None:
        self.upkeep = Upkeep(("tools", *keep))
        self.now = 1000.0
        self.changes: list[tuple[str, str | None]] = []
        self.fetches: list[Fetch] = []
        self.take(self.upkeep.join("office", self.now))

    def take(self, actions: Actions) -> None:
        for action in actions:
            if isinstance(action, Change):
                self.changes.append((action.kind, action.computer))
            else:
                self.fetches.append(action)

    def hear(self, event: str, computer: str = "pc") -> None:
        self.take(self.upkeep.hear(event, {"office_id": "office", "computer": computer}, self.now))

    def begin(self) -> Fetch:
        """Begin the next fetch, when its delay is over."""
        fetch = self.fetches.pop(0)
        self.now += fetch.delay
        assert self.upkeep.begin(fetch, self.now)
        return fetch

    def end(self, fetch: Fetch, outcome: Any) -> None:
        self.take(self.upkeep.end(fetch, outcome, self.now))

    def settle(self, *present: str) -> None:
        """Answer every fetch, until there is none."""
        while self.fetches:
            fetch = self.fetches.pop(0)
            self.now += fetch.delay
            if self.upkeep.begin(fetch, self.now):
                self.end(fetch, list(present) if fetch.computer is None else f"{fetch.kind} at {self.now:.1f}")


def test_who_was_there_before_us_did_not_enter() -> None:
    player = Player()
    player.settle("a", "b")
    assert list(player.upkeep.offers) == ["a", "b"]
    assert player.changes == [("tools", "a"), ("tools", "b")]
    assert player.upkeep.is_settled


def test_one_fetch_at_a_time_and_one_more_for_all_that_came_meanwhile() -> None:
    player = Player()
    player.settle("pc")
    player.now += 10
    player.hear("notify:update_tool_list")
    running = player.begin()
    for _ in range(100):
        player.hear("notify:update_tool_list")
    assert player.fetches == []
    player.end(running, [])
    assert [fetch.delay for fetch in player.fetches] == [pytest.approx(INTERVAL)]
    for _ in range(100):
        player.hear("notify:update_tool_list")
    assert len(player.fetches) == 1


def test_a_fetch_that_may_succeed_later_is_tried_again_and_news_hurry_it_up() -> None:
    player = Player()
    player.settle("pc")
    player.now += 10
    player.hear("notify:update_tool_list")
    player.end(player.begin(), TimedOutError())
    (later,) = player.fetches
    assert later.delay > INTERVAL
    player.hear("notify:update_tool_list")
    assert player.fetches[-1].delay < 2 * INTERVAL
    assert not player.upkeep.begin(later, player.now), "the one that waited is not needed any more"
    del player.fetches[0]
    player.settle()
    assert player.changes[-1] == ("tools", "pc")


def test_delays_between_tries_grow_and_are_bounded() -> None:
    player = Player()
    player.settle("pc")
    player.hear("notify:update_tool_list")
    for _ in range(2000):
        player.end(player.begin(), TimedOutError())
    assert 20 < player.fetches[0].delay < 40


@pytest.mark.parametrize("error", [NotFoundError(), SMCPError("odd")])
def test_a_fetch_that_cannot_succeed_is_given_up(error: SMCPError) -> None:
    error.code = 404 if isinstance(error, NotFoundError) else 4999
    player = Player()
    player.settle("pc")
    player.hear("notify:update_tool_list")
    player.end(player.begin(), error)
    assert player.fetches == []


def test_what_is_fetched_of_somebody_who_left_is_dropped() -> None:
    player = Player()
    player.settle()
    player.hear(ENTER)
    running = player.begin()
    player.hear(LEAVE)
    player.end(running, ["tool"])
    assert player.upkeep.offers == {}
    assert player.changes == [("enter", "pc"), ("leave", "pc")]


def test_what_we_knew_stays_while_we_are_away() -> None:
    player = Player()
    player.settle("stays", "goes")
    player.changes.clear()
    player.take(player.upkeep.lose())
    assert list(player.upkeep.offers) == ["stays", "goes"]
    player.take(player.upkeep.join("office", player.now))
    player.settle("stays", "comes")
    assert player.changes[:3] == [("disconnected", None), ("leave", "goes"), ("enter", "comes")]
    assert list(player.upkeep.offers) == ["stays", "comes"]


def test_kinds_that_are_not_kept_are_only_told_of() -> None:
    player = Player("finder")
    player.settle("pc")
    player.changes.clear()
    player.hear("notify:update_desktop")
    player.hear("notify:update_finder")
    player.hear("notify:update_resources")
    player.hear("notify:update_prompts")
    player.hear("notify:update_of_the_future")
    assert player.changes == [("desktop", "pc"), ("resources", "pc"), ("prompts", "pc")]
    assert [fetch.kind for fetch in player.fetches] == ["finder"]


@given(
    before=st.sets(st.sampled_from("abc")),
    heard=st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=8),
    listed_after=st.integers(0, 8),
)
def test_notices_that_race_with_the_roster_end_in_the_truth(
    before: set[str], heard: list[tuple[str, bool]], listed_after: int
) -> None:
    """The Server lists its members somewhere between the notices; whatever the order, we know who is there."""
    player = Player()
    roster = player.begin()
    truth = set(before)
    listed: list[str] | None = None
    for number, (name, enters) in enumerate(heard):
        if number == listed_after:
            listed = sorted(truth)
        if enters == (name in truth):
            continue  # the Server says only what happens
        truth ^= {name}
        player.hear(ENTER if enters else LEAVE, name)
    player.end(roster, sorted(truth) if listed is None else listed)
    assert set(player.upkeep.offers) == truth


def test_computers_that_come_and_go_under_new_names_leave_nothing_behind() -> None:
    player = Player()
    player.settle("pc")
    tracemalloc.start()
    try:
        sizes: list[int] = []
        for number in range(4_000):
            player.hear(ENTER, f"visitor-{number}")
            player.settle()
            player.hear(LEAVE, f"visitor-{number}")
            player.now += 1
            player.changes.clear()
            if number in (1_000, 3_999):
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[1] - sizes[0] < 50_000
