"""PDF files as pages and elements."""

from __future__ import annotations

import importlib
import io
import random
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pypdfium2")
pytest.importorskip("PIL")

from PIL import Image

from a2c_documents.model import Element, Page, Source, UnreadableFileError
from a2c_documents.parsers.pdf.pdf_file import open_pdf
from a2c_documents.server.addresses import read
from tests.support.documents.libraries import MakeLibrary
from tests.support.documents.pdf_files import PdfFile, jpeg, line, paragraph, rule

LEFT = [
    "The first column begins here and it has",
    "several lines of running text that fill",
    "the width of the column nearly always, so",
    "that it is a text and not a table, which",
    "would have short cells beside each other.",
    "It ends with the last line of the left one.",
]
RIGHT = [
    "The second column begins at the same",
    "height, and must be read only after the",
    "first one has been read to its very end,",
    "as people read a newspaper: not across,",
    "but down, and then up again to the next.",
    "It ends with the last line of the right one.",
]


@contextmanager
def opened(file: PdfFile, folder: Path) -> Generator[Source]:
    with closing(open_pdf(file.write(folder / "file.pdf"))) as source:
        yield source


def first_page(content: str, folder: Path, entries: str = "", resources: str = "") -> list[Element]:
    file = PdfFile()
    file.page(content, entries, resources)
    with opened(file, folder) as source:
        return source.page(0).elements


def of(elements: list[Element], category: str) -> list[dict[str, Any]]:
    return [element.content for element in elements if element.category == category]


def texts(elements: list[Element]) -> list[str]:
    return [content["text"] for content in of(elements, "text")]


# ------------------------------------------------------------------------------------------------------- text, headings


def test_a_paragraph_is_joined_from_its_lines_and_hyphens_at_their_ends_go(tmp_path: Path) -> None:
    content = paragraph(72, 700, ["This sentence is broken in the mid-", "dle of a word and goes on below."])
    assert texts(first_page(content, tmp_path)) == [
        "This sentence is broken in the middle of a word and goes on below."
    ]


def test_ligatures_that_only_their_glyphs_name_are_letters(tmp_path: Path) -> None:
    # 12 and 30 are spaces to Python, and the codes of these ligatures in the fonts of TeX.
    names = "/Differences [12 /f_i 30 /f_f_i 31 /g12]"
    font = f"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /Encoding << /Type /Encoding {names} >> >>"
    first, second = "They asked the town for \\014rst o\\036-", "cers what each of them had \\037"
    content = f"BT /L 12 Tf 14 TL 72 700 Td ({first}) Tj T* ({second}) Tj ET"
    assert texts(first_page(content, tmp_path, resources=f"/Font << /L {font} >>")) == [
        "They asked the town for first officers what each of them had \ufffd"
    ]


def test_paragraphs_are_parted_by_space_and_by_indentation(tmp_path: Path) -> None:
    content = paragraph(72, 700, LEFT[:3]) + line(90, 664, "An indented line begins a new paragraph,")
    content += line(72, 652, "which goes on to the left of it.") + paragraph(72, 610, RIGHT[:3])
    found = texts(first_page(content, tmp_path))
    assert [words.split()[0] for words in found] == ["The", "An", "The"]


def test_headings_are_larger_than_the_text_or_bold_and_alone(tmp_path: Path) -> None:
    content = line(72, 740, "Annual report", 24) + line(72, 700, "First chapter", 14) + paragraph(72, 670, LEFT)
    content += line(72, 580, "A bold title", 10, "F2") + paragraph(72, 560, RIGHT)
    elements = first_page(content, tmp_path)
    assert of(elements, "heading") == [
        {"level": 1, "text": "Annual report"},
        {"level": 2, "text": "First chapter"},
        {"level": 4, "text": "A bold title"},
    ]
    assert [element.category for element in elements] == ["heading", "heading", "text", "heading", "text"]


def test_a_line_that_the_outline_names_is_a_heading_of_its_level(tmp_path: Path) -> None:
    file = PdfFile()
    page = file.page(line(72, 720, "Scope") + paragraph(72, 690, LEFT))
    file.outline([("Scope", page)])
    with opened(file, tmp_path) as source:
        assert of(source.page(0).elements, "heading") == [{"level": 1, "text": "Scope"}]


