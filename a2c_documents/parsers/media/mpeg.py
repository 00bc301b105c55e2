"""MPEG streams, which have no header of their own: packs of films and sounds, one after another, with clocks."""

from __future__ import annotations

import re

from a2c_documents.parsers.media.audio import first_frame
from a2c_documents.parsers.media.facts import Header, Media

_RATES = {1: 24_000 / 1_001, 2: 24.0, 3: 25.0, 4: 30_000 / 1_001, 5: 30.0, 6: 50.0, 7: 60_000 / 1_001, 8: 60.0}
_LOOKED_AT = 300_000
"""Bytes at the beginning and at the end."""
_SEQUENCE = b"\x00\x00\x01\xb3"
_PACKET = re.compile(rb"\x00\x00\x01([\xc0-\xef])", re.DOTALL)
_SOUND = re.compile(rb"\x00\x00\x01[\xc0-\xdf]", re.DOTALL)


def read_mpeg(header: Header, media: Media) -> None:
    """The first sequence, the first frame of sound, and the clocks at both ends."""
    media.kind = "video"
    start = header.some(0, _LOOKED_AT)
    place = start.find(_SEQUENCE)
    if 0 <= place <= len(start) - 8:
        bits = int.from_bytes(start[place + 4 : place + 8], "big")
        media.codec("MPEG video")
        media.width, media.height, media.frame_rate = bits >> 20, bits >> 8 & 0xFFF, _RATES.get(bits & 15, 0.0)
    if sound := _SOUND.search(start):
        frame = first_frame(start[sound.end() : sound.end() + 20_000])
        if frame is not None:
            media.codec(frame[1].codec)
            media.sample_rate, media.channels = frame[1].rate, frame[1].channels
    end = header.some(max(0, header.size - _LOOKED_AT), _LOOKED_AT)
    first, last = _clocks(start), _clocks(end)
    if first and last and max(last) > min(first):
        frame_length = 1 / media.frame_rate if media.frame_rate else 0
        media.duration = max(last) - min(first) + frame_length


def _clocks(block: bytes) -> list[float]:
    """The seconds at which what is in the packets there is to be shown."""
    found: list[float] = []
    for packet in _PACKET.finditer(block):
        place = packet.end() + 2
        while block[place : place + 1] == b"\xff":  # MPEG-1 fills up with these
            place += 1
        head = block[place : place + 8]
        if len(head) < 8:
            continue
        if head[0] >> 6 == 2:  # MPEG-2
            stamp = head[3:8] if head[1] & 0x80 else b""
        else:
            place += 2 if head[0] >> 6 == 1 else 0
            head = block[place : place + 5]
            stamp = head if len(head) == 5 and head[0] >> 4 in (2, 3) else b""
        if stamp:
            high, middle, low = stamp[0] >> 1 & 7, stamp[1] << 7 | stamp[2] >> 1, stamp[3] << 7 | stamp[4] >> 1
            found.append((high << 30 | middle << 15 | low) / 90_000)
    return found
