"""OpenDocument spreadsheets (ods): the file keeps the text of each cell as it is shown, so no format is applied here.

All sheets are in one XML part. It is divided into sheets and rows by looking at bytes; only the rows of a page become
a tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.office.facts import opendocument_facts
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import DamagedPartError, parse_xml
from a2c_documents.parsers.opendocument.objects import Objects
from a2c_documents.parsers.sheets.grid import (
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_ROWS,
    NamedTable,
    Region,
    SheetInfo,
    details_of,
    pages_of,
)
from a2c_documents.parsers.sheets.markup import attributes
from a2c_documents.parsers.sheets.opendocument_cells import read_row, shape_elements
from a2c_documents.parsers.sheets.opendocument_edges import edges_of
from a2c_documents.parsers.sheets.opendocument_pivots import named_tables, pivot_elements

MAX_CONTENT = 250_000_000
MAX_SHAPES = 500
_ROOT = re.compile(rb"<office:document-content\b[^>]*>")
_SHEET = re.compile(rb"<table:table\b([^>]*)>")
_ROW = re.compile(rb"<table:table-row\b([^>]*)>")
_STYLE = re.compile(rb'<style:style\b([^>]*style:family="table"[^>]*)>\s*(<style:table-properties\b[^>]*>)?')
_COLUMN = re.compile(rb"<table:table-column\b([^>]*)>")
_SHAPES = re.compile(rb"<table:shapes>.*?</table:shapes>", re.DOTALL)
_END = b"</office:document-content>"


@dataclass(frozen=True, slots=True)
class _Rows:
    """A group of equal rows: where it begins, how many they are, and where its XML is."""

    first: int
    count: int
    start: int
    end: int
    hidden: bool


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Where the parts of a sheet are in the XML, and how it is printed."""

    rows: list[_Rows]
    shapes: bytes
    hidden_columns: list[int]
    tables: list[NamedTable]
    master: str


