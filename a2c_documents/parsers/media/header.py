"""What is known of a sound or film, and the tools with which its header is read."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, BinaryIO

MAX_BLOCK = 1_000_000
"""Bytes of a header that are read at once."""
MAX_BLOCKS = 20_000
"""Blocks of a file that are looked at."""
MAX_WORDS = 4_000
"""Bytes of a text that are read."""
_MAX_TAG = 2_000
_MAX_CHAPTERS = 1_000


@dataclass(frozen=True, slots=True)
class Cover:
    """A picture in the file, and where."""

    mime: str
    offset: int
    length: int


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
    """Pixels, as they are shown."""
    rotation: int = 0
    """Degrees by which the pixels are turned clockwise to be shown."""
    frame_rate: float = 0.0
    languages: list[str] = field(default_factory=list[str])
    """Of the sound."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """title, artist, album, date, genre, comment."""
    chapters: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """Where they begin, and what they are called."""
    cover: Cover | None = None

    def tag(self, name: str, words: str) -> None:
        """Keep a tag; the first of its name counts."""
        words = _tidy(words)
        if words:
            self.tags.setdefault(name, words)

    def codec(self, name: str) -> None:
        """Keep the name of a codec."""
        name = "".join(mark for mark in name if mark.isprintable()).strip()
        if name and name not in self.codecs and len(self.codecs) < 8:
            self.codecs.append(name)

    def language(self, name: str) -> None:
        """Keep the language of a sound track."""
        if name.isalpha() and name != "und" and name not in self.languages and len(self.languages) < 20:
            self.languages.append(name)

    def chapter(self, start: float, title: str) -> None:
        """Keep a chapter."""
        if len(self.chapters) < _MAX_CHAPTERS:
            self.chapters.append((start, _tidy(title) or f"Chapter {len(self.chapters) + 1}"))

    def picture(self, mime: str, offset: int, length: int) -> None:
        """Keep a picture; the first counts."""
        if self.cover is None and mime in ("image/jpeg", "image/png") and length > 0:
            self.cover = Cover(mime, offset, length)

    def turn(self, degrees: int) -> None:
        """Show the pixels turned clockwise."""
        self.rotation = degrees % 360
        if self.rotation in (90, 270):
            self.width, self.height = self.height, self.width

    def known(self) -> dict[str, Any]:
        """Everything that the header says."""
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

    def words(self, offset: int, length: int) -> str:
        """A text that is there, or the beginning of a long one."""
        return self.some(offset, min(length, MAX_WORDS)).decode("utf-8", "replace")

    def numbers(self, layout: str, offset: int) -> tuple[Any, ...]:
        """Numbers from there, as `struct` writes their layout."""
        return struct.unpack(layout, self.at(offset, struct.calcsize(layout)))
