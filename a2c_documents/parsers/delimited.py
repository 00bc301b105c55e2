"""Tables in text files (csv, tsv): a long one continues on further pages, and only the rows of a page become cells."""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from a2c_documents.model import Facts, Page, Source, UnreadableFileError, note
from a2c_documents.paging import part_title
from a2c_documents.parsers.common.decoding import decode
from a2c_documents.parsers.office.tables import letters
from a2c_documents.parsers.sheets.blocks import Block
from a2c_documents.parsers.sheets.grid import MAX_COLUMNS, Area, Cell, even_pages, kind_of_text
from a2c_documents.parsers.sheets.layout import fitted, table_of_block
from a2c_documents.registry import suffix_of
from a2c_documents.wording import counted, shortened

SAMPLE = 200_000
"""Bytes from which the encoding and the delimiter are guessed."""
MAX_LINE = 4_000_000
csv.field_size_limit(MAX_LINE)  # for the whole process, in which only this module uses csv
MAX_PADDED = 20_000
"""Cells of a page, including the empty ones that fill up short rows to the width of the widest."""
MAX_CHARACTERS = 4_000_000
"""Characters of the cells of one page. Beyond that, long cells are cut."""
_ALWAYS_SHOWN = 100
"""Characters of a cell that are shown even then."""
_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_ROWS = 60
_HINT = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_WIDE = ("utf-16", "utf-32", "utf_16", "utf_32")
"""Encodings in which a line break takes more than one byte."""


def open_delimited(path: Path) -> Source:
    """Open a table.

    Raises:
        UnreadableFileError: it is empty, or no text.
    """
    try:
        file: IO[bytes] = path.open("rb")
    except OSError as error:
        raise UnreadableFileError(f"this file cannot be opened: {error.strerror}") from None
    try:
        return DelimitedSource(file, suffix_of(path))
    except BaseException:
        file.close()
        raise


@dataclass(slots=True)
class _Progress:
    """How far the lines of a file have been read."""

    where: int
    """The byte at which the next line begins."""
    lines: int = 0
    is_quoted: bool = False
    """Whether the last line contains a quote."""


