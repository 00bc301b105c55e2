"""What lies over and around the cells of Excel sheets: charts, pictures, comments, files; and sheets without end."""

from __future__ import annotations

import importlib
import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import IO, Any

import pytest
from PIL import Image

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.sheets.document import open_sheets
from tests.support.documents.old_workbooks import packed_file
from tests.support.documents.sheet_files import (
    KINDS,
    MAIN,
    SHEET,
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

charts: Any = importlib.import_module("openpyxl.chart")
Comment: Any = importlib.import_module("openpyxl.comments").Comment
Picture: Any = importlib.import_module("openpyxl.drawing.image").Image


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Every file a test opened is closed after it."""
    yield
    close_opened()


def test_a_chart_tells_its_type_title_and_data(tmp_path: Path) -> None:
    book, sheet = workbook(["Month", "Units"], ["Jan", 3], ["Feb", 4])
    bars = charts.BarChart()
    bars.title = "Units sold"
    bars.add_data(charts.Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    bars.set_categories(charts.Reference(sheet, min_col=1, min_row=2, max_row=3))
    sheet.add_chart(bars, "D2")
    page = opened(book, tmp_path).page(0)
    (element,) = of(page, "chart")
    assert element.content == {
        "chart_type": "clustered column", "title": "Units sold",
        "data_summary": "2 categories: Jan, Feb; Units: 3, 4",
    }  # fmt: skip
    assert element.metadata["source_range"] == "D2"
    assert element.detail is not None
    assert element.detail["series"] == [{"name": "Units", "values": [3, 4], "source": "'Sales'!$B$2:$B$3"}]


def cached_chart(grouping: str, axis_code: str, source: str) -> bytes:
    """A chart that keeps its numbers without a format, as some writers always do."""
    points = "".join(f'<c:pt idx="{place}"><c:v>{value}</c:v></c:pt>' for place, value in enumerate((1200, 800)))
    cache = f"<c:f>{source}</c:f><c:numCache><c:formatCode>General</c:formatCode>{points}</c:numCache>"
    series = f"<c:ser><c:tx><c:v>Sold</c:v></c:tx><c:val><c:numRef>{cache}</c:numRef></c:val></c:ser>"
    axes = '<c:catAx><c:axId val="1"/></c:catAx><c:valAx><c:axId val="2"/>'
    axes += f'<c:numFmt formatCode="{axis_code}" sourceLinked="0"/></c:valAx>'
    plot = f'<c:barChart><c:grouping val="{grouping}"/>{series}<c:axId val="1"/><c:axId val="2"/></c:barChart>'
    space = "http://schemas.openxmlformats.org/drawingml/2006/chart"
    area = f"<c:chart><c:plotArea>{plot}{axes}</c:plotArea></c:chart>"
    return f'<c:chartSpace xmlns:c="{space}">{area}</c:chartSpace>'.encode()


@pytest.mark.parametrize(("grouping", "axis_code", "source", "told"), [
    ("clustered", "General", "Sales!$B$2:$B$3", "€1,200, €800"), ("clustered", "0", "Sales!$B$2:$B$3", "€1,200, €800"),
    ("clustered", "0.0", "Sales!$B$3:$B$4", "1200.0, 800.0"), ("clustered", "0.0", "Other!$B$2:$B$3", "1200.0, 800.0"),
    ("percentStacked", "0%", "Other!$B$2:$B$3", "1200, 800"), ("clustered", "General", "Other!$B$2:$B$3", "1200, 800"),
])  # fmt: skip
def test_numbers_that_a_chart_keeps_plain_look_as_in_their_cells_or_on_the_axis(
    tmp_path: Path, grouping: str, axis_code: str, source: str, told: str
) -> None:
    book, sheet = workbook(["Month", "Units"], ["Jan", 1200], ["Feb", 800])
    sheet["B2"].number_format = sheet["B3"].number_format = '"€"#,##0'
    sheet.add_chart(charts.BarChart(), "D2")

    def change(parts: dict[str, bytes]) -> None:
        parts["xl/charts/chart1.xml"] = cached_chart(grouping, axis_code, source)

    (element,) = of(opened(book, tmp_path, change).page(0), "chart")
    assert element.content["data_summary"] == f"Sold: {told}"
    assert element.detail is not None
    assert element.detail["series"] == [{"name": "Sold", "values": [1200, 800], "source": source}]


def test_a_picture_can_be_read_after_the_workbook_is_closed(tmp_path: Path) -> None:
    dot = io.BytesIO()
    Image.new("RGB", (20, 10), "red").save(dot, "PNG")
    book, sheet = workbook(["a"])
    sheet.add_image(Picture(dot), "C3")
    source = opened(book, tmp_path)
    (element,) = of(source.page(0), "image")
    source.close()
    assert element.picture is not None
    assert element.metadata["size"] == [20, 10]
    mime, data = element.picture()
    assert mime == "image/png"
    assert Image.open(io.BytesIO(data)).size == (20, 10)


def test_comments_links_headers_and_footers_are_elements_or_metadata(tmp_path: Path) -> None:
    book, sheet = workbook(["Name", "Units"], ["Ann", 3])
    sheet["B2"].comment = Comment("Is this right?", "Bob")
    sheet["A2"].hyperlink = "https://example.org/ann"
    sheet["A5"], sheet["A5"].hyperlink = "More", "https://example.org/more"
    sheet.oddHeader.center.text, sheet.oddFooter.left.text = "Confidential", "Page &P"
    page = opened(book, tmp_path).page(0)
    (remark,) = of(page, "annotation")
    assert remark.content == {"text": "Is this right?", "kind": "comment", "cell": "B2", "author": "Bob"}
    assert remark.metadata["source_range"] == "B2"
    assert only_table(page).metadata["links"] == {"A2": "https://example.org/ann"}
    assert of(page, "link")[0].content == {"text": "More", "url": "https://example.org/more"}
    assert page.elements[0].content["text"] == "Confidential"
    assert page.elements[0].category == "header"
    assert page.elements[-1].content["text"] == "Page [page]"
    assert page.elements[-1].category == "footer"


@pytest.mark.parametrize(("written", "seen"), [
    ("&CR&&D", "R&D"), ("&CA&&B", "A&B"), ("&LA&&&RB", "A& | B"), ("&C&&&&P", "&&P"), ("&C&BBold &D", "Bold [date]"),
    ('&L&"Arial,Bold"&12Plan&RPage &P of &N', "Plan | Page [page] of [pages]"),
])  # fmt: skip
def test_codes_in_a_header_are_read_from_left_to_right(tmp_path: Path, written: str, seen: str) -> None:
    header = f"<headerFooter><oddHeader>{escape(written)}</oddHeader></headerFooter>"
    page = raw_sheet(tmp_path, with_rows('<row r="1"><c r="A1"><v>1</v></c></row>', header)).page(0)
    assert of(page, "header")[0].content["text"] == seen


def test_a_pivot_table_tells_its_fields_and_its_source(tmp_path: Path) -> None:
    def change(parts: dict[str, bytes]) -> None:
        pivot = "xl/pivotTables/pivotTable1.xml"
        related(parts, SHEET, ("r1", "pivotTable", f"/{pivot}"))
        related(parts, pivot, ("r1", "pivotCacheDefinition", "../pivotCache/cache1.xml"))
        parts[pivot] = (
            f'<pivotTableDefinition xmlns="{MAIN}" name="Overview"><location ref="A1:B3"/><rowFields><field x="0"/>'
            '</rowFields><pageFields><pageField fld="2"/></pageFields><dataFields><dataField name="Total" fld="1"/>'
            "</dataFields></pivotTableDefinition>"
        ).encode()
        fields = "".join(f'<cacheField name="{name}"/>' for name in ("Region", "Units", "Year"))
        parts["xl/pivotCache/cache1.xml"] = (
            f'<pivotCacheDefinition xmlns="{MAIN}"><cacheSource type="worksheet"><worksheetSource ref="A1:C9" '
            f'sheet="Data"/></cacheSource><cacheFields>{fields}</cacheFields></pivotCacheDefinition>'
        ).encode()

    book, _ = workbook(["Region", "Total"], ["North", 3], ["South", 4])
    first, second = opened(book, tmp_path, change).page(0).elements
    assert first.category == "pivot_table"
    assert second.category == "table"
    assert first.content == {
        "name": "Overview", "rows": ["Region"], "columns": [], "values": ["Total (sum of Units)"], "filters": ["Year"],
        "source": "Data!A1:C9",
    }  # fmt: skip


def test_a_sheet_whose_relations_are_lost_says_so(tmp_path: Path) -> None:
    book, sheet = workbook(["Name", "Units"], ["Ann", 3])
    sheet["B2"].comment = Comment("Is this right?", "Bob")

    def change(parts: dict[str, bytes]) -> None:
        parts["xl/worksheets/_rels/sheet1.xml.rels"] = b"<broken"

    page = opened(book, tmp_path, change).page(0)
    assert "What belongs to this sheet cannot be read" in page.elements[0].content["text"]
    assert only_table(page).content["rows"] == [["Ann", "3"]]


def test_damaged_styles_are_reported_and_the_numbers_are_read(tmp_path: Path) -> None:
    book, _ = workbook(["Rice", 12.5])
    page = opened(book, tmp_path, lambda parts: parts.update({"xl/styles.xml": b"<styleSheet"})).page(0)
    assert "may be shown as other numbers" in of(page, "annotation")[0].content["text"]
    assert "12.5" in str(of(page, "table")[0].content)


# ------------------------------------------------------------------------------------------------- comments and objects


def test_a_thread_of_comments_is_a_comment_and_its_replies(tmp_path: Path) -> None:
    space = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"

    def said(key: str, person: str, words: str, more: str = "") -> str:
        return (
            f'<threadedComment ref="B2" dT="2024-01-0{key}T10:00:00" personId="{person}" id="{key}" {more}>'
            f"<text>{words}</text></threadedComment>"
        )

    def change(parts: dict[str, bytes]) -> None:
        replies = said("3", "a", "Fine.", 'parentId="1"') + said("2", "b", "It &amp;is.", 'parentId="1"')
        thread = replies + said("1", "a", "Is this right?", 'done="1"')
        parts["xl/threadedComments/t1.xml"] = f'<ThreadedComments xmlns="{space}">{thread}</ThreadedComments>'.encode()
        people = '<person displayName="Ann" id="a"/><person displayName="Bob" id="b"/>'
        parts["xl/persons/person.xml"] = f'<personList xmlns="{space}">{people}</personList>'.encode()
        kind = "http://schemas.microsoft.com/office/2017/10/relationships/threadedComment"
        related(parts, SHEET, ("t", kind, "../threadedComments/t1.xml"))

    book, sheet = workbook(["Name", "Units"], ["Ann", 3])
    sheet["B2"].comment = Comment("[Threaded comment] Is this right? Reply: It is.", "tc=1")
    sheet["A2"].comment = Comment("Who?", "Eve")
    alone, first, second, third = of(opened(book, tmp_path, change).page(0), "annotation")
    assert alone.content == {"text": "Who?", "kind": "comment", "cell": "A2", "author": "Eve"}
    assert first.content == {
        "text": "Is this right?", "kind": "comment", "cell": "B2", "author": "Ann", "date": "2024-01-01T10:00:00",
        "resolved": True,
    }  # fmt: skip
    assert [(one.content["kind"], one.content["author"], one.content["text"]) for one in (second, third)] == [
        ("reply", "Bob", "It &is."), ("reply", "Ann", "Fine."),
    ]  # fmt: skip
    assert second.content["reply_to"] == {"author": "Ann", "text": "Is this right?"}
    assert second.summary == "Bob to Ann: It &is."


def test_files_that_a_sheet_embeds_are_named_and_can_be_had(tmp_path: Path) -> None:
    drawing, compatibility = "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing", "mc"
    place = "<xdr:col>3</xdr:col><xdr:row>4</xdr:row>"
    inner = (
        f'<oleObject progId="Package" shapeId="1" r:id="o"><objectPr><anchor><from>{place}</from></anchor></objectPr>'
    )
    both = (
        f"<mc:AlternateContent><mc:Choice>{inner}</oleObject></mc:Choice>"
        f'<mc:Fallback><oleObject progId="Package" shapeId="1" r:id="o"/></mc:Fallback></mc:AlternateContent>'
    )
    spaces = (
        f'xmlns:xdr="{drawing}" xmlns:{compatibility}="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    )

    def change(parts: dict[str, bytes]) -> None:
        xml = with_rows('<row r="1"><c r="A1"><v>1</v></c></row>', f"<oleObjects>{both}</oleObjects>")
        parts[SHEET] = xml.replace("<worksheet ", f"<worksheet {spaces} ").encode()
        related(parts, SHEET, ("o", "oleObject", "../embeddings/oleObject1.bin"))
        parts["xl/embeddings/oleObject1.bin"] = packed_file("plan.txt", b"the plan")

    (found,) = of(opened(workbook(["x"])[0], tmp_path, change).page(0), "link")
    assert found.content["text"] == "Embedded file “plan.txt” (8 bytes)"
    assert found.metadata["source_range"] == "D5"
    assert found.file is not None
    assert found.file() == ("text/plain", b"the plan")


# ---------------------------------------------------------------------------------------------------------- long sheets


def long_workbook(path: Path, cell: Callable[[int], str], times: int) -> Path:
    """A workbook of one sheet with a thousand rows, over and over: packed once, and put down many times."""
    rows = "".join(f"<row><c><v>1</v></c>{cell(number)}</row>" for number in range(1_000)).encode()
    head = f'<worksheet xmlns="{MAIN}" xmlns:r="{KINDS}"><dimension ref="A1:B{times * 1_000}"/><sheetData>'.encode()
    link = '<hyperlinks><hyperlink ref="A3" location="Other!A1"/></hyperlinks>'
    tail = f'</sheetData><mergeCells><mergeCell ref="A2:B2"/></mergeCells>{link}</worksheet>'.encode()
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    middle = packer.compress(rows) + packer.flush(zlib.Z_FULL_FLUSH)
    end = packer.compress(tail) + packer.flush()
    check = zlib.crc32(head)
    for _ in range(times):
        check = zlib.crc32(rows, check)
    workbook(["x"])[0].save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist() if name != SHEET}
    with path.open("wb") as file:
        listed = [_put(file, name, 0, (zlib.crc32(raw), len(raw)), [raw]) for name, raw in parts.items()]
        size = len(head) + len(rows) * times + len(tail)
        listed.append(_put(file, SHEET, 8, (zlib.crc32(tail, check), size), [start, *[middle] * times, end]))
        place = file.tell()
        file.write(b"".join(listed))
        numbers = (len(listed), len(listed), sum(map(len, listed)), place)
        file.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, *numbers, 0))
    return path


def _put(file: IO[bytes], name: str, method: int, check: tuple[int, int], pieces: list[bytes]) -> bytes:
    """Write a member of an archive; what the list of members says of it."""
    shape = (method, 0, 33, check[0], sum(map(len, pieces)), check[1], len(name), 0)
    place = file.tell()
    file.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, *shape) + name.encode())
    file.writelines(pieces)
    return struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, *shape, 0, 0, 0, 0, place) + name.encode()


def words(size: int) -> Callable[[int], str]:
    """Cells with long texts, of which some letters are always others."""
    draw = random.Random(7)
    return lambda _: f'<c t="inlineStr"><is><t>{draw.randbytes(12).hex()}{"abcde" * (size // 5)}</t></is></c>'


def test_merged_cells_and_links_behind_a_long_sheet_are_known(tmp_path: Path) -> None:
    source = again(long_workbook(tmp_path / "book.xlsx", words(200), 100))
    first, second = only_table(source.page(0)), only_table(source.page(1))
    assert (first.metadata["merged"], first.metadata["links"]) == (["A2:B2"], {"A3": "#Other!A1"})
    assert "merged" not in second.metadata
    assert second.content["rows"][0][0] == "1"


def test_a_sound_workbook_is_read_however_large_it_is_unpacked(tmp_path: Path) -> None:
    path = long_workbook(tmp_path / "book.xlsx", words(500), 750)
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo(SHEET).file_size > 400_000_000
    source = again(path)
    assert len(source.page_titles) == 375
    assert only_table(source.page(0)).metadata["merged"] == ["A2:B2"]
    assert source.page_titles[-1] == "Sales (rows 748001–750000)"


def test_an_archive_that_was_made_to_burst_is_refused(tmp_path: Path) -> None:
    path = long_workbook(tmp_path / "book.xlsx", lambda _: f"<c>{' ' * 1_000}</c>", 400)
    with pytest.raises(UnreadableFileError, match="unpacks to"):
        open_sheets(path)


def test_texts_of_a_workbook_that_never_end_are_no_danger(tmp_path: Path) -> None:
    row = '<row><c t="s"><v>{}</v></c><c t="s"><v>{}</v></c></row>'

    def change(parts: dict[str, bytes]) -> None:
        parts["xl/texts.xml"] = f'<sst xmlns="{MAIN}"><si><t>Name</t></si><si><t>{"x" * 9_000_000}'.encode()
        parts[SHEET] = with_rows(row.format(0, 0) + row.format(0, 1)).encode()
        related(parts, "xl/workbook.xml", ("texts", "sharedStrings", "texts.xml"))

    page = opened(workbook(["x"])[0], tmp_path, change).page(0)
    assert "too many" in page.elements[0].content["text"]
    assert only_table(page).content["rows"] == [["Name", ""]]


def test_a_sheet_without_rows_has_what_lies_over_it(tmp_path: Path) -> None:
    dot = io.BytesIO()
    Image.new("RGB", (20, 10), "red").save(dot, "PNG")
    book, sheet = workbook()
    sheet.add_image(Picture(dot), "C3")
    (found,) = opened(book, tmp_path).page(0).elements
    assert (found.category, found.metadata["source_range"]) == ("image", "C3")
