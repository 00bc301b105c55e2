"""Elements as a person reads them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_documents.render import as_markdown, as_text
from a2c_documents.rendering.summaries import summary_of
from a2c_smcp.utils.dpe_uri import ELEMENT_TYPES


def item(category: str, **content: Any) -> dict[str, Any]:
    return {"category": category, "content": content, "summary": "S"}


@pytest.mark.parametrize(
    ("element", "shown"),
    [
        (item("heading", level=2, text="Two\nlines"), "## Two lines"),
        (item("heading", level=9, text="Deep"), "###### Deep"),
        (item("heading"), "[heading: S]"),
        (item("text", text="As\nit is"), "As\nit is"),
        (
            item("table", headers=["a|b", None], rows=[["x\ny", "\\|"]]),
            "| a\\|b |  |\n| --- | --- |\n| x y | \\\\\\| |",
        ),
        (item("table", headers=["a"]), "| a |\n| --- |"),
        (item("list", items=["a", {"text": "b", "items": ["c"], "ordered": True}]), "- a\n- b\n  1. c"),
        (item("list", items=["a", "b"], ordered=True), "1. a\n2. b"),
        (item("code", code="x = 1\n", language="python"), "```python\nx = 1\n```"),
        (item("code", code="```\n", language=None), "````\n```\n````"),
        (item("chart", chart_type="bar", title="T", data_summary="up"), "[chart: T] up (bar)"),
        (item("image", alt="A]", url="u"), "![A\\]](u)"),
        (item("image", alt="A", url="", description="D"), "[picture: D] A"),
        (item("image", alt="A", url="u", description="D"), "![A](u) D"),
        (item("image"), "[image: S]"),
        (item("link", text="t", url="u"), "[t](u)"),
        (item("formula", expression="a+b"), "$ a+b $"),
        (item("formula", expression="SUM(A1:A2)", value="12"), "$ SUM(A1:A2) $ = 12"),
        (item("table", headers=[], rows=[["x", "y"]]), "|  |  |\n| --- | --- |\n| x | y |"),
        (item("separator"), "[separator: S]"),
        (item("annotation", text="a note"), "[annotation: S]\na note"),
    ],
)
def test_markdown_by_category(element: dict[str, Any], shown: str) -> None:
    assert as_markdown(element) == shown


@pytest.mark.parametrize(
    ("category", "content", "summary"),
    [
        ("code", {"code": "ls -l", "language": "bash"}, "bash, 1 line: ls -l"),
        ("code", {"code": '{\n  "name": "tea",\n  "n": 1\n}', "language": "json"}, 'json, 4 lines: "name": "tea"'),
        ("code", {"code": "{\n}\n"}, "code, 2 lines: {"),
        ("code", {"code": ""}, "code, 0 lines"),
        ("form", {"fields": [{"name": "a"}]}, "1 field"),
    ],
)
def test_summaries_say_something_of_use(category: str, content: dict[str, Any], summary: str) -> None:
    assert summary_of(category, content) == summary


ODD: Any = st.one_of(
    st.none(), st.integers(), st.text(max_size=5), st.lists(st.none() | st.text(max_size=3), max_size=3)
)


@given(
    st.sampled_from(sorted(ELEMENT_TYPES)),
    st.dictionaries(st.sampled_from(["text", "title", "alt", "url", "code", "language", "expression", "value"]), ODD),
)
def test_whatever_an_element_lacks_it_is_shown(category: str, content: dict[str, Any]) -> None:
    element = {"category": category, "content": content, "summary": ""}
    assert isinstance(as_markdown(element), str)
    assert isinstance(as_text(element), str)
    assert len(summary_of(category, content)) <= 200


def test_lists_as_deep_as_they_like() -> None:
    deep: list[Any] = ["bottom"]
    for _ in range(5_000):
        deep = [{"text": "x", "items": deep}]
    assert as_markdown(item("list", items=deep)).count("\n") == 5_000