class OpenDocumentBook:
    """An open workbook: the XML in memory, and where its rows are."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._objects = Objects(package)
        if package.is_encrypted:
            raise UnreadableFileError("this workbook is protected by a password")
        self._raw = package.read("content.xml", MAX_CONTENT)
        self.sheets: list[SheetInfo] = []
        self._inner: list[_Sheet] = []
        self._divide()
        self.facts = opendocument_facts(package)
        self.facts.details |= details_of(self.sheets)

    def close(self) -> None:
        """Let go of the archive."""
        self._package.close()

    # ---------------------------------------------------------------------------------------------------------- sheets

    def _divide(self) -> None:
        """Find the sheets, and the rows of each."""
        raw = self._raw
        root = _ROOT.search(raw)
        if root is None:
            raise UnreadableFileError("this is no workbook: its content is something else")
        if b"<!DOCTYPE" in raw[: root.start()] or b"<!ENTITY" in raw[: root.start()]:
            raise UnreadableFileError("a part of this file defines entities of its own, which no spreadsheet needs")
        self._root = root[0]
        styles: dict[str, tuple[str, bool]] = {}
        for said, shape in _STYLE.findall(raw):
            style = attributes(said)
            is_hidden = attributes(shape).get("table:display") == "false"
            styles[style.get("style:name", "")] = style.get("style:master-page-name", ""), is_hidden
        end = 0
        for match in _SHEET.finditer(raw, raw.find(b"<office:spreadsheet")):
            if match.start() < end or match[1].endswith(b"/"):
                continue
            end = raw.find(b"</table:table>", match.end())
            end = len(raw) if end < 0 else end
            said = attributes(match[1])
            master, is_hidden = styles.get(said.get("table:style-name", ""), ("", False))
            self.sheets.append(SheetInfo(said.get("table:name", ""), "hidden" if is_hidden else ""))
            self._inner.append(self._sheet(match.end(), end, master))
        if not self.sheets:
            raise UnreadableFileError("this workbook has no sheets")

    def _sheet(self, start: int, end: int, master: str) -> _Sheet:
        raw = self._raw
        rows = list(self._rows_of(start, end))
        counted = [(group, raw.count(b"<text:p", group.start, group.end)) for group in rows]
        filled = ((group, count) for group, count in counted if count)
        self.sheets[-1].pages = pages_of(
            (group.first + more, count) for group, count in filled for more in range(group.count)
        )
        # A picture or a chart may lie where no cells are.
        kept = [group for group, count in counted if count or raw.find(b"<draw:", group.start, group.end) >= 0]
        before_rows = rows[0].start if rows else end
        shapes = _SHAPES.search(raw, start, before_rows)
        hidden_columns = _hidden_columns(raw[start:before_rows])
        tables = [self._headed(table, kept) for table in named_tables(raw, self.sheets[-1].name)]
        return _Sheet(kept, shapes[0] if shapes else b"", hidden_columns, tables, master)

    def _rows_of(self, start: int, end: int) -> Iterator[_Rows]:
        row = 0
        matches = list(_ROW.finditer(self._raw, start, end))
        stops = [match.start() for match in matches[1:]] + [end]
        for match, stop in zip(matches, stops, strict=False):
            said = match[1]
            count, is_hidden = 1, b"table:visibility=" in said and b'"visible"' not in said
            if b"number-rows-repeated" in said:
                words = attributes(said).get("table:number-rows-repeated", "1")
                count = int(words) if words.isdigit() and len(words) < 8 else 1
            close = self._raw.rfind(b"</table:table-row>", match.end(), stop)
            if close >= 0:
                filled = min(count, MAX_ROWS - row)
                yield _Rows(row, max(0, filled), match.start(), close + len(b"</table:table-row>"), is_hidden)
            row += count

    def _headed(self, table: NamedTable, rows: list[_Rows]) -> NamedTable:
        """A table with the names of its columns, which its later pages need too."""
        region = Region()
        for group in rows:
            if table.header_rows and group.first <= table.area.top < group.first + group.count:
                self._read(group, range(table.area.top, table.area.top + 1), region)
        places = ((table.area.top, column) for column in range(table.area.left, table.area.right + 1))
        headers = tuple(region.cells[place].text if place in region.cells else "" for place in places)
        return replace(table, headers=headers if any(headers) else ())

    def region(self, sheet: int, first: int, last: int) -> Region:
        """The rows from `first` to `last`, and what lies over them."""
        inner = self._inner[sheet]
        tables = [table for table in inner.tables if first <= table.area.bottom and table.area.top <= last]
        region = Region(hidden_columns=inner.hidden_columns, tables=tables)
        if first == 0:
            self._add_beside(sheet, region)
        if (first, last) == self.sheets[sheet].pages[-1]:
            last = MAX_ROWS
        for group in inner.rows:
            if group.first > last or group.first + group.count <= first:
                continue
            rows = range(max(first, group.first), min(last + 1, group.first + group.count))
            if not self._read(group, rows, region):
                break
        return region

    def _read(self, group: _Rows, rows: range, region: Region) -> bool:
        """Put some of the rows of a group into a region; False if there is no room for more."""
        try:
            (node,) = parse_xml(self._root + self._raw[group.start : group.end] + _END)
        except (DamagedPartError, ValueError) as error:
            region.problems.append(f"Row {group.first + 1} cannot be read: {error}.")
            return True
        for row in rows:
            if len(region.cells) > MAX_CELLS:
                region.problems.append(f"Only the rows up to {row} of this page are shown: it has too many cells.")
                return False
            read_row(node, row, region, self._objects)
            if group.hidden:
                region.hidden_rows.append(row)
        return True

    def _add_beside(self, sheet: int, region: Region) -> None:
        """Shapes that belong to no cell, pivot tables, header and footer."""
        inner = self._inner[sheet]
        if inner.shapes:
            try:
                (shapes,) = parse_xml(self._root + inner.shapes + _END)
                for shape in shapes[:MAX_SHAPES]:
                    region.floating.extend((0, 0, one) for one in shape_elements(shape, self._objects))
            except (DamagedPartError, ValueError) as error:
                region.problems.append(f"The shapes of this sheet cannot be read: {error}.")
        region.floating.extend(pivot_elements(self._raw, self._root, _END, self.sheets[sheet].name))
        region.edges = edges_of(self._package.optional("styles.xml"), inner.master) if inner.master else []


def _hidden_columns(head: bytes) -> list[int]:
    """The columns that nobody sees, from what stands before the rows."""
    hidden: list[int] = []
    column = 0
    for raw in _COLUMN.findall(head):
        said = attributes(raw)
        words = said.get("table:number-columns-repeated", "1")
        end = min(MAX_COLUMNS, column + (int(words) if words.isdigit() and len(words) < 8 else 1))
        if said.get("table:visibility", "visible") != "visible":
            hidden.extend(range(column, end))
        column = end
    return hidden
