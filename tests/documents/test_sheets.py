"""Excel workbooks, made with openpyxl; what it cannot make is put into the archive by hand."""

from __future__ import annotations

import datetime
import importlib
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from a2c_documents.model import Source, UnreadableFileError
from a2c_documents.paging import MAX_PAGE_BYTES, size_of
from a2c_documents.parsers.sheets.document import open_sheets
from tests.support.documents.old_workbooks import compound
from tests.support.documents.sheet_files import (
    MAIN,
    SHEET,
    Change,
    again,
    close_opened,
    of,
    only_table,
    opened,
    raw_sheet,
    related,
    with_rows,
    workbook,
)

Comment: Any = importlib.import_module("openpyxl.comments").Comment
Table: Any = importlib.import_module("openpyxl.worksheet.table").Table

OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Every file a test opened is closed after it."""
    yield
    close_opened()


def column(source: Source) -> list[str]:
    """The second column of the table on the first page."""
    return [row[1] for row in only_table(source.page(0)).content["rows"]]


# --------------------------------------------------------------------------------------------------------------- tables


def test_a_sheet_is_a_page_and_its_first_row_names_the_columns(tmp_path: Path) -> None:
    book, _ = workbook(["Name", "Units"], ["Ann", 3], ["Bob", 4])
    book.create_sheet("Empty")
    source = opened(book, tmp_path)
    assert list(source.page_titles) == ["Sales", "Empty"]
    element = only_table(source.page(0))
    assert element.content == {"headers": ["Name", "Units"], "rows": [["Ann", "3"], ["Bob", "4"]]}
    assert element.metadata["source_range"] == "A1:B3"
    assert element.detail is not None
    assert element.detail["total_rows"] == 2
    assert source.page(1).elements == []


def test_columns_without_names_are_called_by_their_letters(tmp_path: Path) -> None:
    book, sheet = workbook()
    for row, values in enumerate([[1, 2], [3, 4]], 3):
        for place, value in enumerate(values, 2):
            sheet.cell(row, place, value)
    element = only_table(opened(book, tmp_path).page(0))
    assert element.content["headers"] == ["B", "C"]
    assert element.metadata["source_range"] == "B3:C4"


def test_years_behind_a_name_are_headers(tmp_path: Path) -> None:
    book, _ = workbook(["Region", 2023, 2024], ["North", 1, 2])
    assert only_table(opened(book, tmp_path).page(0)).content["headers"] == ["Region", "2023", "2024"]


def test_months_alone_are_headers(tmp_path: Path) -> None:
    book, sheet = workbook([datetime.date(2026, month, 1) for month in (1, 2, 3)], [3, 4, 5])
    for cell in sheet[1]:
        cell.number_format = "mmm yyyy"
    assert only_table(opened(book, tmp_path).page(0)).content["headers"] == ["Jan 2026", "Feb 2026", "Mar 2026"]


def test_empty_rows_and_columns_divide_tables(tmp_path: Path) -> None:
    book, sheet = workbook(["a", "b"], [1, 2], [], ["c", "d"], [3, 4])
    sheet["D1"], sheet["E1"], sheet["D2"], sheet["E2"] = "e", "f", 5, 6
    tables = of(opened(book, tmp_path).page(0), "table")
    assert [one.metadata["source_range"] for one in tables] == ["A1:B2", "D1:E2", "A4:B5"]
    assert [one.content["headers"] for one in tables] == [["a", "b"], ["e", "f"], ["c", "d"]]


def test_what_an_empty_row_divides_from_its_names_keeps_them(tmp_path: Path) -> None:
    book, _ = workbook(["Name", "Units"], ["Ann", 3], [], ["Sum", 3])
    second = of(opened(book, tmp_path).page(0), "table")[1]
    assert second.content == {"headers": ["Name", "Units"], "rows": [["Sum", "3"]]}
    assert second.metadata["headers_from"] == "A1:B2"


def test_lines_above_and_below_a_table_are_titles_and_notes(tmp_path: Path) -> None:
    note = "These are all of the figures that were known when this report was written."
    book, _ = workbook(["Report"], ["Name", "Units", "Price"], ["Ann", 3, 4], [note])
    page = opened(book, tmp_path).page(0)
    assert [(one.category, one.content.get("text")) for one in page.elements] == [
        ("heading", "Report"), ("table", None), ("text", note),
    ]  # fmt: skip
    assert page.elements[0].content["level"] == 1


@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("named", [False, True])
def test_merged_lines_above_a_table_are_its_title_and_a_text(tmp_path: Path, gap: int, named: bool) -> None:
    table = [["Quarter", "Sales", "Share"], ["Q1", 3, 4], ["Q2", 5, 6]]
    book, sheet = workbook(["Sales 2026"], ["All amounts in euro"], *[[None]] * gap, *table)
    for area in ("A1:C1", "A2:C2"):
        sheet.merge_cells(area)
    if named:
        sheet.add_table(Table(displayName="Quarters", ref=f"A{3 + gap}:C{5 + gap}"))
    title, subtitle, found = opened(book, tmp_path).page(0).elements
    assert title.content == {"level": 1, "text": "Sales 2026"}
    assert (subtitle.category, subtitle.content["text"]) == ("text", "All amounts in euro")
    assert (title.metadata["merged"], subtitle.metadata["merged"]) == (["A1:C1"], ["A2:C2"])
    assert found.content["headers"] == ["Quarter", "Sales", "Share"]


def test_a_long_column_of_merged_cells_is_a_table_of_one_column(tmp_path: Path) -> None:
    book, sheet = workbook(["Town"], ["Oslo"], ["Bergen"], ["Molde"], ["Bodø"], [None], ["Name", "Units"], ["Ann", 3])
    for row in range(1, 6):
        sheet.merge_cells(f"A{row}:B{row}")
    element, _ = of(opened(book, tmp_path).page(0), "table")
    assert element.content == {"headers": ["Town"], "rows": [["Oslo"], ["Bergen"], ["Molde"], ["Bodø"]]}


def test_an_excel_table_is_one_table_whatever_lies_around_it(tmp_path: Path) -> None:
    book, sheet = workbook(["x", "y", 7], [1, 2, 8], [3, 4, 9])
    sheet.add_table(Table(displayName="Points", ref="A1:B3"))
    page = opened(book, tmp_path).page(0)
    first = only_table(page)
    assert first.metadata["table"] == "Points"
    assert first.metadata["source_range"] == "A1:B3"
    assert first.content == {"headers": ["x", "y"], "rows": [["1", "2"], ["3", "4"]]}
    assert [one.content["text"] for one in of(page, "text")] == ["7", "8", "9"]


def test_merged_names_stand_over_each_column_they_cover(tmp_path: Path) -> None:
    book, sheet = workbook(["Region", "2023", None, "2024", None], [None, "Units", "Price", "Units", "Price"])
    sheet.append(["North", 1, 2, 3, 4])
    for area in ("A1:A2", "B1:C1", "D1:E1"):
        sheet.merge_cells(area)
    element = only_table(opened(book, tmp_path).page(0))
    assert element.content["headers"] == ["Region", "2023 / Units", "2023 / Price", "2024 / Units", "2024 / Price"]
    assert element.content["rows"] == [["North", "1", "2", "3", "4"]]
    assert set(element.metadata["merged"]) == {"A1:A2", "B1:C1", "D1:E1"}


def test_hidden_rows_columns_and_sheets_are_there_and_said_to_be_hidden(tmp_path: Path) -> None:
    book, sheet = workbook(["a", "b", "c"], [1, 2, 3], [4, 5, 6], [7, 8, 9])
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["B"].hidden = True
    secret = book.create_sheet("Secret")
    secret["A1"], secret.sheet_state = "x", "veryHidden"
    source = opened(book, tmp_path)
    element = only_table(source.page(0))
    assert element.metadata["hidden_rows"] == ["3"]
    assert element.metadata["hidden_columns"] == ["B"]
    assert element.content["rows"][1] == ["4", "5", "6"]
    assert source.page(1).elements[0].category == "annotation"
    assert source.page(1).elements[0].metadata == {"hidden": "very hidden"}
    assert source.facts.details["hidden_sheets"] == ["Secret"]


def test_a_hidden_empty_column_divides_nothing(tmp_path: Path) -> None:
    book, sheet = workbook(["a", None, "c"], [1, None, 3])
    sheet.column_dimensions["B"].hidden = True
    assert only_table(opened(book, tmp_path).page(0)).metadata["source_range"] == "A1:C2"


# --------------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(("value", "code", "seen"), [
    (3.0, "General", "3"), (0.1 + 0.2, "General", "0.3"), (1234567, "General", "1234567"),
    (1234.5, "#,##0.00", "1,234.50"), (-1234.5, "#,##0", "-1,235"), (0.256, "0%", "26%"), (0.256, "0.0%", "25.6%"),
    (1234.5, '"$"#,##0.00', "$1,234.50"), (-5, '"$"#,##0;[Red]("$"#,##0)', "($5)"), (12.5, '[$€-407] 0.00', "€ 12.50"),
    (0, '_-* #,##0.00_-;-* #,##0.00_-;_-* "-"??_-;_-@_-', "-"), (1_500_000, '0.0,,"M"', "1.5M"),
    (12345.678, "0.00E+00", "1.23E+04"), (2.5, "# ?/?", "2 1/2"), (7, "000", "007"), (5, '0 "kg"', "5 kg"),
    (123456789, "000-00-0000", "123-45-6789"), (150, '[>100]"many";0', "many"), (True, "General", "TRUE"),
    (datetime.date(2024, 2, 29), "dd/mm/yy", "2024-02-29"), (datetime.date(1900, 2, 1), "yyyy-mm-dd", "1900-02-01"),
    (datetime.datetime(2024, 2, 29, 13, 5), "d mmm yyyy hh:mm", "2024-02-29 13:05"),
    (datetime.time(9, 30), "h:mm AM/PM", "09:30"), (datetime.timedelta(hours=30), "[h]:mm:ss", "30:00:00"),
    ("#DIV/0!", "General", "#DIV/0!"), (datetime.date(2024, 5, 1), "mmm-yy", "May-24"),
    (datetime.date(2024, 5, 1), "[$-409]mmmm\\ yyyy;@", "May 2024"), (datetime.date(2024, 5, 1), "mmyyyy", "052024"),
    (datetime.date(2024, 5, 1), "m/yy", "5/24"), (datetime.date(2024, 5, 1), "yyyy", "2024"),
    (0.0625, "[mm]:ss", "90:00"), (0.0625, "[m]", "90"), (0.0625, "[ss]", "5400"), (-0.0625, "[h]:mm", "-1:30"),
    (12345, "##0.0E+0", "12.3E+3"), (999.96, "##0.0E+0", "1.0E+3"), (0.00012, "##0.0E+0", "120.0E-6"),
    (0, "##0.0E+0", "0.0E+0"), (-1234.5, "0.00E+00", "-1.23E+03"), (9.996, "0.00E+00", "1.00E+01"),
    (1500, "0." + "0" * 60 + "E+0", "1500"),
])  # fmt: skip
def test_a_value_is_shown_as_a_person_sees_it(tmp_path: Path, value: Any, code: str, seen: str) -> None:
    book, sheet = workbook(["Name", "Value"], ["it", value])
    sheet["B2"].number_format = code
    assert column(opened(book, tmp_path)) == [seen]


def test_dates_of_a_workbook_that_counts_from_1904_are_right(tmp_path: Path) -> None:
    book, sheet = workbook(["Name", "When"], ["it", datetime.date(2024, 2, 29)])
    book.epoch = importlib.import_module("openpyxl.utils.datetime").CALENDAR_MAC_1904
    sheet["B2"].number_format = "yyyy-mm-dd"
    source = opened(book, tmp_path)
    assert column(source) == ["2024-02-29"]
    assert source.facts.details["date_system"] == 1904


def test_texts_of_several_runs_and_escapes_are_joined_and_readings_left_out(tmp_path: Path) -> None:
    runs = '<r><t>one </t></r><r><t xml:space="preserve">&amp;_x000A_two</t></r><rPh sb="0" eb="1"><t>no</t></rPh>'
    xml = with_rows(f'<row r="1"><c r="A1" t="inlineStr"><is>{runs}</is></c></row>')
    assert raw_sheet(tmp_path, xml).page(0).elements[0].content["text"] == "one &\ntwo"


def test_texts_that_cells_share_are_looked_up_by_number(tmp_path: Path) -> None:
    texts = "<si><t>Name</t></si><si/><si><r><t>A</t></r><r><t>nn &lt;3</t></r></si>" + "<si><t>x</t></si>" * 50_000
    row = '<row><c t="s"><v>{}</v></c><c t="s"><v>{}</v></c></row>'
    book, _ = workbook(["x"])

    def change(parts: dict[str, bytes]) -> None:
        parts["xl/texts.xml"] = f'<sst xmlns="{MAIN}">{texts}<si><t>last</t></si></sst>'.encode()
        parts[SHEET] = with_rows(row.format(0, 0) + row.format(2, 1) + row.format(50_003, 99_999)).encode()
        related(parts, "xl/workbook.xml", ("texts", "sharedStrings", "texts.xml"))

    element = only_table(opened(book, tmp_path, change).page(0))
    assert element.content == {"headers": ["Name", "Name"], "rows": [["Ann <3", ""], ["last", ""]]}


# ------------------------------------------------------------------------------------------------------------- formulas


def test_a_formula_in_a_table_is_its_value_and_said_beside_it(tmp_path: Path) -> None:
    row = '<row r="{0}"><c r="A{0}"><v>{0}</v></c><c r="B{0}"><f{1}>{2}</f><v>{3}</v></c></row>'
    shared = ' t="shared" ref="B1:B3" si="0"'
    xml = with_rows(
        row.format(1, shared, "A1*$C$1", 2) + row.format(2, ' t="shared" si="0"', "", 4)
        + row.format(3, ' t="shared" si="0"', "", 6)
    )  # fmt: skip
    element = only_table(raw_sheet(tmp_path, xml).page(0))
    assert element.content["rows"] == [["1", "2"], ["2", "4"], ["3", "6"]]
    assert element.metadata["formulas"] == {"B1": "=A1*$C$1", "B2": "=A2*$C$1", "B3": "=A3*$C$1"}


def test_a_formula_outside_a_table_is_a_formula_with_its_value(tmp_path: Path) -> None:
    xml = with_rows('<row r="2"><c r="B2"><f>1+1</f><v>2</v></c></row>')
    (element,) = raw_sheet(tmp_path, xml).page(0).elements
    assert (element.category, element.content) == ("formula", {"expression": "=1+1", "value": "2"})


def test_a_formula_that_nobody_calculated_is_shown_itself(tmp_path: Path) -> None:
    book, _ = workbook(["Name", "Sum"], ["it", "=SUM(1,2)"])
    assert column(opened(book, tmp_path)) == ["=SUM(1,2)"]


def test_formulas_beyond_the_bound_are_counted(tmp_path: Path) -> None:
    book, _ = workbook(*([number, f"=A{number}"] for number in range(1, 301)))
    metadata = only_table(opened(book, tmp_path).page(0)).metadata
    assert len(metadata["formulas"]) == 200
    assert metadata["formula_count"] == 300


def test_a_workbook_says_who_made_it_and_when(tmp_path: Path) -> None:
    book, _ = workbook(["a"])
    book.properties.title, book.properties.creator, book.properties.keywords = "Plan", "Ann", "money, time"
    book.properties.description = "What we want."
    book.properties.created = datetime.datetime(2024, 1, 2, 3, 4, 5)
    facts = opened(book, tmp_path).facts
    assert (facts.title, facts.author, facts.keywords) == ("Plan", "Ann", ["money", "time"])
    assert (facts.summary, facts.created) == ("What we want.", "2024-01-02T03:04:05Z")


# ---------------------------------------------------------------------------------------------------------------- pages


def long_sheet(tmp_path: Path, rows: int, change: Change | None = None) -> Source:
    book, sheet = workbook([f"Column {number}" for number in range(8)])
    for row in range(rows - 1):
        sheet.append([f"r{row}", *range(row, row + 7)])
    return opened(book, tmp_path, change)


def test_a_long_sheet_continues_on_further_pages_with_its_headers(tmp_path: Path) -> None:
    source = long_sheet(tmp_path, 1_200)
    assert list(source.page_titles) == ["Sales (rows 1–500)", "Sales (rows 501–1000)", "Sales (rows 1001–1200)"]
    last, middle = only_table(source.page(2)), only_table(source.page(1))
    assert middle.content["headers"][0] == last.content["headers"][0] == "Column 0"
    assert middle.content["rows"][0][0] == "r499"
    assert last.content["rows"][-1][0] == "r1198"
    assert last.metadata["source_range"] == "A1001:H1200"
    assert last.metadata["continued"]
    assert only_table(source.page(0)).content["rows"][0][0] == "r0"


@pytest.mark.parametrize("said", ["", '<dimension ref="A1"/>', '<dimension ref="A1:XFD1048576"/>'])
def test_a_sheet_that_says_a_wrong_size_or_none_has_the_same_pages(tmp_path: Path, said: str) -> None:
    def change(parts: dict[str, bytes]) -> None:
        parts[SHEET] = re.sub(rb"<dimension[^>]*>", said.encode(), parts[SHEET])

    assert list(long_sheet(tmp_path, 1_200, change).page_titles)[1:] == [
        "Sales (rows 501–1000)", "Sales (rows 1001–1200)",
    ]  # fmt: skip


@pytest.mark.parametrize("said", ["A1:B100", "A1:B400", "A1:B1000", "A1:A999", "A1:D300"])
def test_no_row_is_lost_whatever_size_a_sheet_says(tmp_path: Path, said: str) -> None:
    def change(parts: dict[str, bytes]) -> None:
        parts[SHEET] = re.sub(rb'<dimension ref="[^"]*"', f'<dimension ref="{said}"'.encode(), parts[SHEET])

    book, _ = workbook(["Name", "Units"], *([f"n{number}", number] for number in range(999)))
    source = opened(book, tmp_path, change)
    tables = [only_table(source.page(index)) for index in range(len(source.page_titles))]
    assert [row[0] for table in tables for row in table.content["rows"]] == [f"n{number}" for number in range(999)]


def test_cells_without_attributes_count_like_others(tmp_path: Path) -> None:
    rows = "<row>" + "<c><v>1</v></c>" * 50 + "</row>"
    source = raw_sheet(tmp_path, with_rows(rows * 3_000))
    tables = [only_table(source.page(index)) for index in range(len(source.page_titles))]
    assert sum(len(table.content["rows"]) for table in tables) == 3_000


def test_rows_before_damage_are_read(tmp_path: Path) -> None:
    book, _ = workbook(["Name", "Units"], *([f"n{number}", number] for number in range(20_000)))
    source = opened(book, tmp_path)
    path = tmp_path / "book.xlsx"
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo(SHEET).header_offset + archive.getinfo(SHEET).compress_size
    raw[place - 2_000 : place] = bytes(2_000)
    path.write_bytes(raw)
    whole, source = len(source.page_titles), again(path)
    assert 1 < len(source.page_titles) <= whole
    last = source.page(len(source.page_titles) - 1)
    assert only_table(last).content["rows"]
    assert "cannot be read" in of(last, "annotation")[0].content["text"]


def test_a_page_with_long_texts_is_cut_and_whole_in_detail(tmp_path: Path) -> None:
    book, _ = workbook(["Name", "Text"], *([f"n{number}", "word " * 200] for number in range(400)))
    page = opened(book, tmp_path).page(0)
    assert sum(size_of(element) for element in page.elements) <= MAX_PAGE_BYTES
    element = only_table(page)
    assert element.metadata["shortened"]
    assert element.content["rows"][0][1].endswith("…")
    assert element.detail is not None
    assert element.detail["rows"][0][1] == "word " * 200


def test_cells_far_apart_do_not_fill_memory(tmp_path: Path) -> None:
    book, sheet = workbook(["here"])
    sheet["XFD1048576"] = "there"
    for number in range(2, 400):
        sheet.cell(number, number, number)
        sheet.cell(1, number, number)
    source = opened(book, tmp_path)
    texts = [
        str(element.content) for index in range(len(source.page_titles)) for element in source.page(index).elements
    ]
    assert "here" in "".join(texts)
    assert "there" in "".join(texts)
    assert sum(map(len, texts)) < MAX_PAGE_BYTES


def test_prefixed_names_missing_references_and_single_quotes_are_understood(tmp_path: Path) -> None:
    xml = (
        f"<x:worksheet xmlns:x='{MAIN}'><x:sheetData>"
        "<x:row r='3'><x:c t='str'><x:v>a</x:v></x:c><x:c><x:v>1</x:v></x:c>"
        "</x:row><x:row><x:c t='str'><x:v>b</x:v></x:c><x:c><x:v>2</x:v></x:c></x:row></x:sheetData></x:worksheet>"
    )
    element = only_table(raw_sheet(tmp_path, xml).page(0))
    assert element.content["rows"] == [["a", "1"], ["b", "2"]]
    assert element.metadata["source_range"] == "A3:B4"


def test_the_same_file_gives_the_same_pages_in_whatever_order_they_are_read(tmp_path: Path) -> None:
    forwards, backwards = long_sheet(tmp_path, 1_200), again(tmp_path / "book.xlsx")
    pages = [forwards.page(index) for index in range(3)]
    assert [backwards.page(index) for index in (2, 1, 0)] == pages[::-1]
    assert [forwards.page(index) for index in range(3)] == pages


# -------------------------------------------------------------------------------------------------------- hostile files


@pytest.mark.parametrize(("start", "words"), [
    (b"", "empty"), (b"<html><table></table></html>", "web page"), (b"a,b\n1,2\n", "text file"),
    (compound({"EncryptedPackage": b"secret"}), "password"),
    (b"PK\x03\x04 and no more", "damaged"), (OLD + bytes(600), "damaged"),
])  # fmt: skip
def test_a_file_that_is_no_workbook_is_refused_with_a_reason(tmp_path: Path, start: bytes, words: str) -> None:
    path = tmp_path / "book.xlsx"
    path.write_bytes(start)
    with pytest.raises(UnreadableFileError, match=words):
        open_sheets(path)


def test_a_cut_off_workbook_is_refused(tmp_path: Path) -> None:
    long_sheet(tmp_path, 100)
    path = tmp_path / "book.xlsx"
    path.write_bytes(path.read_bytes()[:3_000])
    with pytest.raises(UnreadableFileError):
        open_sheets(path)


def test_an_archive_without_sheets_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(UnreadableFileError, match="not a valid workbook"):
        open_sheets(tmp_path / "book.xlsx")


def test_entities_are_never_followed(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>'
    cell = '<c r="A1" t="str"><v>&b;</v></c>'
    page = raw_sheet(
        tmp_path, f"{bomb}<worksheet xmlns='{MAIN}'><sheetData><row r='1'>{cell}</row></sheetData></worksheet>"
    ).page(0)
    assert [element.category for element in page.elements] == ["annotation"]


def test_a_damaged_sheet_spoils_only_its_own_page(tmp_path: Path) -> None:
    book, _ = workbook(["a", "b"], [1, 2])
    book.create_sheet("Good")["A1"] = "fine"

    def change(parts: dict[str, bytes]) -> None:
        parts[SHEET] = parts[SHEET].replace(b"</row>", b"</wor>")

    source = opened(book, tmp_path, change)
    assert source.page(0).elements[0].category == "annotation"
    assert source.page(1).elements[0].content == {"text": "fine"}


def test_blanks_without_end_behind_the_cells_cost_nothing(tmp_path: Path) -> None:
    rows = '<row r="1"><c r="A1" t="str"><v>before the blanks</v></c></row>'
    xml = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData>{" " * 60_000_000}</worksheet>'
    assert raw_sheet(tmp_path, xml).page(0).elements[0].content == {"text": "before the blanks"}


def test_damaged_things_around_the_cells_are_told_and_the_cells_are_there(tmp_path: Path) -> None:
    book, sheet = workbook(["Name", "Units"], ["Ann", 3])
    sheet["B2"].comment = Comment("Is this right?", "Bob")

    def change(parts: dict[str, bytes]) -> None:
        for name in parts:
            if "comment" in name and name.endswith(".xml"):
                parts[name] = b"<broken"

    page = opened(book, tmp_path, change).page(0)
    assert "cannot be read" in page.elements[0].content["text"]
    assert only_table(page).content["rows"] == [["Ann", "3"]]
