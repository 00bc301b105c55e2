"""Every text in the content of an element is in the Markdown and in the text of its page, in files of every format.

`LEFT_OUT` names what is omitted, and why. `A2C_TEST_CORPUS` adds a folder of further files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from a2c_documents.model import Source, UnreadableFileError
from a2c_documents.registry import format_of
from a2c_documents.render import as_markdown, as_text, markdown, page_shape, plain
from tests.support.documents.rich_files import LINK, RICH_FILES

ROOT = Path(__file__).parents[2]
LEFT_OUT: dict[tuple[str, str, str], str] = {
    ("text", "code", "language"): "the text of code is the code alone",
    ("text", "chart", "chart_type"): "the text of a chart is its title and its data",
    ("text", "image", "url"): "the address of a picture is of no use in a text",
}
"""What is omitted: form, category and key of the content, and the reason."""
REPEATED = {("form", "text"), ("diagram", "text")}
"""Texts that a parser made from other texts of the same content. Their words are shown, but not once more."""
MOST_PAGES = 30
BOUND = 20_000
"""Letters that a page shows at least of an element that it does not show completely."""
_WORDS = re.compile(r"\w+")


def files() -> list[Path]:
    """The files of the repository, and those of a folder that is named in the environment."""
    folders = [ROOT / "examples" / "library", ROOT / "tests" / "data"]
    if extra := os.environ.get("A2C_TEST_CORPUS"):
        folders.append(Path(extra))
    found = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path for path in found if path.name != "README.md"]


def strings_of(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The texts in a content, and the keys of the content that hold them."""
    stack: list[tuple[str, Any]] = [(key, value)]
    while stack:
        name, one = stack.pop()
        if isinstance(one, str):
            yield name, one
        elif isinstance(one, dict):
            stack += [(name or str(inner), held) for inner, held in cast("dict[str, Any]", one).items()]
        elif isinstance(one, list):
            stack += [(name, held) for held in cast("list[Any]", one)]


def skeleton(words: str) -> str:
    """Letters and digits only: marks, escapes and spaces do not count."""
    return "".join(_WORDS.findall(words)).replace("_", "")


def without_addresses(shown: str, elements: list[dict[str, Any]]) -> str:
    """A page without the addresses of the links between its words."""
    runs: list[Any] = [run for element in elements for runs in element.get("styles", {}).values() for run in runs]
    linked: list[list[Any]] = [run for run in runs if isinstance(run, list) and len(cast("list[Any]", run)) > 2]
    for url in {str(run[2]) for run in linked}:
        shown = shown.replace(f"]({url})", "]").replace(f" ({url})", "")
    return shown


def missing_from(path: Path) -> list[str]:
    """The texts of a file that its pages do not show."""
    try:
        source = format_of(path).parser(path)
    except UnreadableFileError:
        return []
    try:
        return [line for number in range(min(len(source.page_titles), MOST_PAGES)) for line in _missing(source, number)]
    finally:
        source.close()


def _missing(source: Source, number: int) -> Iterator[str]:
    elements = page_shape(source.page(number), number)["elements"]
    for form, shown in (("markdown", markdown(elements, address)), ("text", plain(elements, address))):
        # With addresses, for those; and without, for sentences that contain a link.
        pages = skeleton(shown), skeleton(without_addresses(shown, elements))
        for element in elements:
            for key, words in strings_of(element["content"]):
                is_left_out = (form, element["category"], key) in LEFT_OUT
                is_repeated = (element["category"], key) in REPEATED and set(_WORDS.findall(words)) <= set(
                    _WORDS.findall(shown)
                )
                # What is longer than a page shows ends with the address where all of it is.
                is_bounded = f": {address(element)}]" in shown
                expected = skeleton(words)[:BOUND] if is_bounded else skeleton(words)
                if not (is_left_out or is_repeated or any(expected in page for page in pages)):
                    yield f"{element['element_id']} {key} ({form}): {words[:80]!r}"


def address(element: dict[str, Any]) -> str:
    return f"dpe://host/doc/elements/{element['element_id']}"


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_a_page_shows_every_text_of_its_elements(path: Path) -> None:
    assert missing_from(path) == []


@pytest.mark.parametrize("name", sorted(RICH_FILES))
def test_a_page_of_a_made_file_shows_every_text(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    RICH_FILES[name](path)
    assert missing_from(path) == []


def test_links_of_cells_name_the_cell(tmp_path: Path) -> None:
    RICH_FILES["tea.xlsx"](path := tmp_path / "tea.xlsx")
    assert f"[A3]({LINK})" in shown_of(path)
    assert shown_of(path).count("[formulas: D2 = B2*C2; D3 = B3*C3]") == 1


def test_a_page_shows_the_first_formulas_and_how_many_follow() -> None:
    formulas = {f"B{row}": f"A{row}*2" for row in range(1, 31)}
    table = {"category": "table", "content": {"headers": ["a", "b"]}, "metadata": {"formulas": formulas}, "summary": ""}
    assert as_markdown(table).endswith("B20 = A20*2; and 10 more]")
    assert as_markdown(table, 1_000).endswith("B30 = A30*2]")
    assert as_text(table).endswith("B20 = A20*2; and 10 more")


@pytest.mark.parametrize("name", sorted(set(RICH_FILES) - {"tea.xlsx"}))
def test_formatting_and_links_are_where_the_words_are(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    RICH_FILES[name](path)
    shown = shown_of(path)
    if name == "tea.pptx":
        assert "Read **this** and the order" in shown
        assert f"[the order]({LINK})" in shown
        assert "[annotation: Speaker notes: Say how it is made.\nThen pour" in shown
    else:
        line = f"Read **this** and **that**, or *those*: `run --now` [the order]({LINK})."
        assert shown.count(line) == 3, "in a paragraph, in an item and in a cell"


def test_notes_comments_and_forms_are_complete(tmp_path: Path) -> None:
    RICH_FILES["tea.docx"](path := tmp_path / "tea.docx")
    shown = shown_of(path)
    assert f"[the order]({LINK}).[^1]" in shown
    assert "[annotation: [^1]: Sentence 0 of a long note." in shown
    assert "Sentence 59 of a long note.] (kind: footnote)" in shown
    assert "- Customer (text): Ada Lovelace" in shown
    assert "[annotation: Grace: Which harvest?] (kind: comment; about: Green tea; date: 2026-01-02T03:04:05Z)" in shown


def shown_of(path: Path) -> str:
    """All pages of a file in Markdown."""
    source = format_of(path).parser(path)
    try:
        pages = [page_shape(source.page(number), number)["elements"] for number in range(len(source.page_titles))]
    finally:
        source.close()
    return "\n\n".join(markdown(elements, address) for elements in pages)


LONG = "A sentence about tea, with a comma. " * 2_000


@pytest.mark.parametrize(
    ("category", "content"),
    [
        ("text", {"text": LONG}),
        ("annotation", {"text": LONG}),
        ("table", {"headers": ["a"], "rows": [["A cell of tea."]] * 10_000}),
        ("code", {"code": "pour()\n" * 20_000, "language": "c"}),
    ],
)
def test_what_is_too_long_ends_with_a_sentence_or_line_and_the_address_of_the_whole(
    category: str, content: dict[str, Any]
) -> None:
    element = {"element_id": f"p0-{category}-1", "category": category, "content": content, "summary": ""}
    for form in (markdown, plain):
        shown = form([element], address)
        words, _, where = shown.rpartition("\n\n[… ")
        assert len(shown) < 101_000
        assert where.endswith(f" more characters: {address(element)}]")
        assert words.endswith((".", "|", "```", "pour()"))
