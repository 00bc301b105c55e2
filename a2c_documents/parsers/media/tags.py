"""Tags that several formats share: ID3 and Vorbis comments."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from a2c_documents.parsers.media.header import MAX_BLOCKS, Header, Media

_TEXTS = {
    "TIT2": "title", "TT2": "title", "TPE1": "artist", "TP1": "artist", "TALB": "album", "TAL": "album",
    "TDRC": "date", "TYER": "date", "TYE": "date", "TCON": "genre", "TCO": "genre",
}  # fmt: skip
_ENCODINGS = ("latin-1", "utf-16", "utf-16-be", "utf-8")
_MAX_FRAME = 100_000
_COMMENTS = {
    "title": "title", "artist": "artist", "album": "album", "date": "date", "genre": "genre", "comment": "comment",
    "description": "comment",
}  # fmt: skip


def read_id3(header: Header, start: int, media: Media) -> int:
    """Read the ID3 tag at a position, if there is one. Returns where it ends."""
    if header.some(start, 3) != b"ID3":
        return start
    version, flags = header.numbers(">BxB", start + 3)
    end = start + 10 + _seven_bits(header.at(start + 6, 4))
    position = start + 10
    if flags & 0x40 and version > 2:
        extra = header.at(position, 4)
        # The extended header of version 4 counts its own length field, that of version 3 does not.
        position += _seven_bits(extra) if version == 4 else 4 + struct.unpack(">I", extra)[0]
    for name, place, length in _frames(header, position, min(end, header.size), version):
        if name in ("APIC", "PIC"):
            # With this flag, a zero byte follows each 0xFF. A cover is read from the file as it is, and would be
            # damaged by them.
            if not flags & 0x80:
                _picture(header, place, length, name, media)
        elif length <= _MAX_FRAME:
            body = header.some(place, length)
            _frame(name, body.replace(b"\xff\x00", b"\xff") if flags & 0x80 else body, version, media)
    media.chapters.sort(key=lambda chapter: chapter[0])
    return end


def _frames(header: Header, position: int, end: int, version: int) -> Iterator[tuple[str, int, int]]:
    """Name, start and length of the frames in a range of the file."""
    width = 6 if version == 2 else 10
    for _ in range(MAX_BLOCKS):
        if position + width > end:
            return
        block = header.at(position, width)
        name = block[: 3 if version == 2 else 4].decode("latin-1")
        if not name.strip("\x00"):  # padding until the end of the tag
            return
        length = _length(block, version)
        yield name, position + width, min(length, end - position - width)
        position += width + length


def _length(block: bytes, version: int) -> int:
    # Only version 4 writes the lengths of frames with seven bits per byte.
    raw = block[3:6] if version == 2 else block[4:8]
    return _seven_bits(raw) if version == 4 else int.from_bytes(raw, "big")


def _frame(name: str, body: bytes, version: int, media: Media) -> None:
    if name in _TEXTS and len(body) > 1:
        media.tag(_TEXTS[name], _text(body[0], body[1:]))
    elif name in ("COMM", "COM") and len(body) > 4:
        _, words = _divided(body[0], body[4:])
        media.tag("comment", _text(body[0], words))
    elif name in ("TXXX", "TXX") and len(body) > 1:
        label, words = _divided(body[0], body[1:])
        if _text(body[0], label).lower() == "comment":
            media.tag("comment", _text(body[0], words))
    elif name == "CHAP":
        _chapter(body, version, media)


def _chapter(body: bytes, version: int, media: Media) -> None:
    """Read a chapter: an id, its times and offsets, and nested frames such as the title."""
    place = body.index(b"\x00") + 1
    start = struct.unpack_from(">I", body, place)[0] / 1_000
    place += 16
    title = ""
    while place + 10 <= len(body):
        length = _length(body[place : place + 10], version)
        if body[place : place + 4] == b"TIT2" and length > 1:
            title = _text(body[place + 10], body[place + 11 : place + 10 + length])
        place += 10 + length
    media.chapter(start, title)


def _picture(header: Header, place: int, length: int, name: str, media: Media) -> None:
    head = header.some(place, min(length, 500))
    encoding = head[0]
    if name == "PIC":
        mime, start = {b"JPG": "image/jpeg", b"PNG": "image/png"}.get(head[1:4], ""), 5
    else:
        stop = head.index(b"\x00", 1)
        mime, start = head[1:stop].decode("latin-1").replace("image/jpg", "image/jpeg"), stop + 2
    label, _ = _divided(encoding, head[start:])
    start += len(label) + (2 if encoding in (1, 2) else 1)
    media.picture(mime, place + start, length - start)


def _divided(encoding: int, raw: bytes) -> tuple[bytes, bytes]:
    """Two texts with a zero character between them."""
    if encoding not in (1, 2):
        first, _, second = raw.partition(b"\x00")
        return first, second
    # In UTF-16, two zeros end a text only at an even position. Elsewhere they are halves of two letters.
    for place in range(0, len(raw) - 1, 2):
        if raw[place : place + 2] == b"\x00\x00":
            return raw[:place], raw[place + 2 :]
    return raw, b""


def _text(encoding: int, raw: bytes) -> str:
    return raw.decode(_ENCODINGS[encoding] if encoding < 4 else "latin-1", "replace").strip("\ufeff")


def _seven_bits(raw: bytes) -> int:
    """A number with seven bits in each byte, so that it never contains the mark of an MPEG frame."""
    value = 0
    for byte in raw:
        value = value << 7 | byte & 0x7F
    return value


def read_id3v1(header: Header, media: Media) -> int:
    """Read the tag at the end of a file, if there is one. Returns where the audio ends."""
    end = header.size - 128
    if end < 0 or header.at(end, 3) != b"TAG":
        return header.size
    block = header.at(end, 128)
    for name, start, stop in (
        ("title", 3, 33), ("artist", 33, 63), ("album", 63, 93), ("date", 93, 97), ("comment", 97, 125)
    ):  # fmt: skip
        raw = block[start:stop].split(b"\x00")[0]
        try:
            media.tag(name, raw.decode("utf-8"))
        except UnicodeDecodeError:
            media.tag(name, raw.decode("latin-1"))
    return end


def vorbis_comment(block: bytes, media: Media) -> None:
    """The tags of FLAC, Vorbis, Opus, Speex and Theora: a vendor, then `NAME=value`."""
    position = 4 + struct.unpack_from("<I", block, 0)[0]
    count = min(struct.unpack_from("<I", block, position)[0], 1_000)
    position += 4
    starts: dict[str, float] = {}
    for _ in range(count):
        length = struct.unpack_from("<I", block, position)[0]
        position += 4
        name, _, value = block[position : position + length].decode("utf-8", "replace").partition("=")
        position += length
        if position > len(block):
            return
        name = name.lower()
        if name in _COMMENTS:
            media.tag(_COMMENTS[name], value)
        elif name.startswith("chapter") and name[7:].isdecimal():
            # `CHAPTER001=00:01:02.5`, followed by `CHAPTER001NAME=title`.
            starts[name] = _seconds(value)
        elif name.startswith("chapter") and name.removesuffix("name") in starts:
            media.chapter(starts[name.removesuffix("name")], value)


def _seconds(clock: str) -> float:
    """ "00:01:02.5"."""
    hours, minutes, seconds = clock.split(":")
    return int(hours) * 3_600 + int(minutes) * 60 + float(seconds)
