"""Headers of MP4 and QuickTime: nested boxes, each with a name of four letters."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from a2c_documents.parsers.media.header import MAX_BLOCK, MAX_BLOCKS, Header, Media
from a2c_documents.parsers.media.mpeg import AAC_CHANNELS, AAC_RATES

_CODECS = {
    "avc1": "H.264", "avc3": "H.264", "hvc1": "H.265", "hev1": "H.265", "av01": "AV1", "vp08": "VP8", "vp09": "VP9",
    "mp4v": "MPEG-4 video", "mp4a": "AAC", "alac": "ALAC", "ac-3": "AC-3", "ec-3": "E-AC-3", "Opus": "Opus",
    "fLaC": "FLAC", ".mp3": "MP3", "sowt": "PCM", "twos": "PCM", "lpcm": "PCM", "ipcm": "PCM", "in24": "PCM",
    "in32": "PCM", "raw ": "PCM", "fl32": "PCM (float)", "fl64": "PCM (float)", "fpcm": "PCM (float)", "ulaw": "µ-law",
    "alaw": "A-law", "jpeg": "Motion JPEG", "mjpa": "Motion JPEG", "apch": "ProRes", "apcn": "ProRes", "apcs": "ProRes",
    "apco": "ProRes", "ap4h": "ProRes", "ap4x": "ProRes",
}  # fmt: skip
_TAGS = {
    b"\xa9nam": "title", b"\xa9ART": "artist", b"\xa9alb": "album", b"\xa9day": "date", b"\xa9gen": "genre",
    b"\xa9cmt": "comment", b"desc": "comment", b"aART": "artist",
}  # fmt: skip
_KEYS = {
    "title": "title", "artist": "artist", "author": "artist", "album": "album", "creationdate": "date", "date": "date",
    "genre": "genre", "comment": "comment", "description": "comment",
}  # fmt: skip
_HOLDERS = frozenset({b"moov", b"trak", b"mdia", b"minf", b"stbl", b"udta", b"ilst", b"mvex", b"moof", b"traf"})
_PICTURES = {13: "image/jpeg", 14: "image/png"}


@dataclass(slots=True)
class _Track:
    """A video track, an audio track, or another one."""

    number: int = 0
    handler: bytes = b""
    scale: int = 0
    """Ticks per second."""
    language: str = ""
    codec: str = ""
    width: int = 0
    height: int = 0
    rotation: int = 0
    sample_rate: int = 0
    channels: int = 0
    samples: int = 0
    ticks: int = 0
    """The duration of all samples."""
    default_ticks: int = 0
    """The duration of a sample, unless its fragment has another one."""


@dataclass(slots=True)
class _Movie:
    """The facts that were read so far."""

    header: Header
    media: Media
    tracks: list[_Track] = field(default_factory=list[_Track])
    keys: list[str] = field(default_factory=list[str])
    """The names of the tags that `ilst` refers to by number."""
    scale: int = 0
    fragment: _Track = field(default_factory=_Track)
    """The track of the current fragment."""
    fragment_ticks: int = 0
    """The duration of a sample in the current fragment."""

    def take(self, name: bytes, start: int, end: int, parent: bytes) -> None:
        """Read one box."""
        header = self.header
        track = self.tracks[-1] if self.tracks else _Track()
        match name:
            case b"trak":
                self.tracks.append(_Track())
            case b"mvhd":
                self.scale, ticks = _times(header, start)
                self.media.duration = ticks / self.scale if self.scale else 0
            case b"mehd":
                ticks = header.numbers(">Q" if header.at(start, 1)[0] else ">I", start + 4)[0]
                self.media.duration = ticks / self.scale if self.scale else 0
            case b"tkhd":
                _track_header(header, start, track)
            case b"mdhd":
                track.scale, _ = _times(header, start)
                # Three letters of an ISO 639-2 code, in five bits each.
                packed = header.numbers(">H", start + (32 if header.at(start, 1)[0] == 1 else 20))[0]
                track.language = "".join(chr((packed >> shift & 31) + 0x60) for shift in (10, 5, 0))
            case b"hdlr" if parent == b"mdia":  # `meta` has a box of this name, too
                track.handler = header.at(start + 8, 4)
            case b"stsd":
                _sample(header, start, end, track)
            case b"stts":
                # A damaged count must not allocate gigabytes.
                count = min(header.numbers(">I", start + 4)[0], MAX_BLOCK // 8)
                table = header.numbers(f">{2 * count}I", start + 8)
                track.samples = sum(table[::2])
                track.ticks = sum(number * ticks for number, ticks in zip(table[::2], table[1::2], strict=True))
            case b"trex" | b"tfhd" | b"tfdt" | b"trun":
                self._take_fragment(name, start)
            case b"chpl":
                _chapters(header, start, end, self.media)
            case b"keys":
                self._take_keys(start, end)
            case _:
                self._take_tag(name, start, end, parent)

    def _take_fragment(self, name: bytes, start: int) -> None:
        """Read the durations of a fragmented file, which its main header does not have."""
        header = self.header
        flags = int.from_bytes(header.at(start + 1, 3), "big")
        if name in (b"trex", b"tfhd"):
            number = header.numbers(">I", start + 4)[0]
            self.fragment = next((track for track in self.tracks if track.number == number), _Track())
        if name == b"trex":
            self.fragment.default_ticks = header.numbers(">I", start + 12)[0]
        elif name == b"tfhd":
            self.fragment_ticks = self.fragment.default_ticks
            if flags & 8:
                # Fields are present if their flag is set. An offset of 8 bytes and an index of 4 come before the
                # duration.
                skipped = 8 * (flags & 1) + 4 * (flags >> 1 & 1)
                self.fragment_ticks = header.numbers(">I", start + 8 + skipped)[0]
        elif name == b"tfdt":
            # The time at which the fragment begins replaces the sum, because fragments may be missing.
            self.fragment.ticks = header.numbers(">Q" if header.at(start, 1)[0] else ">I", start + 4)[0]
        else:
            count = header.numbers(">I", start + 4)[0]
            self.fragment.samples += count
            self.fragment.ticks += _run_ticks(header, start, flags, count, self.fragment_ticks)

    def _take_keys(self, start: int, end: int) -> None:
        count, place = min(self.header.numbers(">I", start + 4)[0], 1_000), start + 8
        for _ in range(count):
            length = self.header.numbers(">I", place)[0]
            self.keys.append(self.header.words(place + 8, min(length, end - place) - 8))
            place += length

    def _take_tag(self, name: bytes, start: int, end: int, parent: bytes) -> None:
        header, media = self.header, self.media
        if parent == b"ilst":
            # In QuickTime files, the name of a box in `ilst` is the number of an entry in `keys`.
            number = int.from_bytes(name, "big")
            key = self.keys[number - 1].rpartition(".")[2].lower() if 0 < number <= len(self.keys) else ""
            label = _TAGS.get(name) or _KEYS.get(key)
            if label is None and name != b"covr":
                return
            length, kind, form = header.numbers(">I4sI", start)
            if kind == b"data" and name == b"covr":
                media.picture(_PICTURES.get(form, ""), start + 16, min(length, end - start) - 16)
            elif kind == b"data" and label is not None:
                media.tag(label, header.words(start + 16, min(length, end - start) - 16))
        elif name in _TAGS and name.startswith(b"\xa9"):
            # Older tags of QuickTime: two bytes of length, two of language, then the text.
            length = header.numbers(">H", start)[0]
            media.tag(_TAGS[name], header.words(start + 4, min(length, end - start)))

    def finish(self) -> None:
        """Set the facts of the tracks. The first video and the first audio track count."""
        media = self.media
        for track in self.tracks:
            if track.handler not in (b"vide", b"soun"):
                continue
            media.codec(_CODECS.get(track.codec, track.codec))
            if track.handler == b"vide" and not media.width:
                media.kind = "video"
                media.width, media.height = track.width, track.height
                media.turn(track.rotation)
                media.frame_rate = track.samples * track.scale / track.ticks if track.ticks else 0
            elif track.handler == b"soun":
                media.language(track.language)
                if not media.sample_rate:
                    # Programs usually count the ticks of an audio track in samples.
                    media.sample_rate, media.channels = track.sample_rate or track.scale, track.channels
        if not media.duration:
            media.duration = max((track.ticks / track.scale for track in self.tracks if track.scale), default=0.0)


def read_mp4(header: Header, media: Media) -> None:
    """Length, tracks, chapters, picture and tags of an MP4 or QuickTime file."""
    if header.some(8, 4).startswith((b"M4V", b"qt")):
        media.kind = "video"
    movie = _Movie(header, media)
    try:
        _walk(header, movie)
    finally:  # a truncated file raises EOFError, and the facts before its end are kept
        movie.finish()


def _walk(header: Header, movie: _Movie) -> None:
    waiting = [(0, header.size, b"")]
    for _ in range(MAX_BLOCKS):
        if not waiting:
            return
        start, end, parent = waiting.pop()
        if start + 8 > end:
            continue
        length, name = header.numbers(">I4s", start)
        inside = start + 8
        # A length of 1 means that 64 bits with the length follow; 0 means that the box goes to the end of the one
        # around it.
        if length == 1:
            length, inside = header.numbers(">Q", inside)[0], inside + 8
        after = end if length == 0 else min(end, start + length)
        if after < inside:
            continue
        # The next box is pushed before the contents of this one, so that the contents are read first.
        if after < end:
            waiting.append((after, end, parent))
        movie.take(name, inside, after, parent)
        if name in _HOLDERS:
            waiting.append((inside, after, name))
        elif name == b"meta":
            # In QuickTime the boxes begin at once, in MP4 after a version of four bytes.
            plain = header.some(inside + 4, 4) == b"hdlr"
            waiting.append((inside if plain else inside + 4, after, name))


def _times(header: Header, start: int) -> tuple[int, int]:
    """Ticks per second, and the duration in ticks; 0 if it is unknown."""
    # Version 1 has times of 64 bits.
    is_long = header.at(start, 1)[0] == 1
    scale, ticks = header.numbers(">IQ" if is_long else ">II", start + (20 if is_long else 12))
    return scale, 0 if ticks in (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF) else ticks


def _track_header(header: Header, start: int, track: _Track) -> None:
    is_long = header.at(start, 1)[0] == 1
    track.number = header.numbers(">I", start + (20 if is_long else 12))[0]
    place = start + (52 if is_long else 40)
    # The first row of the matrix that places the picture gives its rotation.
    across, down = header.numbers(">ii", place)
    track.rotation = round(math.degrees(math.atan2(down, across)))
    # The size at which it is shown, in 16.16 fixed point. If the pixels are not square, it differs from their number,
    # which the sample description has.
    track.width, track.height = (side >> 16 for side in header.numbers(">II", place + 36))


def _sample(header: Header, start: int, end: int, track: _Track) -> None:
    track.codec = header.at(start + 12, 4).decode("latin-1")
    if track.handler == b"vide":
        width, height = header.numbers(">HH", start + 40)
        if width and height:
            track.width, track.height = width, height
    elif track.handler == b"soun":
        sound = read_sound(header, start + 8, end)
        track.sample_rate, track.channels = sound.sample_rate, sound.channels
        track.codec = sound.codec or track.codec


def _run_ticks(header: Header, start: int, flags: int, count: int, default: int) -> int:
    """The duration of the samples of a run."""
    if not flags & 0x100:
        return count * default
    # The flags tell which fields there are: two before the samples, and up to four for each sample, of which the
    # duration is the first.
    place = start + 8 + 4 * (flags & 1) + 4 * (flags >> 2 & 1)
    width = 4 * sum(flags >> bit & 1 for bit in (8, 9, 10, 11))
    count = min(count, MAX_BLOCK // width)
    table = header.at(place, count * width)
    return sum(int.from_bytes(table[at : at + 4], "big") for at in range(0, len(table), width))


def _chapters(header: Header, start: int, end: int, media: Media) -> None:
    place = start + (9 if header.at(start, 1)[0] else 5)
    for _ in range(header.at(place - 1, 1)[0]):
        ticks, length = header.numbers(">QB", place)
        if place + 9 + length > end:
            return
        # Nero's format, in units of 100 ns.
        media.chapter(ticks / 1e7, header.words(place + 9, length))
        place += 9 + length


# ---------------------------------------------------------------------------------------------------------------- sound


_AC3_CHANNELS = (2, 1, 2, 3, 3, 4, 4, 5)
_OBJECTS = {0x69: "MP3", 0x6B: "MP3", 0xA5: "AC-3", 0xA6: "E-AC-3", 0xA9: "DTS", 0xAD: "Opus", 0xDD: "Vorbis"}
_MOST_BOXES = 20


@dataclass(slots=True)
class Sound:
    """The format of an audio track."""

    codec: str = ""
    """Set if it is not the one that the sample description names."""
    sample_rate: int = 0
    channels: int = 0


def read_sound(header: Header, start: int, end: int) -> Sound:
    """The format of an audio track, from its sample description."""
    sound = Sound()
    sound.channels, sound.sample_rate = header.numbers(">H6xH", start + 24)
    version = header.numbers(">H", start + 16)[0]
    if version == 2:
        rate, channels = header.numbers(">dI", start + 40)
        sound.sample_rate, sound.channels = round(rate), channels
    # The configuration of the decoder follows in boxes, and overrides the numbers above: many programs write "stereo"
    # there for every file. In QuickTime, versions 1 and 2 have further fields before these boxes.
    place = start + 36 + {1: 16, 2: 36}.get(version, 0)
    end = min(end, start + header.numbers(">I", start)[0])
    for _ in range(_MOST_BOXES):
        if place + 8 > end:
            break
        length, name = header.numbers(">I4s", place)
        if length < 8:
            break
        inside = place + 8
        # QuickTime puts the same boxes into one called `wave`.
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
    """Read the nested descriptors of MPEG-4: a tag, a length in seven bits per byte, and the contents."""
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
        if tag == 3:  # the stream, with the other descriptors inside: only its first fields are skipped
            place += 3
        elif tag == 4 and len(inside) >= 13:  # the decoder, with its configuration inside
            sound.codec = _OBJECTS.get(inside[0], "")
            place += 13
        elif tag == 5 and not sound.codec:
            _aac(inside, sound)
            return
        else:
            place += length


def _aac(config: bytes, sound: Sound) -> None:
    """Read the configuration of an AAC decoder: five bits of object type, four of rate, four of channels."""
    bits = int.from_bytes(config[:8].ljust(8, b"\x00"), "big")
    used = 5
    if bits >> 59 == 31:  # a larger object type follows in six bits
        used += 6
    index = bits >> 60 - used & 15
    used += 4
    rate = AAC_RATES[index] if index < len(AAC_RATES) else 0
    if index == 15:  # an unusual rate follows in 24 bits
        rate = bits >> 40 - used & 0xFFFFFF
        used += 24
    channels = bits >> 60 - used & 15
    sound.sample_rate = rate or sound.sample_rate
    if 0 < channels < len(AAC_CHANNELS):
        sound.channels = AAC_CHANNELS[channels]
