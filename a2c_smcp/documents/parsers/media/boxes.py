"""Headers of films that are boxes in boxes: MP4 and QuickTime; Matroska and WebM."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from a2c_smcp.documents.parsers.media.facts import MAX_BLOCKS, Header, Media

_CODECS = {
    "avc1": "H.264", "avc3": "H.264", "hvc1": "H.265", "hev1": "H.265", "av01": "AV1", "vp08": "VP8", "vp09": "VP9",
    "mp4v": "MPEG-4 video", "mp4a": "AAC", "alac": "ALAC", "ac-3": "AC-3", "ec-3": "E-AC-3", "Opus": "Opus",
    "fLaC": "FLAC", ".mp3": "MP3", "sowt": "PCM", "twos": "PCM", "lpcm": "PCM", "jpeg": "Motion JPEG",
    "apch": "ProRes", "apcn": "ProRes", "tx3g": "", "text": "", "tmcd": "", "mp4s": "", "mett": "", "mebx": "",
    "V_MPEG4/ISO/AVC": "H.264", "V_MPEGH/ISO/HEVC": "H.265", "V_AV1": "AV1", "V_VP8": "VP8", "V_VP9": "VP9",
    "A_AAC": "AAC", "A_OPUS": "Opus", "A_VORBIS": "Vorbis", "A_FLAC": "FLAC", "A_MPEG/L3": "MP3", "A_AC3": "AC-3",
}  # fmt: skip
_TAGS = {
    b"\xa9nam": "title", b"\xa9ART": "artist", b"\xa9alb": "album", b"\xa9day": "date", b"\xa9gen": "genre",
    b"\xa9cmt": "comment", b"desc": "comment", b"aART": "artist",
}  # fmt: skip
_HOLDERS = frozenset({b"moov", b"trak", b"mdia", b"minf", b"stbl", b"udta", b"ilst"})

# ------------------------------------------------------------------------------------------------------------- MP4, MOV


def read_mp4(header: Header, media: Media) -> None:
    """Length, tracks and tags of an MP4 or QuickTime file."""
    if header.some(8, 4).startswith((b"M4V", b"qt")):
        media.kind = "video"
    waiting = [(0, header.size, b"")]
    handler = b""
    for _ in range(MAX_BLOCKS):
        if not waiting:
            return
        start, end, parent = waiting.pop()
        box = _box(header, start, end)
        if box is None:
            continue
        name, inside, after = box
        if after < end:
            waiting.append((after, end, parent))
        if name in _HOLDERS:
            waiting.append((inside, after, name))
        elif name == b"meta":
            # In QuickTime it begins with a box, in MP4 with a version.
            plain = header.some(inside + 4, 4) == b"hdlr"
            waiting.append((inside if plain else inside + 4, after, name))
        elif name == b"mvhd":
            media.duration = _length(header, inside)
        elif name == b"tkhd":
            _track_size(header, inside, media)
        elif name == b"hdlr" and parent == b"mdia":
            handler = header.at(inside + 8, 4)
            media.kind = "video" if handler == b"vide" else media.kind
        elif name == b"stsd":
            _sample(header, inside, handler, media)
        elif name in _TAGS:
            _tag(header, name, inside, after, parent, media)


def _box(header: Header, start: int, end: int) -> tuple[bytes, int, int] | None:
    """The name of a box, where its inside begins, and where it ends."""
    if start + 8 > end:
        return None
    length, name = header.numbers(">I4s", start)
    inside = start + 8
    if length == 1:
        length, inside = header.numbers(">Q", inside)[0], inside + 8
    after = end if length == 0 else min(end, start + length)
    return (name, inside, after) if after >= inside else None


def _length(header: Header, inside: int) -> float:
    long = header.at(inside, 1)[0] == 1
    scale, ticks = header.numbers(">IQ" if long else ">II", inside + (20 if long else 12))
    unknown = ticks in (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
    return ticks / scale if scale and not unknown else 0


def _track_size(header: Header, inside: int, media: Media) -> None:
    width, height = header.numbers(">II", inside + (88 if header.at(inside, 1)[0] == 1 else 76))
    if width and height and not media.width:
        media.width, media.height = width >> 16, height >> 16


def _sample(header: Header, inside: int, handler: bytes, media: Media) -> None:
    name = header.at(inside + 12, 4).decode("latin-1")
    media.codec(_CODECS.get(name, name))
    if handler == b"soun" and not media.sample_rate:
        media.channels, media.sample_rate = header.numbers(">H6xH", inside + 32)


def _tag(header: Header, name: bytes, inside: int, after: int, parent: bytes, media: Media) -> None:
    if parent == b"ilst":
        length, kind = header.numbers(">I4s", inside)
        if kind == b"data":
            words = header.some(inside + 16, min(length, after - inside) - 16)
            media.tag(_TAGS[name], words.decode("utf-8", "replace"))
    elif name.startswith(b"\xa9"):
        length = header.numbers(">H", inside)[0]
        media.tag(_TAGS[name], header.some(inside + 4, min(length, after - inside)).decode("utf-8", "replace"))


# ------------------------------------------------------------------------------------------------------- Matroska, WebM

_SEGMENT, _INFO, _TRACKS, _ENTRY, _VIDEO, _AUDIO = 0x18538067, 0x1549A966, 0x1654AE6B, 0xAE, 0xE0, 0xE1
_ALL_TAGS, _TAG_ENTRY, _SIMPLE, _CLUSTER, _EBML = 0x1254C367, 0x7373, 0x67C8, 0x1F43B675, 0x1A45DFA3
_INSIDE = frozenset({_SEGMENT, _INFO, _TRACKS, _ENTRY, _VIDEO, _AUDIO, _ALL_TAGS, _TAG_ENTRY, _SIMPLE, _EBML})


def read_matroska(header: Header, media: Media) -> None:
    """Length, tracks and tags of a Matroska or WebM file."""
    scale, ticks, tag = 1_000_000, 0.0, ""
    for identity, start, length in _entries(header):
        match identity:
            case 0x4282:
                media.format = "WebM" if header.some(start, length) == b"webm" else "Matroska"
            case 0x2AD7B1:
                scale = _whole(header, start, length)
            case 0x4489:
                ticks = _real(header, start, length)
            case 0x7BA9:
                media.tag("title", header.some(start, min(length, 4_000)).decode("utf-8", "replace"))
            case 0x83:
                media.kind = "video" if _whole(header, start, length) == 1 else media.kind
            case 0x86:
                name = header.some(start, min(length, 100)).decode("latin-1").rstrip("\x00")
                media.codec(_CODECS.get(name, name) if not name.startswith("S_") else "")
            case 0xB0:
                media.width = media.width or _whole(header, start, length)
            case 0xBA:
                media.height = media.height or _whole(header, start, length)
            case 0xB5:
                media.sample_rate = media.sample_rate or round(_real(header, start, length))
            case 0x9F:
                media.channels = media.channels or _whole(header, start, length)
            case 0x45A3:
                tag = header.some(start, min(length, 100)).decode("utf-8", "replace").lower()
            case 0x4487:
                if tag in ("title", "artist", "album", "comment", "genre") or tag.startswith("date"):
                    words = header.some(start, min(length, 4_000)).decode("utf-8", "replace")
                    media.tag("date" if tag.startswith("date") else tag, words)
            case _:
                pass
        media.duration = ticks * scale / 1_000_000_000


def _entries(header: Header) -> Iterator[tuple[int, int, int]]:
    """Identity, start and length of what is in the file, except what holds the film itself."""
    position = 0
    for _ in range(MAX_BLOCKS):
        if position + 2 > header.size:
            return
        identity, start = _variable(header, position, keep_mark=True)
        length, start = _variable(header, start)
        unknown = length < 0
        if identity in _INSIDE:
            position = start
            continue
        if unknown:
            return
        if identity != _CLUSTER:
            yield identity, start, length
        position = start + length


def _variable(header: Header, position: int, *, keep_mark: bool = False) -> tuple[int, int]:
    """A number whose first bits say how long it is, and what comes after it; -1 for one that is not known."""
    first = header.at(position, 1)[0]
    if first == 0:
        raise ValueError("a number of no length")
    width = 9 - first.bit_length()
    value = int.from_bytes(header.at(position, width), "big")
    if keep_mark:
        return value, position + width
    value &= (1 << 7 * width) - 1
    return (-1 if value == (1 << 7 * width) - 1 else value), position + width


def _whole(header: Header, start: int, length: int) -> int:
    return int.from_bytes(header.at(start, min(length, 8)), "big")


def _real(header: Header, start: int, length: int) -> float:
    if length not in (4, 8):
        return 0.0
    return float(struct.unpack(">f" if length == 4 else ">d", header.at(start, length))[0])
