"""The facts about an audio or video file, and access to the bytes of its header."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, BinaryIO

MAX_BLOCK = 1_000_000
"""Bytes of a header that are read at once."""
# A crafted file may consist of millions of tiny blocks, each of which costs a few reads.
MAX_BLOCKS = 20_000
"""Blocks of a file that are read."""
MAX_WORDS = 4_000
"""Bytes of a text that are read."""
_MAX_TAG = 2_000
_MAX_CHAPTERS = 1_000


@dataclass(frozen=True, slots=True)
class Cover:
    """The type and position of a picture in the file."""

    mime: str
    offset: int
    length: int


@dataclass(slots=True)
class Media:
    """The facts in a header; empty or 0 if they are missing."""

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
    """Pixels, as they are shown."""
    rotation: int = 0
    """Degrees by which the picture is rotated clockwise when it is shown."""
    frame_rate: float = 0.0
    languages: list[str] = field(default_factory=list[str])
    """Of the audio tracks."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """title, artist, album, date, genre, comment."""
    chapters: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """The start in seconds, and the title."""
    cover: Cover | None = None

    def tag(self, name: str, words: str) -> None:
        """Set a tag, unless it is set: readers go through the better tags first."""
        words = _tidy(words)
        if words:
            self.tags.setdefault(name, words)

    def codec(self, name: str) -> None:
        """Add a codec."""
        # A codec without a known name is called by its four bytes, which may be any.
        name = "".join(mark for mark in name if mark.isprintable()).strip()
        if name and name not in self.codecs and len(self.codecs) < 8:
            self.codecs.append(name)

    def language(self, name: str) -> None:
        """Add the language of an audio track."""
        # "und" means undetermined.
        if name.isalpha() and name != "und" and name not in self.languages and len(self.languages) < 20:
            self.languages.append(name)

    def chapter(self, start: float, title: str) -> None:
        """Add a chapter."""
        if len(self.chapters) < _MAX_CHAPTERS:
            self.chapters.append((start, _tidy(title) or f"Chapter {len(self.chapters) + 1}"))

    def picture(self, mime: str, offset: int, length: int) -> None:
        """Set the cover, unless it is set."""
        if self.cover is None and mime in ("image/jpeg", "image/png") and length > 0:
            self.cover = Cover(mime, offset, length)

    def turn(self, degrees: int) -> None:
        """Set the rotation (clockwise), and the size after it."""
        self.rotation = degrees % 360
        if self.rotation in (90, 270):
            self.width, self.height = self.height, self.width

    def known(self) -> dict[str, Any]:
        """All facts that are not missing."""
        facts = {
            "duration": round(self.duration, 3), "codec": ", ".join(self.codecs), "sample_rate": self.sample_rate,
            "channels": self.channels, "bit_rate": self.bit_rate, "width": self.width, "height": self.height,
            "rotation": self.rotation, "frame_rate": round(self.frame_rate, 3),
            "languages": ", ".join(self.languages), **self.tags,
        }  # fmt: skip
        return {name: value for name, value in facts.items() if value}


def _tidy(words: str) -> str:
    return " ".join(words.replace("\x00", " ").split())[:_MAX_TAG]


class Header:
    """Reads bytes at any position of a file.

    Raises:
        EOFError: in every method, if the file ends before the last byte.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size

    def at(self, offset: int, length: int) -> bytes:
        """`length` bytes at an offset."""
        # Both numbers come from the file. A damaged one must neither read backwards nor allocate gigabytes.
        if offset < 0 or length < 0 or length > MAX_BLOCK:
            raise EOFError
        self._file.seek(offset)
        block = self._file.read(length)
        if len(block) < length:
            raise EOFError
        return block

    def some(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes at an offset, as many as the file has."""
        return self.at(offset, max(0, min(length, self.size - offset, MAX_BLOCK)))

    def words(self, offset: int, length: int) -> str:
        """A text at an offset, or the beginning of a long one."""
        return self.some(offset, min(length, MAX_WORDS)).decode("utf-8", "replace")

    def numbers(self, layout: str, offset: int) -> tuple[Any, ...]:
        """Numbers at an offset, in a layout of `struct`."""
        return struct.unpack(layout, self.at(offset, struct.calcsize(layout)))
