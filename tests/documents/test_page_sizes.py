"""Long texts without page breaks have pages that fit a model, which edits elsewhere leave alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from a2c_documents.model import Page, Source, text
from a2c_documents.parsers.common.portions import MOST, in_portions
from a2c_documents.parsers.html.web_page import open_html
from a2c_documents.parsers.word.document import open_word
from a2c_documents.server.addresses import read
from a2c_smcp.errors import ElementNotFoundError
from tests.support.documents.libraries import MakeLibrary
from tests.support.documents.word_files import word_file

TURN = "<w:r><w:lastRenderedPageBreak/></w:r>"


def words(number: int) -> str:
    return f"Paragraph {number} tells of tea. " + f"The harvest of year {number} was good, and its price was fair. " * 8


def paragraph(said: str, *, before: str = "", style: str = "") -> str:
    properties = f"<w:pPr><w:outlineLvl w:val='{style}'/></w:pPr>" if style else ""
    return f"<w:p>{properties}{before}<w:r><w:t>{said}</w:t></w:r></w:p>"


def pages_of(source: Source) -> list[Page]:
    return [source.page(number) for number in range(len(source.page_titles))]


def firsts(pages: list[Page]) -> list[str]:
    return [str(page.elements[0].content["text"])[:25] for page in pages]


LONG = [words(number) for number in range(260)]


@pytest.fixture(scope="module")
def long_word(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Word document of 130,000 characters without any break or heading."""
    return word_file(tmp_path_factory.mktemp("long") / "long.docx", "".join(map(paragraph, LONG)))


def test_a_long_word_document_is_divided_between_paragraphs(long_word: Path) -> None:
    pages = pages_of(open_word(long_word))
    assert [each.content["text"] for page in pages for each in page.elements] == [one.strip() for one in LONG]
    assert 5 <= len(pages) <= 14
    assert all(len(json.dumps([one.content for one in page.elements])) <= MOST for page in pages)
    assert [page.continues for page in pages] == [False] + [True] * (len(pages) - 1)


def test_a_long_web_page_is_divided_between_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "long.html"
    path.write_text("<title>Tea</title>" + "".join(f"<p>{one}</p>" for one in LONG), "utf-8")
    pages = pages_of(open_html(path))
    assert 5 <= len(pages) <= 14
    assert [page.title for page in pages[:2]] == [f"Tea (part {number} of {len(pages)})" for number in (1, 2)]


def test_a_long_section_is_divided_at_its_headings(tmp_path: Path) -> None:
    body = paragraph("Tea", style="0")
    for chapter in range(13):
        body += paragraph(f"Year {chapter}", style="1") + "".join(
            map(paragraph, LONG[chapter * 20 : chapter * 20 + 20])
        )
    pages = pages_of(open_word(word_file(tmp_path / "tea.docx", body)))
    assert [page.title for page in pages] == ["Tea", *(f"Year {chapter}" for chapter in range(13))]


def test_pages_are_those_that_word_noted(tmp_path: Path) -> None:
    body = (
        paragraph("One")
        + paragraph("Two", before=TURN)
        # The page ends in this paragraph, which stays whole.
        + f"<w:p><w:r><w:t>Still</w:t></w:r>{TURN}<w:r><w:t xml:space='preserve'> two</w:t></w:r></w:p>"
        + paragraph("Three")
        # A break of the author, and Word's note about the same one.
        + "<w:p><w:r><w:br w:type='page'/></w:r></w:p>"
        + paragraph("Four", before=TURN)
    )
    pages = pages_of(open_word(word_file(tmp_path / "noted.docx", body)))
    assert [[one.content["text"] for one in page.elements] for page in pages] == [
        ["One"], ["Two", "Still two"], ["Three"], ["Four"]
    ]  # fmt: skip


def test_a_table_over_several_printed_pages_stays_in_one_piece(tmp_path: Path) -> None:
    row = "<w:tr><w:tc>{0}</w:tc><w:tc>{0}</w:tc></w:tr>"
    table = "".join(row.format(paragraph(f"cell {number}", before=TURN * (number % 2))) for number in range(6))
    pages = pages_of(open_word(word_file(tmp_path / "t.docx", f"<w:tbl>{table}</w:tbl>{paragraph('After')}")))
    assert [[one.category for one in page.elements] for page in pages] == [["table"], ["text"]]


@pytest.mark.parametrize("place", [0, 100, 259])
def test_an_edit_leaves_the_other_page_ends_alone(place: int, tmp_path: Path) -> None:
    def starts(texts: list[str]) -> list[str]:
        return firsts(pages_of(open_word(word_file(tmp_path / "e.docx", "".join(map(paragraph, texts))))))

    before = starts(LONG)
    after = starts([*LONG[:place], *(words(number) for number in range(1000, 1003)), *LONG[place:]])
    assert len(set(before) - set(after)) <= 2
    assert len(set(after) - set(before)) <= 2


def test_one_enormous_paragraph_ends_its_page() -> None:
    page = Page("Tea", [text("few"), text("x" * 100_000), text("y" * 100_000), text("few")])
    assert [len(portion.elements) for portion in in_portions([page])] == [2, 1, 1]


@pytest.fixture
def long_file(long_word: Path, files: Path) -> None:
    """The long document, in the folder of the library."""
    shutil.copy(long_word, files)


@pytest.mark.anyio
@pytest.mark.usefixtures("long_file")
async def test_addresses_from_before_lead_to_the_same_elements(make_library: MakeLibrary) -> None:
    library = make_library()
    await library.look()
    ref = next(iter(library.documents))
    for position in (1, 57, 260):
        body = (await read(library, library.address(ref, f"elements/p0-text-{position}"))).body
        assert body["content"]["text"] == LONG[position - 1].strip()
        again = (await read(library, library.address(ref, f"elements/{body['element_id']}"))).body
        assert again == body | {"uri": again["uri"]}
    for missing in ("p0-text-261", "p0-table-1", "p99-text-1"):
        with pytest.raises(ElementNotFoundError):
            await library.element(ref, missing)
