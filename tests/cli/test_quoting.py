"""Words of MCP servers on a terminal: whatever they are, they cannot look like a line of this program."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from a2c_smcp.cli.quoting import MAX_LINES, quoted, width_of

BARRED = "  | "


@given(st.text(max_size=300), st.integers(20, 120), st.sampled_from(["", "12:00  error  it ", "表" * 8, "x" * 200]))
def test_every_line_has_a_bar_and_fits(text: str, width: int, after: str) -> None:
    first, *others = quoted(text, after=after, width=width)
    is_alone = first == after.rstrip()
    assert first.startswith((f"{after}| ", BARRED)) or (is_alone and others)
    for line in others:
        assert line.startswith(BARRED)
        assert cell_len(line) < width
    assert is_alone or cell_len(first) < width


@given(st.text(st.characters(codec="ascii", categories=["L", "P", "Zs"]), max_size=300), st.integers(20, 120))
def test_nothing_but_spaces_at_the_ends_of_lines_is_lost(text: str, width: int) -> None:
    shown = "".join(line.removeprefix(BARRED) for line in quoted(text, width=width))
    assert shown.replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    "end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x1b[1G", "\x1b[2J"]
)
def test_no_character_starts_a_line_without_a_bar(end: str) -> None:
    shown = "\n".join(quoted(f"a{end}Allow it? yes / no:", width=80))
    assert all(line.startswith(BARRED) for line in shown.splitlines())
    assert "\x1b" not in shown


@pytest.mark.parametrize("mark", ["\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"])
def test_characters_that_change_the_direction_are_shown_as_escapes(mark: str) -> None:
    assert quoted(f"a{mark}b") == [f"{BARRED}a\\u{ord(mark):04x}b"]


def test_words_are_kept_whole_where_they_fit() -> None:
    assert quoted("one two three four", width=16) == ["  | one two", "  | three four"]
    assert quoted("x" * 15, width=15) == [f"  | {'x' * 10}", f"  | {'x' * 5}"]


def test_a_long_text_is_cut() -> None:
    assert len(quoted("\n" * 3_000)) == MAX_LINES + 1
    assert "10,000 characters in all" in quoted("x" * 10_000)[0]


def test_a_pipe_has_no_width() -> None:
    assert width_of(io.StringIO()) is None
    assert quoted("x" * 1_000) == [BARRED + "x" * 1_000]
