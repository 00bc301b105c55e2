"""Reports in workbooks: each number keeps the name of its row and the header of its column, whatever makes room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")

from a2c_documents.model import Element
from tests.support.documents.sheet_files import close_opened, opened, workbook

Rows = list[list[Any]]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Every file a test opened is closed after it."""
    yield
    close_opened()


def report(tmp_path: Path, rows: Rows, *merged: str) -> list[Element]:
    """The elements of a sheet with these rows; None is an empty cell."""
    book, sheet = workbook(*rows)
    for ref in merged:
        sheet.merge_cells(ref)
    return opened(book, tmp_path).page(0).elements


def tables(elements: list[Element]) -> list[Element]:
    return [element for element in elements if element.category == "table"]


def test_empty_columns_before_numbers_divide_nothing(tmp_path: Path) -> None:
    rows = [["Sales"], [], ["Region", None, "2023", None, "Change"], ["North", None, 1204, None, 176],
            ["South", None, 980, None, 31]]  # fmt: skip
    title, found = report(tmp_path, rows)
    assert title.category == "heading"
    assert found.content == {
        "headers": ["Region", "2023", "Change"],
        "rows": [["North", "1204", "176"], ["South", "980", "31"]],
    }
    assert found.metadata["source_range"] == "A3:E5"
    assert found.metadata["columns"] == ["A", "C", "E"]


def test_formulas_keep_their_addresses_beside_empty_columns(tmp_path: Path) -> None:
    rows = [
        ["Region", None, "2023", None, "Sum"],
        ["North", None, 12, None, "=C2*2"],
        ["South", None, 9, None, "=C3*2"],
    ]
    (found,) = report(tmp_path, rows)
    assert found.metadata["formulas"] == {"E2": "=C2*2", "E3": "=C3*2"}


def test_an_empty_row_below_the_headers_divides_nothing(tmp_path: Path) -> None:
    rows = [["Income statement"], ["in EUR million"], [], [None, None, "Actual", None, "Budget"], [], ["Revenue"],
            ["  Products", None, 301, None, 290], ["Total revenue", None, 452, None, 430], [], ["Costs"],
            ["  Staff", None, 201, None, 199], ["Total costs", None, 232, None, 229]]  # fmt: skip
    first, second = tables(report(tmp_path, rows))
    assert first.content["headers"] == second.content["headers"] == ["", "Actual", "Budget"]
    assert first.content["rows"] == [["Revenue", "", ""], ["  Products", "301", "290"], ["Total revenue", "452", "430"]]
    assert second.content["rows"][-1] == ["Total costs", "232", "229"]


def test_years_below_merged_headers_are_a_level_of_them(tmp_path: Path) -> None:
    rows = [["Country", "Exports"], [None, "Goods", None, "Services"], [None, 2022, 2023, 2022, 2023],
            ["Austria", 101, 104, 55, 57], ["Chile", 88, 91, 12, 13]]  # fmt: skip
    (found,) = report(tmp_path, rows, "A1:A3", "B1:E1", "B2:C2", "D2:E2")
    assert found.content["headers"] == [
        "Country", "Exports / Goods / 2022", "Exports / Goods / 2023", "Exports / Services / 2022",
        "Exports / Services / 2023",
    ]  # fmt: skip


def test_headers_above_numbers_only_are_headers(tmp_path: Path) -> None:
    rows = [[None, None, None, "2024", "2025"], ["Assets"], [None, "Current"], [None, None, "Cash", 120, 140],
            [None, "Total current", None, 205, 219], ["Total assets", None, None, 805, 799]]  # fmt: skip
    (found,) = report(tmp_path, rows)
    assert found.content["headers"] == ["", "", "", "2024", "2025"]
    assert found.content["rows"][2] == ["", "", "Cash", "120", "140"]


def test_two_tables_side_by_side_stay_two(tmp_path: Path) -> None:
    rows = [["Region", "Sales", None, "Year", "Units"], ["North", 10, None, 2023, 7], ["South", 20, None, 2024, 8]]
    assert [found.metadata["source_range"] for found in report(tmp_path, rows)] == ["A1:B3", "D1:E3"]


def test_notes_right_below_a_table_are_texts(tmp_path: Path) -> None:
    rows = [["Species", "2021"], ["Heron", 14], ["Dipper*", 2], ["* counted in May only"], ["Source: own count"]]
    found = report(tmp_path, rows)
    assert [element.category for element in found] == ["table", "text", "text"]
    assert found[1].metadata["source_range"] == "A4"


def test_the_format_of_a_differential_style_is_not_that_of_a_cell(tmp_path: Path) -> None:
    def add(parts: dict[str, bytes]) -> None:
        style = b'<dxfs count="1"><dxf><numFmt numFmtId="14" formatCode="0.00%"/></dxf></dxfs>'
        parts["xl/styles.xml"] = parts["xl/styles.xml"].replace(b"</styleSheet>", style + b"</styleSheet>")

    book, sheet = workbook(["Name", "Due"], ["Ann", 45_000])
    sheet["B2"].number_format = "mm-dd-yy"
    (found,) = opened(book, tmp_path, add).page(0).elements
    assert found.content["rows"] == [["Ann", "2023-03-15"]]


def test_many_cells_with_one_long_text_are_cut_and_said_to_be(tmp_path: Path) -> None:
    book, _ = workbook(*[["long " * 6_000] * 10 for _ in range(60)])
    elements = opened(book, tmp_path).page(0).elements
    assert "too long texts" in str([element.content for element in elements if element.category == "annotation"])
