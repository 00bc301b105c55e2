"""Excel workbooks (xlsx, xlsm): an archive of XML parts, of which a page reads only its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from a2c_documents.model import Element, UnreadableFileError
from a2c_documents.parsers.office.charts import Chart
from a2c_documents.parsers.office.facts import core_facts
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import DamagedPartError, attribute, first, found
from a2c_documents.parsers.sheets.comments import comments_of, threaded_comments_of
from a2c_documents.parsers.sheets.excel_cells import CellReader, CellStyles, SharedStrings
from a2c_documents.parsers.sheets.excel_objects import (
    drawn_things,
    embedded_objects,
    filled_chart,
    named_table,
    pivot_element,
)
from a2c_documents.parsers.sheets.excel_rows import RowStream
from a2c_documents.parsers.sheets.grid import (
    MAX_COLUMNS,
    MAX_ROWS,
    Area,
    NamedTable,
    Region,
    SheetInfo,
    area_of,
    columns_in,
    details_of,
    pages_of,
)
from a2c_documents.parsers.sheets.markup import attributes, edges_of, is_on


class ExcelBook:
    """An open workbook; sheets, styles and texts are read when a page needs them."""

    def __init__(self, package: Package) -> None:
        self._package = package
        main = package.main_part("xl/workbook.xml")
        if main not in package:
            raise UnreadableFileError("this file is not a valid workbook: it has no list of sheets")
        tree = package.xml(main)
        targets = package.relations(main)
        self._strings_part, self._styles_part = (package.related(main, kind) for kind in ("sharedStrings", "styles"))
        self._from_1904 = is_on(attribute(first(tree, "workbookPr"), "date1904"))
        self._reader: CellReader | None = None
        self._strings: SharedStrings | None = None
        self._stream: RowStream | None = None
        self._stream_of = -1
        self.sheets: list[SheetInfo] = []
        self._parts: list[str] = []
        self._around: dict[int, Around] = {}
        self._tails: dict[int, bytes | None] = {}
        """The bytes after the rows, for sheets that were read to their end to find their length."""
        self._damage: dict[int, str] = {}
        """Why the rows of a sheet end early."""
        for node in found(first(tree, "sheets"), "sheet"):
            state = node.get("state", "visible")
            hidden = {"hidden": "hidden", "veryHidden": "very hidden"}.get(state, "")
            self.sheets.append(SheetInfo(node.get("name", ""), hidden))
            relation = targets.get(attribute(node, "id"))
            self._parts.append(relation.target if relation is not None else "")
        if not self.sheets:
            raise UnreadableFileError("this workbook has no sheets")
        # The number of pages of every sheet must be known on opening, but no cell is parsed for it.
        for number, sheet in enumerate(self.sheets):
            sheet.pages = self._pages(number)
        self.facts = core_facts(package)
        self.facts.details |= details_of(self.sheets)
        if self._from_1904:
            self.facts.details["date_system"] = 1904
        if package.related(main, "vbaProject"):
            self.facts.details["macros"] = True

    def close(self) -> None:
        """Close the archive."""
        for one in (self._stream, self._strings):
            if one is not None:
                one.close()
        self._package.close()

    # ----------------------------------------------------------------------------------------------------------- pages

    def _pages(self, number: int) -> list[tuple[int, int]]:
        """First and last row of each page."""
        try:
            stream = RowStream(self._package, self._parts[number])
        except DamagedPartError:
            return [(0, 0)]
        try:
            # A sheet declares its size before its rows, but programs also write "A1", an old size, or the size with all
            # formatted cells. Rows after a size that is too small would be on no page, so the rows are counted.
            pages = pages_of(stream.lengths())
            # The search has reached the end of the sheet. Keeping its last bytes saves unpacking the sheet again for
            # merged cells and links.
            self._tails[number] = stream.tail
            if stream.damage:
                self._damage[number] = stream.damage
            return pages
        finally:
            stream.close()

    def region(self, sheet: int, first: int, last: int) -> Region:
        """The rows from `first` to `last`, with everything that belongs to them."""
        is_last = (first, last) == self.sheets[sheet].pages[-1]
        region = Region()
        try:
            stream = self._stream_for(sheet)
            self._cells().read(stream, first, last + 1, region)
        except DamagedPartError as error:
            region.problems.append(f"A part of this sheet cannot be read: {error}.")
            stream = None
        if is_last and sheet in self._damage:
            region.problems.append(f"The rows from here on cannot be read: {self._damage[sheet]}.")
        if sheet not in self._around:
            tail = self._tails.pop(sheet, None)
            self._around[sheet] = read_around(self._package, self._parts[sheet], stream, tail)
            if reason := self._package.damaged.get(self._styles_part):
                self._around[sheet].problems.append(f"Dates and percentages may be shown as other numbers: {reason}.")
        # Comments and pictures can be below the last row with a value: the last page takes them.
        rows = Area(first, 0, MAX_ROWS if is_last else last, MAX_COLUMNS)
        self._around[sheet].lay_over(region, rows, self.sheets[sheet].name)
        return region

    def _stream_for(self, sheet: int) -> RowStream:
        # One stream is open at a time: a workbook can have hundreds of sheets, and each stream holds buffers and a
        # decompressor.
        if self._stream is None or self._stream_of != sheet:
            if self._stream is not None:
                self._stream.close()
            # If opening fails, no closed stream must be left for the next request.
            self._stream = None
            self._stream = RowStream(self._package, self._parts[sheet])
            self._stream_of = sheet
        return self._stream

    def _cells(self) -> CellReader:
        if self._reader is None:
            self._strings = SharedStrings(self._package, self._strings_part)
            styles = CellStyles(self._package.optional(self._styles_part))
            self._reader = CellReader(self._strings, styles, from_1904=self._from_1904)
        return self._reader


# ------------------------------------------------------------------------------------------------------ around the rows


MAX_SCANNED = 1_000_000_000
"""Limit for the bytes of a sheet that is read to its end: that takes two or three seconds."""
# The part after the rows can have megabytes of merged cells and links. Patterns on the bytes read them without a tree,
# with any prefix and either kind of quotes.
_MERGED = re.compile(rb"""<(?:[\w.-]+:)?mergeCell\b[^>]*?\bref\s*=\s*["']([A-Z0-9:$]+)["']""")
_LINK = re.compile(rb"<(?:[\w.-]+:)?hyperlink\b([^>]*)>")
_COLUMN = re.compile(rb"<(?:[\w.-]+:)?col\b([^>]*)>")
_MAX_MERGED, _MAX_LINKS = 20_000, 20_000


@dataclass(slots=True)
class Around:
    """The things that belong to a sheet as a whole; each page shows its own part of them."""

    merged: list[Area] = field(default_factory=list[Area])
    links: list[tuple[Area, str]] = field(default_factory=list[tuple[Area, str]])
    hidden_columns: list[int] = field(default_factory=list[int])
    tables: list[NamedTable] = field(default_factory=list[NamedTable])
    floating: list[tuple[int, int, Element | Chart]] = field(default_factory=list[tuple[int, int, Element | Chart]])
    comments: list[tuple[int, int, Element]] = field(default_factory=list[tuple[int, int, Element]])
    threads: list[tuple[int, int, Element]] = field(default_factory=list[tuple[int, int, Element]])
    edges: list[Element] = field(default_factory=list[Element])
    problems: list[str] = field(default_factory=list[str])

    def lay_over(self, region: Region, rows: Area, sheet: str) -> None:
        """Add the things that belong to some rows to their region."""
        region.merged = [area for area in self.merged if area.meets(rows)]
        region.tables = [table for table in self.tables if table.area.meets(rows)]
        region.hidden_columns = self.hidden_columns
        # Links can point to empty cells and to whole columns; only cells that are shown get one.
        region.links = {
            (area.top, area.left): url
            for area, url in self.links
            if area.meets(rows) and (area.top, area.left) in region.cells
        }
        region.floating = [
            # A chart is completed for each page, because its values come from the cells of that page.
            (row, column, filled_chart(one, region.cells, sheet) if isinstance(one, Chart) else one)
            for row, column, one in self.floating
            if rows.top <= row <= rows.bottom
        ]
        region.comments = [one for one in self.comments if rows.top <= one[0] <= rows.bottom]
        # Headers, footers and problems concern the whole sheet, so only its first page shows them.
        if rows.top == 0:
            region.edges = self.edges
            region.problems.extend(self.problems)


def read_around(package: Package, part: str, stream: RowStream | None, tail: bytes | None = None) -> Around:
    """Read the things that belong to a sheet; without a stream, only those in other parts. Damaged parts become
    problems that the page reports.

    `tail` holds the bytes after the rows, if they are already known.
    """
    around = Around()
    relations = package.relations(part)
    if part in package.lost:
        around.problems.append(f"What belongs to this sheet cannot be read: {package.lost[part]}.")
    for relation in relations.values():
        try:
            _add_related(around, package, relation.kind, relation.target)
        except DamagedPartError as error:
            around.problems.append(f"The {relation.kind} of this sheet cannot be read: {error}.")
    # Excel repeats a thread as one comment of the older kind, for programs without threads.
    places = {one[:2] for one in around.threads}
    around.comments = around.threads + [one for one in around.comments if one[:2] not in places]
    if stream is not None:
        around.hidden_columns = _hidden_columns(stream.head)
        if tail is None and package.size(part) > MAX_SCANNED:
            around.problems.append("Merged cells and links of this sheet are not shown: it is too long for that.")
        else:
            _add_tail(around, package, part, stream, tail)
    return around


def _add_related(around: Around, package: Package, kind: str, target: str) -> None:
    if kind == "table":
        named = named_table(package.xml(target))
        around.tables.extend([named] if named is not None else [])
    elif kind == "drawing":
        around.floating.extend(drawn_things(package, target))
    elif kind == "pivotTable":
        around.floating.extend(pivot_element(package, target))
    elif kind == "comments":
        around.comments.extend(comments_of(package, target))
    elif kind == "threadedComment":
        around.threads.extend(threaded_comments_of(package, target))


def _hidden_columns(head: bytes) -> list[int]:
    ranges: list[tuple[int, int]] = []
    # The numbers are from an untrusted file: seven digits are more than any sheet has columns, and small enough to
    # convert.
    for column in map(attributes, _COLUMN.findall(head)):
        ends = column.get("min", ""), column.get("max", "") or column.get("min", "")
        if is_on(column.get("hidden", "")) and all(end.isdecimal() and len(end) < 8 for end in ends):
            ranges.append((int(ends[0]) - 1, int(ends[1])))
    return columns_in(ranges)


def _add_tail(around: Around, package: Package, part: str, stream: RowStream, tail: bytes | None) -> None:
    """Read the bytes after the rows: merged cells, links, embedded files, printed headers and footers."""
    try:
        tail = stream.read_tail() if tail is None else tail
    except DamagedPartError as error:
        around.problems.append(f"The end of this sheet cannot be read: {error}.")
        return
    try:
        around.floating.extend(embedded_objects(package, part, stream.root, tail))
    except DamagedPartError as error:
        around.problems.append(f"What is embedded in this sheet cannot be read: {error}.")
    areas = (area_of(ref.decode("ascii")) for ref in _MERGED.findall(tail)[:_MAX_MERGED])
    around.merged = [area for area in areas if area is not None]
    relations = package.relations(part)
    for raw in _LINK.findall(tail)[:_MAX_LINKS]:
        link = attributes(raw)
        area = area_of(link.get("ref", ""))
        name = next((value for key, value in link.items() if key.endswith(":id")), "")
        place = link.get("location", "")
        url = (relations[name].target if name in relations else "") + (f"#{place}" if place else "")
        if area is not None and url:
            around.links.append((area, url))
    around.edges = edges_of(tail)
