"""`look_at_desktop`: the budget, and what changed since an earlier look."""

from __future__ import annotations

import re

import pytest

from a2c_smcp.gateway.desktop import MOST_LINES, MOST_LOOKS, Looks


def window(name: str, content: str = "content") -> str:
    return f"window://h/{name}\n\n{content}"


def cursor_of(shown: str) -> str:
    found = re.search(r"Cursor: (\w+)$", shown)
    assert found is not None
    return found[1]


def parts(shown: str) -> list[str]:
    """The parts of an answer, without the cursor."""
    return shown.split("\n\n---\n\n")[:-1]


def test_windows_are_shown_as_they_are_and_named_after_their_computer_where_there_are_several() -> None:
    looks = Looks()
    assert parts(looks.show({"a": [window("x"), window("y")]}, 1000)) == [window("x"), window("y")]
    assert parts(looks.show({"a": [window("x")], "b": []}, 1000)) == [f"[a] {window('x')}"]
    assert parts(looks.show({"a": [], "b": []}, 1000)) == ["There are no windows."]
    assert parts(looks.show({"a": []}, 1000, window="window://h/x")) == ["There is no such window."]


def test_what_does_not_fit_is_listed_with_its_address_and_size() -> None:
    large = window("large", "x" * 4_000)
    shown = parts(Looks().show({"a": [window("first"), large, window("last")]}, 100))
    assert shown[:2] == [window("first"), window("last")], "a small window fits after a large one"
    assert shown[2].splitlines()[1:] == ["- window://h/large of a, about 1005 tokens"]


@pytest.mark.parametrize("tokens", [1, 50, 100, 1000])
def test_the_windows_that_are_shown_keep_to_the_budget(tokens: int) -> None:
    windows = [window(str(number), "y" * number) for number in range(0, 400, 13)]
    shown = [part for part in parts(Looks().show({"a": windows}, tokens)) if part in windows]
    assert sum(len(part) for part in shown) <= tokens * 4 + 4 * len(shown)


def test_a_window_that_is_asked_for_is_cut_off_where_it_does_not_fit() -> None:
    large = window("large", "x" * 4_000)
    [shown] = parts(Looks().show({"a": [large]}, 100, window="window://h/large"))
    assert shown.startswith(large[:400])
    assert shown.endswith(f"[{len(large) - 400} more characters: raise max_tokens]")


def test_after_a_look_only_what_changed_is_shown_and_the_rest_is_listed() -> None:
    looks = Looks()
    since = cursor_of(looks.show({"a": [window("x"), window("y")], "b": [window("x")]}, 1000))
    after = {"a": [window("x"), window("y", "new"), window("z")], "b": [window("x")]}
    shown = parts(looks.show(after, 1000, since))
    assert shown[:2] == [f"[a] {window('y', 'new')}", f"[a] {window('z')}"]
    assert shown[2].splitlines() == [
        "Unchanged:",
        "- window://h/x of a, about 6 tokens",
        "- window://h/x of b, about 6 tokens",
    ]


def test_closed_windows_are_named_once() -> None:
    looks = Looks()
    since = cursor_of(looks.show({"a": [window("x"), window("y")]}, 1000))
    shown = looks.show({"a": [window("x")]}, 1000, since)
    assert parts(shown)[-1] == "Closed:\n- window://h/y of a"
    assert "Nothing changed." in parts(shown)
    assert "Closed" not in looks.show({"a": [window("x")]}, 1000, cursor_of(shown))


def test_what_was_not_looked_at_is_not_closed_and_stays_known() -> None:
    looks = Looks()
    everything = {"a": [window("x"), window("y")], "b": [window("z")]}
    since = cursor_of(looks.show(everything, 1000))
    one = looks.show({"a": [window("x")]}, 1000, since, window="window://h/x")
    assert "Closed" not in one
    without_b = looks.show({"a": [window("x"), window("y")]}, 1000, cursor_of(one), {"b": "it does not answer"})
    assert "Closed" not in without_b
    assert "b did not answer: it does not answer" in parts(without_b)
    again = looks.show(everything, 1000, cursor_of(without_b))
    assert "Nothing changed." in parts(again)
    assert "Unchanged" in again


def test_a_window_without_room_is_shown_when_there_is_room() -> None:
    looks = Looks()
    large = window("large", "x" * 400)
    first = looks.show({"a": [window("x"), large]}, 20)
    assert large not in parts(first)
    assert parts(looks.show({"a": [window("x"), large]}, 1000, cursor_of(first)))[0] == large


def test_an_unknown_cursor_shows_everything_and_says_so() -> None:
    looks = Looks()
    shown = parts(looks.show({"a": [window("x")]}, 1000, "nonsense"))
    assert shown == [window("x"), "The cursor is unknown or too old: everything is shown."]
    oldest = cursor_of(looks.show({"a": []}, 1000))
    for _ in range(MOST_LOOKS):
        looks.show({"a": []}, 1000)
    assert "too old" in looks.show({"a": []}, 1000, oldest)


def test_lists_of_windows_have_an_end() -> None:
    windows = [window(str(number)) for number in range(MOST_LINES + 5)]
    [listed] = parts(Looks().show({"a": windows}, 1))
    assert len(listed.splitlines()) == MOST_LINES + 2
    assert listed.endswith("- and 5 more")


def test_a_computer_that_fails_is_named_also_if_it_is_the_only_one() -> None:
    assert parts(Looks().show({}, 1000, None, {"a": "timed out"})) == ["a did not answer: timed out"]
