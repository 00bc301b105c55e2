"""Names of tools: short, valid, stable, and the same in every process."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.gateway.naming import LONGEST, Names, digest, fitted, is_valid

FIT = re.compile("[a-z][a-z0-9_]{0,39}")
NAMES = st.one_of(
    st.text(max_size=80),
    st.sampled_from(["search", "Search", "SEARCH", "search!", "搜索", "查找", "", "_", "9lives", "x" * 41, "x" * 50]),
)


@given(NAMES)
def test_a_fitted_name_is_short_lower_case_and_starts_with_a_letter(name: str) -> None:
    assert FIT.fullmatch(fitted(name))
    assert fitted(name) == fitted(name), "it does not depend on anything else"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("read_file", "read_file"),
        ("readFile", "read_file"),
        ("Read File!", "read_file"),
        ("github.create-issue", "github_create_issue"),
        ("__private__", "private"),
        ("3d_render", "tool_3d_render"),
        ("搜索", f"tool_{digest('搜索')}"),
        ("a" * 40, "a" * 40),
        ("a" * 41, f"{'a' * 33}_{digest('a' * 41)}"),
    ],
)
def test_names_keep_their_words(name: str, expected: str) -> None:
    assert fitted(name) == expected


@pytest.mark.parametrize(
    ("name", "valid"),
    [("a", True), ("A.b-c_9", True), ("x" * 128, True), ("x" * 129, False), ("", False), ("a b", False), ("é", False)],
)
def test_mcp_decides_which_names_are_valid_as_they_are(name: str, valid: bool) -> None:
    assert is_valid(name) is valid


@given(st.lists(st.tuples(st.text(max_size=8), NAMES), max_size=60))
def test_every_key_has_one_name_for_ever_and_no_two_share_it(asked: list[tuple[str, str]]) -> None:
    names = Names(frozenset(("search",)))
    given: dict[str, str] = {}
    for key, name in asked:
        found = names.give(key, (fitted(name),))
        assert FIT.fullmatch(found)
        assert found != "search", "a reserved name is never given"
        assert given.setdefault(key, found) == found
    assert len(set(given.values())) == len(given)


@given(st.dictionaries(st.text(max_size=8), NAMES, max_size=30))
def test_names_of_a_conflict_depend_on_the_key_alone(things: dict[str, str]) -> None:
    """Whichever thing got the plain name, all others get the same ones in every process."""
    one, other = Names(), Names()
    forward = {key: one.give(key, ("plain",)) for key in things}
    backward = {key: other.give(key, ("plain",)) for key in reversed(things)}
    conflicts = {key for key in things if "plain" not in (forward[key], backward[key])}
    assert {key: forward[key] for key in conflicts} == {key: backward[key] for key in conflicts}
    assert len(conflicts) >= len(things) - 2


def test_a_conflict_is_resolved_within_the_longest_name() -> None:
    names = Names()
    longest = "x" * LONGEST
    found = {names.give(str(number), (longest,)) for number in range(100)}
    assert len(found) == 100
    assert all(FIT.fullmatch(name) for name in found)


def test_old_names_of_things_that_are_gone_are_forgotten_first() -> None:
    names = Names(most_kept=3)
    for number in range(6):
        names.give(str(number), (f"tool_{number}",))
    names.trim({"0", "5"})
    assert len(names) == 5
    assert names.give("new", ("tool_1",)) == "tool_1", "the oldest that is gone"
    assert names.give("other", ("tool_0",)) != "tool_0", "it is there"
    assert names.give("another", ("tool_4",)) != "tool_4", "it left a short time ago"
