"""What is too long for a page goes on on the next."""

from __future__ import annotations

from typing import Any

import pytest

from a2c_documents.model import Element, Page, code, list_of, note, table, text
from a2c_documents.paging import paginate, size_of
from a2c_documents.render import as_markdown, as_text, page_shape

BOUND = 5_000


def pages_of(*elements: Element) -> list[Page]:
    pages = paginate([Page("Section", list(elements))], BOUND)
    assert all(sum(map(size_of, page.elements)) <= BOUND for page in pages)
    return pages


def markdown_of(pages: list[Page]) -> list[str]:
    """Each page, as it is shown."""
    return [
        "\n".join(as_markdown(element) for element in page_shape(page, number)["elements"])
        for number, page in enumerate(pages)
    ]


def texts_in(items: list[Any]) -> list[str]:
    """All texts of a list without lists inside."""
    found: list[str] = []
    stack = [*reversed(items)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            found.append(item)
        else:
            stack += reversed(item["items"])
    return found


def test_a_long_list_continues_on_further_pages() -> None:
    items = [f"item {number} " + "x" * (number % 90) for number in range(1_000)]
    pages = pages_of(list_of(items))
    assert len(pages) > 5
    assert [item for page in pages for item in page.elements[0].content["items"]] == items
    assert [page.title for page in pages[:2]] == [
        f"Section (part 1 of {len(pages)})", f"Section (part 2 of {len(pages)})"
    ]  # fmt: skip
    first, last = pages[1].elements[0].metadata["items"]
    assert pages[1].elements[0].content["items"] == items[first - 1 : last]


def test_numbers_go_on() -> None:
    items = [f"item {number}" for number in range(5, 1_005)]
    pages = pages_of(list_of(items, ordered=True, start=5))
    lines = [line for page in markdown_of(pages) for line in page.splitlines()]
    assert lines == [f"{number}. item {number}" for number in range(5, 1_005)]


def test_a_list_in_a_list_continues_under_its_item() -> None:
    inner = [f"step {number}" for number in range(1, 1_001)]
    items = ["before", {"text": "The steps", "items": inner, "ordered": True}, "after"]
    pages = pages_of(list_of(items))
    assert len(pages) > 3
    assert [words for page in pages for one in page.elements for words in texts_in(one.content["items"])] == [
        "before", *inner, "after"
    ]  # fmt: skip
    for page in markdown_of(pages)[1:-1]:
        head, first, *_ = page.splitlines()
        assert head == "- The steps"
        number = first.strip().partition(".")[0]
        assert first.strip() == f"{number}. step {number}", "its numbers go on as well"


def test_lists_deep_in_one_another_and_long_items_are_divided() -> None:
    deep: list[Any] = [f"leaf {number}" for number in range(600)]
    for level in range(12):
        deep = [{"text": f"level {level}", "items": deep, "ordered": False}]
    long = "word " * 3_000
    pages = pages_of(list_of([*deep, long, {"text": long, "items": ["inside"], "ordered": False}]))
    shown = [words for page in pages for one in page.elements for words in texts_in(one.content["items"])]
    assert [words for words in shown if words.startswith("leaf")] == [f"leaf {number}" for number in range(600)]
    assert "".join(words for words in shown if "word" in words) == long + long
    assert "inside" in shown


@pytest.mark.parametrize(
    "element",
    [
        text("A line of words.\n" * 2_000),
        text("x" * 30_000),
        code("call()\n" * 4_000, "python"),
        note("annotation", "A remark. " * 3_000),
        table(["a", "b"], [[str(number), "y" * (number % 200)] for number in range(500)]),
    ],
    ids=["lines", "one line", "code", "remark", "table"],
)
def test_long_texts_and_tables_do(element: Element) -> None:
    pages = pages_of(element)
    assert len(pages) > 2
    assert {piece.category for page in pages for piece in page.elements} == {element.category}
    if "rows" in element.content:
        rows = [row for page in pages for one in page.elements for row in one.content["rows"]]
        assert rows == element.content["rows"]
        assert all(page.elements[0].content["headers"] == ["a", "b"] for page in pages)
    else:
        key = "code" if element.category == "code" else "text"
        assert "".join(one.content[key] for page in pages for one in page.elements) == element.content[key]


def test_a_row_that_is_too_long_for_any_page_is_cut_and_whole_in_detail() -> None:
    pages = pages_of(table(["a", "b"], [["1", "2"], ["x" * 100_000, "3"], ["4", "5"]]))
    shown = [one for page in pages for one in page.elements]
    assert [one.content["rows"][0][1] for one in shown] == ["2", "3", "5"]
    assert shown[1].content["rows"][0][0].startswith("xxx")
    assert shown[1].detail is not None
    assert shown[1].detail["rows"] == [["x" * 100_000, "3"]]
    assert shown[1].metadata["shortened"]


def test_pages_are_called_by_their_lines_only_where_these_differ() -> None:
    lines = pages_of(text("A line.\n" * 2_000, lines=[1, 2_000]))
    assert lines[0].title.startswith("Section (lines 1–")
    assert lines[-1].title.endswith("–2000)")
    rows = pages_of(table(["a"], [["x" * 50]] * 500, lines=[1, 502]))
    assert [page.title for page in rows] == [f"Section (part {n} of {len(rows)})" for n in range(1, len(rows) + 1)]


def test_what_fits_stays_as_it_is() -> None:
    elements = [text("Words."), list_of(["a", {"text": "b", "items": ["c"], "ordered": True}]), table(["h"], [["1"]])]
    (page,) = pages_of(*elements)
    assert page.title == "Section"
    assert page.elements == elements


def test_an_ordered_list_is_shown_from_its_first_number() -> None:
    element: dict[str, Any] = {"category": "list", "content": {"items": ["a", "b"], "ordered": True}, "summary": ""}
    assert as_markdown(element | {"metadata": {"start": 7}}) == "7. a\n8. b"
    assert as_text(element) == "1. a\n2. b"
