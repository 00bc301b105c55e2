"""Workbooks of other kinds: xls, xlsb and ods."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.sheets.document import open_sheets
from tests.support.documents.old_workbooks import SPACES, Value, properties, record, write_ods, write_xls, write_xlsb
from tests.support.documents.sheet_files import again, close_opened, of


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Every file a test opened is closed after it."""
    yield
    close_opened()


ROWS: list[list[Value]] = [["Name", "Share", "When"], ["Ann", 0.5, (45_000.0, 1)], ["Bob", 3.0, (45_000.25, 1)]]


@pytest.mark.parametrize("kind", ["xls", "xlsb"])
def test_an_older_or_binary_workbook_has_the_same_tables(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"book.{kind}"
    if kind == "xls":
        write_xls(path, [("Shares", 0, ROWS)])
    else:
        write_xlsb(path, "Shares", ROWS)
    source = again(path)
    assert list(source.page_titles) == ["Shares"]
    (element,) = source.page(0).elements
    assert element.content["headers"] == ["Name", "Share", "When"]
    assert [row[:2] for row in element.content["rows"]] == [["Ann", "0.5"], ["Bob", "3"]]
    assert [row[2][:10] for row in element.content["rows"]] == ["2023-03-15", "2023-03-15"]
    assert source.page(0) == again(path).page(0)


def test_numbers_of_an_older_workbook_are_shown_in_their_format(tmp_path: Path) -> None:
    rows: list[list[Value]] = [["Name", "Value"], ["share", (0.256, 2)], ["sum", (1234.5, 3)], ["plain", 2.0]]
    (element,) = again(write_xls(tmp_path / "book.xls", [("Old", 0, rows)])).page(0).elements
    assert [row[1] for row in element.content["rows"]] == ["25.60%", "1,234.50", "2"]


def test_an_older_workbook_says_which_sheets_are_hidden(tmp_path: Path) -> None:
    path = write_xls(tmp_path / "book.xls", [("Open", 0, [["a"]]), ("Shut", 1, [["b"]]), ("Locked", 2, [["c"]])])
    source = again(path)
    assert [len(of(source.page(index), "annotation")) for index in range(3)] == [0, 1, 1]
    assert source.facts.details["hidden_sheets"] == ["Shut", "Locked"]


def test_a_long_older_sheet_continues_on_further_pages(tmp_path: Path) -> None:
    rows: list[list[Value]] = [["Name", "A", "B", "C"], *([f"n{number}", 1.0, 2.0, 3.0] for number in range(1_499))]
    source = again(write_xls(tmp_path / "book.xls", [("Long", 0, rows)]))
    assert list(source.page_titles) == ["Long (rows 1–1000)", "Long (rows 1001–1500)"]
    (element,) = source.page(1).elements
    assert element.content["headers"] == ["Name", "A", "B", "C"]
    assert element.content["rows"][-1][0] == "n1498"


def test_a_workbook_by_content_is_read_whatever_its_name(tmp_path: Path) -> None:
    path = write_xls(tmp_path / "book.xlsx", [("Old", 0, [["Name", "Units"], ["Ann", 2.0]])])
    assert again(path).page(0).elements[0].content["rows"] == [["Ann", "2"]]


def test_an_older_workbook_whose_sectors_lead_nowhere_or_into_themselves_is_refused(tmp_path: Path) -> None:
    path = write_xls(tmp_path / "book.xls", [("Old", 0, [["Name"]])])
    whole = path.read_bytes()
    looped = bytearray(whole)
    looped[512 + 4 * 5 : 512 + 4 * 6] = (2).to_bytes(4, "little")
    for damaged in (whole[:1_077], whole[:600], bytes(looped), whole[:30] + b"\xff" + whole[31:]):
        path.write_bytes(damaged)
        with pytest.raises(UnreadableFileError):
            open_sheets(path)


def test_an_older_workbook_whose_entries_share_their_sectors_is_refused(tmp_path: Path) -> None:
    rows: list[list[Value]] = [["x" * 100]] * 500
    path = write_xls(tmp_path / "book.xls", [("Old", 0, rows)], streams={f"s{number}": b"x" for number in range(60)})
    raw = bytearray(path.read_bytes())
    first, size = raw.index("Workbook".encode("utf-16-le")) + 116, 8
    for number in range(1, 61):
        raw[first + 128 * number : first + 128 * number + size] = raw[first : first + size]
    path.write_bytes(raw)
    with pytest.raises(UnreadableFileError):
        open_sheets(path)


def text(words: str) -> bytes:
    """A text behind its length, as records have it."""
    return struct.pack("<HB", len(words), 1) + words.encode("utf-16-le")


def test_errors_and_what_is_hidden_in_an_older_workbook_are_known(tmp_path: Path) -> None:
    rows: list[list[Value]] = [["Name", "Value", "More"], ["Ann", 3.0, 4.0], ["Bob", 5.0, 6.0]]
    chart = record(0x809, bytes(16)) + record(0x208, struct.pack("<H10xH2x", 1, 0x20)) + record(0x0A)
    more = chart + record(0x208, struct.pack("<H10xH2x", 2, 0x20)) + record(0x7D, struct.pack("<HH4xH2x", 2, 2, 1))
    more += record(0x06, struct.pack("<HHHBxBxxxHHI", 3, 1, 0, 2, 0x07, 0xFFFF, 0, 0) + struct.pack("<H", 0))
    more += record(0x205, struct.pack("<HHHBB", 3, 2, 0, 0x2A, 1))
    (element,) = again(write_xls(tmp_path / "book.xls", [("Old", 0, rows)], more=more)).page(0).elements
    assert element.metadata["hidden_rows"] == ["3"], "what is drawn on the sheet has rows of its own"
    assert element.metadata["hidden_columns"] == ["C"]
    assert element.content["rows"][2] == ["", "#DIV/0!", "#N/A"]


def test_comments_links_headers_and_footers_of_an_older_workbook_are_known(tmp_path: Path) -> None:
    rows: list[list[Value]] = [["Name", "Units"], ["Ann", 3.0]]
    more = record(0x14, text("&CPlan &&amp; more")) + record(0x15, text("&LPage &P"))
    more += record(0x5D, struct.pack("<HHHH14x", 0x15, 0x12, 0x19, 7))
    more += record(0x1B6, struct.pack("<10xHH4x", 8, 16)) + record(0x3C, b"\x00Is ") + record(0x3C, b"\x00this?")
    more += record(0x1C, struct.pack("<HHHH", 1, 1, 0, 7) + text("Bob") + b"\0")
    kind = bytes.fromhex("e0c9ea79f9bace118c8200aa004ba90b")
    url = "https://example.org\0".encode("utf-16-le")
    name = struct.pack("<I", 4) + "Ann\0".encode("utf-16-le")
    link = struct.pack("<HHHH16xII", 1, 1, 0, 0, 2, 0x17) + name + kind + struct.pack("<I", len(url)) + url
    header, table, comment, footer = (
        again(write_xls(tmp_path / "book.xls", [("Old", 0, rows)], more=more + record(0x1B8, link))).page(0).elements
    )
    assert (header.content["text"], footer.content["text"]) == ("Plan &amp; more", "Page [page]")
    assert comment.content == {"text": "Is this?", "kind": "comment", "cell": "B2", "author": "Bob"}
    assert table.metadata["links"] == {"A2": "https://example.org"}


def test_records_of_an_older_workbook_that_are_cut_short_do_no_harm(tmp_path: Path) -> None:
    rows: list[list[Value]] = [["Name", "Units"], ["Ann", 3.0]]
    for kind in (0x14, 0x1C, 0x3C, 0x5D, 0x7D, 0x1B6, 0x1B8, 0x208):
        path = write_xls(tmp_path / "book.xls", [("Old", 0, rows)], more=record(kind, b"\x05\x00\x01"))
        (element,) = again(path).page(0).elements
        assert element.content["rows"] == [["Ann", "3"]]


def test_an_older_workbook_says_who_made_it(tmp_path: Path) -> None:
    told = properties({2: "Plan", 3: "The year", 4: "Änn", 5: "money, time", 6: "What we want"})
    rows: list[list[Value]] = [["a"]]
    for stream, title in ((told, "Plan"), (told[:70], ""), (b"", "")):
        path = write_xls(tmp_path / "book.xls", [("Old", 0, rows)], streams={"\x05SummaryInformation": stream})
        assert again(path).facts.title == title
    write_xls(tmp_path / "book.xls", [("Old", 0, rows)], streams={"\x05SummaryInformation": told})
    facts = again(tmp_path / "book.xls").facts
    assert (facts.author, facts.keywords, facts.summary) == ("Änn", ["money", "time"], "The year. What we want")


@pytest.mark.parametrize(("page", "encoding", "author"), [
    (10000, "mac_roman", "Änn"), (1252, "cp1252", "Änn"), (65001, "utf-8", "Änn"), (64999, "cp1252", "\ufffdnn"),
])  # fmt: skip
def test_facts_of_an_older_workbook_are_read_in_its_code_page(
    tmp_path: Path, page: int, encoding: str, author: str
) -> None:
    more = {1: struct.pack("<IHH", 2, page, 0), 12: struct.pack("<IQ", 64, 2**64 - 1)}
    told = properties({2: "Plan", 4: "Änn"}, encoding, more)
    rows: list[list[Value]] = [["a"]]
    facts = again(write_xls(tmp_path / "book.xls", [("Old", 0, rows)], streams={"\x05SummaryInformation": told})).facts
    assert (facts.title, facts.author) == ("Plan", author)


# ------------------------------------------------------------------------------------------------------------------ ods


def cell(words: str = "", more: str = "", inside: str = "") -> str:
    body = f"<text:p>{words}</text:p>" if words else ""
    return f"<table:table-cell {more}>{inside}{body}</table:table-cell>"


def row(*cells: str, more: str = "") -> str:
    return f"<table:table-row {more}>{''.join(cells)}</table:table-row>"


def sheet(*rows: str, name: str = "Plan", style: str = "") -> str:
    return f'<table:table table:name="{name}" table:style-name="{style}">{"".join(rows)}</table:table>'


NUMBER = 'office:value-type="float" office:value="{}"'


def test_an_opendocument_sheet_shows_its_cells_as_they_are_kept(tmp_path: Path) -> None:
    rows = (
        row(cell("Name"), cell("Share"), cell("When")),
        row(
            cell("Ann"), cell("25%", 'office:value-type="percentage" office:value="0.25"'),
            cell("29.02.24", 'office:value-type="date" office:date-value="2024-02-29"'),
        ),
        row(cell("same", 'table:number-columns-repeated="3"'), more='table:number-rows-repeated="2"'),
        row("<table:table-cell/>", more='table:number-rows-repeated="1048572"'),
    )  # fmt: skip
    source = again(write_ods(tmp_path / "book.ods", sheet(*rows)))
    assert list(source.page_titles) == ["Plan"]
    (element,) = source.page(0).elements
    assert element.content == {
        "headers": ["Name", "Share", "When"],
        "rows": [["Ann", "25%", "2024-02-29"], ["same", "same", "same"], ["same", "same", "same"]],
    }
    assert element.metadata["source_range"] == "A1:C4"


def test_values_of_opendocument_without_a_shown_text_are_kept(tmp_path: Path) -> None:
    values = (
        NUMBER.format(3), 'office:value-type="string" office:string-value="a"',
        'office:value-type="boolean" office:boolean-value="true"',
        'office:value-type="time" office:time-value="PT01H30M00S"',
        'office:value-type="date" office:date-value="2024-02-29"', 'table:formula="of:=[.A1]*2"',
    )  # fmt: skip
    rows = row(*(f"<table:table-cell {value}/>" for value in values)) * 2
    (element,) = again(write_ods(tmp_path / "book.ods", sheet(rows))).page(0).elements
    assert element.content["rows"] == [["3", "a", "TRUE", "01:30:00", "2024-02-29", "=A1*2"]] * 2


def test_only_tables_on_the_top_level_of_opendocument_are_sheets(tmp_path: Path) -> None:
    inner = '<table:table table:is-sub-table="true">' + row(cell("x"), cell("y")) + row(cell("z")) + "</table:table>"
    rows = row(cell("Name"), cell("Parts")) + row(cell("Ann"), cell(inside=inner)) + row(cell("Bob"), cell("3"))
    link = "<table:dde-links><table:dde-link>" + sheet(row(cell("old"))) + "</table:dde-link></table:dde-links>"
    source = again(
        write_ods(tmp_path / "book.ods", sheet(rows) + sheet(row(cell("more")), name="Other") + "<table:table/>" + link)
    )
    assert list(source.page_titles) == ["Plan", "Other"]
    (element,) = source.page(0).elements
    assert element.content == {"headers": ["Name", "Parts"], "rows": [["Ann", "x | y\nz"], ["Bob", "3"]]}
    assert element.metadata["source_range"] == "A1:B3"


def test_formulas_comments_merged_and_hidden_cells_of_opendocument_are_known(tmp_path: Path) -> None:
    remark = "<office:annotation><dc:creator>Bob</dc:creator><text:p>Sure?</text:p></office:annotation>"
    rows = (
        row(cell("Name"), cell("Units", 'table:number-columns-spanned="2"'), "<table:covered-table-cell/>"),
        row(
            cell("Ann"),
            cell("3", NUMBER.format(3), remark),
            cell("6", f'{NUMBER.format(6)} table:formula="of:=[.B2]*2"'),
        ),
        row(cell("Bob"), cell("4", NUMBER.format(4)), cell("5", NUMBER.format(5)), more='table:visibility="collapse"'),
    )
    page = again(write_ods(tmp_path / "book.ods", sheet(*rows))).page(0)
    element, comment = page.elements
    assert element.content["headers"] == ["Name", "Units", "Units"]
    assert element.metadata["merged"] == ["B1:C1"]
    assert element.metadata["hidden_rows"] == ["3"]
    assert element.metadata["formulas"] == {"C2": "=B2*2"}
    assert comment.content == {"text": "Sure?", "kind": "comment", "cell": "B2", "author": "Bob"}


def test_pictures_charts_and_pivot_tables_of_opendocument_are_elements(tmp_path: Path) -> None:
    dot = io.BytesIO()
    Image.new("RGB", (4, 3), "red").save(dot, "PNG")
    picture = '<draw:image xlink:href="Pictures/dot.png"/>'
    picture = f'<draw:frame draw:name="Dot" svg:width="1in" svg:height="1in">{picture}</draw:frame>'
    drawing = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    shapes = f"<table:shapes>{drawing}</table:shapes>"
    rows = shapes + row(cell("Region"), cell("Units")) + row(cell("North", inside=picture), cell("3", NUMBER.format(3)))
    pivots = (
        "<table:data-pilot-tables>"
        '<table:data-pilot-table table:name="Sums" table:target-range-address="Plan.A1:Plan.B2">'
        '<table:source-cell-range table:cell-range-address="Data.A1:Data.C9"/>'
        '<table:data-pilot-field table:source-field-name="Region" table:orientation="row"/>'
        '<table:data-pilot-field table:source-field-name="Units" table:orientation="data" table:function="sum"/>'
        "</table:data-pilot-table></table:data-pilot-tables>"
    )
    values = row(cell(), cell("Units")) + row(cell("North"), cell("3"))
    chart = (
        f'<office:document-content {SPACES}><chart:chart chart:class="chart:bar"><chart:title><text:p>Sales</text:p>'
        f"</chart:title><chart:plot-area><chart:series/></chart:plot-area><table:table>{values}</table:table>"
        "</chart:chart></office:document-content>"
    )
    path = write_ods(
        tmp_path / "book.ods", sheet(rows) + pivots,
        files={"Pictures/dot.png": dot.getvalue(), "Object 1/content.xml": chart.encode()},
    )  # fmt: skip
    page = again(path).page(0)
    (image,), (bars,), (pivot,) = of(page, "image"), of(page, "chart"), of(page, "pivot_table")
    assert image.metadata["size"] == [96, 96]
    assert image.picture is not None
    assert image.picture() == ("image/png", dot.getvalue())
    assert (bars.content["chart_type"], bars.content["title"]) == ("clustered column", "Sales")
    assert bars.content["data_summary"] == "Units: 3"
    assert pivot.content["rows"] == ["Region"]
    assert pivot.content["values"] == ["Units (sum of Units)"]
    assert pivot.content["source"] == "Data!A1:C9"


def test_opendocument_facts_and_hidden_sheets_are_told(tmp_path: Path) -> None:
    shut = '<style:table-properties table:display="false"/>'
    styles = f'<style:style style:name="ta2" style:family="table">{shut}</style:style>'
    meta = "<dc:title>Plan</dc:title><meta:initial-creator>Ann</meta:initial-creator><meta:keyword>money</meta:keyword>"
    sheets = sheet(row(cell("a"))) + sheet(row(cell("b")), name="Secret", style="ta2")
    source = again(write_ods(tmp_path / "book.ods", sheets, styles=styles, meta=meta))
    assert (source.facts.title, source.facts.author, source.facts.keywords) == ("Plan", "Ann", ["money"])
    assert source.facts.details["hidden_sheets"] == ["Secret"]
    assert of(source.page(1), "annotation")
    assert not of(source.page(0), "annotation")


def test_an_empty_opendocument_sheet_and_rows_without_end_are_bounded(tmp_path: Path) -> None:
    wide = cell("x", 'table:number-columns-repeated="16384"')
    sheets = sheet(name="Empty") + sheet(row(wide, more='table:number-rows-repeated="1048576"'), name="Wide")
    source = again(write_ods(tmp_path / "book.ods", sheets))
    assert source.page(0).elements == []
    assert "too many cells" in source.page(1).elements[0].content["text"]


@pytest.mark.parametrize("content", [
    "<broken", "<other/>",
    '<!DOCTYPE x [<!ENTITY a "b">]><office:document-content><office:spreadsheet/></office:document-content>',
])  # fmt: skip
def test_damaged_opendocument_is_refused(tmp_path: Path, content: str) -> None:
    with zipfile.ZipFile(tmp_path / "book.ods", "w") as archive:
        archive.writestr("content.xml", content)
    with pytest.raises(UnreadableFileError):
        again(tmp_path / "book.ods")


def test_charts_where_no_cells_are_and_hidden_columns_of_opendocument_are_known(tmp_path: Path) -> None:
    drawing = '<draw:frame table:end-cell-address="Plan.D9"><draw:object xlink:href="./Object 1"/></draw:frame>'
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/><table:table-column/>'
    rows = row(cell("Name"), "<table:table-cell/>", cell("Units")) + row(cell("Ann"), "<table:table-cell/>", cell("3"))
    rows += row("<table:table-cell/>", more='table:number-rows-repeated="5"') + row(cell(inside=drawing))
    chart = (
        f'<office:document-content {SPACES}><chart:chart chart:class="chart:circle"><chart:title><text:p>Parts</text:p>'
        "</chart:title></chart:chart></office:document-content>"
    )
    path = write_ods(tmp_path / "book.ods", sheet(columns + rows), files={"Object 1/content.xml": chart.encode()})
    table, pie = again(path).page(0).elements
    assert (table.metadata["source_range"], table.metadata["hidden_columns"]) == ("A1:C2", ["B"])
    assert (pie.content["chart_type"], pie.metadata["source_range"]) == ("pie", "A8:D9")


def test_a_table_by_name_of_opendocument_is_one_table_with_its_names_on_every_page(tmp_path: Path) -> None:
    said = 'table:name="Pairs" table:target-range-address="Plan.A1:Plan.B5001"'
    other = 'table:name="__Anonymous_Sheet_DB__0" table:target-range-address="Plan.A1:Plan.A2"'
    ranges = (
        f"<table:database-ranges><table:database-range {said}/><table:database-range {other}/></table:database-ranges>"
    )
    rows = row(cell("Key"), cell("Value")) + row(cell("a"), cell("1"), more='table:number-rows-repeated="5000"')
    source = again(
        write_ods(tmp_path / "book.ods", sheet(rows) + f"<table:database-ranges>{ranges}</table:database-ranges>")
    )
    for index in (0, 1):
        (element,) = source.page(index).elements
        assert (element.metadata["table"], element.content["headers"]) == ("Pairs", ["Key", "Value"])


def test_formulas_of_opendocument_are_written_as_people_write_them(tmp_path: Path) -> None:
    rules = {
        "of:=SUM([.A1:.A3];2)": "=SUM(A1:A3,2)",
        "of:=[$Other.$B$1]&quot;;&quot;": '=Other!$B$1";"',
        "of:=SUM([Plan.A1:Plan.B2])": "=SUM(Plan!A1:B2)",
        "of:=MAX({1;2|3;4})": "=MAX({1,2;3,4})",
    }
    for written, shown in rules.items():
        rows = row(cell("5", f'{NUMBER.format(5)} table:formula="{written}"'))
        (element,) = again(write_ods(tmp_path / "book.ods", sheet(rows))).page(0).elements
        assert element.content == {"expression": shown, "value": "5"}
    rows = row(cell("TRUE", 'office:value-type="boolean" table:formula="of:=TRUE()"'))
    (element,) = again(write_ods(tmp_path / "book.ods", sheet(rows))).page(0).elements
    assert element.content == {"text": "TRUE"}, "that is how a value is written, and nobody's formula"


def test_header_and_footer_of_a_printed_opendocument_sheet_are_told(tmp_path: Path) -> None:
    printed = '<style:style style:name="ta1" style:family="table" style:master-page-name="m"/>'
    master = (
        '<style:master-page style:name="m"><style:header><text:p>Plan</text:p></style:header>'
        "<style:footer><style:region-left><text:p>Page <text:page-number>1</text:page-number></text:p>"
        "</style:region-left>"
        "<style:region-right><text:p><text:sheet-name>?</text:sheet-name></text:p></style:region-right></style:footer>"
        '<style:header-left style:display="false"/></style:master-page>'
    )
    styles = f"<office:document-styles {SPACES}>{master}</office:document-styles>"
    sheets = sheet(row(cell("x")), style="ta1")
    path = write_ods(tmp_path / "book.ods", sheets, styles=printed, files={"styles.xml": styles.encode()})
    found = [(element.category, element.content["text"]) for element in again(path).page(0).elements]
    assert found == [("header", "Plan"), ("text", "x"), ("footer", "Page [page] | [sheet]")]
