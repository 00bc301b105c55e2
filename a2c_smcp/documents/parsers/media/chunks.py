"""Headers of files made of chunks: WAV, AVI, AIFF; and MPEG streams, which have no header of their own."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from a2c_smcp.documents.parsers.media.facts import MAX_BLOCKS, Header, Media

_INFO = {b"INAM": "title", b"IART": "artist", b"IPRD": "album", b"ICRD": "date", b"IGNR": "genre", b"ICMT": "comment"}
_SOUNDS = {1: "PCM", 2: "ADPCM", 3: "PCM (float)", 6: "A-law", 7: "µ-law", 0x55: "MP3", 0xFF: "AAC", 0x2000: "AC-3"}
_RATES = {1: 23.976, 2: 24.0, 3: 25.0, 4: 29.97, 5: 30.0, 6: 50.0, 7: 59.94, 8: 60.0}


def _chunks(header: Header, start: int, end: int, order: str = "<") -> Iterator[tuple[bytes, int, int]]:
    """Name, start and length of the chunks there."""
    for _ in range(MAX_BLOCKS):
        if start + 8 > min(end, header.size):
            return
        name, length = header.numbers(f"{order}4sI", start)
        yield name, start + 8, length
        start += 8 + length + (length & 1)


def read_wav(header: Header, media: Media) -> None:
    """Format, length and tags of a WAV file."""
    byte_rate = data = 0
    long_data = 0
    for name, start, length in _chunks(header, 12, header.size):
        if name == b"fmt ":
            byte_rate = _sound(header.some(start, min(length, 40)), media)
        elif name == b"ds64":
            long_data = header.numbers("<Q", start + 8)[0]
        elif name == b"data":
            data = length if length != 0xFFFFFFFF else long_data
            data = min(data, header.size - start)
        elif name == b"LIST" and header.some(start, 4) == b"INFO":
            _info(header, start + 4, start + length, media)
    if byte_rate:
        media.duration, media.bit_rate = data / byte_rate, byte_rate * 8


def _sound(block: bytes, media: Media) -> int:
    """The format of sound as Windows writes it. Bytes per second."""
    kind, media.channels, media.sample_rate, byte_rate = struct.unpack_from("<HHII", block)
    if kind == 0xFFFE and len(block) >= 26:
        kind = struct.unpack_from("<H", block, 24)[0]
    bits = struct.unpack_from("<H", block, 14)[0] if len(block) >= 16 else 0
    media.codec(_SOUNDS.get(kind, f"0x{kind:04x}") + (f" {bits} bit" if kind == 1 and bits else ""))
    return byte_rate


def _info(header: Header, start: int, end: int, media: Media) -> None:
    for name, place, length in _chunks(header, start, end):
        if name in _INFO:
            raw = header.some(place, min(length, 4_000)).split(b"\x00")[0]
            try:
                media.tag(_INFO[name], raw.decode("utf-8"))
            except UnicodeDecodeError:
                media.tag(_INFO[name], raw.decode("cp1252", "replace"))


def read_avi(header: Header, media: Media) -> None:
    """The main header and those of the streams."""
    media.kind = "video"
    waiting = [(12, header.size)]
    stream = b""
    for _ in range(MAX_BLOCKS):
        if not waiting:
            return
        begin, end = waiting.pop()
        for name, start, length in _chunks(header, begin, end):
            kind = header.some(start, 4) if name == b"LIST" else b""
            if kind in (b"hdrl", b"strl"):
                # The rest of this list comes after what is in this one.
                waiting.append((start + length + (length & 1), end))
                waiting.append((start + 4, start + length))
                break
            if kind == b"INFO":
                _info(header, start + 4, start + length, media)
            elif name == b"avih":
                micro, frames, media.width, media.height = header.numbers("<I12xI12xII", start)
                media.duration = micro * frames / 1_000_000
                media.frame_rate = 1_000_000 / micro if micro else 0
            elif name == b"strh":
                stream = header.at(start, 4)
                if stream == b"vids":
                    media.codec(header.at(start + 4, 4).decode("latin-1"))
            elif name == b"strf" and stream == b"auds":
                _sound(header.some(start, min(length, 40)), media)


def read_aiff(header: Header, media: Media) -> None:
    """Format, length and tags of an AIFF file."""
    media.codec("PCM")
    for name, start, length in _chunks(header, 12, header.size, ">"):
        if name == b"COMM":
            media.channels, frames, exponent, mantissa = header.numbers(">HI2xHQ", start)
            rate = mantissa * 2.0 ** max(-64, min((exponent & 0x7FFF) - 16_446, 0))
            media.sample_rate = round(rate)
            media.duration = frames / rate if rate else 0
        elif name in (b"NAME", b"AUTH"):
            words = header.some(start, min(length, 4_000)).decode("utf-8", "replace")
            media.tag("title" if name == b"NAME" else "artist", words)


def read_mpeg(header: Header, media: Media) -> None:
    """The first sequence of an MPEG stream: size and frame rate."""
    media.kind = "video"
    block = header.some(0, 200_000)
    place = block.find(b"\x00\x00\x01\xb3")
    if 0 <= place <= len(block) - 8:
        bits = int.from_bytes(block[place + 4 : place + 8], "big")
        media.codec("MPEG video")
        media.width, media.height, media.frame_rate = bits >> 20, bits >> 8 & 0xFFF, _RATES.get(bits & 15, 0.0)
