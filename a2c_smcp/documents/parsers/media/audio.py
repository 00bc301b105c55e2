"""Headers of sound files: MP3, AAC, FLAC, Ogg, MIDI."""

from __future__ import annotations

import struct

from a2c_smcp.documents.parsers.media.facts import MAX_BLOCK, MAX_BLOCKS, Header, Media, vorbis_comment

_TEXTS = {
    "TIT2": "title", "TT2": "title", "TPE1": "artist", "TP1": "artist", "TALB": "album", "TAL": "album",
    "TDRC": "date", "TYER": "date", "TYE": "date", "TCON": "genre", "TCO": "genre",
}  # fmt: skip
_ENCODINGS = ("latin-1", "utf-16", "utf-16-be", "utf-8")
_RATES = (44_100, 48_000, 32_000)
_KBITS = {
    (1, 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (1, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (1, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (2, 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (2, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Bit rates by generation of MPEG and layer; layer III of generation 2 has those of layer II."""
_ADTS_RATES = (96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350)

# ------------------------------------------------------------------------------------------------------------------ MP3


def read_mp3(header: Header, media: Media) -> None:
    """Tags of both kinds, and the first frame; the length by the count of frames, else by the bit rate."""
    start, end = _id3v2(header, media), header.size
    if end >= 128 and header.at(end - 128, 3) == b"TAG":
        end -= 128
        _id3v1(header.at(end, 128), media)
    found = _first_frame(header, start)
    if found is None:
        return
    offset, frame = found
    media.codec(f"MPEG layer {'I' * frame.layer}" if frame.layer != 3 else "MP3")
    media.sample_rate, media.channels = frame.rate, frame.channels
    block = header.some(offset, 4_096)
    frames = _counted(block, frame)
    if frames:
        media.duration = frames * frame.samples / frame.rate
        media.bit_rate = round((end - offset) * 8 / media.duration)
    else:
        media.bit_rate = frame.bit_rate
        media.duration = (end - offset) * 8 / frame.bit_rate


def _id3v2(header: Header, media: Media) -> int:
    """Read the tag at the start of a file. Where it ends."""
    if header.some(0, 3) != b"ID3":
        return 0
    version, flags = header.numbers(">BxB", 3)
    end = 10 + _seven_bits(header.at(6, 4))
    position, short = 10, version == 2
    if flags & 0x40 and not short:
        extra = header.at(10, 4)
        position += _seven_bits(extra) if version == 4 else 4 + struct.unpack(">I", extra)[0]
    for _ in range(MAX_BLOCKS):
        width = 6 if short else 10
        if position + width > min(end, header.size):
            break
        block = header.at(position, width)
        name = block[: 3 if short else 4].decode("latin-1")
        if not name.strip("\x00"):
            break
        raw = block[3:6] if short else block[4:8]
        length = _seven_bits(raw) if version == 4 else int.from_bytes(raw, "big")
        position += width
        if name in _TEXTS and 1 < length <= 100_000:
            words = header.some(position, length)
            media.tag(_TEXTS[name], _text(words.replace(b"\xff\x00", b"\xff") if flags & 0x80 else words))
        position += length
    return end


def _text(raw: bytes) -> str:
    encoding = _ENCODINGS[raw[0]] if raw and raw[0] < 4 else "latin-1"
    return raw[1:].decode(encoding, "replace")


def _seven_bits(raw: bytes) -> int:
    """A number of which each byte holds seven bits."""
    value = 0
    for byte in raw:
        value = value << 7 | byte & 0x7F
    return value


def _id3v1(block: bytes, media: Media) -> None:
    for name, start, end in (("title", 3, 33), ("artist", 33, 63), ("album", 63, 93), ("date", 93, 97)):
        media.tag(name, block[start:end].split(b"\x00")[0].decode("latin-1"))


class _Frame:
    """The four bytes at the start of an MPEG audio frame.

    Raises:
        ValueError: they are none.
    """

    def __init__(self, head: bytes) -> None:
        word = int.from_bytes(head[:4], "big")
        version, layer = word >> 19 & 3, 4 - (word >> 17 & 3)
        kbits, rate = word >> 12 & 15, word >> 10 & 3
        if word >> 21 != 0x7FF or version == 1 or layer == 4 or kbits in (0, 15) or rate == 3:
            raise ValueError("no frame")
        self.layer, self.generation = layer, 1 if version == 3 else 2
        self.rate = _RATES[rate] >> (0, 0, 1, 2)[{3: 0, 2: 2, 0: 3}[version]]
        self.bit_rate = _KBITS[self.generation, layer if self.generation == 1 else min(layer, 2)][kbits - 1] * 1_000
        self.channels = 1 if word >> 6 & 3 == 3 else 2
        self.samples = 384 if layer == 1 else 576 if layer == 3 and self.generation == 2 else 1_152
        padding = (word >> 9 & 1) * (4 if layer == 1 else 1)
        self.length = self.samples // 8 * self.bit_rate // self.rate + padding


def _first_frame(header: Header, start: int) -> tuple[int, _Frame] | None:
    """A frame that another one follows: four bytes may look like one anywhere."""
    block = header.some(start, 200_000)
    position = block.find(b"\xff")
    while 0 <= position < len(block) - 4:
        try:
            frame = _Frame(block[position : position + 4])
            after = block[position + frame.length : position + frame.length + 4]
            if len(after) == 4:
                _Frame(after)
            return start + position, frame
        except ValueError:
            position = block.find(b"\xff", position + 1)
    return None


def _counted(block: bytes, frame: _Frame) -> int:
    """How many frames the first one says there are."""
    side = (17 if frame.channels == 1 else 32) if frame.generation == 1 else (9 if frame.channels == 1 else 17)
    mark = block[4 + side : 8 + side]
    if mark in (b"Xing", b"Info") and len(block) >= 16 + side and block[11 + side] & 1:
        return int.from_bytes(block[12 + side : 16 + side], "big")
    if block[36:40] == b"VBRI":
        return int.from_bytes(block[50:54], "big")
    return 0


def read_aac(header: Header, media: Media) -> None:
    """The first frame of an AAC stream (ADTS)."""
    word = int.from_bytes(header.at(0, 4), "big")
    media.codec("AAC")
    index = word >> 10 & 15
    media.sample_rate = _ADTS_RATES[index] if index < len(_ADTS_RATES) else 0
    media.channels = word >> 6 & 7


# ------------------------------------------------------------------------------------------------------ FLAC, Ogg, MIDI


def read_flac(header: Header, media: Media, position: int = 4) -> None:
    """The blocks before the sound."""
    media.codec("FLAC")
    for _ in range(MAX_BLOCKS):
        first, length = header.at(position, 1)[0], int.from_bytes(header.at(position + 1, 3), "big")
        if first & 0x7F == 0:
            stream_info(header.at(position + 4, 18), media)
        elif first & 0x7F == 4 and length <= MAX_BLOCK:
            vorbis_comment(header.some(position + 4, length), media)
        if first & 0x80:
            return
        position += 4 + length


def stream_info(block: bytes, media: Media) -> None:
    """FLAC's first block: 20 bits of rate, 3 of channels, 5 of depth, 36 of length."""
    bits = int.from_bytes(block[10:18], "big")
    media.sample_rate, media.channels = bits >> 44, (bits >> 41 & 7) + 1
    samples = bits & (1 << 36) - 1
    media.duration = samples / media.sample_rate if media.sample_rate else 0


def read_ogg(header: Header, media: Media) -> None:
    """The first packets of each stream, and the position that the last page gives."""
    rate = skipped = 0
    for packet in _packets(header):
        if packet.startswith(b"OpusHead"):
            media.codec("Opus")
            media.channels, skipped, rate = packet[9], struct.unpack_from("<H", packet, 10)[0], 48_000
            media.sample_rate = 48_000
        elif packet.startswith(b"\x01vorbis"):
            media.codec("Vorbis")
            media.channels, rate = struct.unpack_from("<BI", packet, 11)
            media.sample_rate = rate
        elif packet.startswith(b"\x7fFLAC"):
            media.codec("FLAC")
            stream_info(packet[17:], media)
            rate = media.sample_rate
        elif packet.startswith(b"Speex   "):
            media.codec("Speex")
            rate, _, media.channels = struct.unpack_from("<III", packet, 36)
            media.sample_rate = rate
        elif packet.startswith(b"\x80theora"):
            media.codec("Theora")
            media.kind = "video"
            media.width, media.height = (int.from_bytes(packet[at : at + 3], "big") for at in (14, 17))
        elif packet.startswith(b"OpusTags"):
            vorbis_comment(packet[8:], media)
        elif packet.startswith(b"\x03vorbis"):
            vorbis_comment(packet[7:], media)
    tail = header.some(max(0, header.size - 66_000), 66_000)
    last = tail.rfind(b"OggS")
    if rate and last >= 0 and len(tail) >= last + 14 and media.kind == "audio":
        position = struct.unpack_from("<q", tail, last + 6)[0]
        media.duration = max(0, position - skipped) / rate


def _packets(header: Header) -> list[bytes]:
    """What the first pages hold, up to the comments of each stream."""
    packets: dict[int, list[bytes]] = {}
    position = 0
    for _ in range(64):
        if position + 27 > header.size or header.at(position, 4) != b"OggS":
            break
        serial, count = header.numbers("<I8xB", position + 14)
        table = header.at(position + 27, count)
        stream = packets.setdefault(serial, [b""])
        offset = position + 27 + count
        for length in table:
            stream[-1] += header.at(offset, length)
            offset += length
            if length < 255:
                stream.append(b"")
        position = offset
        if all(len(one) > 2 for one in packets.values()):
            break
    return [packet for stream in packets.values() for packet in stream[:2]]


def read_midi(header: Header, media: Media) -> None:
    """How many tracks there are."""
    tracks = header.numbers(">H", 10)[0]
    media.codec(f"MIDI, {tracks} tracks")
