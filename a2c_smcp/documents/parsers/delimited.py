"""Tables in text files (csv, tsv): a long one continues on further pages, and only the rows of a page become cells."""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from a2c_smcp.documents.model import Facts, Page, Source, UnreadableFileError
from a2c_smcp.documents.parsers.common.decoding import decode
from a2c_smcp.documents.parsers.sheets.blocks import Block
from a2c_smcp.documents.parsers.sheets.fit import fitted
from a2c_smcp.documents.parsers.sheets.formats import kind_of_text
from a2c_smcp.documents.parsers.sheets.grid import MAX_COLUMNS, Area, Cell, even_pages, letters
from a2c_smcp.documents.parsers.sheets.layout import table_of_block

SAMPLE = 200_000
"""Bytes from which the encoding and the delimiter are guessed."""
MAX_LINE = 4_000_000
_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_ROWS = 60
_HINT = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_WIDE = ("utf-16", "utf-32", "utf_16", "utf_32")
"""Encodings in which a line does not end with one byte."""


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
        return DelimitedSource(path, file)
    except BaseException:
        file.close()
        raise


class DelimitedSource:
    """An open table: where each of its pages begins in the file."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        raw = file.read(SAMPLE)
        if not raw.strip(b"\x00 \t\r\n\xef\xbb\xbf\xff\xfe"):
            raise UnreadableFileError("this file is empty")
        self._file = file
        self._name = path.stem
        sample, self._encoding = _decoded(raw, whole=len(raw) < SAMPLE)
        if sample.count("\x00") * 20 > len(sample):
            raise UnreadableFileError("this is no table of text but a binary file")
        self._start, self._byte_encoding = 0, ""
        if self._encoding.lower().startswith(_WIDE) or ("\r" in sample and "\n" not in sample):
            self._rewrite(raw)
        elif raw.startswith(b"\xef\xbb\xbf"):
            self._start = 3
        hint = _HINT.match(sample.lstrip("\ufeff"))
        self._delimiter = hint[1] if hint else _delimiter(sample, path.suffix.lower())
        self._skipped = 1 if hint else 0
        self._quoted = True
        self._index()
        self.facts = Facts(details={
            "encoding": self._encoding, "delimiter": self._delimiter, "rows": self._rows, "columns": self._columns,
        })  # fmt: skip
        self._continued: list[str] | None = None

    @property
    def page_titles(self) -> Sequence[str]:
        """The name of the file, with the rows where it is long."""
        if len(self._pages) == 1:
            return [self._name]
        return [f"{self._name} (rows {first + 1}–{last + 1})" for first, last in self._pages]

    def page(self, index: int) -> Page:
        """One page."""
        first, last = self._pages[index]
        rows = self._cells(index, last - first + 1)
        headers = self._headers() if index else []
        width = max(self._columns, len(headers), *(len(row) for row in rows))
        # Empty lines divide nothing here, and are no rows to see.
        body = [row + [Cell("")] * (width - len(row)) for row in rows if any(cell.text for cell in row)]
        names = headers + [letters(column) for column in range(len(headers), width)] if headers else []
        named = [[Cell(name) for name in names]] if names else []
        block = Block(Area(first, 0, first + len(rows) - 1, width - 1), named + body)
        elements = table_of_block(block, header_count=1 if names else None) if body else []
        for element in elements:
            del element.metadata["source_range"]
            if element.category == "table":
                element.metadata["rows"] = [first + 1, first + len(rows)]
                element.metadata |= {"header_rows": 0, "continued": True} if names else {}
        return Page(self.page_titles[index], fitted(elements))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    # ----------------------------------------------------------------------------------------------------------- bytes

    def _rewrite(self, raw: bytes) -> None:
        """Files whose lines do not end with one byte are kept in memory in an encoding where they do."""
        text, _ = decode(raw + self._file.read())
        self._file.close()
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self._file = io.BytesIO(text.encode("utf-8", "replace"))
        self._byte_encoding = "utf-8"

    def _lines(self, note: Callable[[int], None]) -> Iterator[str]:
        """Line after line from where the file is; `note` hears where the next one begins."""
        encoding = self._byte_encoding or self._encoding
        where = self._file.tell()
        while line := self._file.readline(MAX_LINE):
            where += len(line)
            note(where)
            words = line.decode(encoding, "replace").rstrip("\r\n")
            yield words.replace("\r", " ").replace("\x00", "") + "\n"

    def _index(self) -> None:
        """Find where every page begins: by lines where there are no quotes, else by reading the rows."""
        try:
            self._scan()
        except csv.Error:
            # A quote that never ends is no quote.
            self._quoted = False
            self._scan()

    def _scan(self) -> None:
        self._file.seek(self._start)
        position = [self._start]
        reader = self._reader(position)
        for _ in range(self._skipped):
            next(reader, None)
        begins, widths = array("q", position), Counter[int]()
        for row in reader:
            widths[len(row)] += 1
            begins.append(position[0])
        begins.pop()
        self._rows, self._columns = len(begins), _usual_width(widths)
        self._pages = even_pages(self._rows, self._columns)
        self._offsets = [begins[first] if begins else self._start for first, _ in self._pages]

    def _reader(self, position: list[int]) -> Iterator[list[str]]:
        def note(where: int) -> None:
            position[0] = where

        quoting = csv.QUOTE_MINIMAL if self._quoted else csv.QUOTE_NONE
        return csv.reader(self._lines(note), delimiter=self._delimiter, quoting=quoting)

    # ------------------------------------------------------------------------------------------------------------ rows

    def _cells(self, index: int, count: int) -> list[list[Cell]]:
        self._file.seek(self._offsets[index])
        rows: list[list[Cell]] = []
        for row in self._reader([0]):
            rows.append([Cell(words, kind_of_text(words)) for words in row[:MAX_COLUMNS]])
            if len(rows) >= count:
                break
        return rows

    def _headers(self) -> list[str]:
        """The names on the first page, for the pages that follow."""
        if self._continued is None:
            tables = [one for one in self.page(0).elements if one.category == "table"]
            named = tables and tables[-1].metadata["header_rows"]
            self._continued = list((tables[-1].detail or tables[-1].content)["headers"]) if named else []
        return self._continued


def _decoded(raw: bytes, *, whole: bool) -> tuple[str, str]:
    """The sample's text and encoding; a letter that the sample cuts in two is no reason to guess."""
    if not whole:
        for cut in range(4):
            try:
                return raw[: len(raw) - cut].decode("utf-8"), "utf-8"
            except UnicodeDecodeError:
                continue
    return decode(raw)


def _usual_width(widths: Counter[int]) -> int:
    """How many cells nearly all rows have at most; a few odd ones do not decide how long a page is."""
    most, seen = sum(widths.values()) * 0.99, 0
    for width in sorted(widths):
        seen += widths[width]
        if seen >= most:
            return max(1, min(width, MAX_COLUMNS))
    return 1


def _delimiter(sample: str, suffix: str) -> str:
    """The delimiter that divides the first rows most evenly into more than one column."""
    lines = sample.splitlines(keepends=True)[:_SAMPLE_ROWS]
    if len(sample) >= SAMPLE // 4 and len(lines) > 1:
        lines = lines[:-1]
    usual = "\t" if suffix == ".tsv" else ","
    best, best_score = usual, (0.0, 0, False)
    for delimiter in _DELIMITERS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if not widths:
            continue
        width, times = max(Counter(widths).items(), key=lambda item: (item[1] if item[0] > 1 else 0, item[0]))
        score = (times / len(widths) if width > 1 else 0.0, delimiter == usual, width)
        if score > best_score:
            best, best_score = delimiter, score
    return best
