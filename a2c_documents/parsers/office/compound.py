"""Compound files (OLE): the file system inside files before 2007 and inside embedded objects.

Reads the streams that a caller names. It writes nothing, and rejects a file with a broken chain of sectors.
"""

from __future__ import annotations

import mmap
import struct

from a2c_documents.parsers.office.xml import DamagedPartError

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HEADER = 512
_LAST_SECTOR = 0xFFFFFFFA
"""From this number on, an entry is not a sector but a mark (end of chain, free)."""
# Version 3 has sectors of 512 bytes, version 4 of 4096 bytes.
_SECTOR_SHIFTS = (9, 12)
_ENTRY, _SMALL_SECTOR = 128, 64
_STREAM, _ROOT = 2, 5
_SHARED = 4
"""How many times the sectors of a file can be part of a chain."""
_DAMAGED = "a part of it is missing"


def names_at_top(raw: bytes | mmap.mmap) -> set[str]:
    """The names (lower case) of what is at the top of a file, without the contents of its storages.

    Raises:
        DamagedPartError: it is not a compound file, or its directory is broken.
    """
    table, sector = _opened(raw)
    entries = _joined(raw, _chain(table, struct.unpack_from("<I", raw, 48)[0]), sector, sector)
    # A directory is a tree: an entry has its two neighbours at 68 and 72, and the first of its contents at 76.
    names: set[str] = set()
    waiting = [struct.unpack_from("<I", entries, 76)[0]] if len(entries) >= _ENTRY else []
    seen: set[int] = set()
    while waiting:
        number = waiting.pop()
        if number in seen or (number + 1) * _ENTRY > len(entries):
            continue  # no neighbour, or a tree with a cycle
        seen.add(number)
        names.add(_name(entries, number * _ENTRY))
        waiting += struct.unpack_from("<II", entries, number * _ENTRY + 68)
    return names


def streams_of(raw: bytes, *names: str) -> dict[str, bytes]:
    """The streams of a file with these names (lower case); every chain is followed once.

    Raises:
        DamagedPartError: it is not a compound file, or one of its chains is broken.
    """
    # A chain that leads into itself or out of the file would keep a library busy for ever. So all chains are followed
    # here once, also those of streams that are not requested, before calamine gets a workbook.
    table, sector = _opened(raw)
    directory, cutoff, small = (struct.unpack_from("<I", raw, place)[0] for place in (48, 56, 60))
    entries = _joined(raw, _chain(table, directory), sector, sector)
    small_table: list[int] = []
    if small < _LAST_SECTOR:
        words = _joined(raw, _chain(table, small), sector, sector)
        small_table = list(struct.unpack(f"<{len(words) // 4}I", words[: len(words) // 4 * 4]))
    # Streams below the cutoff share sectors of 64 bytes inside the stream of the root entry. The root is the first
    # entry, so its stream is known when the others come.
    small_stream = b""
    found: dict[str, bytes] = {}
    # A sector belongs to one chain. Thousands of entries that share a long chain would take quadratic time; a few
    # are tolerated, because the file can still be read.
    left = _SHARED * (len(table) + len(small_table))
    for place in range(0, len(entries) - _ENTRY + 1, _ENTRY):
        # An entry has its name in the first 64 bytes, its type at 66, its first sector at 116 and its size at 120. Of
        # the size, only the lower half is read: version 3 leaves the upper half undefined.
        kind = entries[place + 66]
        name = _name(entries, place)
        start, size = struct.unpack_from("<II", entries, place + 116)
        if kind not in (_STREAM, _ROOT) or start >= _LAST_SECTOR or (kind == _STREAM and not size):
            continue
        is_small = kind == _STREAM and size < cutoff
        chain = _chain(small_table if is_small else table, start)
        left -= len(chain)
        if left < 0:
            raise DamagedPartError(_DAMAGED)
        if kind == _ROOT:
            small_stream = _joined(raw, chain, sector, sector)
        elif name in names:
            whole = _joined(small_stream, chain, _SMALL_SECTOR, 0) if is_small else _joined(raw, chain, sector, sector)
            found[name] = whole[:size]
    return found


def _opened(raw: bytes | mmap.mmap) -> tuple[list[int], int]:
    """The allocation table of a file, and the bytes of its sectors."""
    if len(raw) < _HEADER or raw[: len(MAGIC)] != MAGIC:
        raise DamagedPartError(_DAMAGED)
    (shift,) = struct.unpack_from("<H", raw, 30)
    if shift not in _SECTOR_SHIFTS:
        raise DamagedPartError(_DAMAGED)
    return _table(raw, 1 << shift), 1 << shift


def _name(entries: bytes, place: int) -> str:
    return entries[place : place + 64].decode("utf-16-le", "replace").partition("\0")[0].lower()


def _joined(raw: bytes | mmap.mmap, chain: list[int], sector: int, skipped: int) -> bytes:
    return b"".join(raw[skipped + number * sector : skipped + (number + 1) * sector] for number in chain)


def _table(raw: bytes | mmap.mmap, sector: int) -> list[int]:
    """The allocation table: for each sector the next one."""
    count, first_more, more = struct.unpack_from("<I", raw, 44)[0], *struct.unpack_from("<II", raw, 68)
    numbers = [number for number in struct.unpack_from("<109I", raw, 76) if number < _LAST_SECTOR]
    sectors = len(raw) // sector
    # The header has room for 109 sectors of the table, enough for 7 MB. Larger files list the others in a chain of
    # sectors.
    # The last number of such a sector is the next one of the chain. Counting the rounds ends a chain that leads into
    # itself.
    for _ in range(min(more, sectors)):
        if first_more >= _LAST_SECTOR:
            break
        words = _sector(raw, first_more, sector)
        numbers.extend(number for number in words[:-1] if number < _LAST_SECTOR)
        first_more = words[-1]
    # The count also bounds the table: a chain that repeats its sectors would make it many times as long as the file.
    if count > sectors or len(numbers) < count:
        raise DamagedPartError(_DAMAGED)
    return [word for number in numbers[:count] for word in _sector(raw, number, sector)]


def _sector(raw: bytes | mmap.mmap, number: int, sector: int) -> tuple[int, ...]:
    start = (number + 1) * sector
    if start + sector > len(raw):
        raise DamagedPartError(_DAMAGED)
    return struct.unpack_from(f"<{sector // 4}I", raw, start)


def _chain(table: list[int], start: int) -> list[int]:
    """The sectors of a chain. A chain longer than the table is a loop."""
    found: list[int] = []
    while start < _LAST_SECTOR:
        if start >= len(table) or len(found) > len(table):
            raise DamagedPartError(_DAMAGED)
        found.append(start)
        start = table[start]
    return found
