"""Answers of several document servers, ranked as one."""

from __future__ import annotations

from typing import Any

import pytest

from a2c_smcp.errors import InvalidAnswerError, TimedOutError
from a2c_smcp.protocol.document_ranking import Found, failed, rank, read_found
from a2c_smcp.protocol.document_search import DocumentPlace, DocumentSearch, SearchSource


def answer(
    computer: str, places: dict[str, dict[str, int]], terms: dict[str, int], passages: int = 100, **more: Any
) -> Found:
    """An answer with one hit for each document; `places` gives the count of each term in it."""
    body: dict[str, Any] = {
        "documents": [
            {"title": ref, "uri": f"dpe://{computer}/{ref}", "file_type": "md", "state": "current", **more}
            for ref in places
        ],
        "hits": [
            {
                "element_uri": f"dpe://{computer}/{ref}/elements/p0-text-1",
                "page_uri": f"dpe://{computer}/{ref}/pages/0",
                "page_index": 0,
                "snippet": f"about [{ref}]",
                "counts": counts,
                "length": 100,
            }
            for ref, counts in places.items()
        ],
        "coverage": {"documents": passages, "indexed": passages},
        "statistics": {"passages": passages, "characters": passages * 100, "terms": terms},
    }
    return read_found(SearchSource(computer), body)


def titles(found: DocumentSearch) -> list[str]:
    return [document.title for document in found.documents]


def test_a_word_that_is_rare_in_one_folder_only_does_not_count_as_rare() -> None:
    # "budget" is in every passage of `a`, and in one of `b`: over both, it is the frequent word. By the scores of its
    # own server, the place in `b` would be the best of all.
    a = answer("a", {"plan": {"budget": 0, "crane": 1}}, {"budget": 1_000, "crane": 1}, 1_000)
    b = answer("b", {"note": {"budget": 1, "crane": 0}}, {"budget": 1, "crane": 0}, 1_000)
    assert titles(rank("budget crane", [a, b], 10)) == ["plan", "note"]


def test_passages_with_all_words_come_first_then_those_with_more_of_them() -> None:
    terms = {"one": 500, "two": 1}
    found = rank(
        "one two",
        [
            answer("a", {"rare": {"one": 0, "two": 9}, "both": {"one": 1, "two": 1}}, terms),
            answer("b", {"more": {"one": 3, "two": 2}}, terms),
        ],
        10,
    )
    assert titles(found) == ["more", "both", "rare"]
    assert found.documents[0].passages[0].uri == "dpe://b/more/elements/p0-text-1"


def test_the_order_does_not_depend_on_who_answers_first() -> None:
    answers = [answer(name, {f"{name}{n}": {"x": 1} for n in range(3)}, {"x": 3}) for name in "cab"]
    assert rank("x", answers, 9).documents == rank("x", reversed(answers), 9).documents


def test_a_file_in_several_places_is_one_document() -> None:
    a = answer("a", {"old": {"x": 1}}, {"x": 1}, digest="same", state="changed")
    b = answer("b", {"new": {"x": 1}}, {"x": 1}, digest="same", copies=["dpe://b/copy", "no address", 5])
    (document,) = rank("x", [a, b], 10).documents
    assert (document.computer, document.state) == ("b", "current")
    assert document.other_places == (DocumentPlace("a", "dpe://a/old"), DocumentPlace("b", "dpe://b/copy"))


def test_a_server_that_tells_no_statistics_is_ranked_by_the_words_that_it_marks() -> None:
    hits = [
        {"title": name, "element_uri": f"dpe://old/{name}/elements/p0-text-1", "page_uri": f"dpe://old/{name}/pages/0"}
        for name in ("half", "whole")
    ]
    old = {"hits": [{**hits[0], "snippet": "the [Budget] for all"}, {**hits[1], "snippet": "[budget] of [cranes] 予"}]}
    found = rank("budget crane", [read_found(SearchSource("pc"), old)], 10)
    assert [(document.title, document.state) for document in found.documents] == [
        ("whole", "unknown"),
        ("half", "unknown"),
    ]
    both = rank(
        "budget crane", [read_found(SearchSource("pc"), old), answer("a", {"n": {"crane": 1}}, {"crane": 5})], 9
    )
    assert len(both.documents) == 3


def test_the_result_says_how_much_was_searched() -> None:
    late = failed(SearchSource("late", error=TimedOutError("no answer")))
    found = rank("x", [answer("a", {"n": {"x": 1}}, {"x": 1}, 30), late], 10, ["slow"])
    assert (found.indexed_count, found.document_count, found.is_complete) == (30, 30, False)
    assert [source.computer for source in found.failures] == ["late"]
    written = found.to_json()
    assert (written["sources"][1]["error"]["code"], written["waiting"]) == (408, ["slow"])
    assert "changed_at" not in written["documents"][0]
    assert rank("x", [answer("a", {}, {"x": 0})], 10).is_complete


@pytest.mark.parametrize("body", [{}, {"hits": None}, {"hits": {}}, {"content_text": "none"}])
def test_an_answer_without_hits_is_an_error(body: dict[str, Any]) -> None:
    with pytest.raises(InvalidAnswerError):
        read_found(SearchSource("pc"), body)


def test_nonsense_in_an_answer_harms_nobody() -> None:
    good = {"element_uri": "dpe://h/d/elements/e", "page_uri": "dpe://h/d/pages/0", "snippet": "s"}
    body: dict[str, Any] = {
        "hits": [None, 5, {}, {**good, "element_uri": "http://x"}, {**good, "element_uri": "dpe://other/d/elements/e"},
                 {**good, "counts": {"x": -1, "y": "many", "z": True}},
                 {**good, "counts": [], "length": 10**30, "snippet": 7, "page_index": -3}] + [good] * 1_000,
        "documents": [None, {"uri": 5}, {"uri": "dpe://h/d", "title": ["x"], "copies": "all", "state": {}}],
        "coverage": [],
        "statistics": {"passages": -5, "characters": 10**30, "terms": {"x": None, "y": 10**30}},
    }  # fmt: skip
    found = rank("x y", [read_found(SearchSource("pc"), body)], 10)
    assert [(document.title, document.state) for document in found.documents] == [("", "unknown")]
    assert all(passage.score >= 0 for passage in found.documents[0].passages)
