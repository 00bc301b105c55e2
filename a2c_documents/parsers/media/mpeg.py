"""MPEG: audio as a sequence of frames (MP3, AAC), and video as a sequence of packs."""

from __future__ import annotations

import re

from a2c_documents.parsers.media.header import MAX_BLOCKS, Header, Media
from a2c_documents.parsers.media.tags import read_id3, read_id3v1

_SAMPLE_RATES = (44_100, 48_000, 32_000)
_KBITS = {
    (1, 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (1, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (1, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (2, 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (2, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Bit rates by generation of MPEG and layer; layer III of generation 2 has those of layer II."""
AAC_RATES = (96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350)
AAC_CHANNELS = (0, 1, 2, 3, 4, 5, 6, 8)
_SEARCHED = 200_000


def read_mp3(header: Header, media: Media) -> None:
    """Read both kinds of tags and the first frame. The duration comes from the number of frames, else the bit rate."""
    start, end = read_id3(header, 0, media), read_id3v1(header, media)
    found = first_frame(header.some(start, _SEARCHED))
    if found is None:
        return
    offset, frame = start + found[0], found[1]
    media.codec(frame.codec)
    media.sample_rate, media.channels = frame.rate, frame.channels
    block = header.some(offset, 4_096)
    frames = _counted(block, frame)
    if frames:
        media.duration = frames * frame.samples / frame.rate
        media.bit_rate = round((end - offset) * 8 / media.duration)
    else:
        media.bit_rate = frame.bit_rate
        media.duration = (end - offset) * 8 / frame.bit_rate


class Frame:
    """The four bytes at the start of an MPEG audio frame.

    Raises:
        ValueError: they do not begin a frame.
    """

    def __init__(self, head: bytes) -> None:
        word = int.from_bytes(head[:4], "big")
        version, layer = word >> 19 & 3, 4 - (word >> 17 & 3)
        kbits, rate = word >> 12 & 15, word >> 10 & 3
        if word >> 21 != 0x7FF or version == 1 or layer == 4 or kbits in (0, 15) or rate == 3:
            raise ValueError("no frame")
        self.layer, self.generation = layer, 1 if version == 3 else 2
        # MPEG 2 halves the sample rates of MPEG 1, and MPEG 2.5 halves them again.
        self.rate = _SAMPLE_RATES[rate] >> (0, 0, 1, 2)[{3: 0, 2: 2, 0: 3}[version]]
        self.bit_rate = _KBITS[self.generation, layer if self.generation == 1 else min(layer, 2)][kbits - 1] * 1_000
        self.channels = 1 if word >> 6 & 3 == 3 else 2
        self.samples = 384 if layer == 1 else 576 if layer == 3 and self.generation == 2 else 1_152
        padding = (word >> 9 & 1) * (4 if layer == 1 else 1)
        self.length = self.samples // 8 * self.bit_rate // self.rate + padding

    @property
    def codec(self) -> str:
        """The name of the codec."""
        return "MP3" if self.layer == 3 else f"MPEG layer {'I' * self.layer}"


def first_frame(block: bytes) -> tuple[int, Frame] | None:
    """The first frame and its position."""
    position = block.find(b"\xff")
    while 0 <= position < len(block) - 4:
        try:
            frame = Frame(block[position : position + 4])
            # Any four bytes may look like a frame, so another one must follow, unless the block ends there.
            after = block[position + frame.length : position + frame.length + 4]
            if len(after) == 4:
                Frame(after)
            return position, frame
        except ValueError:
            position = block.find(b"\xff", position + 1)
    return None


def _counted(block: bytes, frame: Frame) -> int:
    """The number of frames, which encoders with a variable bit rate write into the first one; 0 if it is missing."""
    # The Xing header comes after the side information, whose size depends on version and channels. VBRI has a fixed
    # place.
    side = (17 if frame.channels == 1 else 32) if frame.generation == 1 else (9 if frame.channels == 1 else 17)
    mark = block[4 + side : 8 + side]
    if mark in (b"Xing", b"Info") and len(block) >= 16 + side and block[11 + side] & 1:
        return int.from_bytes(block[12 + side : 16 + side], "big")
    if block[36:40] == b"VBRI":
        return int.from_bytes(block[50:54], "big")
    return 0


def read_aac(header: Header, media: Media) -> None:
    """Read the frames of an AAC stream (ADTS)."""
    start = place = read_id3(header, 0, media)
    frames = 0
    while frames < MAX_BLOCKS and place + 7 <= header.size:
        word = int.from_bytes(header.at(place, 7), "big")
        length = word >> 13 & 0x1FFF
        if word >> 44 != 0xFFF or length < 7:
            break
        if not frames:
            media.codec("AAC")
            media.sample_rate = AAC_RATES[word >> 34 & 15]
            media.channels = AAC_CHANNELS[word >> 30 & 7]
        frames += 1
        place += length
    if frames:
        # Nothing states the duration, so frames are counted. That of a long file is extrapolated from the first ones.
        whole = (header.size - start) / (place - start) if frames == MAX_BLOCKS else 1
        media.duration = frames * 1_024 / media.sample_rate * whole


# ---------------------------------------------------------------------------------------------------------------- films


_FILM_RATES = {1: 24_000 / 1_001, 2: 24.0, 3: 25.0, 4: 30_000 / 1_001, 5: 30.0, 6: 50.0, 7: 60_000 / 1_001, 8: 60.0}
_LOOKED_AT = 300_000
"""Bytes that are searched at both ends of a file."""
_SEQUENCE = b"\x00\x00\x01\xb3"
_PACKET = re.compile(rb"\x00\x00\x01([\xc0-\xef])", re.DOTALL)
_SOUND = re.compile(rb"\x00\x00\x01[\xc0-\xdf]", re.DOTALL)


def read_mpeg(header: Header, media: Media) -> None:
    """Read the first sequence header, the first audio frame, and the timestamps at both ends."""
    media.kind = "video"
    start = header.some(0, _LOOKED_AT)
    place = start.find(_SEQUENCE)
    if 0 <= place <= len(start) - 8:
        bits = int.from_bytes(start[place + 4 : place + 8], "big")
        media.codec("MPEG video")
        media.width, media.height, media.frame_rate = bits >> 20, bits >> 8 & 0xFFF, _FILM_RATES.get(bits & 15, 0.0)
    if sound := _SOUND.search(start):
        frame = first_frame(start[sound.end() : sound.end() + 20_000])
        if frame is not None:
            media.codec(frame[1].codec)
            media.sample_rate, media.channels = frame[1].rate, frame[1].channels
    end = header.some(max(0, header.size - _LOOKED_AT), _LOOKED_AT)
    first, last = _clocks(start), _clocks(end)
    # Frames are stored in the order of decoding, so neither the first nor the last timestamp is the extreme.
    if first and last and max(last) > min(first):
        frame_length = 1 / media.frame_rate if media.frame_rate else 0
        media.duration = max(last) - min(first) + frame_length


def _clocks(block: bytes) -> list[float]:
    """The presentation timestamps of the packets in a block, in seconds."""
    found: list[float] = []
    for packet in _PACKET.finditer(block):
        place = packet.end() + 2
        while block[place : place + 1] == b"\xff":  # stuffing of MPEG-1
            place += 1
        head = block[place : place + 8]
        if len(head) < 8:
            continue
        if head[0] >> 6 == 2:  # MPEG-2
            stamp = head[3:8] if head[1] & 0x80 else b""
        else:
            # MPEG-1: an optional buffer size of two bytes, then the timestamp, if the next four bits say so.
            place += 2 if head[0] >> 6 == 1 else 0
            head = block[place : place + 5]
            stamp = head if len(head) == 5 and head[0] >> 4 in (2, 3) else b""
        if stamp:
            # 33 bits of a clock of 90 kHz, in three groups with a marker bit after each.
            high, middle, low = stamp[0] >> 1 & 7, stamp[1] << 7 | stamp[2] >> 1, stamp[3] << 7 | stamp[4] >> 1
            found.append((high << 30 | middle << 15 | low) / 90_000)
    return found