class DelimitedSource:
    """An open table. It keeps the positions of its pages in the file, not their rows."""

    def __init__(self, file: IO[bytes], suffix: str = "csv") -> None:
        raw = file.read(SAMPLE)
        if not raw.strip(b"\x00 \t\r\n\xef\xbb\xbf\xff\xfe"):
            raise UnreadableFileError("this file is empty")
        self._file = file
        sample, self._encoding = decode(raw, is_cut=len(raw) == SAMPLE)
        if sample.count("\x00") * 20 > len(sample):
            raise UnreadableFileError("this is no table of text but a binary file")
        self._start, self._byte_encoding = 0, ""
        if self._encoding.lower().startswith(_WIDE) or ("\r" in sample and "\n" not in sample):
            self._rewrite(raw)
        elif raw.startswith(b"\xef\xbb\xbf"):
            self._start = 3
        hint = _HINT.match(sample.lstrip("\ufeff"))
        self._delimiter = hint[1] if hint else _delimiter(sample, suffix)
        self._skipped = 1 if hint else 0
        self._quoted = True
        self._index()
        self.facts = Facts(details={
            "encoding": self._encoding, "delimiter": self._delimiter, "rows": self._rows, "columns": self._columns,
        })  # fmt: skip
        self._names: list[str] = []
        self._describe()

    @property
    def page_titles(self) -> Sequence[str]:
        """The title, with the range of rows if there are several pages."""
        if len(self._pages) == 1:
            return [self.facts.title]
        return [part_title(self.facts.title, f"rows {first + 1}–{last + 1}") for first, last in self._pages]

    def page(self, index: int) -> Page:
        """One page."""
        first, last = self._pages[index]
        rows = self._cells(index, last - first + 1)
        headers = self._names if index else []
        widest = max((len(row) for row in rows), default=0)
        room = max(self._columns, MAX_PADDED // max(1, len(rows)))
        width = min(room, max(self._columns, len(headers), widest))
        # Empty lines are neither rows nor, as in a sheet, borders between tables.
        body = [row[:width] + [Cell("")] * (width - len(row)) for row in rows if any(cell.text for cell in row)]
        names = headers[:width] + [letters(column) for column in range(len(headers), width)] if headers else []
        named = [[Cell(name) for name in names]] if names else []
        area = Area(first, 0, first + len(rows) - 1, width - 1)
        block = Block(area, named + body, [], list(range(width)))
        elements = table_of_block(block, header_count=1 if names else None) if body else []
        for element in elements:
            del element.metadata["source_range"]
            if element.category == "table":
                element.metadata["rows"] = [first + 1, first + len(rows)]
                element.metadata |= {"header_rows": 0, "continued": True} if names else {}
        if widest > width:
            elements.append(
                note("annotation", f"Some rows go on: only the first {width:,} of {widest:,} cells are shown.")
            )
        return Page(self.page_titles[index], fitted(elements))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    # ----------------------------------------------------------------------------------------------------------- bytes

    def _rewrite(self, raw: bytes) -> None:
        """Keep the file in memory as UTF-8 with line feeds."""
        # Pages are found by offsets of lines, and `readline` of a binary file needs line feeds of one byte. UTF-16 has
        # two, and files of old Macintosh programs have only carriage returns.
        text, _ = decode(raw + self._file.read())
        self._file.close()
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self._file = io.BytesIO(text.encode("utf-8", "replace"))
        self._byte_encoding = "utf-8"

    def _lines(self, progress: _Progress) -> Iterator[str]:
        """The lines from the current position on."""
        encoding = self._byte_encoding or self._encoding
        while line := self._file.readline(MAX_LINE):
            progress.where += len(line)
            progress.lines += 1
            words = line.decode(encoding, "replace").rstrip("\r\n")
            progress.is_quoted = '"' in words
            # `csv.reader` fails at a carriage return inside a line.
            yield words.replace("\r", " ").replace("\x00", "") + "\n"

    def _index(self) -> None:
        """Find where every page begins."""
        try:
            self._scan()
        except csv.Error:
            # A quote that never closes is an ordinary character. Read without quoting, its row ends with its line.
            self._quoted = False
            self._scan()

    def _scan(self) -> None:
        progress = _Progress(self._start)
        reader = self._reader(progress)
        for _ in range(self._skipped):
            next(reader, None)
        # `csv.reader` takes one line at a time, so after each row `where` is the beginning of the next one. An array
        # takes 8 bytes for each row; a list of integers takes more than four times as much.
        begins, widths = array("q", [progress.where]), Counter[int]()
        before = seen = progress.lines
        for row in reader:
            widths[len(row)] += 1
            begins.append(progress.where)
            before, seen = seen, progress.lines
        begins.pop()
        # `csv.reader` does not report a quote that is still open at the end of the file. It shows in a last row of
        # several lines, of which the last has no quote that could close it.
        if self._quoted and seen - before > 1 and not progress.is_quoted:
            raise csv.Error("the last row is quoted to the end of the file")
        self._rows, self._columns = len(begins), _usual_width(widths)
        self._pages = even_pages(self._rows, self._columns)
        self._offsets = [begins[first] if begins else self._start for first, _ in self._pages]

    def _reader(self, progress: _Progress) -> Iterator[list[str]]:
        self._file.seek(progress.where)
        quoting = csv.QUOTE_MINIMAL if self._quoted else csv.QUOTE_NONE
        return csv.reader(self._lines(progress), delimiter=self._delimiter, quoting=quoting)

    # ------------------------------------------------------------------------------------------------------------ rows

    def _cells(self, index: int, count: int) -> list[list[Cell]]:
        rows: list[list[Cell]] = []
        room = MAX_CHARACTERS
        for row in islice(self._reader(_Progress(self._offsets[index])), count):
            rows.append([])
            for words in row[:MAX_COLUMNS]:
                limit = max(room, _ALWAYS_SHOWN)
                shown = words if len(words) <= limit else f"{words[: limit - 1]}…"
                rows[-1].append(Cell(shown, kind_of_text(shown)))
                room -= len(shown)
        return rows

    def _describe(self) -> None:
        """Title and summary, and the names of the columns for the pages that follow the first."""
        first, last = self._pages[0]
        elements = self.page(0).elements
        self.facts.title = next((str(one.content["text"]) for one in elements if one.category == "heading"), "")
        table = next((one for one in elements if one.category == "table"), None)
        if table is None:
            return
        content = table.detail or table.content
        if table.metadata["header_rows"]:
            self._names = list(content["headers"])
        rows = self._rows - (last - first + 1) + len(content["rows"])  # without titles, names and empty lines
        named = f": {', '.join(filter(None, self._names))}" if self._names else f", {counted(self._columns, 'column')}"
        self.facts.summary = shortened(f"{counted(rows, 'row')}{named}")


def _usual_width(widths: Counter[int]) -> int:
    """The width that 99 % of the rows do not exceed. A few malformed rows must not make every page shorter."""
    most, seen = sum(widths.values()) * 0.99, 0
    for width in sorted(widths):
        seen += widths[width]
        if seen >= most:
            return max(1, min(width, MAX_COLUMNS))
    return 1


def _delimiter(sample: str, suffix: str) -> str:
    """The delimiter that divides the first rows most evenly into more than one column."""
    lines = sample.splitlines(keepends=True)[:_SAMPLE_ROWS]
    # The sample may end inside a line. Its length is in characters, of up to four bytes each.
    if len(sample) >= SAMPLE // 4 and len(lines) > 1:
        lines = lines[:-1]
    usual = "\t" if suffix == "tsv" else ","
    best, best_score = usual, (0.0, 0, False)
    for delimiter in _DELIMITERS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if not widths:
            continue
        width, times = max(Counter(widths).items(), key=lambda item: (item[1] if item[0] > 1 else 0, item[0]))
        # Evenness first; if two delimiters divide equally well, the usual one of the suffix wins, then the one with
        # more columns.
        score = (times / len(widths) if width > 1 else 0.0, delimiter == usual, width)
        if score > best_score:
            best, best_score = delimiter, score
    return best
