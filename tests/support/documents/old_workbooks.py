"""Workbooks that no library at hand can write: xls and xlsb from their records, ods from its XML."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

Value = str | float | tuple[float, int]
"""A text, a number, or a number with the number of its cell style."""

FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
FORMATS = (0, 14, 10, 4)
"""The styles of these workbooks: as it is, a date, per cent, thousands."""

# ------------------------------------------------------------------------------------------------------------------ xls


def record(kind: int, data: bytes = b"") -> bytes:
    """One of the records that such a workbook is made of."""
    return struct.pack("<HH", kind, len(data)) + data


def _cell(row: int, column: int, value: Value) -> bytes:
    if isinstance(value, str):
        words = value.encode("utf-16-le")
        return record(0x204, struct.pack("<HHHHB", row, column, 0, len(value), 1) + words)
    number, style = value if isinstance(value, tuple) else (value, 0)
    return record(0x203, struct.pack("<HHHd", row, column, style, number))


def _sheet(rows: Sequence[Sequence[Value]], more: bytes) -> bytes:
    cells = b"".join(_cell(row, column, value) for row, line in enumerate(rows) for column, value in enumerate(line))
    return record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0)) + cells + more + record(0x0A)


def write_xls(
    path: Path,
    sheets: Sequence[tuple[str, int, Sequence[Sequence[Value]]]],
    *,
    more: bytes = b"",
    streams: Mapping[str, bytes] | None = None,
) -> Path:
    """Write a workbook of 1997; a sheet has a name, 0, 1 or 2 for how hidden it is, and rows.

    `more` are further records of each sheet, `streams` further streams of the file.
    """
    start = record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0)) + record(0x42, struct.pack("<H", 1200))
    start += b"".join(record(0xE0, struct.pack("<HH", 0, code) + bytes(16)) for code in FORMATS)
    bodies = [_sheet(rows, more) for _, _, rows in sheets]
    place = len(start) + sum(4 + 8 + 2 * len(name) for name, _, _ in sheets) + 4
    names = b""
    for (name, hidden, _), body in zip(sheets, bodies, strict=True):
        names += record(0x85, struct.pack("<IBBBB", place, hidden, 0, len(name), 1) + name.encode("utf-16-le"))
        place += len(body)
    path.write_bytes(compound({"Workbook": start + names + record(0x0A) + b"".join(bodies), **(streams or {})}))
    return path


def compound(streams: Mapping[str, bytes]) -> bytes:
    """A file system in a file, as such workbooks and embedded objects have it."""
    bodies = [body.ljust(max(4_096, -(-len(body) // 512) * 512), b"\0") for body in streams.values()]
    folder = -(-(len(streams) + 1) // 4)
    count = folder + sum(len(body) // 512 for body in bodies)
    fats = -(-count // 127)
    table = [FAT] * fats
    starts: list[int] = []
    for sectors in (folder, *(len(body) // 512 for body in bodies)):
        starts.append(len(table))
        table += [*range(len(table) + 1, len(table) + sectors), END]
    table += [FREE] * (128 * fats - len(table))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, fats, starts[0], 0, 4_096, END, 0, END, 0)
    head += b"".join(struct.pack("<I", number if number < fats else FREE) for number in range(109))
    entries = _entry("Root Entry", 5, FREE, 1, END, 0)
    for number, (name, start, body) in enumerate(zip(streams, starts[1:], streams.values(), strict=True), 1):
        entries += _entry(name, 2, number + 1 if number < len(streams) else FREE, FREE, start, max(4_096, len(body)))
    return head + struct.pack(f"<{len(table)}I", *table) + entries.ljust(512 * folder, b"\0") + b"".join(bodies)


def _entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
    words = (name + "\0").encode("utf-16-le")
    entry = words.ljust(64, b"\0") + struct.pack("<HBBIII", len(words), kind, 1, FREE, right, child) + bytes(36)
    return entry + struct.pack("<IQ", start, size)


def properties(known: Mapping[int, str], encoding: str = "cp1252", more: Mapping[int, bytes] | None = None) -> bytes:
    """The stream in which a file says who made it: texts by the numbers of their properties; `more` are other types."""
    table, body, values = b"", b"", dict(more or {})
    for number, words in known.items():
        raw = words.encode(encoding) + b"\0"
        values[number] = struct.pack("<II", 30, len(raw)) + raw.ljust(-(-len(raw) // 4) * 4, b"\0")
    for number, value in values.items():
        table += struct.pack("<II", number, 8 + 8 * len(values) + len(body))
        body += value
    head = (
        struct.pack("<HHI", 0xFFFE, 0, 0x20006) + bytes(16) + struct.pack("<I", 1) + bytes(16) + struct.pack("<I", 48)
    )
    return head + struct.pack("<II", 8 + len(table) + len(body), len(values)) + table + body


def packed_file(name: str, data: bytes) -> bytes:
    """A file of any kind as an embedded object has it."""
    inner = b"\x02\x00" + name.encode() + b"\0" + f"C:\\files\\{name}".encode() + b"\0" + b"\x00\x00\x03\x00"
    inner += struct.pack("<I", 4) + b"C:\\\0" + struct.pack("<I", len(data)) + data
    return compound({"\x01Ole10Native": struct.pack("<I", len(inner)) + inner})


# ----------------------------------------------------------------------------------------------------------------- xlsb


def _binary(kind: int, data: bytes = b"") -> bytes:
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size, length = len(data), b""
    while size > 127:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return head + length + bytes([size]) + data


def _wide(words: str) -> bytes:
    return struct.pack("<I", len(words)) + words.encode("utf-16-le")


def write_xlsb(path: Path, name: str, rows: Sequence[Sequence[Value]]) -> Path:
    """Write a binary workbook of one sheet."""
    sheet = _binary(129) + _binary(148, struct.pack("<IIII", 0, len(rows) - 1, 0, len(rows[0]) - 1)) + _binary(145)
    for number, row in enumerate(rows):
        sheet += _binary(0, struct.pack("<IIHBBBI", number, 0, 300, 0, 0, 0, 0))
        for column, value in enumerate(row):
            if isinstance(value, str):
                sheet += _binary(6, struct.pack("<II", column, 0) + _wide(value))
            else:
                code, style = value if isinstance(value, tuple) else (value, 0)
                sheet += _binary(5, struct.pack("<IId", column, style, code))
    sheet += _binary(146) + _binary(130)
    bundle = _binary(156, struct.pack("<II", 0, 1) + _wide("rId1") + _wide(name))
    book = _binary(131) + _binary(143) + bundle + _binary(144) + _binary(132)
    styles = _binary(278) + _binary(617, struct.pack("<I", len(FORMATS)))
    styles += b"".join(_binary(47, struct.pack("<HH", 0, code) + bytes(12)) for code in FORMATS) + _binary(618)
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{kinds}/worksheet" Target="worksheets/sheet1.bin"/>'
        f'<Relationship Id="rId2" Type="{kinds}/styles" Target="styles.bin"/></Relationships>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.bin", book)
        archive.writestr("xl/_rels/workbook.bin.rels", relations)
        archive.writestr("xl/worksheets/sheet1.bin", sheet)
        archive.writestr("xl/styles.bin", styles + _binary(279))
    return path


# ------------------------------------------------------------------------------------------------------------------ ods

SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{place}:1.0"'
    for name, place in {
        "office": "office", "table": "table", "text": "text", "style": "style", "draw": "drawing", "chart": "chart",
        "meta": "meta", "svg": "svg-compatible",
    }.items()
) + ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'  # fmt: skip


def write_ods(
    path: Path, sheets: str, *, styles: str = "", meta: str = "", files: dict[str, bytes] | None = None
) -> Path:
    """Write an OpenDocument workbook around the XML of its sheets."""
    content = (
        f'<?xml version="1.0"?><office:document-content {SPACES}><office:automatic-styles>{styles}'
        f"</office:automatic-styles><office:body><office:spreadsheet>{sheets}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr(
            "meta.xml", f"<office:document-meta {SPACES}><office:meta>{meta}</office:meta></office:document-meta>"
        )
        for name, data in (files or {}).items():
            archive.writestr(name, data)
    return path
