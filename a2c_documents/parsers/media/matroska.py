"""Headers of Matroska and WebM: nested elements, which numbers identify (EBML)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from a2c_documents.parsers.media.header import MAX_BLOCKS, Header, Media

_CODECS = {
    "V_MPEG4/ISO/AVC": "H.264", "V_MPEGH/ISO/HEVC": "H.265", "V_AV1": "AV1", "V_VP8": "VP8", "V_VP9": "VP9",
    "V_THEORA": "Theora", "V_MPEG4/ISO/ASP": "MPEG-4 video", "V_MPEG2": "MPEG video", "V_MJPEG": "Motion JPEG",
    "V_PRORES": "ProRes", "A_AAC": "AAC", "A_OPUS": "Opus", "A_VORBIS": "Vorbis", "A_FLAC": "FLAC", "A_MPEG/L3": "MP3",
    "A_AC3": "AC-3", "A_EAC3": "E-AC-3", "A_DTS": "DTS", "A_TRUEHD": "TrueHD", "A_ALAC": "ALAC", "A_PCM/INT/LIT": "PCM",
    "A_PCM/INT/BIG": "PCM", "A_PCM/FLOAT/IEEE": "PCM (float)",
}  # fmt: skip
_TAGS = ("title", "artist", "album", "comment", "genre")

_EBML, _SEGMENT, _INFO, _CLUSTER = 0x1A45DFA3, 0x18538067, 0x1549A966, 0x1F43B675
_TRACKS, _TRACK, _VIDEO, _AUDIO, _PROJECTION = 0x1654AE6B, 0xAE, 0xE0, 0xE1, 0x7670
_ALL_TAGS, _TAG, _TARGETS, _SIMPLE = 0x1254C367, 0x7373, 0x63C0, 0x67C8
_CHAPTERS, _EDITION, _CHAPTER, _DISPLAY = 0x1043A770, 0x45B9, 0xB6, 0x80
_ATTACHMENTS, _ATTACHED = 0x1941A469, 0x61A7
_HOLDERS = frozenset({
    _EBML, _SEGMENT, _INFO, _TRACKS, _TRACK, _VIDEO, _AUDIO, _PROJECTION, _ALL_TAGS, _TAG, _TARGETS, _SIMPLE,
    _CHAPTERS, _EDITION, _CHAPTER, _DISPLAY, _ATTACHMENTS, _ATTACHED,
})  # fmt: skip


@dataclass(slots=True)
class _Track:
    """A video, audio or subtitle track."""

    kind: int = 0
    codec: str = ""
    language: str = ""
    frame_ns: int = 0
    width: int = 0
    height: int = 0
    roll: float = 0.0
    sample_rate: int = 0
    channels: int = 1


@dataclass(slots=True)
class _Chapter:
    start: float = 0.0
    title: str = ""


def read_matroska(header: Header, media: Media) -> None:
    """Length, tracks, chapters, pictures and tags of a Matroska or WebM file."""
    reading = _Reading(header, media)
    try:
        for identity, start, length in _entries(header):
            reading.take(identity, start, length)
    finally:  # a truncated file raises EOFError, and the facts before its end are kept
        reading.finish()


class _Reading:
    """The facts that were read so far."""

    def __init__(self, header: Header, media: Media) -> None:
        self._header = header
        self._media = media
        self._tracks: list[_Track] = []
        self._scale, self._ticks = 1_000_000, 0.0
        self._tag = ""
        self._is_of_track = False
        self._chapter: _Chapter | None = None
        self._mime = ""

    def take(self, identity: int, start: int, length: int) -> None:
        """Read one element."""
        header, media = self._header, self._media
        track = self._tracks[-1] if self._tracks else _Track()
        match identity:
            case 0x4282:  # DocType
                media.format = "WebM" if header.words(start, length).rstrip("\x00") == "webm" else "Matroska"
            case 0x2AD7B1:  # TimestampScale
                self._scale = _whole(header, start, length)
            case 0x4489:  # Duration
                self._ticks = _real(header, start, length)
            case 0x7BA9:  # Title
                media.tag("title", header.words(start, length))
            case 0xAE:  # TrackEntry
                self._tracks.append(_Track())
            case 0x83:  # TrackType
                track.kind = _whole(header, start, length)
            case 0x86:  # CodecID
                track.codec = header.words(start, length).rstrip("\x00")
            case 0x22B59C:  # Language
                track.language = header.words(start, length).rstrip("\x00")
            case 0x23E383:  # DefaultDuration
                track.frame_ns = _whole(header, start, length)
            case 0xB0:  # PixelWidth
                track.width = _whole(header, start, length)
            case 0xBA:  # PixelHeight
                track.height = _whole(header, start, length)
            case 0x7675:  # ProjectionPoseRoll
                track.roll = _real(header, start, length)
            case 0xB5:  # SamplingFrequency
                track.sample_rate = round(_real(header, start, length))
            case 0x9F:  # Channels
                track.channels = _whole(header, start, length)
            case _:
                self._take_more(identity, start, length)

    def _take_more(self, identity: int, start: int, length: int) -> None:
        """Read an element of tags, chapters or attachments."""
        header, media = self._header, self._media
        match identity:
            case 0x7373:  # Tag
                self._is_of_track = False
            case 0x63C5 | 0x63C4 | 0x63C6 | 0x63C9:  # the tag is about a track, chapter, attachment or edition
                self._is_of_track |= _whole(header, start, length) != 0
            case 0x45A3:  # TagName
                self._tag = header.words(start, length).lower().rstrip("\x00")
            # TagString, after the name that it belongs to.
            case 0x4487 if not self._is_of_track and (self._tag in _TAGS or self._tag.startswith("date")):
                media.tag("date" if self._tag.startswith("date") else self._tag, header.words(start, length))
            case 0xB6:  # ChapterAtom
                self._end_chapter()
                self._chapter = _Chapter()
            case 0x91 if self._chapter is not None:  # ChapterTimeStart
                self._chapter.start = _whole(header, start, length) / 1e9
            case 0x85 if self._chapter is not None:  # ChapString
                self._chapter.title = self._chapter.title or header.words(start, length)
            case 0x4660:  # FileMediaType
                self._mime = header.words(start, length).rstrip("\x00")
            case 0x465C:  # FileData
                media.picture(self._mime, start, length)
            case _:
                pass

    def _end_chapter(self) -> None:
        if self._chapter is not None:
            self._media.chapter(self._chapter.start, self._chapter.title)

    def finish(self) -> None:
        """Set the facts of the tracks. The first video and the first audio track count."""
        media = self._media
        self._end_chapter()
        media.duration = self._ticks * self._scale / 1e9
        for track in self._tracks:
            if track.kind not in (1, 2):
                continue
            name = next((known for code, known in _CODECS.items() if track.codec.startswith(code)), track.codec)
            media.codec(name)
            if track.kind == 1 and not media.width:
                media.kind = "video"
                media.width, media.height = track.width, track.height
                media.frame_rate = 1e9 / track.frame_ns if track.frame_ns else 0
                media.turn(-round(track.roll))  # a roll is counter-clockwise
            elif track.kind == 2:
                media.language(track.language)
                if not media.sample_rate:
                    # Opus always plays at 48 kHz, while its header has the rate of the original. 8 kHz is the default
                    # of the specification.
                    rate = 48_000 if name == "Opus" else track.sample_rate or 8_000
                    media.sample_rate, media.channels = rate, track.channels


# ------------------------------------------------------------------------------------------------------------- elements


def _entries(header: Header) -> Iterator[tuple[int, int, int]]:
    """Identity, start and length of the elements, except those with the media data."""
    position = 0
    for _ in range(MAX_BLOCKS):
        if position + 2 > header.size:
            return
        identity, start = _variable(header, position, keep_mark=True)
        length, start = _variable(header, start)
        # Holders are entered instead of skipped. Their length is not needed, and recordings of live streams do not have
        # it.
        if identity in _HOLDERS:
            yield identity, start, length
            position = start
            continue
        # The end of an element without a length, such as a cluster of a live stream, can only be found by parsing it.
        if length < 0:
            return
        if identity != _CLUSTER:
            yield identity, start, length
        position = start + length


def _variable(header: Header, position: int, *, keep_mark: bool = False) -> tuple[int, int]:
    """A number of variable length, and the position after it; -1 if all bits are set, which means unknown."""
    first = header.at(position, 1)[0]
    if first == 0:
        raise ValueError("a number of no length")
    # The number of leading zeros says how many bytes follow. The bit after them is part of an identity, but not of a
    # length.
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
