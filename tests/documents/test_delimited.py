"""Tables in text files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from a2c_documents.model import MAX_SUMMARY, Source, UnreadableFileError
from a2c_documents.paging import MAX_PAGE_BYTES, size_of
from a2c_documents.parsers.delimited import open_delimited

LINES = "Name;City\nJosé;Zürich\nAnn;Köln\n"


OPEN: list[Source] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Every file a test opened is closed after it."""
    yield
    while OPEN:
        OPEN.pop().close()


def opened(tmp_path: Path, data: bytes | str, name: str = "people.csv") -> Source:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return again(path)


def again(path: Path) -> Source:
    OPEN.append(open_delimited(path))
    return OPEN[-1]


def content(source: Source, index: int = 0) -> dict[str, Any]:
    return source.page(index).elements[-1].content


def test_a_table_has_the_names_of_its_first_row(tmp_path: Path) -> None:
    source = opened(tmp_path, "Name,Units\nAnn,3\nBob,4\n")
    assert list(source.page_titles) == [""], "the library calls it by the file's name"
    assert content(source) == {"headers": ["Name", "Units"], "rows": [["Ann", "3"], ["Bob", "4"]]}
    assert source.page(0).elements[0].metadata["rows"] == [1, 3]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
def test_every_usual_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    source = opened(tmp_path, mark + LINES.encode(encoding))
    assert content(source) == {"headers": ["Name", "City"], "rows": [["José", "Zürich"], ["Ann", "Köln"]]}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    lines = [["Name", "Price", "Note"], ["Ann", '"1,5"' if delimiter == "," else "1,5", "x y"], ["Bob", "2", ""]]
    source = opened(tmp_path, "\n".join(delimiter.join(line) for line in lines))
    assert content(source)["rows"] == [["Ann", "1,5", "x y"], ["Bob", "2", ""]]
    assert source.facts.details["delimiter"] == delimiter


def test_a_hint_names_the_delimiter_and_is_no_row(tmp_path: Path) -> None:
    assert content(opened(tmp_path, "sep=;\nName;Price\nAnn;1,5\n"))["headers"] == ["Name", "Price"]


def test_quoted_cells_hold_delimiters_quotes_and_lines(tmp_path: Path) -> None:
    source = opened(tmp_path, 'Name,Text\r\nAnn,"one, ""two""\nthree"\r\n')
    assert content(source)["rows"] == [["Ann", 'one, "two"\nthree']]


def test_ragged_rows_are_filled_up(tmp_path: Path) -> None:
    assert content(opened(tmp_path, "a,b,c\n1\n1,2,3\n"))["rows"] == [["1", "", ""], ["1", "2", "3"]]


def test_a_title_above_the_table_is_a_heading(tmp_path: Path) -> None:
    source = opened(tmp_path, "Report,,\nName,Units,Price\nAnn,3,4\n")
    first, second = source.page(0).elements
    assert (source.facts.title, list(source.page_titles)) == ("Report", ["Report"])
    assert first.category == "heading"
    assert first.content["text"] == "Report"
    assert second.content["headers"] == ["Name", "Units", "Price"]


def test_numbers_without_names_are_called_by_letters(tmp_path: Path) -> None:
    assert content(opened(tmp_path, "1,2\n3,4\n")) == {"headers": ["A", "B"], "rows": [["1", "2"], ["3", "4"]]}


def test_a_single_column_is_a_table_too(tmp_path: Path) -> None:
    assert content(opened(tmp_path, "Name\nAnn\nBob\n")) == {"headers": ["Name"], "rows": [["Ann"], ["Bob"]]}


def test_a_long_table_continues_with_its_names(tmp_path: Path) -> None:
    lines = ["Name,A,B,Note", *(f'n{number},1,2,"x\ny"' for number in range(2_499))]
    source = opened(tmp_path, "\n".join(lines))
    assert list(source.page_titles) == ["Rows 1–1000", "Rows 1001–2000", "Rows 2001–2500"]
    assert source.facts.summary == "2,499 rows: Name, A, B, Note"
    assert content(source, 1)["headers"] == ["Name", "A", "B", "Note"]
    assert content(source, 1)["rows"][0] == ["n999", "1", "2", "x\ny"]
    assert content(source, 2)["rows"][-1][0] == "n2498"
    assert len(content(source, 2)["rows"]) == 500
    other = again(tmp_path / "people.csv")
    assert [other.page(index) for index in (2, 0, 1)] == [source.page(index) for index in (2, 0, 1)]


