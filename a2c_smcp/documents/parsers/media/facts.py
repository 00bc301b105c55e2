"""What is known of a sound or film, and the tools with which its header is read."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, BinaryIO

MAX_BLOCK = 1_000_000
"""Bytes of a header that are read at once."""
MAX_BLOCKS = 20_000
"""Blocks of a file that are looked at."""
_MAX_TAG = 2_000


@dataclass(slots=True)
class Media:
    """What a header says. Empty or 0 where it says nothing."""

    format: str
    kind: str = "audio"
    codecs: list[str] = field(default_factory=list[str])
    duration: float = 0.0
    """Seconds."""
    sample_rate: int = 0
    channels: int = 0
    bit_rate: int = 0
    width: int = 0
    height: int = 0
    frame_rate: float = 0.0
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """title, artist, album, date, genre, comment, keywords."""

    def tag(self, name: str, words: str) -> None:
        """Keep a tag; the first of its name counts."""
        words = " ".join(words.replace("\x00", " ").split())[:_MAX_TAG]
        if words:
            self.tags.setdefault(name, words)

    def codec(self, name: str) -> None:
        """Keep the name of a codec."""
        name = "".join(mark for mark in name if mark.isprintable()).strip()
        if name and name not in self.codecs and len(self.codecs) < 8:
            self.codecs.append(name)

    def known(self) -> dict[str, Any]:
        """Everything that the header says."""
        facts = {
            "duration": round(self.duration, 3), "codec": ", ".join(self.codecs), "sample_rate": self.sample_rate,
            "channels": self.channels, "bit_rate": self.bit_rate, "width": self.width, "height": self.height,
            "frame_rate": round(self.frame_rate, 3), **self.tags,
        }  # fmt: skip
        return {name: value for name, value in facts.items() if value}


class Header:
    """The bytes of a file, read where they are wanted.

    Raises:
        EOFError: by every method, where the file ends before that.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size

    def at(self, offset: int, length: int) -> bytes:
        """So many bytes from there."""
        if offset < 0 or length < 0 or length > MAX_BLOCK:
            raise EOFError
        self._file.seek(offset)
        block = self._file.read(length)
        if len(block) < length:
            raise EOFError
        return block

    def some(self, offset: int, length: int) -> bytes:
        """So many bytes from there, or as many as there are."""
        return self.at(offset, max(0, min(length, self.size - offset, MAX_BLOCK)))

    def numbers(self, layout: str, offset: int) -> tuple[Any, ...]:
        """Numbers from there, as `struct` writes their layout."""
        return struct.unpack(layout, self.at(offset, struct.calcsize(layout)))


def vorbis_comment(block: bytes, media: Media) -> None:
    """The tags of FLAC, Vorbis and Opus: a vendor, then `NAME=value`."""
    names = {"title": "title", "artist": "artist", "album": "album", "date": "date", "genre": "genre"}
    names |= {"comment": "comment", "description": "comment"}
    position = 4 + struct.unpack_from("<I", block, 0)[0]
    count = min(struct.unpack_from("<I", block, position)[0], 1_000)
    position += 4
    for _ in range(count):
        length = struct.unpack_from("<I", block, position)[0]
        position += 4
        name, _, value = block[position : position + length].decode("utf-8", "replace").partition("=")
        position += length
        if position > len(block):
            return
        if name.lower() in names:
            media.tag(names[name.lower()], value)
