"""Finding tools by words."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.gateway.search import NAME, PARAMETER, TEXT, TITLE, Index, simple, words_of


def found(query: str, *things: list[tuple[str, float]], most: int = 10) -> list[int]:
    return Index(things).search(query, most)


def test_names_count_more_than_titles_and_titles_more_than_descriptions() -> None:
    in_text = [("x", NAME), ("y", TITLE), ("archive " * 50, TEXT)]
    in_parameter = [("x", NAME), ("archive", PARAMETER)]
    in_title = [("x", NAME), ("the archive", TITLE)]
    in_name = [("archive_it", NAME), ("y", TITLE)]
    assert found("archive", in_text, in_parameter, in_title, in_name) == [3, 2, 1, 0]


def test_more_words_of_the_query_count_more_and_rare_words_most() -> None:
    things = [[(f"get_{word}", NAME)] for word in ("issue", "user", "file", "team")]
    things.append([("create_issue", NAME)])
    assert found("create issue", *things)[0] == 4
    assert found("get team", *things)[0] == 3


def test_a_tool_whose_whole_name_is_asked_for_is_first() -> None:
    longer = [("read_file_of_archive", NAME), ("read file read file", TITLE)]
    exact = [("read_file", NAME)]
    assert found("read file", longer, exact) == [1, 0]
    assert found("read_file", longer, exact) == [1, 0]
    assert found("readFile", longer, exact) == [1, 0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("issue", "issues"), ("query", "queries"), ("file", "files"), ("class", "classes"), ("string", "strings"),
        ("setting", "settings"), ("speed", "speeds"), ("list", "listing"), ("create", "creating"),
        ("create", "created"), ("run", "running"), ("call", "calling"), ("box", "boxes"), ("search", "searches"),
        ("process", "processes"), ("status", "statuses"), ("copy", "copied"), ("message", "messages"),
        ("directory", "directories"), ("branch", "branches"), ("database", "databases"), ("page", "pages"),
    ],
)  # fmt: skip
def test_plurals_and_verbs_find_each_other(one: str, other: str) -> None:
    assert simple(one) == simple(other)
    assert found(one, [("nothing", NAME)], [(f"x {other}", NAME)]) == [1]
    assert found(other, [("nothing", NAME)], [(f"x {one}", NAME)]) == [1]


@pytest.mark.parametrize("word", ["as", "bus", "need", "thing", "this", "css", "aws", "is"])
def test_short_words_and_false_endings_stay(word: str) -> None:
    assert simple(word) == word


def test_the_beginning_of_a_word_finds_it_after_whole_words() -> None:
    assert found("data", [("database_tool", NAME)], [("data_tool", NAME)]) == [1, 0]
    assert found("da", [("database_tool", NAME)]) == [], "two letters are the beginning of too many words"


def test_scripts_without_spaces_are_searched() -> None:
    things = [
        [("搜索文件", NAME)],
        [("send", NAME), ("发送电子邮件", TEXT)],
        [("读取PDF文件的内容", NAME)],
        [("ファイルを読む", NAME)],
    ]
    assert found("文件", *things) == [0, 2]
    assert found("邮件", *things) == [1]
    assert found("件", *things) == [0, 2, 1]
    assert found("pdf", *things) == [2], "a word of Latin letters in a Chinese text"
    assert found("ＰＤＦ", *things) == [2], "and in wide letters"
    assert found("ファイル", *things) == [3]


def test_words_of_names_in_all_styles() -> None:
    for name in ("listOpenIssues", "list_open_issues", "List-Open.Issues", "list open issues", "LISTOpenIssues"):
        assert words_of(name) == words_of("list open issues")
    assert words_of("the list of a user") == words_of("list user"), "words without meaning are left out"


def test_what_does_not_match_is_not_found_and_ties_keep_their_order() -> None:
    assert found("nothing", [("a", NAME)]) == []
    assert found("", [("a", NAME)]) == []
    assert found("the", [("the", NAME)]) == []
    assert found("same", *[[("same thing", NAME)]] * 5, most=3) == [0, 1, 2]
    assert Index([]).search("x", 5) == []


@given(st.lists(st.lists(st.tuples(st.text(max_size=20), st.sampled_from([NAME, TITLE, TEXT]))), max_size=8), st.text())
def test_any_text_can_be_searched(things: list[list[tuple[str, float]]], query: str) -> None:
    numbers = Index(things).search(query, 5)
    assert len(set(numbers)) == len(numbers) <= 5


def test_four_thousand_tools_are_searched_in_milliseconds() -> None:
    verbs, things = ("get", "list", "create", "delete", "update"), ("issue", "file", "user", "invoice", "page")
    index = Index(
        [
            [(f"{verbs[n % 5]}_{things[n // 5 % 5]}_{n}", NAME), (f"Does something with {things[n % 5]} {n}.", TEXT)]
            for n in range(4_000)
        ]
    )
    times: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        assert len(index.search("create an invoice for a user", 8)) == 8
        times.append(time.perf_counter() - began)
    assert min(times) < 0.05
