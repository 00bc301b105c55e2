"""The file that a configuration was read from. A change to one value leaves the rest of the file as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from a2c_smcp.utils import jsonc
from a2c_smcp.utils.system.files import replace_file


class FileChanged(OSError):
    """The file has changed since it was read."""


@dataclass
class ConfigSource:
    """A file and its text. Two are equal if their paths are, whenever each was read."""

    path: Path
    text: str = field(compare=False, repr=False)

    @classmethod
    def read(cls, path: Path) -> ConfigSource:
        """Read a file.

        Raises:
            OSError: it cannot be read.
            UnicodeDecodeError: it is not UTF-8.
        """
        return cls(path, path.read_bytes().decode("utf-8"))  # line ends as they are: it may be written again

    def change(self, place: jsonc.Path, value: Any) -> None:
        """Set one value in the file. Everything else stays: comments, order, layout, mode, symbolic link.

        Raises:
            FileChanged: the file has changed since it was read; it is left alone.
            OSError: the file cannot be written.
        """
        self.edit(lambda text: jsonc.with_value(text, place, value))

    def edit(self, edit: Callable[[str], str]) -> None:
        """Change the text of the file, all at once.

        Raises:
            FileChanged: the file has changed since it was read; it is left alone.
            OSError: the file cannot be written.
        """
        # A program writes a few values into a file that a person may be editing. Their change must not be lost.
        if self.path.read_bytes() != self.text.encode("utf-8"):
            raise FileChanged("the file has changed since it was read")
        changed = edit(self.text)
        if changed != self.text:
            replace_file(self.path, changed.encode("utf-8"))
            self.text = changed


@dataclass(frozen=True)
class Origin:
    """The place of one MCP server in a file."""

    source: ConfigSource
    place: jsonc.Path
