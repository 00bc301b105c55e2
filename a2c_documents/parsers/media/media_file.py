"""Audio and video files, by their headers. Nothing is decoded."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from a2c_documents.model import Element, Facts, Page, PagesSource, Source, UnreadableFileError, image, list_of, note
from a2c_documents.parsers.media.chunks import read_aiff, read_avi, read_midi, read_wav
from a2c_documents.parsers.media.header import Cover, Header, Media
from a2c_documents.parsers.media.matroska import read_matroska
from a2c_documents.parsers.media.mp4 import read_mp4
from a2c_documents.parsers.media.mpeg import read_aac, read_mp3, read_mpeg
from a2c_documents.parsers.media.ogg import read_flac, read_ogg
from a2c_documents.parsers.media.tags import read_id3

_TYPES = {
    "mp3": ("MP3", "audio/mpeg"), "wav": ("WAV", "audio/wav"), "flac": ("FLAC", "audio/flac"),
    "ogg": ("Ogg", "audio/ogg"), "oga": ("Ogg", "audio/ogg"), "opus": ("Opus", "audio/ogg"),
    "ogv": ("Ogg", "video/ogg"), "m4a": ("MPEG-4", "audio/mp4"), "m4b": ("MPEG-4", "audio/mp4"),
    "aac": ("AAC", "audio/aac"), "aif": ("AIFF", "audio/aiff"), "aiff": ("AIFF", "audio/aiff"),
    "mid": ("MIDI", "audio/midi"), "mp4": ("MPEG-4", "video/mp4"), "m4v": ("MPEG-4", "video/mp4"),
    "3gp": ("3GPP", "video/3gpp"), "mov": ("QuickTime", "video/quicktime"), "mkv": ("Matroska", "video/x-matroska"),
    "mka": ("Matroska", "audio/x-matroska"), "webm": ("WebM", "video/webm"), "avi": ("AVI", "video/x-msvideo"),
    "mpg": ("MPEG", "video/mpeg"), "mpeg": ("MPEG", "video/mpeg"),
}  # fmt: skip
# QuickTime files may lack `ftyp`, and begin with one of the other boxes.
_BOXES = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")


@dataclass(frozen=True, slots=True)
class _Kind:
    """The reader of a kind of file, and its suffixes."""

    read: Callable[[Header, Media], None]
    suffixes: tuple[str, ...]


_WAV = _Kind(read_wav, ("wav",))
_AVI = _Kind(read_avi, ("avi",))
_AIFF = _Kind(read_aiff, ("aiff", "aif"))
_MPEG = _Kind(read_mpeg, ("mpg", "mpeg"))
_MP4 = _Kind(read_mp4, ("mp4", "m4a", "m4b", "m4v", "mov", "3gp"))
_MP3 = _Kind(read_mp3, ("mp3", "mpg", "mpeg"))
_AAC = _Kind(read_aac, ("aac",))
_FLAC = _Kind(read_flac, ("flac",))
_HEADS = {
    b"\x1aE\xdf\xa3": _Kind(read_matroska, ("mkv", "mka", "webm")),
    b"fLaC": _FLAC,
    b"OggS": _Kind(read_ogg, ("ogg", "oga", "ogv", "opus")),
    b"MThd": _Kind(read_midi, ("mid",)),
    b"\x00\x00\x01\xba": _MPEG,
    b"\x00\x00\x01\xb3": _MPEG,
}
_CHANNELS = {1: "mono", 2: "stereo"}
_DAMAGE = (EOFError, ValueError, IndexError, KeyError, OverflowError, ZeroDivisionError, struct.error)
"""Errors that a damaged header causes."""


def open_media(path: Path) -> Source:
    """One page with one audio or video element.

    Raises:
        UnreadableFileError: the file is empty, or cannot be opened.
    """
    suffix = path.suffix.lower().lstrip(".")
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            media, mime, understood = _read(Header(file, size), suffix)
    except OSError as error:
        raise UnreadableFileError(f"this file cannot be opened: {error.strerror}") from None
    if not size:
        raise UnreadableFileError("the file is empty")
    known = media.known()
    words = _words(media, size)
    element = note(media.kind, words, format=media.format, mime=mime, bytes=size, **known)
    elements = [element]
    if media.chapters:
        elements.append(
            list_of([f"{clock(start) if start >= 1 else '0:00'} {title}" for start, title in media.chapters])
        )
    if media.cover is not None:
        elements.append(_picture(path, media.cover))
    if not understood:
        elements.append(note("annotation", f"The header of this {media.kind} file is damaged, or of an unknown kind."))
    facts = Facts(title=media.tags.get("title", ""), author=media.tags.get("artist", ""), summary=words)
    facts.details = {"format": media.format, "mime": mime, **known}
    return PagesSource(facts, [Page(facts.title, elements)])


def _picture(path: Path, cover: Cover) -> Element:
    """The cover picture, read on request."""

    def read() -> tuple[str, bytes]:
        with path.open("rb") as file:
            file.seek(cover.offset)
            return cover.mime, file.read(cover.length)

    element = image("Cover")
    element.picture = read
    return element


def _read(header: Header, suffix: str) -> tuple[Media, str, bool]:
    """The facts of the header as far as it can be read, the MIME type, and whether there are any."""
    kind = _reader(header.some(0, 12))
    if kind is _MP3:
        kind = _behind_tag(header)
    # The bytes decide: a WAV file under the name of an MP3 file is a WAV file.
    if kind is not None and suffix not in kind.suffixes:
        suffix = kind.suffixes[0]
    name, mime = _TYPES.get(suffix, (suffix.upper() or "unknown", "application/octet-stream"))
    media = Media(name)
    if kind is None:
        media.kind = "video" if mime.startswith("video/") else "audio"
        return media, mime, False
    # The facts that were read before the damage are kept.
    with suppress(*_DAMAGE):
        kind.read(header, media)
    # Damaged headers give any duration. NaN and infinity are not even valid in JSON.
    if not math.isfinite(media.duration) or not 0 <= media.duration < 1e9:
        media.duration = 0.0
    understood = bool(media.known())
    if not understood:
        media.kind = mime.partition("/")[0]
    return media, f"{media.kind}/{mime.partition('/')[2]}", understood


def _reader(start: bytes) -> _Kind | None:
    """The reader of a file by its first bytes, whatever its name."""
    head, kind = start[:4], start[8:12]
    if head in (b"RIFF", b"RF64"):
        return {b"WAVE": _WAV, b"AVI ": _AVI}.get(kind)
    if head == b"FORM" and kind in (b"AIFF", b"AIFC"):
        return _AIFF
    if start[4:8] in _BOXES:
        return _MP4
    if head in _HEADS:
        return _HEADS[head]
    if head[:3] == b"ID3":
        return _MP3
    if head[:1] == b"\xff" and len(head) == 4:
        # Both begin with eleven set bits. The two bits of the layer are zero in AAC, which no MPEG layer uses.
        return _AAC if head[1] & 0xF6 == 0xF0 else _MP3 if head[1] & 0xE0 == 0xE0 else None
    return None


def _behind_tag(header: Header) -> _Kind:
    """The reader of a file that begins with a tag, by the bytes after the tag."""
    # A tag of MP3 files also occurs before FLAC and AAC.
    with suppress(*_DAMAGE):
        kind = _reader(header.some(read_id3(header, 0, Media("")), 4))
        return kind if kind in (_FLAC, _AAC) else _MP3
    return _MP3


def _words(media: Media, size: int) -> str:
    """ "MP3 audio, 3:25, 44.1 kHz, stereo, 4.9 MB"."""
    parts = [f"{media.format} {media.kind}"]
    if media.tags.get("title"):
        artist = f" by {media.tags['artist']}" if media.tags.get("artist") else ""
        parts[0] += f" “{media.tags['title']}”{artist}"
    if media.codecs and media.codecs != [media.format]:
        parts.append(" and ".join(media.codecs))
    if media.duration:
        parts.append(clock(media.duration))
    if media.width and media.height:
        parts.append(f"{media.width} × {media.height} pixels")
    if media.sample_rate:
        parts.append(f"{media.sample_rate / 1_000:g} kHz")
    if media.channels:
        parts.append(_CHANNELS.get(media.channels, f"{media.channels} channels"))
    parts.append(f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{size:,} bytes")
    return ", ".join(parts)


def clock(seconds: float) -> str:
    """1:02:03, 3:25; 0.5 s below a second."""
    if seconds < 1:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