@pytest.mark.parametrize("columns", [2, 3])
def test_columns_are_read_one_after_the_other(tmp_path: Path, columns: int) -> None:
    texts_of = [LEFT, RIGHT, LEFT][:columns]
    size, step = (10, 250) if columns == 2 else (7, 170)
    # Written row by row, as some programs do: the order of the file must not decide.
    content = line(200, 740, "A title over all of the columns", 18)
    for row in range(6):
        for number, words in enumerate(texts_of):
            content += line(50 + number * step, 700 - row * 12, words[row], size)
    found = texts(first_page(content, tmp_path))
    assert found == [" ".join(words) for words in texts_of]


def test_lists_have_their_items_and_nested_ones_are_inside(tmp_path: Path) -> None:
    content = paragraph(72, 740, LEFT) + line(80, 640, "\x95 first") + line(100, 628, "\x95 inner")
    content += line(80, 616, "\x95 second") + paragraph(72, 580, RIGHT)
    content += line(80, 490, "1. one") + line(80, 478, "2. two") + line(80, 466, "3. three")
    content = content.replace("/F1", "/F4")
    fonts = "/Font << /F4 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >> >>"
    file = PdfFile()
    file.page(content)
    file.objects[file.pages[0] - 1] = (
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << {fonts} >> >>".encode()
    )
    with opened(file, tmp_path) as source:
        bullets, numbers = of(source.page(0).elements, "list")
    assert bullets == {
        "items": [{"text": "first", "items": ["inner"], "ordered": False}, "second"],
        "ordered": False,
    }
    assert numbers == {"items": ["one", "two", "three"], "ordered": True}


def test_lines_in_typewriter_letters_are_code_with_its_indentation(tmp_path: Path) -> None:
    content = paragraph(72, 740, LEFT)
    for number, (x, words) in enumerate([(72, "def f(x):"), (96, "return x"), (72, "f(1)")]):
        content += line(x, 640 - 12 * number, words, 10, "F3")
    assert of(first_page(content, tmp_path), "code") == [{"code": "def f(x):\n    return x\nf(1)", "language": ""}]


def test_lines_with_the_page_number_are_header_and_footer(tmp_path: Path) -> None:
    content = (
        line(72, 760, "Annual report") + line(530, 760, "7") + paragraph(72, 700, LEFT) + line(300, 30, "Page 7 of 9")
    )
    elements = first_page(content, tmp_path)
    assert elements[0].category == "header"
    assert elements[0].content["text"] == "Annual report 7"
    assert elements[-1].category == "footer"
    assert texts(elements) == [" ".join(LEFT)]


def test_a_page_that_is_turned_reads_as_it_is_shown(tmp_path: Path) -> None:
    turned = "".join(
        f"BT /F1 10 Tf 0 1 -1 0 {100 + 12 * number} 50 Tm ({words}) Tj ET\n" for number, words in enumerate(LEFT)
    )
    elements = first_page(turned, tmp_path, "/Rotate 90")
    assert texts(elements) == [" ".join(LEFT)]
    left, top, right, bottom = elements[0].metadata["box"]
    assert (round(left), right > left, round(top) in range(85, 100), bottom > top) == (50, True, True, True)


def test_text_that_runs_upwards_beside_the_rest_comes_last(tmp_path: Path) -> None:
    content = "BT /F1 10 Tf 0 1 -1 0 20 300 Tm (stamped) Tj ET\n" + paragraph(72, 700, LEFT)
    assert texts(first_page(content, tmp_path)) == [" ".join(LEFT), "stamped"]


# --------------------------------------------------------------------------------------------------------------- tables


def ruled(cells: list[list[str]], *, across: bool) -> str:
    content = "".join(rule(x, 600, x, 600 - 20 * len(cells)) for x in (72, 172, 272, 372))
    for number in range(len(cells) + 1):
        if across or number in (0, 1, len(cells)):
            content += rule(72, 600 - 20 * number, 372, 600 - 20 * number)
    for number, row in enumerate(cells):
        content += "".join(line(76 + 100 * at, 586 - 20 * number, words) for at, words in enumerate(row))
    return content


CELLS = [["Name", "Count", "Price"], ["Apples", "3", "1.20"], ["Pears", "14", "2.50"], ["Plums", "159", "0.80"]]


