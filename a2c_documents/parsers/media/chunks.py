"""Headers of files that consist of chunks: WAV, AVI, AIFF and MIDI."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from a2c_documents.parsers.media.header import MAX_BLOCKS, MAX_WORDS, Header, Media
from a2c_documents.parsers.media.tags import read_id3

_INFO = {b"INAM": "title", b"IART": "artist", b"IPRD": "album", b"ICRD": "date", b"IGNR": "genre", b"ICMT": "comment"}
_SOUNDS = {1: "PCM", 2: "ADPCM", 3: "PCM (float)", 6: "A-law", 7: "µ-law", 0x11: "ADPCM", 0x50: "MPEG layer II",
           0x55: "MP3", 0xFF: "AAC", 0x161: "WMA", 0x2000: "AC-3"}  # fmt: skip
_FILMS = {"H264": "H.264", "h264": "H.264", "avc1": "H.264", "MJPG": "Motion JPEG", "mjpg": "Motion JPEG"}
_NOT_KNOWN = 0xFFFFFFFF


def _chunks(header: Header, start: int, end: int, order: str = "<") -> Iterator[tuple[bytes, int, int]]:
    """Name, start and length of the chunks in a range of the file."""
    for _ in range(MAX_BLOCKS):
        if start + 8 > min(end, header.size):
            return
        name, length = header.numbers(f"{order}4sI", start)
        yield name, start + 8, length
        # Chunks begin at even positions. The padding is not part of the length.
        start += 8 + length + (length & 1)


def read_wav(header: Header, media: Media) -> None:
    """Format, length and tags of a WAV file."""
    byte_rate = data = long_data = samples = 0
    try:
        for name, start, length in _chunks(header, 12, header.size):
            if name == b"fmt ":
                byte_rate = _sound(header.some(start, min(length, 40)), media)
            elif name == b"ds64":
                long_data = header.numbers("<Q", start + 8)[0]
            elif name == b"fact" and length >= 4:
                samples = header.numbers("<I", start)[0]
            elif name == b"data":
                # A program that writes into a pipe cannot go back and fill in the length. A file of more than 4 GB
                # (RF64) has it in `ds64`.
                data = (long_data or header.size) if length == _NOT_KNOWN else length
                data = min(data, header.size - start)
            elif name in (b"id3 ", b"ID3 "):
                read_id3(header, start, media)
            elif name == b"LIST" and header.some(start, 4) == b"INFO":
                _info(header, start + 4, start + length, media)
    # Also if a truncated file ends the loop with an EOFError.
    finally:
        if byte_rate:
            media.duration, media.bit_rate = data / byte_rate, byte_rate * 8
        if samples not in (0, _NOT_KNOWN) and media.sample_rate and media.codecs[:1] == ["ADPCM"]:
            media.duration = samples / media.sample_rate  # its bytes per second are an estimate


def _sound(block: bytes, media: Media) -> int:
    """Read a format block (`WAVEFORMATEX`). Returns the bytes per second."""
    kind, media.channels, media.sample_rate, byte_rate = struct.unpack_from("<HHII", block)
    # `WAVE_FORMAT_EXTENSIBLE`: the codec is at the beginning of the subformat.
    if kind == 0xFFFE and len(block) >= 26:
        kind = struct.unpack_from("<H", block, 24)[0]
    bits = struct.unpack_from("<H", block, 14)[0] if len(block) >= 16 else 0
    media.codec(_SOUNDS.get(kind, f"0x{kind:04x}") + (f" {bits} bit" if kind == 1 and bits else ""))
    return byte_rate


def _info(header: Header, start: int, end: int, media: Media) -> None:
    for name, place, length in _chunks(header, start, end):
        if name in _INFO:
            raw = header.some(place, min(length, MAX_WORDS)).split(b"\x00")[0]
            # The format does not define an encoding: newer programs write UTF-8, older ones that of Windows.
            try:
                media.tag(_INFO[name], raw.decode("utf-8"))
            except UnicodeDecodeError:
                media.tag(_INFO[name], raw.decode("cp1252", "replace"))


def read_avi(header: Header, media: Media) -> None:
    """Read the main header, the headers of the streams, and the tags."""
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
                # Pushed in this order, the list inside is read before the rest of this one.
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
                _stream(header, start, stream, media)
            elif name == b"strf" and stream == b"auds" and not media.sample_rate:
                _sound(header.some(start, min(length, 40)), media)


def _stream(header: Header, start: int, kind: bytes, media: Media) -> None:
    """Read the header of a stream. Its length is that of the whole stream."""
    scale, rate, count = header.numbers("<II4xI", start + 20)
    if kind == b"vids":
        if not media.codecs and scale and rate:
            media.frame_rate = rate / scale
        code = header.at(start + 4, 4).decode("latin-1")
        media.codec(_FILMS.get(code, code))
    # The main header of a file in several parts counts only the frames of the first gigabyte.
    if kind in (b"vids", b"auds") and rate:
        media.duration = max(media.duration, count * scale / rate)


def read_aiff(header: Header, media: Media) -> None:
    """Format, length and tags of an AIFF file."""
    for name, start, length in _chunks(header, 12, header.size, ">"):
        if name == b"COMM":
            media.channels, frames, bits, exponent, mantissa = header.numbers(">HIHHQ", start)
            # The sample rate is an 80-bit float: 15 bits of exponent with a bias of 16,383, and 64 bits of mantissa.
            # The exponent is bounded, so that damage cannot cause an overflow.
            rate = mantissa * 2.0 ** max(-64, min((exponent & 0x7FFF) - 16_446, 0))
            media.codec(f"PCM {bits} bit")
            media.sample_rate = round(rate)
            media.duration = frames / rate if rate else 0
        elif name in (b"ID3 ", b"id3 "):
            read_id3(header, start, media)
        elif name in (b"NAME", b"AUTH"):
            media.tag("title" if name == b"NAME" else "artist", header.words(start, length))


def read_midi(header: Header, media: Media) -> None:
    """The number of tracks. MIDI contains notes and no sound, so there is nothing else to read."""
    tracks = header.numbers(">H", 10)[0]
    media.codec(f"MIDI, {tracks} tracks")
