"""Workbooks of other kinds: xls, xlsb and ods."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from a2c_smcp.documents.model import Element, Page, Source, UnreadableFileError
from a2c_smcp.documents.parsers.sheets.document import open_sheets
from tests.documents.old_workbooks import SPACES, Value, write_ods, write_xls, write_xlsb

OPEN: list[Source] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Every file a test opened is closed after it."""
    yield
    while OPEN:
        OPEN.pop().close()


def opened(path: Path) -> Source:
    OPEN.append(open_sheets(path))
    return OPEN[-1]


ROWS: list[list[Value]] = [["Name", "Share", "When"], ["Ann", 0.5, (45_000.0, 1)], ["Bob", 3.0, (45_000.25, 1)]]


def of(page: Page, category: str) -> list[Element]:
    return [element for element in page.elements if element.category == category]


@pytest.mark.parametrize("kind", ["xls", "xlsb"])
def test_an_older_or_binary_workbook_has_the_same_tables(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"book.{kind}"
    if kind == "xls":
        write_xls(path, [("Shares", 0, ROWS)])
    else:
        write_xlsb(path, "Shares", ROWS)
    source = opened(path)
    assert list(source.page_titles) == ["Shares"]
    (element,) = source.page(0).elements
    assert element.content["headers"] == ["Name", "Share", "When"]
    assert [row[:2] for row in element.content["rows"]] == [["Ann", "0.5"], ["Bob", "3"]]
    assert [row[2][:10] for row in element.content["rows"]] == ["2023-03-15", "2023-03-15"]
    assert source.page(0) == opened(path).page(0)


def test_numbers_of_an_older_workbook_are_shown_in_their_format(tmp_path: Path) -> None:
    rows: list[list[Value]] = [["Name", "Value"], ["share", (0.256, 2)], ["sum", (1234.5, 3)], ["plain", 2.0]]
    (element,) = opened(write_xls(tmp_path / "book.xls", [("Old", 0, rows)])).page(0).elements
    assert [row[1] for row in element.content["rows"]] == ["25.60%", "1,234.50", "2"]


def test_an_older_workbook_says_which_sheets_are_hidden(tmp_path: Path) -> None:
    path = write_xls(tmp_path / "book.xls", [("Open", 0, [["a"]]), ("Shut", 1, [["b"]]), ("Locked", 2, [["c"]])])
    source = opened(path)
    assert [len(of(source.page(index), "annotation")) for index in range(3)] == [0, 1, 1]
    assert source.facts.details["hidden_sheets"] == ["Shut", "Locked"]


def test_a_long_older_sheet_continues_on_further_pages(tmp_path: Path) -> None:
    rows: list[list[Value]] = [["Name", "A", "B", "C"], *([f"n{number}", 1.0, 2.0, 3.0] for number in range(1_499))]
    source = opened(write_xls(tmp_path / "book.xls", [("Long", 0, rows)]))
    assert list(source.page_titles) == ["Long (rows 1–1000)", "Long (rows 1001–1500)"]
    (element,) = source.page(1).elements
    assert element.content["headers"] == ["Name", "A", "B", "C"]
    assert element.content["rows"][-1][0] == "n1498"


def test_a_workbook_by_content_is_read_whatever_its_name(tmp_path: Path) -> None:
    path = write_xls(tmp_path / "book.xlsx", [("Old", 0, [["Name", "Units"], ["Ann", 2.0]])])
    assert opened(path).page(0).elements[0].content["rows"] == [["Ann", "2"]]


def test_an_older_workbook_whose_sectors_lead_nowhere_or_into_themselves_is_refused(tmp_path: Path) -> None:
    path = write_xls(tmp_path / "book.xls", [("Old", 0, [["Name"]])])
    whole = path.read_bytes()
    looped = bytearray(whole)
    looped[512 + 4 * 5 : 512 + 4 * 6] = (2).to_bytes(4, "little")
    for damaged in (whole[:1_077], whole[:600], bytes(looped), whole[:30] + b"\xff" + whole[31:]):
        path.write_bytes(damaged)
        with pytest.raises(UnreadableFileError):
            open_sheets(path)


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
    source = opened(write_ods(tmp_path / "book.ods", sheet(*rows)))
    assert list(source.page_titles) == ["Plan"]
    (element,) = source.page(0).elements
    assert element.content == {
        "headers": ["Name", "Share", "When"],
        "rows": [["Ann", "25%", "2024-02-29"], ["same", "same", "same"], ["same", "same", "same"]],
    }
    assert element.metadata["source_range"] == "A1:C4"


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
    page = opened(write_ods(tmp_path / "book.ods", sheet(*rows))).page(0)
    element, comment = page.elements
    assert element.content["headers"] == ["Name", "Units", "Units"]
    assert element.metadata["merged"] == ["B1:C1"]
    assert element.metadata["hidden_rows"] == ["3"]
    assert element.metadata["formulas"] == {"C2": "=B2*2"}
    assert comment.content == {"text": "Sure?", "cell": "B2", "author": "Bob"}


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
    page = opened(path).page(0)
    (image,), (bars,), (pivot,) = of(page, "image"), of(page, "chart"), of(page, "pivot_table")
    assert image.metadata["size"] == [96, 96]
    assert image.picture is not None
    assert image.picture() == ("image/png", dot.getvalue())
    assert (bars.content["chart_type"], bars.content["title"]) == ("bar", "Sales")
    assert "North: 3" in bars.content["data_summary"]
    assert pivot.content["rows"] == ["Region"]
    assert pivot.content["values"] == ["Units (sum)"]


def test_opendocument_facts_and_hidden_sheets_are_told(tmp_path: Path) -> None:
    shut = '<style:table-properties table:display="false"/>'
    styles = f'<style:style style:name="ta2" style:family="table">{shut}</style:style>'
    meta = "<dc:title>Plan</dc:title><meta:initial-creator>Ann</meta:initial-creator><meta:keyword>money</meta:keyword>"
    sheets = sheet(row(cell("a"))) + sheet(row(cell("b")), name="Secret", style="ta2")
    source = opened(write_ods(tmp_path / "book.ods", sheets, styles=styles, meta=meta))
    assert (source.facts.title, source.facts.author, source.facts.keywords) == ("Plan", "Ann", ["money"])
    assert source.facts.details["hidden_sheets"] == ["Secret"]
    assert of(source.page(1), "annotation")
    assert not of(source.page(0), "annotation")


def test_an_empty_opendocument_sheet_and_rows_without_end_are_bounded(tmp_path: Path) -> None:
    wide = cell("x", 'table:number-columns-repeated="16384"')
    sheets = sheet(name="Empty") + sheet(row(wide, more='table:number-rows-repeated="1048576"'), name="Wide")
    source = opened(write_ods(tmp_path / "book.ods", sheets))
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
        opened(tmp_path / "book.ods")
