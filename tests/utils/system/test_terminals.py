"""Command lines as a shell reads them, and as we read them."""

from __future__ import annotations

import shlex

import pytest

from a2c_smcp.utils.system import terminals


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (r"C:\Users\ann\a2c.exe", r"C:\Users\ann\a2c.exe"),
        (r"C:\Program Files\a2c.exe", r"'C:\Program Files\a2c.exe'"),
        ("it's", "'it''s'"),
        ("$HOME", "'$HOME'"),
        ("", "''"),
    ],
)
def test_a_word_for_powershell(text: str, word: str) -> None:
    assert terminals.powershell_word(text) == word


def test_variables_for_each_shell() -> None:
    values = {"A2C_URL": "http://127.0.0.1:8000", "A2C_OFFICE": "ann's"}
    assert (
        terminals.powershell_variables(values) == "$env:A2C_URL = 'http://127.0.0.1:8000'; $env:A2C_OFFICE = 'ann''s'"
    )
    assert shlex.split(terminals.posix_variables(values)) == [
        "export",
        "A2C_URL=http://127.0.0.1:8000",
        "A2C_OFFICE=ann's",
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (r"read C:\new\table.csv", ["read", r"C:\new\table.csv"]),
        (r'read "C:\My Files\a.csv" x=1', ["read", r"C:\My Files\a.csv", "x=1"]),
        ("call a#b 'c d'", ["call", "a#b", "c d"]),
        ("", []),
    ],
)
def test_words_in_which_a_backslash_is_ordinary(line: str, words: list[str]) -> None:
    assert terminals.split_without_escapes(line) == words


def test_comments_are_left_out_on_demand() -> None:
    assert terminals.split_without_escapes("tools # all", comments=True) == ["tools"]
    assert terminals.split_without_escapes("tools # all") == ["tools", "#", "all"]


def test_an_open_quotation_mark_is_an_error() -> None:
    with pytest.raises(ValueError, match="quotation"):
        terminals.split_without_escapes("read 'a")


@pytest.mark.parametrize("text", ["plain", "two words", "it's", "a;b", "ü"])
def test_what_is_quoted_is_read_back(text: str) -> None:
    assert "".join(terminals.split_words(shlex.quote(text))) == text
