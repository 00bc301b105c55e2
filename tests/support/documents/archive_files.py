"""Archives (zip, tar): good ones, ones that programs of other machines write, and harmful ones."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

FILES = {"tea.md": b"# Tea\n\nWords of oolong.\n", "lists/prices.csv": b"tea,price\ngreen,12\n"}


def write_zip(path: Path, files: Mapping[str, bytes] = FILES) -> Path:
    """A zip archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 5, 10, 0, 0)), body)
    return path


def write_tar(path: Path, files: Mapping[str, bytes] = FILES, pack: Callable[[bytes], bytes] = bytes) -> Path:
    """A tar archive, compressed by `pack`."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, body in files.items():
            add(archive, name, body)
    path.write_bytes(pack(content.getvalue()))
    return path


def add(archive: tarfile.TarFile, name: str, body: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> None:
    """Add a file, a link or a device."""
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.type, member.linkname = len(body), 1_767_607_200, kind, link
    archive.addfile(member, io.BytesIO(body))


def write_zip_with_names(path: Path, names: Mapping[bytes, bytes], extra: bytes = b"") -> Path:
    """A zip archive with names that are bytes of another machine, without the flag of UTF-8."""
    # Names of the same length are replaced by the bytes: the library would write them in UTF-8.
    held = {
        f"{number:0{len(name)}d}": body for number, (name, body) in enumerate(zip(names, names.values(), strict=True))
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, body in held.items():
            member = zipfile.ZipInfo(name)
            member.extra = extra
            archive.writestr(member, body)
    raw = path.read_bytes()
    for name, own in zip(held, names, strict=True):
        raw = raw.replace(name.encode(), own)
    path.write_bytes(raw)
    return path


def with_password(raw: bytes, name: str) -> bytes:
    """A zip archive in which a file is marked as encrypted."""
    found = bytearray(raw)
    place = -1
    while (place := found.find(name.encode(), place + 1)) >= 0:
        for magic, head, flags in ((b"PK\x03\x04", 30, 6), (b"PK\x01\x02", 46, 8)):
            if bytes(found[place - head : place - head + 4]) == magic:
                found[place - head + flags] |= 1
    return bytes(found)


def unicode_name(name: str, raw: bytes) -> bytes:
    """The extra field of a zip archive with a name in UTF-8."""
    body = b"\x01" + struct.pack("<I", zlib.crc32(raw)) + name.encode()
    return struct.pack("<HH", 0x7075, len(body)) + body


def write_gzip_bomb(path: Path, size: int) -> Path:
    """A compressed file that unpacks to many zeros: one million of them, again and again."""
    path.write_bytes(gzip.compress(bytes(1_000_000)) * (size // 1_000_000))
    return path
