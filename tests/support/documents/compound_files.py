"""Compound files with storages, as Outlook writes them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_SECTOR, _SMALL, _CUTOFF = 512, 64, 4_096
_STORAGE, _STREAM, _ROOT = 1, 2, 5
Tree = Mapping[str, Any]
"""Names of streams with their bytes, and of storages with their own trees."""


def compound_file(tree: Tree) -> bytes:
    """A file with these streams and storages."""
    entries = list(_entries(tree))
    small = b"".join(_padded(body, _SMALL) for *_, body in entries if body and len(body) < _CUTOFF)
    small_table: list[int] = []
    bodies: list[bytes] = []
    starts: list[int] = []
    for *_, body in entries:
        if body and len(body) < _CUTOFF:
            starts.append(len(small_table))
            small_table += _chain(len(small_table), -(-len(body) // _SMALL))
        else:
            starts.append(-1 - len(bodies) if body else END)
            bodies += [body] if body else []
    parts = [b"", b"\0" * 128 * (len(entries) + 1), struct.pack(f"<{len(small_table)}I", *small_table), small, *bodies]
    sizes = [-(-len(part) // _SECTOR) for part in parts]
    sizes[0] = -(-(sum(sizes) + 2) // 126)
    table = [FAT] * sizes[0]
    begins = [0]
    for size in sizes[1:]:
        begins.append(len(table) if size else END)
        table += _chain(len(table), size)
    folder = _entry("Root Entry", _ROOT, FREE, 1, begins[3], len(small))
    for (name, kind, right, child, body), start in zip(entries, starts, strict=True):
        folder += _entry(name, kind, right, child, begins[3 - start] if start < 0 else start, len(body))
    parts[0] = struct.pack(f"<{128 * sizes[0]}I", *table, *[FREE] * (128 * sizes[0] - len(table)))
    parts[1] = folder
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, sizes[0], begins[1], 0, _CUTOFF, begins[2], sizes[2], END, 0)
    head += b"".join(struct.pack("<I", number if number < sizes[0] else FREE) for number in range(109))
    return head + b"".join(_padded(part, _SECTOR) for part in parts)


def _entries(tree: Tree, first: int = 1) -> Iterator[tuple[str, int, int, int, bytes]]:
    """Name, kind, next entry of the same storage, first entry in it, bytes; in the order of their numbers."""
    number = first
    for place, (name, held) in enumerate(tree.items()):
        inner: Tree = {} if isinstance(held, bytes) else held
        after = number + 1 + _count(inner)
        right = after if place + 1 < len(tree) else FREE
        if isinstance(held, bytes):
            yield name, _STREAM, right, FREE, held
        else:
            yield name, _STORAGE, right, number + 1 if inner else FREE, b""
        yield from _entries(inner, number + 1)
        number = after


def _count(tree: Tree) -> int:
    return sum(1 + (0 if isinstance(held, bytes) else _count(held)) for held in tree.values())


def _entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
    words = name.encode("utf-16-le")
    body = words.ljust(64, b"\0") + struct.pack("<HBBIII", len(words) + 2, kind, 1, FREE, right, child)
    return body + bytes(36) + struct.pack("<IQ", start, size)


def _chain(first: int, length: int) -> list[int]:
    return [*range(first + 1, first + length), END] if length else []


def _padded(body: bytes, unit: int) -> bytes:
    return body.ljust(-(-len(body) // unit) * unit, b"\0")
