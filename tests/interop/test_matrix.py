"""The published packages themselves in every seat, as processes of their own, with ours in the others."""

from __future__ import annotations

import pytest

from tests.interop.expected import hopeless, wanted
from tests.interop.meetings import AMONG_THEMSELVES, Meeting, ours
from tests.interop.places import Places
from tests.interop.steps import play


@pytest.mark.parametrize("meeting", AMONG_THEMSELVES, ids=str)
def test_official_peers_complete_the_expected_steps_among_themselves(places: Places, meeting: Meeting) -> None:
    expected = hopeless(meeting)
    with places.meeting(meeting) as table:
        failed = play(table, expected)
    assert failed.keys() == expected, failed


@pytest.mark.parametrize("meeting", list(ours()), ids=str)
def test_our_side_fails_no_step_for_which_nobody_else_is_the_reason(places: Places, meeting: Meeting) -> None:
    with places.meeting(meeting) as table:
        failed = play(table, only=wanted(meeting))
    assert not failed