@pytest.mark.parametrize("across", [True, False], ids=["all lines", "few lines"])
def test_a_ruled_table_has_headers_and_rows_and_is_not_repeated_as_text(tmp_path: Path, across: bool) -> None:
    elements = first_page(paragraph(72, 740, LEFT) + ruled(CELLS, across=across) + paragraph(72, 480, RIGHT), tmp_path)
    assert [element.category for element in elements] == ["text", "table", "text"]
    assert elements[1].content == {"headers": CELLS[0], "rows": CELLS[1:]}
    assert elements[1].detail is not None
    assert elements[1].detail["total_rows"] == 3


def test_cells_of_several_lines_stay_one_cell(tmp_path: Path) -> None:
    cells = [["Name", "Count", "Remark"], ["Apples", "3", ""], ["Pears", "14", "none"]]
    content = "".join(rule(x, 600, x, 520) for x in (72, 172, 272, 372))
    content += "".join(rule(72, y, 372, y) for y in (600, 580, 540, 520))
    for y, row in zip((586, 566, 526), cells, strict=True):
        content += "".join(line(76 + 100 * at, y, words) for at, words in enumerate(row) if words)
    content += line(276, 566, "picked in the old") + line(276, 554, "garden")
    (found,) = of(first_page(content, tmp_path), "table")
    assert found["rows"] == [["Apples", "3", "picked in the old garden"], ["Pears", "14", "none"]]


def test_a_table_whose_cells_are_boxes_is_one_too(tmp_path: Path) -> None:
    content = ""
    for number, row in enumerate(CELLS):
        for at, words in enumerate(row):
            x, y = 72 + 100 * at, 580 - 20 * number
            content += f"0.5 w {x} {y} 100 20 re S\n" + line(x + 4, y + 6, words)
    (found,) = of(first_page(content, tmp_path), "table")
    assert found == {"headers": CELLS[0], "rows": CELLS[1:]}


def test_a_page_full_of_numbers_is_one_table_with_each_in_its_place(tmp_path: Path) -> None:
    rows, columns = 50, 10
    numbers = [[f"{row * 17 % 100},{column:03}" for column in range(columns)] for row in range(rows)]
    numbers[0] = [f"Q{column}" for column in range(columns)]
    content = "".join(rule(30, 760 - 14 * row, 580, 760 - 14 * row) for row in range(rows + 1))
    content += "".join(rule(30 + 55 * column, 760, 30 + 55 * column, 760 - 14 * rows) for column in range(columns + 1))
    for row, cells in enumerate(numbers):
        content += "".join(line(34 + 55 * at, 750 - 14 * row, words, 8) for at, words in enumerate(cells))
    (found,) = of(first_page(content, tmp_path), "table")
    assert found == {"headers": numbers[0], "rows": numbers[1:]}


def test_a_table_without_lines_is_known_by_its_gaps(tmp_path: Path) -> None:
    content = paragraph(72, 740, LEFT)
    for number, row in enumerate(CELLS):
        content += "".join(line(100 + 90 * at, 640 - 13 * number, words) for at, words in enumerate(row))
    (found,) = of(first_page(content, tmp_path), "table")
    assert found == {"headers": CELLS[0], "rows": CELLS[1:]}


# ------------------------------------------------------------------------------------------------------------- pictures


def with_picture(file: PdfFile, words: str = "", place: str = "200 0 0 100 72 500") -> None:
    data = jpeg(40, 20)
    entries = "/Type /XObject /Subtype /Image /Width 40 /Height 20 /ColorSpace /DeviceRGB /BitsPerComponent 8"
    number = file.stream(data, f"{entries} /Filter /DCTDecode")
    content = f"{words}q {place} cm /Im1 Do Q\n"
    file.page(content, resources=f"/XObject << /Im1 {number} 0 R >>")


def test_a_picture_has_its_size_its_place_and_its_bytes(tmp_path: Path) -> None:
    file = PdfFile()
    with_picture(file, paragraph(72, 740, LEFT) + paragraph(72, 480, RIGHT))
    with opened(file, tmp_path) as source:
        elements = source.page(0).elements
        assert [element.category for element in elements] == ["text", "image", "text"]
        shown = elements[1]
        assert (shown.metadata["width"], shown.metadata["height"]) == (40, 20)
        assert shown.metadata["box"] == [72.0, 192.0, 272.0, 292.0]
        assert shown.picture is not None
        mime, data = shown.picture()
    assert mime == "image/jpeg"
    assert Image.open(io.BytesIO(data)).size == (40, 20)


