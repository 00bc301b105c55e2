"""BIFF, the records of workbooks before 2007 (xls): the facts that calamine does not report, and a check of its
input."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from a2c_documents.model import Element, UnreadableFileError
from a2c_documents.parsers.office.comments import Comment
from a2c_documents.parsers.office.number_formats import BUILT_IN
from a2c_documents.parsers.sheets.comments import MAX_COMMENTS, comment_elements
from a2c_documents.parsers.sheets.grid import columns_in, ref_of
from a2c_documents.parsers.sheets.markup import edge_elements

_EOF, _FILEPASS, _BOUND_SHEET = 0x0A, 0x2F, 0x85
_STYLE, _TEXTS, _SIZE, _FORMAT, _BEGIN = 0xE0, 0xFC, 0x200, 0x41E, 0x809
_MODERN = 0x600
"""The version of Excel 97 and later."""
_MAX_ROWS, _MAX_COLUMNS = 65_536, 256
_DAMAGED = "this workbook is damaged: it states impossible sizes"


class Records:
    """The records of a workbook: the format of each style, and the position of each sheet."""

    def __init__(self, stream: bytes) -> None:
        self._stream = stream
        self._formats: dict[int, str] = {}
        self._styles: list[int] = []
        self._sheets: dict[str, int] = {}
        self._modern = True
        try:
            self._read()
        except (struct.error, IndexError):
            raise UnreadableFileError(_DAMAGED) from None

    def _read(self) -> None:
        for kind, data in self._walk(0):
            if kind == _BEGIN:
                self._modern = struct.unpack_from("<H", data)[0] >= _MODERN
            elif kind == _FILEPASS:
                # All records after this one are encrypted; reading on would give random facts.
                raise UnreadableFileError("this workbook is protected by a password")
            elif kind == _STYLE:
                self._styles.append(struct.unpack_from("<H", data, 2)[0])
            elif kind == _FORMAT:
                number = struct.unpack_from("<H", data)[0]
                self._formats[number] = words_at(data, 2, 2 if self._modern else 1, is_modern=self._modern)
            elif kind == _BOUND_SHEET:
                name = words_at(data, 6, 1, is_modern=self._modern)
                # The records of a sheet are looked up by the name that calamine reports.
                self._sheets[name] = struct.unpack_from("<I", data)[0]
            elif kind == _TEXTS and struct.unpack_from("<I", data, 4)[0] > len(self._stream) // 3:
                # calamine allocates what this record states before it reads a text. A small file with a huge number
                # would take all memory. A text has at least three bytes.
                raise UnreadableFileError(_DAMAGED)
        for place in self._sheets.values():
            self._check_size(place)

    def _check_size(self, place: int) -> None:
        for kind, data in self._walk(place):
            if kind == _SIZE:
                # Row numbers have four bytes since Excel 97 and two before. calamine reserves memory for the rectangle
                # that the record states, so an impossible one must not reach it.
                shape = "<IIHH" if len(data) >= struct.calcsize("<IIHH") else "<HHHH"
                top, rows, left, columns = struct.unpack_from(shape, data)
                if not (top <= rows <= _MAX_ROWS and left <= columns <= _MAX_COLUMNS):
                    raise UnreadableFileError(_DAMAGED)
                return

    def _walk(self, place: int) -> Iterator[tuple[int, bytes]]:
        """The records up to the end of a sheet, or of the part that all sheets share. Charts on a sheet are skipped,
        because their records have the same types."""
        depth = 0
        while place + 4 <= len(self._stream):
            kind, size = struct.unpack_from("<HH", self._stream, place)
            # A chart on a sheet is a stream of its own inside the stream of the sheet, with a begin and an end record.
            depth += kind == _BEGIN
            if depth <= 1:
                yield kind, self._stream[place + 4 : place + 4 + size]
            depth -= kind == _EOF
            if kind == _EOF and depth <= 0:
                return
            place += 4 + size

    def sheet(self, name: str) -> SheetRecords:
        """The facts in the records of a sheet, as far as they can be read."""
        codes = [self._formats.get(number, BUILT_IN.get(number, "")) for number in self._styles]
        found = SheetRecords(codes, is_modern=self._modern)
        try:
            for kind, data in self._walk(self._sheets[name]) if name in self._sheets else ():
                found.take(kind, data)
        except (struct.error, IndexError):
            # These facts only add to the values that calamine reads. A damaged record ends them, and costs no cell.
            return found
        return found


# ------------------------------------------------------------------------------------------------------------ one sheet


MAX_LINKS = 20_000
_ERRORS = {0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!", 0x2A: "#N/A"}
_NO_NUMBER, _IS_ERROR = 0xFFFF, 2
_IS_COMMENT = 0x19
_HIDDEN_ROW, _HIDDEN_COLUMN = 0x20, 0x01
_URL = bytes.fromhex("e0c9ea79f9bace118c8200aa004ba90b")
_HAS_MONIKER, _HAS_PLACE, _HAS_NAME, _HAS_FRAME, _IS_WORDS = 0x01, 0x08, 0x14, 0x80, 0x100
Place = tuple[int, int]


def words_at(data: bytes, place: int, width: int, *, is_modern: bool) -> str:
    """A text with its length in front, which has one or two bytes."""
    count = int.from_bytes(data[place : place + width], "little")
    place += width
    if not is_modern:
        return data[place : place + count].decode("cp1252", "replace")
    return _letters(data[place:], count)


def _letters(raw: bytes, count: int) -> str:
    """Characters after a byte that states their width."""
    # A text is stored with one byte for each character if all of them fit, which is Latin-1 and not the code page.
    wide = raw[0] & 1
    return raw[1 : 1 + count * (2 if wide else 1)].decode("utf-16-le" if wide else "latin-1", "replace")


class SheetRecords:
    """The facts about a sheet, collected record by record."""

    def __init__(self, codes: Sequence[str], *, is_modern: bool) -> None:
        self._codes = codes
        """The number format of each style."""
        self._is_modern = is_modern
        self.formats: dict[Place, str] = {}
        self.errors: dict[Place, str] = {}
        self.hidden_rows: list[int] = []
        self._hidden_columns: list[tuple[int, int]] = []
        self.links: dict[Place, str] = {}
        self.edges: list[Element] = []
        self._notes: list[tuple[Place, int, str]] = []
        """The cell of each comment, the id of the shape with its text, and its author."""
        self._texts: dict[int, str] = {}
        self._shape = -1
        self._missing = 0
        """Characters of the text of a shape that are still to come."""

    @property
    def hidden_columns(self) -> list[int]:
        """The hidden columns."""
        return columns_in(self._hidden_columns)

    def comments(self) -> Iterator[tuple[int, int, Element]]:
        """The comments on cells."""
        for place, shape, author in self._notes:
            yield from comment_elements([Comment("", self._texts.get(shape, "").strip(), author)], ref_of(*place))

    def take(self, kind: int, data: bytes) -> None:
        """Read a record.

        Raises:
            struct.error, IndexError: it is too short.
        """
        act = self._ACTS.get(kind)
        if act is not None:
            act(self, data)

    def _number(self, data: bytes) -> None:
        row, column, style = struct.unpack_from("<HHH", data)
        self._set_style(row, column, style)

    def _numbers(self, data: bytes) -> None:
        row, column = struct.unpack_from("<HH", data)
        # A style and a value for each cell, six bytes together; the last column is in the two bytes after them.
        for number, at in enumerate(range(4, len(data) - 2, 6)):
            self._set_style(row, column + number, struct.unpack_from("<H", data, at)[0])

    def _formula(self, data: bytes) -> None:
        row, column, style, kind, error, is_number = struct.unpack_from("<HHHBxBxxxH", data)
        self._set_style(row, column, style)
        # The result is a float of eight bytes. If its last two bytes are FFFF, it is not a number, and its first bytes
        # hold a type and a code instead.
        if is_number == _NO_NUMBER and kind == _IS_ERROR:
            self.errors[row, column] = _ERRORS.get(error, "#ERROR")

    def _error(self, data: bytes) -> None:
        row, column, error, is_error = struct.unpack_from("<HHxxBB", data)
        if is_error:
            self.errors[row, column] = _ERRORS.get(error, "#ERROR")

    def _set_style(self, row: int, column: int, style: int) -> None:
        if style < len(self._codes) and self._codes[style]:
            self.formats[row, column] = self._codes[style]

    def _row(self, data: bytes) -> None:
        row, flags = struct.unpack_from("<H10xH", data)
        if flags & _HIDDEN_ROW:
            self.hidden_rows.append(row)

    def _columns(self, data: bytes) -> None:
        first, last, flags = struct.unpack_from("<HH4xH", data)
        if flags & _HIDDEN_COLUMN:
            # The last column of a range can be 256, one more than a sheet has.
            self._hidden_columns.append((first, min(last, 255) + 1))

    def _header(self, data: bytes) -> None:
        self._edge("header", data)

    def _footer(self, data: bytes) -> None:
        self._edge("footer", data)

    def _edge(self, category: str, data: bytes) -> None:
        if data:
            words = words_at(data, 0, 2 if self._is_modern else 1, is_modern=self._is_modern)
            self.edges.extend(edge_elements(category, words))

    # -------------------------------------------------------------------------------------------------- comments, links

    def _object(self, data: bytes) -> None:
        kind, number = struct.unpack_from("<4xHH", data)
        self._shape = number if kind == _IS_COMMENT else -1

    def _text(self, data: bytes) -> None:
        # The text of a comment follows in continuation records, each with its own character width, and the number of
        # characters is only in this record.
        self._missing = struct.unpack_from("<H", data, 10)[0] if self._shape >= 0 else 0

    def _more(self, data: bytes) -> None:
        """Read a continuation record; only the text of a comment is needed."""
        if self._missing > 0:
            words = _letters(data, self._missing)
            self._texts[self._shape] = self._texts.get(self._shape, "") + words
            self._missing -= len(words)

    def _note(self, data: bytes) -> None:
        # Before Excel 97, the record held the text itself, in another layout.
        if self._is_modern and len(self._notes) < MAX_COMMENTS:
            row, column, shape = struct.unpack_from("<HHxxH", data)
            self._notes.append(((row, column), shape, words_at(data, 8, 2, is_modern=True).strip()))

    def _link(self, data: bytes) -> None:
        row, column, flags = struct.unpack_from("<HxxHxx16x4xI", data)
        if len(self.links) < MAX_LINKS:
            self.links[row, column] = _target(data[32:], flags)

    _ACTS: ClassVar[dict[int, Callable[[SheetRecords, bytes], None]]] = {
        0x06: _formula, 0x14: _header, 0x15: _footer, 0x1C: _note, 0x3C: _more, 0x5D: _object, 0x7D: _columns,
        0xBD: _numbers, 0x1B6: _text, 0x1B8: _link, 0x203: _number, 0x205: _error, 0x208: _row, 0x27E: _number,
    }  # fmt: skip


def _target(rest: bytes, flags: int) -> str:
    """The target of a link: an address, and a place in the target."""
    for flag in (_HAS_NAME, _HAS_FRAME):
        if flags & flag:
            _, rest = _counted(rest)
    url = place = ""
    if flags & _HAS_MONIKER and flags & _IS_WORDS:
        url, rest = _counted(rest)
    elif flags & _HAS_MONIKER and rest.startswith(_URL):
        (size,) = struct.unpack_from("<I", rest, 16)
        url, rest = rest[20 : 20 + size].decode("utf-16-le", "replace").partition("\0")[0], rest[20 + size :]
    elif flags & _HAS_MONIKER:
        # A file by its short name; the long name that can follow is not read.
        (size,) = struct.unpack_from("<I", rest, 18)
        return rest[22 : 22 + size].decode("cp1252", "replace").partition("\0")[0]
    if flags & _HAS_PLACE:
        place, _ = _counted(rest)
    return f"{url}#{place}" if place else url


def _counted(raw: bytes) -> tuple[str, bytes]:
    (count,) = struct.unpack_from("<I", raw)
    end = 4 + 2 * min(count, len(raw))
    return raw[4:end].decode("utf-16-le", "replace").partition("\0")[0], raw[end:]
