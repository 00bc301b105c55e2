"""Records of a workbook from before 2007 that calamine does not tell of: number formats, and sizes it would believe."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from a2c_smcp.documents.model import UnreadableFileError
from a2c_smcp.documents.parsers.sheets.formats import BUILT_IN

_FORMULA, _EOF, _FILEPASS, _BOUND_SHEET, _MANY_NUMBERS = 0x06, 0x0A, 0x2F, 0x85, 0xBD
_STYLE, _TEXTS, _SIZE, _NUMBER, _SHORT_NUMBER, _FORMAT, _BEGIN = 0xE0, 0xFC, 0x200, 0x203, 0x27E, 0x41E, 0x809
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
                self._formats[struct.unpack_from("<H", data)[0]] = self._words(data, 2, 2 if self._modern else 1)
            elif kind == _BOUND_SHEET:
                self._sheets[self._words(data, 6, 1)] = struct.unpack_from("<I", data)[0]
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
        """Record after record, until the end of a sheet or of what all sheets share."""
        while place + 4 <= len(self._stream):
            kind, size = struct.unpack_from("<HH", self._stream, place)
            yield kind, self._stream[place + 4 : place + 4 + size]
            if kind == _EOF:
                return
            place += 4 + size

    def _words(self, data: bytes, place: int, width: int) -> str:
        """A text behind its length, which has one byte or two."""
        count = int.from_bytes(data[place : place + width], "little")
        place += width
        if not self._modern:
            return data[place : place + count].decode("cp1252", "replace")
        wide = data[place] & 1
        raw = data[place + 1 : place + 1 + count * (2 if wide else 1)]
        return raw.decode("utf-16-le" if wide else "latin-1", "replace")

    def formats(self, sheet: str) -> dict[tuple[int, int], str]:
        """The number format of each number on a sheet that has one, by row and column."""
        found: dict[tuple[int, int], str] = {}
        if sheet not in self._sheets:
            return found
        codes = [self._formats.get(number, BUILT_IN.get(number, "")) for number in self._styles]
        try:
            for kind, data in self._walk(self._sheets[sheet]):
                if kind in (_NUMBER, _SHORT_NUMBER, _FORMULA):
                    row, column, *styles = struct.unpack_from("<HHH", data)
                elif kind == _MANY_NUMBERS:
                    row, column = struct.unpack_from("<HH", data)
                    styles = [struct.unpack_from("<H", data, at)[0] for at in range(4, len(data) - 2, 6)]
                else:
                    continue
                for number, style in enumerate(styles):
                    if style < len(codes) and codes[style]:
                        found[row, column + number] = codes[style]
        except struct.error:
            return found
        return found
