"""Tables in PDF files: rows of several lines, levels of headers, columns without rules, tables over several pages."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pypdfium2")

from a2c_documents.model import Element
from a2c_documents.parsers.pdf.pdf_file import open_pdf
from tests.support.documents.pdf_files import PdfFile, line, paragraph, rule

PROSE = [
    "The council approved the report after a short debate and asked the office to publish all figures",
    "with explanations before the end of the quarter, so that members may request details in writing.",
]


def pages(tmp_path: Path, *contents: str) -> list[list[Element]]:
    file = PdfFile()
    for content in contents:
        file.page(content)
    with closing(open_pdf(file.write(tmp_path / "file.pdf"))) as source:
        return [source.page(index).elements for index in range(len(contents))]


def tables(elements: list[Element]) -> list[dict[str, Any]]:
    return [element.content for element in elements if element.category == "table"]


def only_table(tmp_path: Path, content: str) -> dict[str, Any]:
    (found,) = tables(pages(tmp_path, content)[0])
    return found


def row(y: float, *cells: tuple[float, str], font: str = "F1") -> str:
    """Texts at the same height."""
    return "".join(line(x, y, words, 10, font) for x, words in cells)


def grid(columns: list[float], levels: list[float]) -> str:
    """The lines of a table."""
    across = "".join(rule(columns[0], y, columns[-1], y) for y in levels)
    return across + "".join(rule(x, levels[0], x, levels[-1]) for x in columns)


# ------------------------------------------------------------------------------------------------ rows of several lines


def test_a_wrapped_cell_and_a_number_between_its_lines_are_one_row(tmp_path: Path) -> None:
    content = row(700, (72, "Item"), (300, "Budget"), (400, "Actual"))
    content += paragraph(72, 680, ["Maintenance of the heating", "and of all the lifts"]) + row(
        674, (300, "12,400"), (400, "13,950")
    )
    content += row(650, (72, "Cleaning"), (300, "8,000"), (400, "7,640"))
    content += paragraph(72, 632, ["Insurance premiums with the", "liability of the association"]) + row(
        626, (300, "3,120"), (400, "3,100")
    )
    assert only_table(tmp_path, content) == {
        "headers": ["Item", "Budget", "Actual"],
        "rows": [
            ["Maintenance of the heating and of all the lifts", "12,400", "13,950"],
            ["Cleaning", "8,000", "7,640"],
            ["Insurance premiums with the liability of the association", "3,120", "3,100"],
        ],
    }


def test_lines_between_two_rules_are_one_row_unless_they_hold_numbers(tmp_path: Path) -> None:
    content = grid([70, 200, 300], [715, 695, 665, 635, 605])
    content += row(700, (75, "Name"), (205, "Share"))
    content += paragraph(75, 682, ["A name that is too long", "for a single line"]) + line(205, 682, "12 %")
    content += paragraph(75, 652, ["Another name of such", "a length, as it seems"]) + line(205, 646, "13 %")
    content += row(622, (75, "Short"), (205, "14 %")) + row(610, (75, "Brief"), (205, "15 %"))
    found = only_table(tmp_path, content)
    assert found["rows"] == [
        ["A name that is too long for a single line", "12 %"],
        ["Another name of such a length, as it seems", "13 %"],
        ["Short", "14 %"],
        ["Brief", "15 %"],
    ]


def test_a_cell_without_a_line_below_it_belongs_to_the_next_row_too(tmp_path: Path) -> None:
    content = grid([70, 200, 300, 400], [715, 695]) + rule(70, 655, 400, 655) + rule(200, 675, 400, 675)
    content += "".join(rule(x, 695, x, 655) for x in (70, 200, 300, 400))
    content += row(700, (75, "Unit"), (205, "Team"), (305, "Staff"))
    content += (
        line(75, 680, "Engineering") + row(680, (205, "Web"), (305, "9")) + row(660, (205, "Quality"), (305, "5"))
    )
    assert only_table(tmp_path, content)["rows"] == [["Engineering", "Web", "9"], ["Engineering", "Quality", "5"]]


# -------------------------------------------------------------------------------------------------------------- headers


def test_a_header_over_several_columns_is_above_each_of_them(tmp_path: Path) -> None:
    content = row(700, (72, "Product"), (215, "First half"), (375, "Second half"))
    content += row(685, (200, "Units"), (260, "Value"), (360, "Units"), (430, "Value"))
    for y, name in ((670, "Lamps"), (655, "Chairs"), (640, "Tables")):
        content += row(y, (72, name), (205, "12"), (262, "3,600"), (365, "14"), (432, "4,200"))
    found = only_table(tmp_path, content)
    assert found["headers"] == [
        "Product", "First half / Units", "First half / Value", "Second half / Units", "Second half / Value",
    ]  # fmt: skip
    assert found["rows"][0] == ["Lamps", "12", "3,600", "14", "4,200"]


def test_units_below_the_headers_are_part_of_them(tmp_path: Path) -> None:
    content = row(700, (72, "Material"), (200, "Density"), (300, "Price")) + row(685, (200, "kg/m3"), (300, "EUR/t"))
    for y, name in ((670, "Iron"), (655, "Lead"), (640, "Zinc")):
        content += row(y, (72, name), (200, "7,874"), (300, "110"))
    assert only_table(tmp_path, content)["headers"] == ["Material", "Density kg/m3", "Price EUR/t"]


def test_a_row_of_data_is_no_header(tmp_path: Path) -> None:
    content = "".join(
        row(700 - 15 * at, (72, name), (200, str(at * 7 + 10)), (300, str(at * 9 + 11)))
        for at, name in enumerate(("Iron", "Lead", "Zinc", "Gold"))
    )
    found = only_table(tmp_path, content)
    assert found["headers"] == ["", "", ""]
    assert found["rows"][0] == ["Iron", "10", "11"]


def test_turned_headings_are_those_of_the_columns_below_them(tmp_path: Path) -> None:
    content = "".join(
        f"BT /F1 10 Tf 0 1 -1 0 {208 + 20 * at} 715 Tm ({words}) Tj ET\n"
        for at, words in enumerate(("Basic plan", "Plus", "Pro"))
    )
    marks = (("Reports", (1, 2, 3)), ("Export", (2, 3)), ("Audit", (3,)), ("Mobile", (1, 3)), ("Phone", (2, 3)))
    for at, (name, places) in enumerate(marks):
        content += row(700 - 14 * at, (72, name), *((180 + 20 * place, "X") for place in places))
    found = only_table(tmp_path, content)
    assert found["headers"] == ["", "Basic plan", "Plus", "Pro"]
    assert found["rows"][:3] == [["Reports", "X", "X", "X"], ["Export", "", "X", "X"], ["Audit", "", "", "X"]]


# -------------------------------------------------------------------------------------------------------------- columns


def test_columns_of_numbers_may_be_as_close_as_words(tmp_path: Path) -> None:
    content = line(72, 715, "Year  Jan  Feb  Mar")
    for at in range(5):
        content += row(
            700 - 13 * at, (72, str(2020 + at)), (98, f"{at + 3}10"), (120, f"{at + 4}20"), (142, f"{at + 2}30")
        )
    found = tables(pages(tmp_path, content)[0])
    assert found[0]["rows"][-1] == ["2024", "710", "820", "630"]


def test_texts_in_cells_are_read_row_by_row_and_not_as_columns(tmp_path: Path) -> None:
    content = paragraph(72, 760, PROSE) + row(700, (72, "Risk"), (220, "Consequence"), (380, "Measure"), font="F2")
    cells = (
        ["The supplier of the main", "component fails to deliver"],
        ["Production stops for weeks", "and customers cancel orders"],
        ["A second supplier is under", "contract since last March"],
    )
    for y in (680, 645, 610):
        content += "".join(paragraph(x, y, words) for x, words in zip((72, 220, 380), cells, strict=True))
    found = only_table(tmp_path, content)
    assert found["headers"] == ["Risk", "Consequence", "Measure"]
    assert found["rows"] == [[" ".join(words) for words in cells]] * 3


def test_columns_of_running_text_are_no_table(tmp_path: Path) -> None:
    left = [
        "The first column begins here and",
        "has several lines of running text",
        "that fill the width of the column",
        "nearly always, so it is a text",
        "and not a table of short cells",
        "which would be read across.",
    ]
    content = "".join(paragraph(x, 700, left) for x in (60, 240, 420))
    elements = pages(tmp_path, content)[0]
    assert [element.category for element in elements] == ["text"] * 3


# ---------------------------------------------------------------------------------------------------------------- pages


def sheet(first: int, *, headers: bool) -> str:
    """A page full of rows with lines around them."""
    count = 30
    levels = [760 - 20 * number for number in range(count + 1)]
    content = grid([70, 200, 300, 400], [float(level) for level in levels])
    for number in range(count):
        y = levels[number] - 14
        if headers and not number:
            content += row(y, (75, "Customer"), (205, "City"), (305, "Sum"))
        else:
            content += row(y, (75, f"Client {first + number}"), (205, "Oslo"), (305, f"{(first + number) * 37}"))
    return content


def test_a_table_keeps_its_headers_on_the_next_pages(tmp_path: Path) -> None:
    first, second, third = pages(tmp_path, sheet(0, headers=True), sheet(30, headers=False), sheet(60, headers=False))
    for elements, name in ((second, "Client 30"), (third, "Client 60")):
        (found,) = [element for element in elements if element.category == "table"]
        assert found.content["headers"] == ["Customer", "City", "Sum"]
        assert found.content["rows"][0][0] == name
        assert found.metadata["continued"] is True
        assert found.detail is not None
        assert found.detail["total_rows"] == 30
    assert "continued" not in first[0].metadata


def test_pages_are_the_same_in_whatever_order_they_are_read(tmp_path: Path) -> None:
    file = PdfFile()
    for number in range(5):
        file.page(sheet(number * 30, headers=number == 0) + line(72, 40, f"A running footer of part {number}"))
    path = file.write(tmp_path / "file.pdf")
    with closing(open_pdf(path)) as source:
        forwards = [source.page(index).elements for index in range(5)]
    with closing(open_pdf(path)) as source:
        backwards = [source.page(index).elements for index in reversed(range(5))]
    assert forwards == backwards[::-1]


def test_running_lines_are_headers_and_footers_also_without_a_page_number(tmp_path: Path) -> None:
    def page(words: str) -> str:
        body = "".join(paragraph(72, 700 - 40 * at, PROSE) for at in range(8))
        return (
            line(72, 750, "Annual report of the society")
            + line(72, 720, words)
            + body
            + line(72, 50, "Confidential draft")
        )

    for elements in pages(tmp_path, page("It begins."), page("It goes on."), page("It ends.")):
        found = {(element.category, element.content["text"]) for element in elements if element.category != "text"}
        assert found == {("header", "Annual report of the society"), ("footer", "Confidential draft")}


# ---------------------------------------------------------------------------------------------- scripts, letters, marks


def test_small_print_does_not_make_the_text_a_heading(tmp_path: Path) -> None:
    content = "".join(paragraph(72, 740 - 30 * at, PROSE) for at in range(4))
    content += "".join(line(72, 560 - 8 * at, " ".join(PROSE), 6) for at in range(20))
    assert {element.category for element in pages(tmp_path, content)[0]} <= {"text", "footer"}


def test_a_line_between_small_print_is_no_heading(tmp_path: Path) -> None:
    content = line(72, 740, "Please read all of the terms below with care before you sign this order.", 11)
    content += "".join(line(72, 700 - 8 * at, " ".join(PROSE), 6) for at in range(20))
    content += line(72, 500, "Place and date of the signature", 11)
    assert "heading" not in {element.category for element in pages(tmp_path, content)[0]}


@pytest.mark.parametrize("width", [10, 4])
def test_many_pieces_of_a_picture_are_one_picture(tmp_path: Path, width: int) -> None:
    file = PdfFile()
    image = file.stream(
        b"\xc8" * 64, "/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8"
    )
    drawn = "".join(f"q {width} 0 0 40 {-20 + (width + 1) * at} 500 cm /I Do Q\n" for at in range(30))
    file.page(paragraph(72, 700, PROSE) + drawn, resources=f"/XObject << /I {image} 0 R >>")
    with closing(open_pdf(file.write(tmp_path / "file.pdf"))) as source:
        (picture,) = [element for element in source.page(0).elements if element.category == "image"]
        assert picture.picture is not None
        assert picture.picture()[0] == "image/png"


def tagged(tmp_path: Path, rows: Sequence[Sequence[tuple[str, float, float, str]]]) -> list[Element]:
    """A page whose structure has a table of these rows: the tag, the place and the words of each cell."""
    file = PdfFile()
    content, mark = "", 0
    told: list[list[tuple[str, int]]] = []
    for cells in rows:
        told.append([])
        for tag, x, y, words in cells:
            content += f"/{tag} << /MCID {mark} >> BDC\n{line(x, y, words)}EMC\n"
            told[-1].append((tag, mark))
            mark += 1
    file.page(content, "/StructParents 0")
    page = file.pages[0]
    # The nodes name each other, so their numbers are given before they are made: tree, table, rows, cells.
    root = len(file.objects) + 1
    first = root + 2 + len(told)
    owners = {number: first + number for number in range(mark)}
    rows_of_table = " ".join(f"{root + 2 + at} 0 R" for at in range(len(told)))
    parents = " ".join(f"{owner} 0 R" for owner in owners.values())
    file.add(f"<< /Type /StructTreeRoot /K [{root + 1} 0 R] /ParentTree << /Nums [0 [{parents}]] >> >>")
    file.add(f"<< /Type /StructElem /S /Table /P {root} 0 R /K [{rows_of_table}] >>")
    for cells in told:
        kids = " ".join(f"{owners[number]} 0 R" for _, number in cells)
        file.add(f"<< /Type /StructElem /S /TR /P {root + 1} 0 R /K [{kids}] >>")
    for at, cells in enumerate(told):
        for tag, number in cells:
            file.add(f"<< /Type /StructElem /S /{tag} /Pg {page} 0 R /K {number} /P {root + 2 + at} 0 R >>")
    file.catalog += f"/StructTreeRoot {root} 0 R /MarkInfo << /Marked true >> "
    with closing(open_pdf(file.write(tmp_path / "file.pdf"))) as source:
        return source.page(0).elements


def test_the_tags_of_a_file_tell_rows_and_headers(tmp_path: Path) -> None:
    # Two rows so close that they look like one of two lines, and headers that look like data.
    rows = [
        [("TH", 72, 700, "2020"), ("TH", 200, 700, "2021")],
        [("TD", 72, 688, "a first text in a cell"), ("TD", 200, 688, "12")],
        [("TD", 72, 676, "and another one below"), ("TD", 200, 676, "high")],
    ]
    (found,) = tables(tagged(tmp_path, rows))
    assert found == {
        "headers": ["2020", "2021"],
        "rows": [["a first text in a cell", "12"], ["and another one below", "high"]],
    }


def test_tags_that_do_not_agree_with_the_page_are_not_used(tmp_path: Path) -> None:
    rows = [[("TD", 72, 700 - 20 * at, f"Line {at} of a text that goes on"), ("TD", 72, 690 - 20 * at, "in the next")]
            for at in range(4)]  # fmt: skip
    assert tables(tagged(tmp_path, rows)) == []


def test_columns_above_a_table_do_not_take_its_rows(tmp_path: Path) -> None:
    left = [
        "The first column begins here and",
        "has several lines of running text",
        "that fill the width of the column",
        "nearly always, so it is a text",
        "and not a table of short cells",
        "which would be read across.",
    ]
    content = "".join(paragraph(x, 700, left) for x in (60, 240, 420))
    for at, name in enumerate(("Region", "North", "South", "West")):
        values = ("2023", "2024") if not at else (f"{at}10", f"{at}20")
        content += row(615 - 16 * at, (60, name), (240, values[0]), (420, values[1]))
    elements = pages(tmp_path, content)[0]
    assert [element.category for element in elements] == ["text"] * 3 + ["table"]
    assert elements[3].content["rows"][0] == ["North", "110", "120"]


@pytest.mark.parametrize("words", ["(abcd) bcaf", ")abcd( bcaf", "(3 abcd) bcaf", ")3 abcd( bcaf"])
def test_brackets_of_a_line_from_right_to_left_open_before_they_close(tmp_path: Path, words: str) -> None:
    file = PdfFile()
    letters = dict(zip("abcdf", "םלועש", strict=True))
    pairs = "".join(f"<{ord(code):02x}> <{ord(letter):04x}> " for code, letter in letters.items())
    unicode = file.stream(
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def "
        f"1 begincodespacerange <00> <ff> endcodespacerange {len(letters)} beginbfchar {pairs}endbfchar "
        "4 beginbfchar <20> <0020> <28> <0028> <29> <0029> <33> <0033> endbfchar endcmap end end"
    )
    font = file.add(f"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode {unicode} 0 R >>")
    number = file.page(line(300, 700, words, font="F9"))
    file.objects[number - 1] = file.objects[number - 1].replace(b"/Font <<", f"/Font << /F9 {font} 0 R".encode())
    with closing(open_pdf(file.write(tmp_path / "file.pdf"))) as source:
        (found,) = source.page(0).elements
    opening, closing_ = found.content["text"].index("("), found.content["text"].index(")")
    assert opening < closing_
    assert found.content["text"].endswith(")")


def test_boxes_and_ticks_are_part_of_the_text(tmp_path: Path) -> None:
    file = PdfFile()
    font = file.add("<< /Type /Font /Subtype /Type1 /BaseFont /ZapfDingbats >>")
    content = "".join(
        f"BT /F9 10 Tf 72 {y} Td (4) Tj ET\n" + line(84, y, words)
        for y, words in ((700, "I agree to the terms"), (686, "I want the newsletter"))
    )
    number = file.page(content)
    file.objects[number - 1] = file.objects[number - 1].replace(b"/Font <<", f"/Font << /F9 {font} 0 R".encode())
    with closing(open_pdf(file.write(tmp_path / "file.pdf"))) as source:
        found = source.page(0).elements
    assert [element.content["text"] for element in found] == ["✔ I agree to the terms", "✔ I want the newsletter"]
