"""Desktop and Finder, organised: every rule on plain data."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.computer.offer.desktop.organize import Window, organize_desktop
from a2c_smcp.computer.offer.finder.index import ALL, AT_ONCE, FEW, DocumentIndex, Filed, Search, file
from a2c_smcp.computer.offer.finder.organize import organize_finder
from a2c_smcp.computer.offer.server_order import in_order_of_use
from a2c_smcp.errors import MalformedRequestError


def window(uri: str, text: str | None = "x", server: str = "s", blob: str | None = None) -> Window:
    contents: list[Any] = []
    if text is not None:
        contents.append({"uri": uri, "text": text})
    if blob is not None:
        contents.append({"uri": uri, "blob": blob})
    return Window(server, uri, contents)


def uris(shown: list[str]) -> list[str]:
    return [entry.partition("\n\n")[0] for entry in shown]


# -------------------------------------------------------------------------------------------------------------- servers


def test_servers_come_by_last_use_then_by_name() -> None:
    assert in_order_of_use(["d", "c", "b", "a"], ["b", "d", "b", "gone", "d"]) == ["d", "b", "a", "c"]
    assert in_order_of_use(["b", "a"], [{"server": "b"}, {"server": ""}]) == ["b", "a"]
    assert in_order_of_use(["b", "a"], None) == ["a", "b"]


# -------------------------------------------------------------------------------------------------------------- desktop


def test_a_window_is_its_uri_a_blank_line_and_its_text_unstripped() -> None:
    parts: list[Any] = [{"uri": "window://h", "text": " a \n"}, {"uri": "window://h", "text": "b"}]
    assert organize_desktop([Window("s", "window://h", parts)]) == ["window://h\n\n a \n\n\nb"]


def test_an_empty_text_gives_the_uri_alone() -> None:
    assert organize_desktop([window("window://h", "")]) == ["window://h"]


def test_blobs_are_skipped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert organize_desktop([window("window://h", "x", blob="AA==")]) == ["window://h\n\nx"]
    assert "no text" in caplog.text


@pytest.mark.parametrize(
    "dropped",
    [
        Window("s", "window://h", []),
        window("window://h", None, blob="AA=="),
        window("dpe://h/d"),
        window("window://"),
        window("window://h?priority=101"),
        window("window://h?fullscreen=maybe"),
    ],
)
def test_what_cannot_be_shown_is_dropped(dropped: Window) -> None:
    assert organize_desktop([dropped, window("window://kept")]) == ["window://kept\n\nx"]


def test_inside_a_server_priority_descends_and_ties_keep_listing_order() -> None:
    listed = ["window://h/a", "window://h/b?priority=5", "window://h/c?priority=0", "window://h/d?priority=90"]
    shown = organize_desktop([window(uri) for uri in listed])
    assert uris(shown) == [listed[3], listed[1], listed[0], listed[2]]


def test_the_first_listed_fullscreen_window_of_a_server_hides_its_others_and_nobody_elses() -> None:
    windows = [
        window("window://a/1?priority=99", server="a"),
        window("window://a/2?fullscreen=1&priority=1", server="a"),
        window("window://a/3?fullscreen=true&priority=50", server="a"),
        window("window://b/1", server="b"),
    ]
    assert uris(organize_desktop(windows)) == ["window://a/2?fullscreen=1&priority=1", "window://b/1"]


def test_priority_counts_within_a_server_and_its_windows_stand_together() -> None:
    listed = [("a", 1), ("b", 100), ("a", 50), ("b", 2)]
    windows = [window(f"window://{server}/{n}?priority={n}", server=server) for server, n in listed]
    assert [uri.partition("?")[0] for uri in uris(organize_desktop(windows))] == [
        "window://a/50",
        "window://a/1",
        "window://b/100",
        "window://b/2",
    ]


def test_every_server_may_show_a_fullscreen_window_and_false_is_none() -> None:
    windows = [
        window("window://a/1?fullscreen=true", server="a"),
        window("window://a/2", server="a"),
        window("window://b/1?fullscreen=yes", server="b"),
        window("window://c/1?fullscreen=false", server="c"),
        window("window://c/2", server="c"),
    ]
    assert uris(organize_desktop(windows)) == [
        "window://a/1?fullscreen=true",
        "window://b/1?fullscreen=yes",
        "window://c/1?fullscreen=false",
        "window://c/2",
    ]


def test_a_fullscreen_window_without_text_hides_nothing() -> None:
    windows = [window("window://a/1?fullscreen=1", None, blob="AA=="), window("window://a/2")]
    assert uris(organize_desktop(windows)) == ["window://a/2"]


@pytest.mark.parametrize(("size", "count"), [(None, 4), (0, 0), (-3, 0), (1, 1), (3, 3), (99, 4)])
def test_size_cuts_over_all_servers(size: int | None, count: int) -> None:
    windows = [window(f"window://{server}/{n}", server=server) for server in "ab" for n in range(2)]
    assert len(organize_desktop(windows, size)) == count


def test_the_most_recently_used_server_is_shown_first() -> None:
    windows = [window(f"window://{server}", server=server) for server in "abc"]
    assert uris(organize_desktop(windows, history=["c", "b"])) == ["window://b", "window://c", "window://a"]


# --------------------------------------------------------------------------------------------------------------- finder


def document(ref: str, **fields: Any) -> Any:
    server = fields.get("server", "s")
    base = {"doc_ref": ref, "uri": f"dpe://{server}/{ref}", "file_uri": f"file:///{ref}", "file_type": "pdf"}
    return {**base, "title": ref, "page_count": 1, "server": server, **fields}


def refs(found: tuple[list[Any], int]) -> list[str]:
    return [entry["doc_ref"] for entry in found[0]]


def test_no_documents() -> None:
    assert organize_finder([]) == ([], 0)


def test_a_keyword_matches_inside_title_keyword_or_summary_and_any_suffices() -> None:
    documents = [
        document("a", title="Annual REPORT"),
        document("b", keywords=["budget", "reporting"]),
        document("c", summary="what was reported"),
        document("d"),
    ]
    assert refs(organize_finder(documents, ["Report"])) == ["a", "b", "c"]
    assert refs(organize_finder(documents, ["nothing", "BUDGET"])) == ["b"]
    assert refs(organize_finder(documents, ["  ", ""])) == ["a", "b", "c", "d"]


def test_a_keyword_never_matches_across_fields() -> None:
    documents = [document("a", title="tax", keywords=["es", "due"], summary="now")]
    for word in ("taxes", "tax es", "es due", "esdue", "due now", "tax\0es", "es\0due"):
        assert organize_finder(documents, [word]) == ([], 0)


def test_without_filters_the_first_twenty_are_given() -> None:
    documents = [document(f"d{number:02}") for number in range(21)]
    found, total = organize_finder(documents)
    assert ([entry["doc_ref"] for entry in found], total) == ([f"d{number:02}" for number in range(20)], 21)
    assert organize_finder(documents, file_type="", keywords=[]) == (found, total)


def test_both_filters_must_match() -> None:
    documents = [
        document("both", title="Budget", file_type="xlsx"),
        document("word", title="Budget"),
        document("type", file_type="xlsx"),
    ]
    assert refs(organize_finder(documents, ["budget"], "xlsx")) == ["both"]


def test_the_file_type_is_exact() -> None:
    documents = [document("a", file_type="pdf"), document("b", file_type="PDF"), document("c", file_type="xlsx")]
    assert refs(organize_finder(documents, file_type="pdf")) == ["a"]
    assert organize_finder(documents, file_type="doc") == ([], 0)


def test_inside_a_server_the_newest_comes_first_as_instants_and_the_undated_last() -> None:
    documents = [
        document("undated"),
        document("broken", last_modified="yesterday"),
        document("old", last_modified="2025-01-01T00:00:00Z"),
        document("later-in-tokyo", last_modified="2026-01-01T08:00:00+09:00"),
        document("naive", last_modified="2025-12-31T23:30:00"),
        document("date", last_modified="2026-01-02"),
        document("first-day", last_modified="0001-01-01T00:00:00+14:00"),
    ]
    found = refs(organize_finder(documents))
    assert found[:4] == ["date", "naive", "later-in-tokyo", "old"]
    assert set(found[4:]) == {"undated", "broken", "first-day"}
    assert found.index("undated") < found.index("broken")


def test_documents_of_the_most_recently_used_server_come_first() -> None:
    documents = [document(server, server=server, last_modified=f"202{n}-01-01") for n, server in enumerate("abc")]
    assert refs(organize_finder(documents, history=["a", "c"])) == ["c", "a", "b"]


def test_invalid_uris_are_dropped_and_not_counted() -> None:
    assert organize_finder([document("a", uri="dpe://"), document("b")])[1] == 1


@pytest.mark.parametrize(
    ("offset", "limit", "expected"),
    [(0, 2, ["a", "b"]), (2, 20, ["c"]), (3, 20, []), (99, 1, []), (0, 0, []), (0, 1000, ["a", "b", "c"])],
)
def test_a_page_and_the_true_total(offset: int, limit: int, expected: list[str]) -> None:
    found = organize_finder([document(ref) for ref in "abc"], offset=offset, limit=limit)
    assert (refs(found), found[1]) == (expected, 3)


def test_a_page_holds_at_most_a_hundred() -> None:
    page, total = organize_finder([document(str(n)) for n in range(150)], limit=1000)
    assert (len(page), total) == (100, 150)


@pytest.mark.parametrize(("offset", "limit"), [(-1, 20), (0, -1)])
def test_negative_numbers_are_malformed(offset: int, limit: int) -> None:
    with pytest.raises(MalformedRequestError):
        organize_finder([document("a")], offset=offset, limit=limit)


words = st.sampled_from(["report", "tax", "RE", "x", " ", ""])


@given(
    st.lists(st.tuples(st.sampled_from("abc"), words, words, st.sampled_from([None, "2020-01-01", "2021", "bad"]))),
    st.lists(words, max_size=3),
    st.lists(st.sampled_from("abcd"), max_size=4),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_pages_put_together_are_everything_that_matches_in_order(
    made: list[tuple[str, str, str, str | None]], keywords: list[str], history: list[str], offset: int, limit: int
) -> None:
    documents = [
        document(str(n), server=server, title=title, summary=summary, **({"last_modified": when} if when else {}))
        for n, (server, title, summary, when) in enumerate(made)
    ]
    everything, total = organize_finder(documents, keywords, history=history, limit=100)
    assert total == len(everything)
    page, page_total = organize_finder(documents, keywords, history=history, offset=offset, limit=limit)
    assert (page, page_total) == (everything[offset : offset + limit], total)
    real = [word.lower() for word in keywords if word.strip()]
    for entry in documents:
        matches = not real or any(w in entry["title"].lower() or w in entry["summary"].lower() for w in real)
        assert (entry in everything) == matches


changes = st.lists(
    st.tuples(st.sampled_from(["put", "put", "put", "remove", "look"]), st.integers(0, 3 * FEW), st.integers(1, 28)),
    max_size=3 * FEW,
)


@given(changes)
def test_an_index_that_changes_finds_what_a_new_one_would(happenings: list[tuple[str, int, int]]) -> None:
    index, there = DocumentIndex(), dict[int, Filed]()
    for what, place, day in happenings:
        if what == "look":
            assert index.matching(ALL) == DocumentIndex(there.values()).matching(ALL)
            continue
        if (old := there.pop(place, None)) is not None:
            index.remove(old)
        if what == "put":
            filed = file(document(str(place), title=f"day {day}", last_modified=f"2026-01-{day:02}"))
            assert filed is not None
            filed.place = place
            there[place] = filed
            index.put(filed)
    for search in (ALL, Search.of(["day 1"], None), Search.of(["day 2", "day 3"], "pdf")):
        for _ in range(2):
            assert index.matching(search) == DocumentIndex(there.values()).matching(search)


def test_a_large_index_is_searched_in_pieces_with_the_same_findings() -> None:
    filed = [found for place in range(AT_ONCE + 20) if (found := file(document(str(place))))]
    index, search = DocumentIndex(filed), Search.of(["77"], None)
    asyncio.run(index.search(search))
    assert index.matching(search) == search.among(filed)
