"""Formatting inside a line survives what parsers do to text."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from a2c_documents.inline import BOLD, CODE, ITALIC, Run, Styled, joined, piece, restyled, runs_of, styled, styles_of

WORDS = st.text("ab \n*[](`", max_size=8)
RUNS = st.lists(
    st.builds(Run, WORDS, st.sampled_from(["", BOLD, ITALIC, CODE, BOLD + ITALIC]), st.sampled_from(["", "u:1"]))
)


def tidied(words: str) -> str:
    return " ".join(words.split())


@given(RUNS)
def test_spaces_may_change_and_words_may_not(runs: list[Run]) -> None:
    words = tidied("".join(run.text for run in runs))
    made = styled(words, runs)
    assert made == words
    assert "".join(run.text for run in runs_of(made)) == words
    for letter in (BOLD, ITALIC, CODE):
        before = "".join(run.text for run in runs if letter in run.marks)
        after = "".join(run.text for run in runs_of(made) if letter in run.marks)
        assert "".join(after.split()) == "".join(before.split())


@given(RUNS)
def test_other_words_lose_the_formatting_and_stay_as_they_are(runs: list[Run]) -> None:
    assert styled("something else", [*runs, Run("x", BOLD)]) == "something else"


@given(RUNS, RUNS, st.integers(0, 20), st.integers(0, 20))
def test_texts_are_joined_and_cut_like_strings(first: list[Run], second: list[Run], start: int, stop: int) -> None:
    one, two = Styled.of(first), Styled.of(second)
    both = joined((one, two), ", ")
    assert both == f"{one!s}, {two!s}"
    assert piece(both, start, max(start, stop)) == str(both)[start : max(start, stop)]


@given(RUNS)
def test_what_is_stored_shows_all_words_in_both_forms(runs: list[Run]) -> None:
    words = styled(tidied("".join(run.text for run in runs)), runs)
    item: dict[str, Any] = {"text": words, "items": [words], "ordered": False}
    content: dict[str, Any] = {"items": ["plain", item], "ordered": False}
    styles = json.loads(json.dumps(styles_of(content)))
    for is_text in (False, True):
        shown = restyled(content, styles, as_text=is_text)
        assert shown["items"][0] == "plain"
        assert shown["items"][1]["items"][0] == shown["items"][1]["text"]
        letters = re.sub(r"u:1", "", str(shown["items"][1]["text"]))
        assert re.sub(r"[^ab]", "", letters) == re.sub(r"[^ab]", "", words)
    assert content == {"items": ["plain", item], "ordered": False}, "the content itself stays plain"
