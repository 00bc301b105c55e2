"""How the sound in an MP4 or QuickTime file is coded: what its sample says, and what its decoder is told."""

from __future__ import annotations

from dataclasses import dataclass

from a2c_documents.parsers.media.audio import AAC_CHANNELS, AAC_RATES
from a2c_documents.parsers.media.facts import Header

_AC3_CHANNELS = (2, 1, 2, 3, 3, 4, 4, 5)
_OBJECTS = {0x69: "MP3", 0x6B: "MP3", 0xA5: "AC-3", 0xA6: "E-AC-3", 0xA9: "DTS", 0xAD: "Opus", 0xDD: "Vorbis"}
_MOST_BOXES = 20


@dataclass(slots=True)
class Sound:
    """What is known of a sound."""

    codec: str = ""
    """Where it is not what the sample is called."""
    sample_rate: int = 0
    channels: int = 0


def read_sound(header: Header, start: int, end: int) -> Sound:
    """The sound whose sample begins there. What its decoder is told counts more than the sample: that often says
    "stereo" of everything."""
    sound = Sound()
    sound.channels, sound.sample_rate = header.numbers(">H6xH", start + 24)
    version = header.numbers(">H", start + 16)[0]
    if version == 2:
        rate, channels = header.numbers(">dI", start + 40)
        sound.sample_rate, sound.channels = round(rate), channels
    place = start + 36 + {1: 16, 2: 36}.get(version, 0)
    end = min(end, start + header.numbers(">I", start)[0])
    for _ in range(_MOST_BOXES):
        if place + 8 > end:
            break
        length, name = header.numbers(">I4s", place)
        if length < 8:
            break
        inside = place + 8
        place = inside if name == b"wave" else place + length
        _take(header, name, inside, length - 8, sound)
    return sound


def _take(header: Header, name: bytes, start: int, length: int, sound: Sound) -> None:
    body = header.some(start, min(length, 200))
    if name == b"esds":
        _descriptors(body[4:], sound)
    elif name == b"dac3" and len(body) >= 3:
        bits = int.from_bytes(body[:3], "big")
        sound.channels = _AC3_CHANNELS[bits >> 11 & 7] + (bits >> 10 & 1)
    elif name == b"dec3" and len(body) >= 4:
        bits = int.from_bytes(body[:4], "big")
        sound.channels = _AC3_CHANNELS[bits >> 1 & 7] + (bits & 1)
    elif name == b"dOps" and len(body) >= 2:
        sound.channels, sound.sample_rate = body[1], 48_000
    elif name == b"alac" and len(body) >= 28:
        sound.channels, sound.sample_rate = body[13], int.from_bytes(body[24:28], "big")
    elif name == b"dfLa" and len(body) >= 26:
        bits = int.from_bytes(body[18:26], "big")
        sound.sample_rate, sound.channels = bits >> 44, (bits >> 41 & 7) + 1


def _descriptors(body: bytes, sound: Sound) -> None:
    """What MPEG-4 tells a decoder: a tag, a length, and what belongs to it; some are inside others."""
    place = 0
    while place < len(body) - 1:
        tag, place = body[place], place + 1
        length = 0
        while place < len(body):
            byte, place = body[place], place + 1
            length = length << 7 | byte & 0x7F
            if not byte & 0x80:
                break
        inside = body[place : place + length]
        if tag == 3:
            place += 3
        elif tag == 4 and len(inside) >= 13:
            sound.codec = _OBJECTS.get(inside[0], "")
            place += 13
        elif tag == 5 and not sound.codec:
            _aac(inside, sound)
            return
        else:
            place += length


def _aac(config: bytes, sound: Sound) -> None:
    """Five bits of kind, four of rate, four of channels; the rate in full where it is none of the usual ones."""
    bits = int.from_bytes(config[:8].ljust(8, b"\x00"), "big")
    used = 5
    if bits >> 59 == 31:
        used += 6
    index = bits >> 60 - used & 15
    used += 4
    rate = AAC_RATES[index] if index < len(AAC_RATES) else 0
    if index == 15:
        rate = bits >> 40 - used & 0xFFFFFF
        used += 24
    channels = bits >> 60 - used & 15
    sound.sample_rate = rate or sound.sample_rate
    if 0 < channels < len(AAC_CHANNELS):
        sound.channels = AAC_CHANNELS[channels]