def test_a_picture_of_a_closed_file_is_refused(tmp_path: Path) -> None:
    file = PdfFile()
    with_picture(file, paragraph(72, 740, LEFT))
    with opened(file, tmp_path) as source:
        shown = next(element for element in source.page(0).elements if element.picture is not None)
    assert shown.picture is not None
    with pytest.raises(UnreadableFileError):
        shown.picture()


def test_a_scan_is_a_picture_whose_words_can_be_recognized(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    Image.new("L", (300, 400), 200).save(path, "PDF")
    with closing(open_pdf(path)) as source:
        page = source.page(0)
        [shown] = page.elements
        assert shown.category == "image"
        assert shown.picture is not None
        assert Image.open(io.BytesIO(shown.picture()[1])).size == (300, 400)
        assert page.scan is not None
        scan = page.scan()
    [piece] = scan.pieces
    assert Image.open(io.BytesIO(piece.data)).size == scan.size
    assert scan.size[0] / scan.scale == pytest.approx(300, abs=1), "in points of the page"


def test_a_picture_that_fills_a_page_with_few_words_is_a_scan(tmp_path: Path) -> None:
    for lines, is_scan in ((["Page 7"], True), (LEFT * 2, False)):
        file = PdfFile()
        with_picture(file, paragraph(72, 740, lines), "612 0 0 792 0 0")
        with opened(file, tmp_path) as source:
            assert (source.page(0).scan is not None) is is_scan


def test_a_drawing_without_words_is_shown_as_the_whole_page(tmp_path: Path) -> None:
    file = PdfFile()
    file.page("".join(rule(100, 100 + 10 * number, 400, 150 + 10 * number) for number in range(20)))
    with opened(file, tmp_path) as source:
        shown = source.page(0).elements[0]
        assert shown.picture is not None
        mime, data = shown.picture()
    assert mime == "image/png"
    assert Image.open(io.BytesIO(data)).height > 700


def test_an_empty_page_says_so(tmp_path: Path) -> None:
    (said,) = first_page("", tmp_path)
    assert said.category == "annotation"


# --------------------------------------------------------------------------------------------------------- links, forms


def test_a_link_comes_after_its_text_with_its_words(tmp_path: Path) -> None:
    content = (
        line(72, 700, "Read")
        + line(100, 700, "our manual")
        + line(156, 700, "before you begin.")
        + paragraph(72, 600, LEFT)
    )
    action = "/A << /S /URI /URI (https://example.org/manual) >>"
    elements = first_page(content, tmp_path, f"/Annots [<< /Subtype /Link /Rect [99 697 152 710] {action} >>]")
    assert [element.category for element in elements] == ["text", "link", "text"]
    assert elements[1].content == {"text": "our manual", "url": "https://example.org/manual"}


def test_comments_are_annotations_with_their_author(tmp_path: Path) -> None:
    marks = (
        "<< /Subtype /Text /Rect [72 650 90 668] /Contents (Check this) /T (Ada) >> "
        "<< /Subtype /Highlight /Rect [70 697 300 710] /QuadPoints [70 710 300 710 70 697 300 697] >>"
    )
    elements = first_page(paragraph(72, 700, LEFT[:1]), tmp_path, f"/Annots [{marks}]")
    comments = of(elements, "annotation")
    assert {"text": "Check this", "author": "Ada"} in comments
    assert any(comment.get("marked") == LEFT[0] for comment in comments)


def test_the_fields_of_a_page_are_one_form(tmp_path: Path) -> None:
    file = PdfFile()
    name = file.add("<< /Subtype /Widget /FT /Tx /T (name) /TU (Your name) /V (Ada) /Rect [72 600 200 620] >>")
    states = "/AP << /N << /Yes 4 0 R /Off 4 0 R >> >>"
    box = file.add(f"<< /Subtype /Widget /FT /Btn /T (agree) /V /Yes /AS /Yes {states} /Rect [72 560 90 580] >>")
    empty = file.add("<< /Subtype /Widget /FT /Ch /Ff 131072 /T (town) /Opt [(Bern) (Rome)] /Rect [72 500 200 520] >>")
    file.page(paragraph(72, 700, LEFT), f"/Annots [{name} 0 R {box} 0 R {empty} 0 R]")
    file.catalog = f"/AcroForm << /Fields [{name} 0 R {box} 0 R {empty} 0 R] >>"
    with opened(file, tmp_path) as source:
        (form,) = of(source.page(0).elements, "form")
    assert form["fields"] == [
        {"name": "name", "type": "text", "value": "Ada", "label": "Your name"},
        {"name": "agree", "type": "checkbox", "value": True},
        {"name": "town", "type": "choice", "value": ""},
    ]


def test_the_value_of_a_field_may_be_longer_than_any_name(tmp_path: Path) -> None:
    file = PdfFile()
    words = "all of it " * 400
    field = file.add(f"<< /Subtype /Widget /FT /Tx /T (remark) /V ({words}) /Rect [72 600 200 620] >>")
    short = file.add("<< /Subtype /Widget /FT /Tx /T (name) /V (Ada) /Rect [72 500 200 520] >>")
    file.page(paragraph(72, 700, LEFT), f"/Annots [{field} 0 R {short} 0 R]")
    file.catalog = f"/AcroForm << /Fields [{field} 0 R {short} 0 R] >>"
    with opened(file, tmp_path) as source:
        (form,) = of(source.page(0).elements, "form")
    assert [entry["value"] for entry in form["fields"]] == [words, "Ada"]


# --------------------------------------------------------------------------------------------------------- facts, pages


def test_the_file_says_title_author_keywords_and_when_it_was_made(tmp_path: Path) -> None:
    file = PdfFile()
    file.page(line(72, 700, "x"))
    file.info(
        "/Title (Microsoft Word - Plan) /Author (Ada) /Subject (What we do) /Keywords (one, two; three) "
        "/CreationDate (D:20240131093000+01'00')"
    )
    with opened(file, tmp_path) as source:
        facts = source.facts
    assert (facts.title, facts.author, facts.summary) == ("Plan", "Ada", "What we do")
    assert facts.keywords == ["one", "two", "three"]
    assert facts.created == "2024-01-31T09:30:00+01:00"
    assert facts.details["page_size"] == [612.0, 792.0]


def test_a_file_that_says_nothing_has_empty_facts(tmp_path: Path) -> None:
    file = PdfFile()
    file.page(line(72, 700, "x"))
    file.info("/CreationDate (yesterday)")
    with opened(file, tmp_path) as source:
        facts = source.facts
    assert (facts.title, facts.author, facts.keywords, facts.summary, facts.created) == ("", "", [], "", "")


def test_attachments_are_named(tmp_path: Path) -> None:
    file = PdfFile()
    file.page(line(72, 700, "x"))
    path = file.write(tmp_path / "plain.pdf")
    pdfium2: Any = importlib.import_module("pypdfium2")
    document = pdfium2.PdfDocument(path)
    document.new_attachment("data.csv").set_data(b"a,b")
    document.save(tmp_path / "attached.pdf")
    document.close()
    with closing(open_pdf(tmp_path / "attached.pdf")) as source:
        assert source.facts.details["attachments"] == ["data.csv"]


def test_pages_are_called_by_the_outline_then_by_their_label_then_by_their_number(tmp_path: Path) -> None:
    file = PdfFile()
    pages = [file.page(line(72, 700, f"page {number}")) for number in range(3)]
    with opened(file, tmp_path) as source:
        assert [source.page(index).title for index in range(3)] == ["Page 1", "Page 2", "Page 3"]
    file.catalog = "/PageLabels << /Nums [0 << /S /r >>] >> "
    file.outline([("Results", pages[2]), ("Further results", pages[2])])
    with opened(file, tmp_path) as source:
        assert [source.page(index).title for index in range(3)] == ["Page i", "Page ii", "Results"]
        # How many there are is known before any is read; what the outline calls them is not.
        assert list(source.page_titles) == ["Page 1", "Page 2", "Page 3"]


@pytest.mark.anyio
async def test_level_1_calls_pages_as_the_outline_does(files: Path, make_library: MakeLibrary) -> None:
    file = PdfFile()
    pages = [file.page(line(72, 700, f"page {number}")) for number in range(3)]
    file.outline([("Scope", pages[0]), ("Results", pages[2])])
    file.write(files / "report.pdf")
    library = make_library()
    await library.look()
    (ref,) = library.documents
    index = (await read(library, f"{library.address(ref)}?depth=pages")).body
    assert [page["title"] for page in index["pages"]] == ["Scope", "Page 2", "Results"]
    assert index["page_count"] == 3


def test_a_damaged_page_says_so_and_the_others_can_be_read(tmp_path: Path) -> None:
    file = PdfFile()
    file.page(line(72, 700, "good"))
    broken = file.page(line(72, 700, "gone"))
    file.objects[broken - 1] = b"(this is no page)"
    with opened(file, tmp_path) as source:
        assert list(source.page_titles) == ["Page 1", "Page 2"]
        assert texts(source.page(0).elements) == ["good"]
        (said,) = source.page(1).elements
    assert said.category == "annotation"
    assert "damaged" in said.content["text"]


def test_parsing_twice_gives_the_same(tmp_path: Path) -> None:
    file = PdfFile()
    with_picture(file, paragraph(72, 740, LEFT) + ruled(CELLS, across=True).replace("Apples", "Quinces"))

    def seen(page: Page) -> list[tuple[Any, ...]]:
        return [(element.category, element.content, element.metadata, element.detail) for element in page.elements]

    with opened(file, tmp_path) as source:
        first, again = seen(source.page(0)), seen(source.page(0))
    with opened(file, tmp_path) as source:
        assert seen(source.page(0)) == first == again


# -------------------------------------------------------------------------------------------------------------- hostile


@pytest.mark.parametrize(
    "raw", [b"", b"%PDF-1.7\n", b"PK\x03\x04 no pdf", bytes(2_000)], ids=["empty", "cut", "zip", "zeros"]
)
def test_what_is_no_pdf_is_refused_with_a_sentence(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "bad.pdf"
    path.write_bytes(raw)
    with pytest.raises(UnreadableFileError, match="PDF"):
        open_pdf(path)


def test_a_file_with_a_password_says_that_it_needs_one(tmp_path: Path) -> None:
    file = PdfFile()
    file.page(line(72, 700, "secret"))
    key = "<" + "41" * 32 + ">"
    lock = file.add(f"<< /Filter /Standard /V 1 /R 2 /P -4 /O {key} /U {key} >>")
    file.trailer = f"/Encrypt {lock} 0 R /ID [<00112233> <00112233>]"
    with pytest.raises(UnreadableFileError, match="needs a password"):
        open_pdf(file.write(tmp_path / "locked.pdf"))


def test_an_outline_that_goes_round_in_circles_ends(tmp_path: Path) -> None:
    file = PdfFile()
    page = file.page(line(72, 700, "x"))
    outline = len(file.objects) + 1
    file.add(f"<< /Type /Outlines /First {outline + 1} 0 R /Last {outline + 1} 0 R /Count 1 >>")
    node = f"/Title (Loop) /Parent {outline} 0 R /Next {outline + 1} 0 R /First {outline + 1} 0 R"
    file.add(f"<< {node} /Dest [{page} 0 R /Fit] >>")
    file.catalog = f"/Outlines {outline} 0 R"
    with opened(file, tmp_path) as source:
        assert source.page(0).title == "Loop"


def test_a_form_that_contains_itself_ends(tmp_path: Path) -> None:
    file = PdfFile()
    number = len(file.objects) + 1
    inner = f"/Type /XObject /Subtype /Form /BBox [0 0 600 700] /Resources << /XObject << /X {number} 0 R >> >>"
    file.stream("/X Do " + rule(10, 10, 100, 10), inner)
    file.page(line(72, 700, "still here") + "/X Do\n", resources=f"/XObject << /X {number} 0 R >>")
    with opened(file, tmp_path) as source:
        assert texts(source.page(0).elements) == ["still here"]


def test_a_page_with_far_too_much_on_it_says_that_something_is_left_out(tmp_path: Path) -> None:
    content = "".join(line(10, 790 - 0.5 * number, f"{number} word " * 10, 1) for number in range(1_500))
    elements = first_page(content, tmp_path)
    assert "left out" in elements[-1].content["text"]


def test_damaged_files_never_raise_anything_else(tmp_path: Path) -> None:
    file = PdfFile()
    with_picture(file, line(72, 760, "Title", 20) + paragraph(72, 740, LEFT) + ruled(CELLS, across=True))
    whole = file.bytes()
    chance = random.Random(7)
    path = tmp_path / "damaged.pdf"
    for round_ in range(40):
        raw = bytearray(whole)
        for _ in range(12):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        path.write_bytes(raw[: chance.randrange(len(raw) // 2, len(raw))] if round_ % 2 else raw)
        try:
            source = open_pdf(path)
        except UnreadableFileError:
            continue
        with closing(source):
            for index in range(len(source.page_titles)):
                for element in source.page(index).elements:
                    with suppress(UnreadableFileError):
                        _ = element.picture() if element.picture is not None else None
