"""Markdown files."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from a2c_documents.model import UnreadableFileError
from a2c_documents.paging import size_of
from a2c_documents.parsers.markdown import markdown_elements, open_markdown
from a2c_documents.server import addresses
from tests.support.documents.libraries import MakeLibrary
from tests.support.documents.reading import Read, read

PNG = b"\x89PNG\r\n\x1a\nrest"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "notes.md"


def shown(file: Path, words: str) -> Read:
    return read(open_markdown, file, words)


def test_each_kind_of_block_is_an_element_and_knows_its_lines(file: Path) -> None:
    found = shown(
        file,
        "# Title\n\nSome *words* and `code`.\nGoing on.\n\n> A quote\n\n---\n\n"
        "```Python title=x\nprint(1)\n```\n\n    plain\n",
    )
    assert [(one.category, one.content, one.metadata) for one in found.elements] == [
        ("heading", {"level": 1, "text": "Title"}, {"lines": [1, 1]}),
        ("text", {"text": "Some words and code. Going on."}, {"lines": [3, 4]}),
        ("text", {"text": "A quote"}, {"lines": [6, 6], "quote": True}),
        ("separator", {"text": ""}, {"lines": [8, 8]}),
        ("code", {"code": "print(1)", "language": "python"}, {"lines": [10, 12]}),
        ("code", {"code": "plain", "language": ""}, {"lines": [14, 14]}),
    ]
    assert found.facts.title == "Title"


def test_lists_are_nested_and_tasks_keep_their_boxes(file: Path) -> None:
    found = shown(file, "- [ ] one\n- [X] two\n  1. deep\n  2. deeper\n     - deepest\n\n  more of two\n- three\n")
    deep = ["deep", {"text": "deeper", "items": ["deepest"], "ordered": False}]
    two = {"text": "[x] two\nmore of two", "items": deep, "ordered": True}
    assert found.of("list") == [{"items": ["[ ] one", two, "three"], "ordered": False}]
    assert found.elements[0].metadata == {"lines": [1, 8]}


def test_code_in_a_list_stays_in_its_place(file: Path) -> None:
    found = shown(file, "3. Type\n\n   ```sh\n   ls\n   ```\n\n   and read.\n4. Done\n5. Really\n")
    assert [(one.category, one.content) for one in found.elements] == [
        ("list", {"items": ["Type"], "ordered": True}),
        ("code", {"code": "ls", "language": "sh"}),
        ("text", {"text": "and read."}),
        ("list", {"items": ["Done", "Really"], "ordered": True}),
    ]
    assert [found.elements[0].metadata["start"], found.elements[3].metadata["start"]] == [3, 4]


def test_tables_have_headers_and_cells_without_markup(file: Path) -> None:
    found = shown(file, "| A | B |\n|---|--:|\n| **1** | [x](y) |\n| `a\\|b` | ~~old~~ |\n| only |\n")
    assert found.of("table") == [{"headers": ["A", "B"], "rows": [["1", "x"], ["a|b", "old"], ["only", ""]]}]
    assert found.elements[0].metadata["links"] == [{"text": "x", "url": "y"}]
    assert found.elements[0].detail is not None
    assert found.elements[0].detail["total_rows"] == 3


def test_a_link_alone_is_a_link_and_others_are_noted(file: Path) -> None:
    found = shown(
        file, "[Docs](https://a.example)\n\n<https://b.example>\n\nhttps://c.example/x\n\nSee [Docs](d.md) now.\n"
    )
    assert found.of("link") == [
        {"text": "Docs", "url": "https://a.example"},
        {"text": "https://b.example", "url": "https://b.example"},
        {"text": "https://c.example/x", "url": "https://c.example/x"},
    ]
    assert found.elements[3].content == {"text": "See Docs now."}
    assert found.elements[3].metadata["links"] == [{"text": "Docs", "url": "d.md"}]


def test_pictures_beside_the_file_can_be_seen_and_no_others(file: Path) -> None:
    (file.parent / "sub").mkdir()
    (file.parent / "sub" / "a b.png").write_bytes(PNG)
    (file.parent.parent / "outside.png").write_bytes(PNG)
    (file.parent / "secret.txt").write_text("x")
    found = shown(
        file,
        '![In](sub/a%20b.png "Why") and words\n\n[![Badge](https://x.example/b.svg)](https://x.example)\n\n'
        "![Out](../outside.png) ![No](secret.txt) ![](data:image/png;base64,iVBORw==)\n",
    )
    pictures = [one for one in found.elements if one.category == "image"]
    assert pictures[0].content == {"alt": "In", "url": "sub/a%20b.png", "description": "Why"}
    assert pictures[0].picture is not None
    assert pictures[0].picture() == ("image/png", PNG)
    assert found.elements[0].content == {"text": "and words"}
    assert pictures[1].metadata["link"] == "https://x.example"
    assert [one.picture for one in pictures[1:4]] == [None, None, None]
    assert pictures[4].picture is not None
    assert (pictures[4].picture(), pictures[4].content["url"]) == (("image/png", b"\x89PNG"), "")


@pytest.mark.anyio
async def test_a_picture_beside_the_text_can_be_read_where_its_address_says(
    files: Path, make_library: MakeLibrary
) -> None:
    (files / "a.png").write_bytes(PNG)
    (files / "notes.md").write_text("![In](a.png) ![Far](https://x.example/b.png)\n")
    library = make_library()
    await library.look()
    (ref,) = [ref for ref, known in library.documents.items() if known.relative == "notes.md"]
    near, far = (await addresses.read(library, f"{library.address(ref)}/pages/0")).body["elements"]
    answer = await addresses.read(library, near["content"]["url"])
    assert (answer.mime_type, answer.blob) == ("image/png", base64.b64encode(PNG).decode())
    assert far["content"]["url"] == "https://x.example/b.png"
    detail = (await addresses.read(library, f"{library.address(ref)}/elements/{near['element_id']}")).body
    assert detail["metadata"]["source"] == "a.png", "what the text calls it"


def test_a_text_that_is_too_long_to_be_understood_is_shown_with_its_headings(file: Path) -> None:
    found = shown(file, "# One #\n\n" + "Some *words*.\n\n" * 100_000 + "# Two\n" + "x" * 2_000_000)
    assert found.elements[0].category == "annotation"
    assert found.of("heading") == [{"level": 1, "text": "One"}, {"level": 1, "text": "Two"}]
    assert found.of("text")[0] == {"text": "Some *words*."}


def test_formulas_are_neither_lists_nor_emphasis(file: Path) -> None:
    found = shown(file, "$$\na_1\n- b_2\n=\nc\n$$\n\n$$E = mc^2$$\n\nThe $x_1 * y_1$ costs $5 or *$6*.\n")
    assert found.of("formula") == [{"expression": "a_1\n- b_2\n=\nc"}, {"expression": "E = mc^2"}]
    assert found.of("text") == [{"text": "The $x_1 * y_1$ costs $5 or $6."}]


def test_html_in_markdown_is_read_as_html(file: Path) -> None:
    found = shown(
        file,
        "<details><summary>More</summary>Hidden words</details>\n\n"
        "<table><tr><th>A</th></tr><tr><td>1</td></tr></table>"
        "\n\nPress <kbd>Enter</kbd><br>now <!-- never -->\n\n<!-- nor this -->\n",
    )
    assert found.brief[:2] == [("text", "More"), ("text", "Hidden words")]
    assert found.of("table") == [{"headers": ["A"], "rows": [["1"]]}]
    assert found.elements[-1].content == {"text": "Press Enter\nnow"}


def test_pages_begin_at_the_highest_heading_that_is_not_alone(file: Path) -> None:
    found = shown(file, "![logo](l.png)\n\n# Guide\n\nIntro\n\n## One\n\n### Deep\n\na\n\n### Deeper\n\n## Two\n\nb\n")
    assert found.titles == ["Guide", "One", "Two"]
    assert [len(page) for page in found.pages] == [3, 4, 2]


def test_a_title_alone_is_no_page(file: Path) -> None:
    found = shown(file, "# Guide\n\n## One\n\na\n\n## Two\n\nb\n")
    assert (found.titles, found.facts.title) == (["One", "Two"], "Guide")
    assert found.brief[:2] == [("heading", "Guide"), ("heading", "One")]


def test_text_without_headings_is_one_page(file: Path) -> None:
    assert len(shown(file, "Just words.\n\nAnd more.\n").pages) == 1


def test_a_long_section_continues_on_further_pages(file: Path) -> None:
    paragraphs = "\n\n".join(f"{number} " + "word " * 200 for number in range(600))
    found = shown(file, f"# One\n\n{paragraphs}\n\n# Two\n\nend\n")
    assert len(found.pages) > 3
    assert found.titles[0].startswith("One (lines 1–")
    assert found.titles[-1] == "Two"
    assert all(sum(map(size_of, page)) <= 200_000 for page in found.pages)
    assert sum(one.category == "text" for one in found.elements) == 601


def test_a_long_list_continues_as_well(file: Path) -> None:
    found = shown(file, "".join(f"{number}. item number {number} {'x' * 90}\n" for number in range(1, 5_001)))
    assert len(found.pages) > 2
    assert all(sum(map(size_of, page)) <= 200_000 for page in found.pages)
    assert sum(len(one["items"]) for one in found.of("list")) == 5_000
    second = found.elements[1]
    assert second.content["items"][0].startswith(f"item number {second.metadata['start']} ")


def test_front_matter_is_facts_and_not_text(file: Path) -> None:
    found = shown(
        file,
        "---\ntitle: My Notes\nauthor: [Ada, Bob]\ntags: a, b\n"
        "description: About it\ndate: 2024-05-06\ndraft: true\n---\n# H\n",
    )
    facts = found.facts
    assert (facts.title, facts.author, facts.keywords, facts.summary) == (
        "My Notes",
        "Ada, Bob",
        ["a", "b"],
        "About it",
    )
    assert facts.created == "2024-05-06"
    assert facts.details["draft"] is True
    assert found.elements[0].metadata == {"lines": [9, 9]}
    assert len(found.elements) == 1


def test_toml_front_matter_is_understood_too(file: Path) -> None:
    found = shown(file, '+++\ntitle = "T"\n[author]\nname = "Ada"\n+++\ntext\n')
    assert (found.facts.title, found.facts.author, found.brief) == ("T", "Ada", [("text", "text")])


@pytest.mark.parametrize("words", ["---\nno: [yaml\n---\ntext\n", "---\n\nwords\n\n---\n\ntext\n", "---\ntext\n"])
def test_what_only_looks_like_front_matter_is_text(file: Path, words: str) -> None:
    found = shown(file, words)
    assert found.elements[0].category == "separator"
    assert found.facts.title == ""


def test_windows_lines_and_other_encodings_are_read(file: Path) -> None:
    found = read(open_markdown, file, "# Größe\r\n\r\nWörter und mehr Wörter für alle\r\n".encode("utf-16"))
    assert found.brief == [("heading", "Größe"), ("text", "Wörter und mehr Wörter für alle")]
    assert found.facts.details["encoding"] == "utf-16"


@pytest.mark.parametrize(
    "words", [">" * 5_000 + " a", "".join("  " * n + "- x\n" for n in range(400)), "- " * 3_000 + "a"]
)
def test_endless_nesting_is_cut_and_said(file: Path, words: str) -> None:
    assert "nested too deep" in shown(file, words).elements[-1].content["text"]


def test_brackets_without_end_are_words(file: Path) -> None:
    assert shown(file, "[" * 5_000 + "*" * 5_000).elements[0].category == "text"


@pytest.mark.parametrize("content", [b"", b" \n\n", b"\x00\x01\x02" * 50, b"%PDF-1.7 ...", b"PK\x03\x04rest"])
def test_what_is_no_text_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(UnreadableFileError):
        open_markdown(file)


def test_others_can_read_pieces_of_markdown() -> None:
    assert [one.metadata for one in markdown_elements("a\n\nb", first_line=10)] == [
        {"lines": [10, 10]},
        {"lines": [12, 12]},
    ]