def test_long_cells_are_cut_on_the_page_and_whole_in_detail(tmp_path: Path) -> None:
    page = opened(tmp_path, "Name,Text\n" + "".join(f"n{number},{'word ' * 200}\n" for number in range(500))).page(0)
    assert sum(size_of(element) for element in page.elements) <= MAX_PAGE_BYTES
    assert page.elements[0].detail is not None
    assert len(page.elements[0].detail["rows"][0][1]) == 1_000


def test_lines_may_end_as_on_old_machines(tmp_path: Path) -> None:
    assert content(opened(tmp_path, "Name,Units\rAnn,3\r"))["rows"] == [["Ann", "3"]]


def test_a_quote_that_never_ends_is_no_quote(tmp_path: Path) -> None:
    lines = "".join(f"n{number},{number}\n" for number in range(20_000))
    source = opened(tmp_path, f'Name,Size\nscreen,"24\n{lines}')
    assert source.facts.details["rows"] == 20_002
    assert content(source)["rows"][0] == ["screen", '"24']


def test_one_odd_row_does_not_make_every_page_short_nor_this_one_huge(tmp_path: Path) -> None:
    lines = ["a,b", *("1,2" for _ in range(500)), ",".join("x" * 3_000)]
    source = opened(tmp_path, "\n".join(lines))
    assert len(source.page_titles) == 1
    table, remark = source.page(0).elements
    assert table.content["rows"][-1] == ["x"] * len(table.content["headers"])
    assert sum(map(size_of, (table, remark))) <= MAX_PAGE_BYTES
    assert "of 3,000 cells" in remark.content["text"]


@pytest.mark.parametrize(
    ("data", "summary"),
    [
        ("Name,Units\nAnn,3\n\nBob,4\n", "2 rows: Name, Units"),
        ("Report,\nName,Units\nAnn,3\n", "1 row: Name, Units"),
        ("1,2\n3,4\n", "2 rows, 2 columns"),
        (",".join(f"column {n}" for n in range(100)) + "\n" + ",".join("1" * 100), "1 row: column 0, column 1, "),
    ],
)
def test_a_summary_says_how_much_of_what(tmp_path: Path, data: str, summary: str) -> None:
    found = opened(tmp_path, data).facts.summary
    assert found.startswith(summary)
    assert found == summary or (found.endswith("column 17…") and len(found) <= MAX_SUMMARY)


def test_cells_may_be_very_long(tmp_path: Path) -> None:
    source = opened(tmp_path, f'Name,Text\nAnn,"{"word, " * 50_000}\nend"\nBob,{"x" * 300_000}\n')
    detail = source.page(0).elements[0].detail
    assert detail is not None
    assert [(row[0], len(row[1])) for row in detail["rows"]] == [("Ann", 300_004), ("Bob", 300_000)]
    assert size_of(source.page(0).elements[0]) <= MAX_PAGE_BYTES


def test_a_quote_that_is_open_at_the_end_swallows_nothing(tmp_path: Path) -> None:
    source = opened(tmp_path, 'Name,Size\nscreen,"24\nphone,6\nwatch,2\n')
    assert content(source)["rows"] == [["screen", '"24'], ["phone", "6"], ["watch", "2"]]


def test_a_letter_where_the_sample_ends_is_no_reason_to_guess(tmp_path: Path) -> None:
    for shift in range(3):
        source = opened(tmp_path, "Name,Größe\n" + "x" * shift + "ж,€\n" * 60_000)
        assert source.facts.details["encoding"] == "utf-8"


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf\n\n", b"\x00\x01\x02\x03" * 500])
def test_a_file_without_a_table_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UnreadableFileError):
        opened(tmp_path, data)
