"""Excel workbooks of today (xlsx, xlsm): an archive of XML parts, of which a page reads only its own."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

from a2c_smcp.documents.model import Element, Facts, UnreadableFileError
from a2c_smcp.documents.parsers.sheets.cells import CellReader, SharedStrings, Styles
from a2c_smcp.documents.parsers.sheets.charts import fill_chart
from a2c_smcp.documents.parsers.sheets.drawing import drawing_elements
from a2c_smcp.documents.parsers.sheets.grid import (
    MAX_COLUMNS,
    MAX_ROWS,
    Area,
    NamedTable,
    Region,
    SheetInfo,
    area_of,
    even_pages,
    uneven_pages,
)
from a2c_smcp.documents.parsers.sheets.notes import comments_of, edges_of, named_table, pivot_element
from a2c_smcp.documents.parsers.sheets.rows import RowStream
from a2c_smcp.documents.parsers.sheets.xml import DAMAGE, Parts, attribute, attributes, first, found, is_on, local

LONG_SHEET = 16_000_000
"""Bytes of a sheet whose end is not unpacked for its merged cells and links: that would cost more than its pages."""
_BYTES_OF_A_CELL = (12, 600)
"""In a sheet that is at least half full a cell has more bytes than the first; on average fewer than the second."""
_MERGED = re.compile(rb"""<(?:[\w.-]+:)?mergeCell\b[^>]*?\bref\s*=\s*["']([A-Z0-9:$]+)["']""")
_LINK = re.compile(rb"<(?:[\w.-]+:)?hyperlink\b([^>]*)>")
_COLUMN = re.compile(rb"<(?:[\w.-]+:)?col\b([^>]*)>")
_MAX_MERGED, _MAX_LINKS = 20_000, 20_000


class _Sheet:
    """A sheet's part and what is known of it so far."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.relations: list[tuple[str, str, str]] | None = None
        self.merged: list[Area] = []
        self.links: list[tuple[Area, str]] = []
        self.hidden_columns: list[int] = []
        self.tables: list[NamedTable] = []
        self.floating: list[tuple[int, int, Element]] = []
        self.comments: list[tuple[int, int, Element]] = []
        self.edges: list[Element] = []
        self.problems: list[str] = []


class ExcelBook:
    """An open workbook; sheets, styles and texts are read when a page needs them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except (*DAMAGE, ValueError) as error:
            raise UnreadableFileError(f"this workbook is damaged: {error}") from None
        try:
            self._open()
        except BaseException:
            self._archive.close()
            raise

    def _open(self) -> None:
        self._parts = Parts(self._archive)
        workbook = self._main_part()
        tree = self._parts.tree(workbook)
        relations = self._parts.relations(workbook)
        targets = {name: target for name, _, target in relations}
        kinds = {kind: target for _, kind, target in relations}
        self._strings_part, self._styles_part = kinds.get("sharedStrings", ""), kinds.get("styles", "")
        self._from_1904 = is_on(attribute(first(tree, "workbookPr"), "date1904"))
        self._reader: CellReader | None = None
        self._strings: SharedStrings | None = None
        self._stream: RowStream | None = None
        self._stream_of = -1
        self.sheets: list[SheetInfo] = []
        self._inner: list[_Sheet] = []
        for node in found(first(tree, "sheets"), "sheet"):
            state = node.get("state", "visible")
            hidden = {"hidden": "hidden", "veryHidden": "very hidden"}.get(state, "")
            self.sheets.append(SheetInfo(node.get("name", ""), hidden))
            self._inner.append(_Sheet(targets.get(attribute(node, "id"), "")))
        if not self.sheets:
            raise UnreadableFileError("this workbook has no sheets")
        for number, sheet in enumerate(self.sheets):
            sheet.pages = self._pages(number)
        self.facts = core_facts(self._parts)
        self.facts.details |= self._details(workbook, kinds)

    def _main_part(self) -> str:
        for _, kind, target in self._parts.relations(""):
            if kind == "officeDocument" and self._parts.real_name(target):
                return target
        if self._parts.real_name("xl/workbook.xml"):
            return "xl/workbook.xml"
        raise UnreadableFileError("this is no workbook: it has no list of sheets")

    def _details(self, workbook: str, kinds: dict[str, str]) -> dict[str, Any]:
        hidden = [sheet.name for sheet in self.sheets if sheet.hidden]
        details: dict[str, Any] = {"sheets": [sheet.name for sheet in self.sheets]}
        if hidden:
            details["hidden_sheets"] = hidden
        if self._from_1904:
            details["date_system"] = 1904
        if "vbaProject" in kinds:
            details["macros"] = True
        return details

    def close(self) -> None:
        """Let go of the archive."""
        for one in (self._stream, self._strings):
            if one is not None:
                one.close()
        self._archive.close()

    # ----------------------------------------------------------------------------------------------------------- pages

    def _pages(self, number: int) -> list[tuple[int, int]]:
        """Where the pages of a sheet begin and end: from what it says of its size, or else from its rows."""
        part = self._inner[number].part
        if not self._parts.real_name(part):
            return [(0, 0)]
        try:
            stream = RowStream(self._parts, part)
        except UnreadableFileError:
            return [(0, 0)]
        try:
            declared, size = stream.declared, self._parts.size(part) - len(stream.head)
            if declared is not None and _is_likely(declared, size):
                return even_pages(*declared)
            lengths = list(stream.lengths())
        except UnreadableFileError:
            return [(0, MAX_ROWS - 1)]
        finally:
            stream.close()
        if not lengths:
            return [(0, 0)]
        rows, columns = lengths[-1][0] + 1, max(count for _, count in lengths)
        filled = sum(count for _, count in lengths)
        return even_pages(rows, columns) if filled * 4 >= rows * columns else uneven_pages(lengths)

    def region(self, sheet: int, first: int, last: int) -> Region:
        """The rows from `first` to `last`, and what lies over them."""
        inner, pages = self._inner[sheet], self.sheets[sheet].pages
        is_last = (first, last) == pages[-1]
        region = Region()
        try:
            stream = self._stream_for(sheet)
            # What a sheet says of its size may be too little: the last page takes what is left, within bounds.
            stop = min(MAX_ROWS, last + 1 + (last - first + 1 if is_last else 0))
            self._cells().read(stream, first, stop, region)
        except UnreadableFileError as error:
            region.problems.append(f"A part of this sheet cannot be read: {error}.")
            stream = None
        self._surroundings(inner, stream)
        rows = Area(first, 0, MAX_ROWS if is_last else last, MAX_COLUMNS)
        region.merged = [area for area in inner.merged if area.meets(rows)]
        region.tables = [table for table in inner.tables if table.area.meets(rows)]
        region.hidden_columns = inner.hidden_columns
        region.links = {
            (row, column): url
            for area, url in inner.links
            if area.meets(rows)
            for row, column in [(area.top, area.left)]
            if (row, column) in region.cells
        }
        region.floating = [one for one in inner.floating if first <= one[0] <= rows.bottom]
        for _, _, element in region.floating:
            if element.category == "chart":
                fill_chart(element, region.cells, self.sheets[sheet].name)
        region.comments = [one for one in inner.comments if first <= one[0] <= rows.bottom]
        region.edges = inner.edges if first == 0 else []
        region.problems.extend(inner.problems if first == 0 else [])
        return region

    def _stream_for(self, sheet: int) -> RowStream:
        if self._stream is None or self._stream_of != sheet:
            if self._stream is not None:
                self._stream.close()
            self._stream = None
            self._stream = RowStream(self._parts, self._inner[sheet].part)
            self._stream_of = sheet
        return self._stream

    def _cells(self) -> CellReader:
        if self._reader is None:
            try:
                self._strings = SharedStrings(self._parts, self._strings_part)
            except DAMAGE as error:
                raise UnreadableFileError(f"the texts of this workbook are damaged: {error}") from None
            try:
                styles = Styles(self._parts.tree(self._styles_part))
            except UnreadableFileError:
                styles = Styles(None)
            self._reader = CellReader(self._strings, styles, from_1904=self._from_1904)
        return self._reader

    # ---------------------------------------------------------------------------------------------------- around cells

    def _surroundings(self, sheet: _Sheet, stream: RowStream | None) -> None:
        """Everything of a sheet that is not in its rows, once."""
        if sheet.relations is not None:
            return
        sheet.relations = []
        try:
            sheet.relations = self._parts.relations(sheet.part)
        except UnreadableFileError as error:
            sheet.problems.append(f"What belongs to this sheet cannot be read: {error}.")
        for _, kind, target in sheet.relations:
            try:
                self._related(sheet, kind, target)
            except UnreadableFileError as error:
                sheet.problems.append(f"The {kind} of this sheet cannot be read: {error}.")
        threaded = [one for one in sheet.comments if one[2].metadata.pop("threaded", False)]
        places = {one[:2] for one in threaded}
        sheet.comments = threaded + [one for one in sheet.comments if one[:2] not in places]
        if stream is not None:
            for raw in _COLUMN.findall(stream.head):
                column = attributes(raw)
                if is_on(column.get("hidden", "")) and column.get("min", "").isdigit():
                    last = min(int(column.get("max", "") or column["min"]), MAX_COLUMNS)
                    sheet.hidden_columns.extend(range(int(column["min"]) - 1, last))
            if self._parts.size(sheet.part) <= LONG_SHEET or stream.tail is not None:
                self._behind(sheet, stream)

    def _related(self, sheet: _Sheet, kind: str, target: str) -> None:
        if kind == "table":
            named = named_table(self._parts.tree(target))
            sheet.tables.extend([named] if named is not None else [])
        elif kind == "drawing":
            sheet.floating.extend(drawing_elements(self._path, self._parts, target))
        elif kind == "pivotTable":
            sheet.floating.extend(pivot_element(self._parts, target))
        elif kind in ("comments", "threadedComment"):
            sheet.comments.extend(comments_of(self._parts, target, threaded=kind == "threadedComment"))

    def _behind(self, sheet: _Sheet, stream: RowStream) -> None:
        try:
            tail = stream.read_tail()
        except UnreadableFileError as error:
            sheet.problems.append(f"The end of this sheet cannot be read: {error}.")
            return
        areas = (area_of(ref.decode("ascii")) for ref in _MERGED.findall(tail)[:_MAX_MERGED])
        sheet.merged = [area for area in areas if area is not None]
        targets = {name: target for name, kind, target in sheet.relations or [] if kind == "hyperlink"}
        for raw in _LINK.findall(tail)[:_MAX_LINKS]:
            link = attributes(raw)
            area = area_of(link.get("ref", ""))
            name = next((value for key, value in link.items() if key.endswith(":id")), "")
            place = link.get("location", "")
            url = targets.get(name, "") + (f"#{place}" if place else "")
            if area is not None and url:
                sheet.links.append((area, url))
        sheet.edges = edges_of(tail)


def _is_likely(declared: tuple[int, int], size: int) -> bool:
    """Whether a sheet can have the size it declares: writers leave "A1" there, or the size of all formatted cells."""
    cells = declared[0] * declared[1]
    return size / _BYTES_OF_A_CELL[1] <= cells and cells <= max(size / _BYTES_OF_A_CELL[0], 2_000)


def core_facts(parts: Parts) -> Facts:
    """What an Office file says about itself."""
    facts = Facts()
    try:
        tree = parts.tree("docProps/core.xml")
    except UnreadableFileError:
        return facts
    said = {local(node.tag): (node.text or "").strip() for node in tree or ()}
    facts.title, facts.author = said.get("title", ""), said.get("creator", "")
    facts.summary = said.get("description", "") or said.get("subject", "")
    facts.keywords = [word.strip() for word in re.split(r"[,;]", said.get("keywords", "")) if word.strip()]
    facts.created = said.get("created", "")
    return facts
