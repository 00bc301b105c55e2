"""Jupyter notebooks."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.notebook import open_notebook
from tests.support.documents.reading import Read, read

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()


def shown(folder: Path, cells: list[Any], **others: Any) -> Read:
    notebook: dict[str, Any] = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **others}
    return read(open_notebook, folder / "book.ipynb", json.dumps(notebook))


def markdown(*lines: str, **others: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": "\n".join(lines), **others}


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source.splitlines(True), "outputs": list(outputs), "execution_count": 7}


def display(**data: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {name.replace("_", "/", 1): value for name, value in data.items()}}


def test_cells_are_elements_in_order(tmp_path: Path) -> None:
    stream = {"output_type": "stream", "name": "stdout", "text": ["a\n", "\x1b[31mb\x1b[0m\n"]}
    found = shown(
        tmp_path,
        [markdown("# Title", "", "- x", "- y"), code("print(1)\nx", stream), {"cell_type": "raw", "source": "raw"}],
        metadata={"language_info": {"name": "R"}, "authors": [{"name": "Ada"}]},
    )
    assert [(one.category, one.content, one.metadata) for one in found.elements] == [
        ("heading", {"level": 1, "text": "Title"}, {"cell": 1}),
        ("list", {"items": ["x", "y"], "ordered": False}, {"cell": 1}),
        ("code", {"code": "print(1)\nx", "language": "r"}, {"cell": 2, "execution": 7}),
        ("code", {"code": "a\nb", "language": "text"}, {"cell": 2, "output": True}),
        ("code", {"code": "raw", "language": "text"}, {"cell": 3}),
    ]
    assert (found.facts.title, found.facts.author, found.titles) == ("Title", "Ada", ["Title"])
    assert found.facts.details == {"language": "r", "cells": 3}


def test_pictures_can_be_seen(tmp_path: Path) -> None:
    found = shown(
        tmp_path,
        [
            code("plot", display(image_png=PNG, text_plain="<Figure size 640x480 at 0x7f00>")),
            code("svg", display(**{"image_svg+xml": ["<svg>", "</svg>"]})),
            markdown("![in](attachment:a.png)", attachments={"a.png": {"image/png": PNG}}),
        ],
    )
    pictures = [one for one in found.elements if one.category == "image"]
    seen = [one.picture() if one.picture else None for one in pictures]
    png = ("image/png", b"\x89PNG\r\n\x1a\nrest")
    assert seen == [png, ("image/svg+xml", b"<svg></svg>"), png]
    assert pictures[0].content["alt"] == "Figure size 640x480"


def test_a_damaged_picture_says_so_when_it_is_wanted(tmp_path: Path) -> None:
    found = shown(tmp_path, [code("x", display(image_png="not base64 at all!"))])
    picture = found.elements[1].picture
    assert picture is not None
    with pytest.raises(UnreadableFileError):
        picture()


def test_tables_come_from_html_and_plain_words_do_not(tmp_path: Path) -> None:
    frame = "<style>x</style><table><thead><tr><th></th><th>a</th></tr></thead><tr><th>0</th><td>1.5</td></tr></table>"
    found = shown(
        tmp_path,
        [
            code("df", display(text_html=frame, text_plain="     a\n0  1.5")),
            code("b", display(text_html="<b>words</b>", text_plain="words in plain")),
            code("h", display(text_html="<b>words</b>", text_plain="<IPython.core.display.HTML object>")),
        ],
    )
    assert found.of("table") == [{"headers": ["", "a"], "rows": [["0", "1.5"]]}]
    assert found.elements[3].content == {"code": "words in plain", "language": "text"}
    assert found.elements[5].content == {"text": "words"}


def test_errors_formulas_charts_and_widgets_are_elements(tmp_path: Path) -> None:
    error = {
        "output_type": "error",
        "ename": "NameError",
        "evalue": "no x",
        "traceback": ["\x1b[0;31mline 1\x1b[0m", "line 2"],
    }
    plotly = {"data": [{"type": "bar", "name": "A"}, {"type": "bar"}], "layout": {"title": {"text": "Sales"}}}
    found = shown(
        tmp_path,
        [
            code("x", error),
            code("y", display(text_latex="$$x^2$$", text_plain="x**2")),
            code("z", display(**{"application/vnd.plotly.v1+json": plotly})),
            code(
                "v", display(**{"application/vnd.vegalite.v5+json": {"mark": "line", "encoding": {"x": {}, "y": {}}}})
            ),
            code("w", display(**{"application/vnd.jupyter.widget-view+json": {}, "text_plain": "IntSlider(value=0)"})),
            code("m", display(text_markdown="**bold**")),
        ],
    )
    assert found.of("annotation") == [{"text": "NameError: no x", "traceback": "line 1\nline 2"}]
    assert found.of("formula") == [{"expression": "x^2", "value": "x**2"}]
    assert found.of("chart") == [
        {"chart_type": "bar", "title": "Sales", "data_summary": "2 series: A, series 2"},
        {"chart_type": "line", "title": "", "data_summary": "encodes x, y"},
    ]
    assert found.of("widget") == [{"text": "IntSlider(value=0)"}]
    assert found.of("text") == [{"text": "bold"}]


def test_the_older_format_is_read_too(tmp_path: Path) -> None:
    cells: list[Any] = [
        {"cell_type": "heading", "level": 2, "source": ["Old"]},
        {"cell_type": "markdown", "source": ["words"]},
        {
            "cell_type": "code",
            "input": ["1 + 1"],
            "language": "python",
            "prompt_number": 3,
            "outputs": [
                {"output_type": "pyout", "text": ["2"], "prompt_number": 3},
                {"output_type": "display_data", "png": PNG},
                {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": []},
            ],
        },
    ]
    notebook = {"nbformat": 3, "metadata": {"name": ""}, "worksheets": [{"cells": cells}]}
    found = read(open_notebook, tmp_path / "old.ipynb", json.dumps(notebook))
    assert [one.category for one in found.elements] == ["heading", "text", "code", "code", "image", "annotation"]
    assert found.elements[2].metadata == {"cell": 3, "execution": 3}


def test_only_a_long_notebook_is_divided_at_its_headings(tmp_path: Path) -> None:
    cells = [markdown("# Title", "intro"), markdown("## One"), code("1"), markdown("## Two"), code("2")]
    assert shown(tmp_path, cells).titles == ["Title"]
    assert shown(tmp_path, [*cells, *[code("3")] * 50]).titles == ["Title", "One", "Two"]
    assert len(shown(tmp_path, [code("x = " + "1" * 150_000), code("y = " + "1" * 150_000)]).pages) > 1


def test_a_huge_output_is_cut_and_said(tmp_path: Path) -> None:
    found = shown(tmp_path, [code("x", {"output_type": "stream", "text": "y\n" * 500_000})])
    assert "goes on" in found.of("annotation")[0]["text"]


def test_an_output_that_cannot_be_understood_leaves_the_others_alone(tmp_path: Path) -> None:
    found = shown(tmp_path, [code("x", display(text_markdown="> " * 5_000)), code("y", display(text_plain="fine"))])
    assert found.of("code")[-1] == {"code": "fine", "language": "text"}


def test_cells_that_are_none_are_passed_over(tmp_path: Path) -> None:
    odd = [
        1,
        None,
        {"cell_type": "code", "source": 5, "outputs": [3, {}, {"output_type": "display_data", "data": 1}]},
        {},
    ]
    assert shown(tmp_path, [*odd, markdown("\ud800 words")]).brief == [("text", "\ufffd words")]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"cells": 1}', "[" * 100_000, "no notebook"])
def test_what_is_no_notebook_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.ipynb").write_text(content)
    with pytest.raises(UnreadableFileError):
        open_notebook(tmp_path / "a.ipynb")
