"""The properties of Outlook files (MS-OXMSG): storages in a compound file, each with fixed values and streams of texts.

Reads what a caller names, by the numbers of MAPI properties. It refuses streams that are larger than the file.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import olefile

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.common.decoding import clean, decode_as

DAMAGE = (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, struct.error)
"""Exceptions that a damaged compound file can raise."""
_TEXT, _OLD_TEXT, _BYTES = "001F", "001E", "0102"
_TIME, _NUMBER = 0x0040, 0x0003
_ENTRY = 16
_HEADS = {0: 32, 1: 24}
"""Bytes before the fixed values: in the file's own message, in a message inside it; 8 in recipients and attachments."""
_SHARED = 4
"""How many times the bytes of a file can be part of a stream: damaged files may share some."""
_CODE_PAGES = {65001: "utf-8", 20127: "ascii", 28591: "cp1252", 20866: "koi8_r", 50220: "iso2022_jp", 51932: "euc_jp",
               51949: "euc_kr", 936: "gb18030", 54936: "gb18030"}  # fmt: skip
_LONGEST_NAME, _MOST_TEXTS = 500, 100
_EPOCH = dt.datetime(1601, 1, 1, tzinfo=dt.UTC)


class OutlookFile:
    """An open compound file.

    Raises:
        UnreadableFileError: it is damaged, or no compound file.
    """

    def __init__(self, path: Path) -> None:
        self._left = _SHARED * path.stat().st_size
        handle = path.open("rb")
        try:
            self._file = olefile.OleFileIO(handle)
            entries = self._file.listdir(streams=True, storages=True)
            streams = [self._file.get_type(entry) == olefile.STGTY_STREAM for entry in entries]
        except DAMAGE as error:
            handle.close()
            raise UnreadableFileError(f"this Outlook file is damaged: {error}") from None
        self._handle = handle
        self._names: dict[tuple[str, ...], list[str]] = {}
        self.kinds: dict[tuple[str, ...], bool] = {}
        """Whether each entry is a stream, by its path in upper case."""
        for entry, is_stream in zip(entries, streams, strict=True):
            place = tuple(name.upper() for name in entry)
            self._names[place], self.kinds[place] = entry, is_stream

    @cached_property
    def named(self) -> dict[tuple[int | bytes, int | str], int]:
        """The numbers of named properties, by the set that they belong to and their name in it."""
        place = ("__NAMEID_VERSION1.0",)
        parts = [(*place, f"__SUBSTG1.0_{number}0102") for number in ("0002", "0003", "0004")]
        try:
            sets, entries, names = map(self.read, parts)
        except UnreadableFileError:  # the message has more than these
            return {}
        found: dict[tuple[int | bytes, int | str], int] = {}
        for start in range(0, len(entries) - 7, 8):
            name, kind, number = struct.unpack_from("<IHH", entries, start)
            # The first two sets have no entry in the list of sets.
            index = (kind >> 1) - 3
            family = sets[16 * index : 16 * index + 16] if index >= 0 else kind >> 1
            if kind & 1:
                (size,) = struct.unpack("<I", names[name : name + 4].ljust(4, b"\0"))
                name = names[name + 4 : name + 4 + min(size, _LONGEST_NAME)].decode("utf-16-le", "replace")
            found[family, name] = 0x8000 + number
        return found

    def read(self, place: tuple[str, ...]) -> bytes:
        """A stream; empty if it is missing.

        Raises:
            UnreadableFileError: the file is damaged.
        """
        if not self.kinds.get(place):
            return b""
        # The library follows a chain that leads into itself as long as the size says, which may be any number.
        try:
            self._left -= self._file.get_size(self._names[place])
            if self._left < 0:
                raise UnreadableFileError("this Outlook file is damaged: its parts are larger than the file")
            return self._file.openstream(self._names[place]).read()
        except DAMAGE as error:
            raise UnreadableFileError(f"this Outlook file is damaged: {error}") from None

    def below(self, place: tuple[str, ...], start: str) -> Iterator[tuple[str, ...]]:
        """The storages in a storage with this beginning of their names, in order."""
        depth = len(place) + 1
        yield from sorted(
            one
            for one, is_stream in self.kinds.items()
            if not is_stream and len(one) == depth and one[:-1] == place and one[-1].startswith(start.upper())
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._handle.close()


class Properties:
    """The properties of a message, a recipient or an attachment. `depth` counts the messages around a message."""

    def __init__(self, file: OutlookFile, place: tuple[str, ...] = (), head: int = 8, encoding: str = "") -> None:
        self.file, self.place = file, place
        self._fixed = _fixed(file.read((*place, "__PROPERTIES_VERSION1.0")), head)
        page = self.number(0x3FFD) or self.number(0x3FDE)
        self.encoding = _CODE_PAGES.get(page, f"cp{page}" if page else encoding)

    def text(self, *numbers: int) -> str:
        """The first of some properties that is a text with words."""
        for number in numbers:
            words = self.bytes(number, _TEXT).decode("utf-16-le", "replace")
            if not words:
                words = decode_as(self.bytes(number, _OLD_TEXT), self.encoding)[0]
            # Texts may end with a zero.
            if words := clean(words.rstrip("\0")).strip():
                return words
        return ""

    def bytes(self, number: int, kind: str = _BYTES) -> bytes:
        """The bytes of a property; empty if it is missing."""
        return self.file.read((*self.place, f"__SUBSTG1.0_{number:04X}{kind}"))

    def number(self, number: int) -> int:
        """An integer; 0 if it is missing."""
        value = self._fixed.get((number, _NUMBER))
        return struct.unpack("<I", value[:4])[0] if value else 0

    def time(self, *numbers: int) -> dt.datetime | None:
        """The first of some properties that is a time."""
        for number in numbers:
            value = self._fixed.get((number, _TIME))
            if value:
                try:
                    return _EPOCH + dt.timedelta(microseconds=struct.unpack("<Q", value)[0] // 10)
                except OverflowError:
                    continue
        return None

    def texts(self, number: int) -> list[str]:
        """A list of texts."""
        place = (*self.place, f"__SUBSTG1.0_{number:04X}101F")
        count = min(len(self.file.read(place)) // 4, _MOST_TEXTS)
        raw = (self.file.read((*place[:-1], f"{place[-1]}-{index:08X}")) for index in range(count))
        return [clean(words.decode("utf-16-le", "replace").rstrip("\0")).strip() for words in raw]

    def named(self, family: int | bytes, name: int | str) -> int:
        """The number of a named property; 0 if the file has none of that name."""
        return self.file.named.get((family, name), 0)

    def within(self, place: tuple[str, ...], head: int = 8) -> Properties:
        """The properties of a storage inside this one."""
        return Properties(self.file, place, head, self.encoding)

    def inside(self, start: str) -> Iterator[Properties]:
        """The recipients or attachments, by the beginning of their names."""
        return (self.within(place) for place in self.file.below(self.place, start))

    def message(self) -> Properties | None:
        """The message that an attachment is."""
        place = (*self.place, "__SUBSTG1.0_3701000D")
        is_message = (*place, "__PROPERTIES_VERSION1.0") in self.file.kinds
        return self.within(place, _HEADS[1]) if is_message else None


def whole_message(file: OutlookFile) -> Properties:
    """The properties of the file's own message."""
    return Properties(file, (), _HEADS[0])


def _fixed(stream: bytes, head: int) -> dict[tuple[int, int], bytes]:
    """The values of eight bytes and less, by number and type."""
    found: dict[tuple[int, int], bytes] = {}
    for place in range(head, len(stream) - _ENTRY + 1, _ENTRY):
        kind, number = struct.unpack_from("<HH", stream, place)
        found[number, kind] = stream[place + 8 : place + _ENTRY]
    return found
