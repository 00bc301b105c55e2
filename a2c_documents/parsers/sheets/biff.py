"""Records of a workbook from before 2007 that calamine does not tell of: number formats, and sizes it would believe."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.office.number_formats import BUILT_IN
from a2c_documents.parsers.sheets.biff_sheet import SheetRecords, words_at

_EOF, _FILEPASS, _BOUND_SHEET = 0x0A, 0x2F, 0x85
_STYLE, _TEXTS, _SIZE, _FORMAT, _BEGIN = 0xE0, 0xFC, 0x200, 0x41E, 0x809
_MODERN = 0x600
"""The version of Excel 97 and later."""
_MAX_ROWS, _MAX_COLUMNS = 65_536, 256
_DAMAGED = "this workbook is damaged: it says sizes that cannot be"


class Records:
    """The records of a workbook: formats by style, and where each sheet begins."""

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
                raise UnreadableFileError("this workbook is protected by a password")
            elif kind == _STYLE:
                self._styles.append(struct.unpack_from("<H", data, 2)[0])
            elif kind == _FORMAT:
                number = struct.unpack_from("<H", data)[0]
                self._formats[number] = words_at(data, 2, 2 if self._modern else 1, is_modern=self._modern)
            elif kind == _BOUND_SHEET:
                name = words_at(data, 6, 1, is_modern=self._modern)
                self._sheets[name] = struct.unpack_from("<I", data)[0]
            elif kind == _TEXTS and struct.unpack_from("<I", data, 4)[0] > len(self._stream) // 3:
                raise UnreadableFileError(_DAMAGED)
        for place in self._sheets.values():
            self._check_size(place)

    def _check_size(self, place: int) -> None:
        for kind, data in self._walk(place):
            if kind == _SIZE:
                shape = "<IIHH" if len(data) >= struct.calcsize("<IIHH") else "<HHHH"
                top, rows, left, columns = struct.unpack_from(shape, data)
                if not (top <= rows <= _MAX_ROWS and left <= columns <= _MAX_COLUMNS):
                    raise UnreadableFileError(_DAMAGED)
                return

    def _walk(self, place: int) -> Iterator[tuple[int, bytes]]:
        """Record after record, until the end of a sheet or of what all sheets share; what is drawn on a sheet is left
        out, which has records of the same kinds."""
        depth = 0
        while place + 4 <= len(self._stream):
            kind, size = struct.unpack_from("<HH", self._stream, place)
            depth += kind == _BEGIN
            if depth <= 1:
                yield kind, self._stream[place + 4 : place + 4 + size]
            depth -= kind == _EOF
            if kind == _EOF and depth <= 0:
                return
            place += 4 + size

    def sheet(self, name: str) -> SheetRecords:
        """What the records of a sheet say; as far as they can be read."""
        codes = [self._formats.get(number, BUILT_IN.get(number, "")) for number in self._styles]
        found = SheetRecords(codes, is_modern=self._modern)
        try:
            for kind, data in self._walk(self._sheets[name]) if name in self._sheets else ():
                found.take(kind, data)
        except (struct.error, IndexError):
            return found
        return found
