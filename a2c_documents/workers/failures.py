"""Why a file could not be read."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_NAME = re.compile(r"[0-9a-f-]{32,64}\.(?:docx|pptx)")


class Cause(Enum):
    """Why a file could not be read, which decides whether another attempt makes sense."""

    FILE = "file"
    """The content of the file: another attempt fails in the same way."""
    UNCLEAR = "unclear"
    """Too much time or memory, or a crash: caused by the file, or by a machine under load."""
    MACHINE = "machine"
    """A missing permission, a disk error, a missing library: says nothing about the content."""
    LATER = "later"
    """Something that the file needs and its owner can provide, such as a program or a password. Nothing is recorded,
    and another attempt is made after a while."""


class ReadingFailed(Exception):
    """A file could not be read. The message gives the reason and is shown to people."""

    def __init__(self, problem: str, cause: Cause) -> None:
        super().__init__(problem)
        self.cause = cause


class FileGone(ReadingFailed):
    """The file does not exist any more."""

    def __init__(self) -> None:
        super().__init__("the file is not there any more", Cause.MACHINE)


def identity_of(stat: os.stat_result) -> str:
    """What changes when a file is replaced or written to."""
    return f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}"


@dataclass(frozen=True, slots=True)
class Conversion:
    """A file that has to be converted: its content, the state of the file with that content, and the format."""

    path: Path
    to: str
    digest: str
    identity: str

    @property
    def name(self) -> str:
        """The name of the result."""
        return f"{self.digest}.{self.to}"

    def __post_init__(self) -> None:
        # It becomes the name of a file, and comes from a process that a file may have taken over.
        if not _NAME.fullmatch(self.name):
            raise ReadingFailed("the reader crashed at it", Cause.UNCLEAR)


class NotYet(ReadingFailed):
    """A file has to be converted before it can be read."""

    def __init__(self, conversion: Conversion) -> None:
        super().__init__("LibreOffice has to convert it first; ask again in a moment", Cause.LATER)
        self.conversion = conversion
