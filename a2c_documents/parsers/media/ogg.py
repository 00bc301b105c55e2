"""Headers of FLAC files, and of the streams in Ogg files: Vorbis, Opus, FLAC, Speex, Theora."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from a2c_documents.parsers.media.header import MAX_BLOCK, MAX_BLOCKS, Header, Media
from a2c_documents.parsers.media.tags import read_id3, vorbis_comment

_TAIL = 130_000
"""Bytes at the end that are searched for the last pages of all streams. A page has at most half as many."""
_FIRST_PAGES = 64


def read_flac(header: Header, media: Media) -> None:
    """Read the metadata blocks before the audio."""
    media.codec("FLAC")
    position = read_id3(header, 0, media) + 4
    for _ in range(MAX_BLOCKS):
        first, length = header.at(position, 1)[0], int.from_bytes(header.at(position + 1, 3), "big")
        kind, start = first & 0x7F, position + 4
        if kind == 0:
            _stream_info(header.at(start, 18), media)
        elif kind == 4 and length <= MAX_BLOCK:
            vorbis_comment(header.some(start, length), media)
        elif kind == 6:
            _picture(header, start, media)
        if first & 0x80:
            return
        position = start + length


def _stream_info(block: bytes, media: Media) -> None:
    """Read the first block of FLAC: 20 bits of rate, 3 of channels, 5 of depth, 36 of length."""
    bits = int.from_bytes(block[10:18], "big")
    media.sample_rate, media.channels = bits >> 44, (bits >> 41 & 7) + 1
    samples = bits & (1 << 36) - 1
    media.duration = samples / media.sample_rate if media.sample_rate else 0


def _picture(header: Header, start: int, media: Media) -> None:
    """Read a picture block: kind, MIME type, description, four numbers, and the bytes."""
    place = start + 8 + header.numbers(">I", start + 4)[0]
    mime = header.words(start + 8, place - start - 8)
    place += 4 + header.numbers(">I", place)[0] + 16
    media.picture(mime, place + 4, header.numbers(">I", place)[0])


# ------------------------------------------------------------------------------------------------------------------ Ogg


@dataclass(slots=True)
class _Stream:
    """A stream in the file: its first packets, and the meaning of its positions."""

    packets: list[bytearray] = field(default_factory=lambda: [bytearray()])
    seconds: Callable[[int], float] | None = None

    def count(self, rate: int, skipped: int = 0) -> None:
        """Positions count samples, of which the first ones may not be played."""
        self.seconds = (lambda position: max(0, position - skipped) / rate) if rate else None


def read_ogg(header: Header, media: Media) -> None:
    """Read the first packets of each stream, and the positions of their last pages."""
    streams = _streams(header)
    for stream in streams.values():
        if len(stream.packets) > 1:
            first, second = map(bytes, stream.packets[:2])
            _identify(stream, first, media)
            _read_comments(first, second, media)
    media.duration = max(media.duration, _last_position(header, streams))


def _identify(stream: _Stream, packet: bytes, media: Media) -> None:
    if packet.startswith(b"OpusHead"):
        media.codec("Opus")
        media.channels, media.sample_rate = packet[9], 48_000
        # The first samples ("pre-skip") are decoded, but not played.
        stream.count(48_000, struct.unpack_from("<H", packet, 10)[0])
    elif packet.startswith(b"\x01vorbis"):
        media.codec("Vorbis")
        media.channels, media.sample_rate = struct.unpack_from("<BI", packet, 11)
        stream.count(media.sample_rate)
    elif packet.startswith(b"\x7fFLAC"):
        media.codec("FLAC")
        _stream_info(packet[17:], media)
        stream.count(media.sample_rate)
    elif packet.startswith(b"Speex   "):
        media.codec("Speex")
        media.sample_rate, media.channels = struct.unpack_from("<I8xI", packet, 36)
        stream.count(media.sample_rate)
    elif packet.startswith(b"\x80theora"):
        media.codec("Theora")
        media.kind = "video"
        media.width, media.height = (int.from_bytes(packet[at : at + 3], "big") for at in (14, 17))
        rate, scale = struct.unpack_from(">II", packet, 22)
        media.frame_rate = rate / scale
        # A position of Theora is the number of the last keyframe and, in the low bits, the number of frames after it.
        shift = struct.unpack_from(">H", packet, 40)[0] >> 5 & 31
        stream.seconds = lambda position: ((position >> shift) + (position & (1 << shift) - 1)) / media.frame_rate


def _read_comments(first: bytes, packet: bytes, media: Media) -> None:
    for mark in (b"OpusTags", b"\x03vorbis", b"\x81theora"):
        if packet.startswith(mark):
            vorbis_comment(packet[len(mark) :], media)
    if first.startswith(b"\x7fFLAC") and packet[:1] and packet[0] & 0x7F == 4:
        vorbis_comment(packet[4:], media)
    elif first.startswith(b"Speex"):
        vorbis_comment(packet, media)


def _streams(header: Header) -> dict[int, _Stream]:
    """The first packets of each stream, up to the comments."""
    streams: dict[int, _Stream] = {}
    position = 0
    for _ in range(_FIRST_PAGES):
        if position + 27 > header.size or header.at(position, 4) != b"OggS":
            break
        serial, count = header.numbers("<I8xB", position + 14)
        table = header.at(position + 27, count)
        packets = streams.setdefault(serial, _Stream()).packets
        position += 27 + count
        body, offset = header.some(position, sum(table)), 0
        for length in table:
            packets[-1] += body[offset : offset + length]
            offset += length
            # A packet is stored in segments of 255 bytes, and ends with the first shorter one. It may continue on the
            # next page.
            if length < 255:
                packets.append(bytearray())
        position += offset
        # Two packets of each stream are complete. The third one has begun, and is not needed.
        if all(len(stream.packets) > 2 for stream in streams.values()):
            break
    return streams


def _last_position(header: Header, streams: dict[int, _Stream]) -> float:
    """The end of the longest stream, in seconds."""
    tail = header.some(max(0, header.size - _TAIL), _TAIL)
    longest, seen = 0.0, set[int]()
    place = tail.rfind(b"OggS")
    while place >= 0 and len(seen) < len(streams):
        if place + 18 <= len(tail):
            position, serial = struct.unpack_from("<qI", tail, place + 6)
            stream = streams.get(serial)
            # The search goes backwards, so the first page of a stream is its last one in the file. A position of -1
            # means that no packet ends on the page.
            if stream is not None and stream.seconds is not None and serial not in seen and position >= 0:
                seen.add(serial)
                longest = max(longest, stream.seconds(position))
        place = tail.rfind(b"OggS", 0, place)
    return longest
