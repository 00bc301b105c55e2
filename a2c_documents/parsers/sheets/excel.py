"""Excel workbooks of today (xlsx, xlsm): an archive of XML parts, of which a page reads only its own."""

from __future__ import annotations

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.office.facts import core_facts
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import DamagedPartError, attribute, first, found
from a2c_documents.parsers.sheets.around import Around, read_around
from a2c_documents.parsers.sheets.cells import CellReader, SharedStrings, Styles
from a2c_documents.parsers.sheets.grid import (
    MAX_COLUMNS,
    MAX_ROWS,
    Area,
    Region,
    SheetInfo,
    details_of,
    even_pages,
    pages_of,
)
from a2c_documents.parsers.sheets.markup import is_on
from a2c_documents.parsers.sheets.rows import RowStream

_BYTES_OF_A_CELL = (12, 600)
"""In a sheet that is at least half full a cell has more bytes than the first; on average fewer than the second."""


class ExcelBook:
    """An open workbook; sheets, styles and texts are read when a page needs them."""

    def __init__(self, package: Package) -> None:
        self._package = package
        main = package.main_part("xl/workbook.xml")
        if main not in package:
            raise UnreadableFileError("this is no workbook: it has no list of sheets")
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
        """What stands behind the rows of sheets that were read to their end to see how long they are."""
        for node in found(first(tree, "sheets"), "sheet"):
            state = node.get("state", "visible")
            hidden = {"hidden": "hidden", "veryHidden": "very hidden"}.get(state, "")
            self.sheets.append(SheetInfo(node.get("name", ""), hidden))
            relation = targets.get(attribute(node, "id"))
            self._parts.append(relation.target if relation is not None else "")
        if not self.sheets:
            raise UnreadableFileError("this workbook has no sheets")
        for number, sheet in enumerate(self.sheets):
            sheet.pages = self._pages(number)
        self.facts = core_facts(package)
        self.facts.details |= details_of(self.sheets)
        if self._from_1904:
            self.facts.details["date_system"] = 1904
        if package.related(main, "vbaProject"):
            self.facts.details["macros"] = True

    def close(self) -> None:
        """Let go of the archive."""
        for one in (self._stream, self._strings):
            if one is not None:
                one.close()
        self._package.close()

    # ----------------------------------------------------------------------------------------------------------- pages

    def _pages(self, number: int) -> list[tuple[int, int]]:
        """Where the pages of a sheet begin and end: from what it says of its size, or else from its rows."""
        part = self._parts[number]
        try:
            stream = RowStream(self._package, part)
        except DamagedPartError:
            return [(0, 0)]
        try:
            declared, size = stream.declared, self._package.size(part) - len(stream.head)
            if declared is not None and _is_likely(declared, size):
                return even_pages(*declared)
            pages = pages_of(stream.lengths())
            self._tails[number] = stream.tail
            return pages
        except DamagedPartError:
            return [(0, MAX_ROWS - 1)]
        finally:
            stream.close()

    def region(self, sheet: int, first: int, last: int) -> Region:
        """The rows from `first` to `last`, and what lies over them."""
        is_last = (first, last) == self.sheets[sheet].pages[-1]
        region = Region()
        try:
            stream = self._stream_for(sheet)
            # What a sheet says of its size may be too little: the last page takes what is left, within bounds.
            stop = min(MAX_ROWS, last + 1 + (last - first + 1 if is_last else 0))
            self._cells().read(stream, first, stop, region)
        except DamagedPartError as error:
            region.problems.append(f"A part of this sheet cannot be read: {error}.")
            stream = None
        if sheet not in self._around:
            tail = self._tails.pop(sheet, None)
            self._around[sheet] = read_around(self._package, self._parts[sheet], stream, tail)
        rows = Area(first, 0, MAX_ROWS if is_last else last, MAX_COLUMNS)
        self._around[sheet].lay_over(region, rows, self.sheets[sheet].name)
        return region

    def _stream_for(self, sheet: int) -> RowStream:
        if self._stream is None or self._stream_of != sheet:
            if self._stream is not None:
                self._stream.close()
            self._stream = None
            self._stream = RowStream(self._package, self._parts[sheet])
            self._stream_of = sheet
        return self._stream

    def _cells(self) -> CellReader:
        if self._reader is None:
            self._strings = SharedStrings(self._package, self._strings_part)
            styles = Styles(self._package.optional(self._styles_part))
            self._reader = CellReader(self._strings, styles, from_1904=self._from_1904)
        return self._reader


def _is_likely(declared: tuple[int, int], size: int) -> bool:
    """Whether a sheet can have the size it declares: writers leave "A1" there, or the size of all formatted cells."""
    cells = declared[0] * declared[1]
    return size / _BYTES_OF_A_CELL[1] <= cells and cells <= max(size / _BYTES_OF_A_CELL[0], 2_000)
