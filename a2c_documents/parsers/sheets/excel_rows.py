"""The rows of an Excel worksheet, unpacked from the archive only as far as a page needs them.

The XML of a sheet is one long sequence of `<row>` elements. A search in the bytes finds them, which is fast; only the
rows of the page become a tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import IO

from a2c_documents.parsers.office.package import DAMAGE, Package
from a2c_documents.parsers.office.xml import DamagedPartError
from a2c_documents.parsers.sheets.grid import MAX_ROWS
from a2c_documents.parsers.sheets.markup import attributes

CHUNK, SKIPPED = 262_144, 1_000_000
"""Bytes that are unpacked at once: to search rows, and to skip them."""
MAX_HEAD = 4_000_000
MAX_TAIL = 4_000_000
"""Limits for the bytes before and after the rows."""
MAX_ROW, MAX_SLICE = 16_000_000, 64_000_000
"""Limits for the bytes of one row, and of the rows of one page."""
MAX_SHARED = 20_000
"""Limit for the formulas that are remembered for cells of later pages."""
_ROOT = re.compile(rb"<(?:([\w.-]+):)?(?:worksheet|chartsheet|dialogsheet|macrosheet)\b[^>]*>")
_EMPTY = re.compile(rb"<(?:[\w.-]+:)?sheetData\s*/>")
_SHARED = re.compile(rb"<(?:\w+:)?c\b([^>]*)>\s*<(?:\w+:)?f\b([^>]*)>([^<]+)<")


class RowStream:
    """The rows of one sheet, read forwards. A request for earlier rows starts again."""

    def __init__(self, package: Package, name: str) -> None:
        self._package, self._name = package, name
        self._file: IO[bytes] | None = None
        self.shared: list[tuple[dict[str, str], dict[str, str], str]] = []
        """Shared formulas: the attributes of the cell, those of the formula, and its text."""
        self.head = b""
        self.tail: bytes | None = None
        """The bytes after the rows, once the stream has reached them."""
        self.damage = ""
        """Why the rows end early, once the stream has reached the damage."""
        self._start()

    def _start(self) -> None:
        self.close()
        self.shared.clear()
        # A part of an archive can only be unpacked forwards. Clients mostly read pages in order, so the stream keeps
        # its position; a request for earlier rows unpacks the sheet again from its start.
        self._file = self._package.open(self._name)
        self._next = 0
        self._kept: tuple[int, bytes] | None = None
        head = b""
        while len(head) < MAX_HEAD:
            chunk = self._read(self._file)
            head += chunk
            # The search starts nine bytes before the new chunk: the name can be divided between two chunks.
            cut = head.find(b"sheetData", max(0, len(head) - len(chunk) - 9))
            if cut >= 0 or not chunk:
                break
        else:
            cut = -1
        # The tree of a page has only the start tag of the sheet and some rows. A reference to an entity that is
        # declared here would be an obscure error in one of the rows, so the sheet is rejected with the reason.
        if b"<!DOCTYPE" in head[:CHUNK] or b"<!ENTITY" in head[:CHUNK]:
            raise DamagedPartError("it declares XML entities, which spreadsheet programs never do")
        root = _ROOT.search(head)
        self.root = root[0] if root else b""
        # Some programs write all elements with a namespace prefix, `<x:row>`.
        self.prefix = (root[1] + b":") if root and root[1] else b""
        start = head.rfind(b"<", 0, cut) if cut >= 0 else len(head)
        self.head = head[:start]
        self._row = re.compile(
            rb"<" + re.escape(self.prefix) + rb"""row\b(?:[^>]*?\br\s*=\s*["']([0-9]{1,7})["'])?[^>]*>"""
        )
        self._end = b"</" + self.prefix + b"sheetData"
        self._walk = self._all(head[start:])
        if _EMPTY.match(head, start):
            # The end of the rows is the empty element itself.
            self._end = b"<" + self.prefix + b"sheetData"

    def close(self) -> None:
        """Close the part."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self, file: IO[bytes] | None, size: int = CHUNK) -> bytes:
        if file is None:
            return b""
        try:
            return file.read(size)
        except DAMAGE as error:
            raise DamagedPartError(f"{self._name} cannot be unpacked: {error}") from None

    # ------------------------------------------------------------------------------------------------------------ rows

    def rows(self, start: int, stop: int) -> bytes:
        """The XML of the rows from `start` up to `stop`, without `stop`.

        Raises:
            DamagedPartError: the sheet is damaged there.
        """
        if start < self._next:
            self._start()
        found: list[bytes] = []
        size = 0
        for number, raw in self._until(stop):
            # Rows before the page are not parsed, but their shared formulas are needed on it. The test of the bytes
            # skips rows without any.
            if b"shared" in raw and len(self.shared) < MAX_SHARED:
                self._remember(raw)
            if number >= start:
                found.append(raw)
                size += len(raw)
                if size > MAX_SLICE:
                    raise DamagedPartError(f"the rows of this page have more than {MAX_SLICE // 1_000_000} MB")
        return b"".join(found)

    def lengths(self) -> Iterator[tuple[int, int]]:
        """The number of every row that is not empty, and its number of cells. Reads the sheet to its end."""
        self._start()
        tags = (b"<" + self.prefix + name for name in (b"c ", b"c>", b"v", b"is", b"f"))
        begin, bare, value, inline, rule = tags
        for number, raw in self._walk:
            # Rows with formatted but empty cells are common, and make no page longer.
            if value in raw or inline in raw or rule in raw:
                # Counting start tags is an estimate: formatted empty cells count too. It only decides where pages end.
                yield number, raw.count(begin) + raw.count(bare) or 1

    def read_tail(self) -> bytes:
        """The bytes after the rows: merged cells, links, headers and footers. The position of the stream stays the
        same.

        Raises:
            DamagedPartError: the sheet is damaged on the way there.
        """
        if self.tail is None:
            self.tail = self._find_tail()
        return self.tail

    def _find_tail(self) -> bytes:
        """Search the sheet again, only for the end of its rows: that is 400 MB per second."""
        before = b""
        with self._package.open(self._name) as file:
            while chunk := self._read(file, SKIPPED):
                data = before + chunk
                place = data.find(self._end)
                if place >= 0:
                    return (data[place:] + self._read(file, MAX_TAIL))[:MAX_TAIL]
                # The end tag can be divided between two chunks.
                before = data[-len(self._end) :]
        return b""

    def _until(self, stop: int) -> Iterator[tuple[int, bytes]]:
        """The rows before `stop`; the first row after them is kept for the next request."""
        while True:
            # The walk finds the end of a page by the first row of the next one, which must not be lost.
            item = self._kept or next(self._walk, None)
            self._kept = None
            if item is None:
                return
            if item[0] >= stop:
                self._kept = item
                return
            self._next = item[0] + 1
            yield item

    def _all(self, buffer: bytes) -> Iterator[tuple[int, bytes]]:
        """Every row before the end or the damage, with its number, counted from 0. A row ends where the next one
        begins, or with the last row."""
        row_number = -1
        while True:
            end = buffer.find(self._end)
            starts = list(self._row.finditer(buffer, 0, end if end >= 0 else len(buffer)))
            ends = [match.start() for match in starts[1:]]
            chunk = b"" if end >= 0 else self._read_or_stop()
            # The last row before damage is incomplete.
            if end >= 0 or (not chunk and starts and not self.damage):
                ends.append(end if end >= 0 else len(buffer))
            for match, cut in zip(starts, ends, strict=False):
                number = int(match[1] or 0) - 1
                # Rows must not go backwards: pages rely on their order.
                row_number = number if row_number < number <= MAX_ROWS else row_number + 1
                yield row_number, buffer[match.start() : cut]
            if end >= 0:
                self._finish(buffer[end:])
                return
            if not chunk:
                self.tail = self.tail or (None if self.damage else b"")
                return
            # The last row of the buffer can be incomplete, also in the middle of its start tag: it is kept and
            # completed by the next chunk.
            rest = starts[-1].start() if starts else max(buffer.rfind(b"<"), 0)
            if len(buffer) - rest > MAX_ROW:
                self.damage = f"a row of this sheet has more than {MAX_ROW // 1_000_000} MB"
                return
            buffer = buffer[rest:] + chunk

    def _read_or_stop(self) -> bytes:
        try:
            return self._read(self._file)
        except DamagedPartError as error:
            self.damage = str(error)
            return b""

    def _finish(self, tail: bytes) -> None:
        while self.tail is None and len(tail) < MAX_TAIL:
            chunk = self._read(self._file)
            tail += chunk
            if not chunk:
                break
        self.tail = self.tail or tail[:MAX_TAIL]

    def _remember(self, raw: bytes) -> None:
        """Remember formulas that later pages can share."""
        for cell, rule, words in _SHARED.findall(raw):
            if b"shared" in rule:
                self.shared.append((attributes(cell), attributes(rule), unescape(words.decode("utf-8", "replace"))))
