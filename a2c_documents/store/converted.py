"""Converted files, by content: kept in the user's cache folder, or without one until the server ends."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
from pathlib import Path

from a2c_documents.store.scratch import Scratch

logger = logging.getLogger(__name__)

MAX_BYTES = 200_000_000
"""Bytes of all files; the least recently used are deleted first."""


class ConvertedFiles:
    """A folder of files that only its owner can read. Document servers of several folders share it."""

    def __init__(self, folder: Path | None, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._scratch = Scratch()
        self._own: Path | None = None
        """A temporary folder, where there is no other or it cannot be written to."""

    def get(self, name: str) -> Path | None:
        """A file, if there is one."""
        for folder in filter(None, (self._folder, self._own)):
            path = folder / name
            with contextlib.suppress(OSError):
                os.utime(path)  # it was used now; and it exists
                return path
        return None

    def keep(self, name: str, made: Path) -> Path:
        """Move a file here.

        Raises:
            OSError: there is no room.
        """
        if self._folder is not None:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                return self._move(self._folder, name, made)
            except OSError as error:
                logger.warning("converted files are not kept from now on: %s", error)
                self._folder = None
        if self._own is None or not self._own.is_dir():
            self._own = self._scratch.make()
        if self._own is None:
            raise OSError("no folder for temporary files can be created")
        return self._move(self._own, name, made)

    def _move(self, folder: Path, name: str, made: Path) -> Path:
        # By way of another name in the same folder: another server must not open the beginning of a file.
        number, beside = tempfile.mkstemp(prefix=".", dir=folder)
        os.close(number)
        try:
            shutil.copyfile(made, beside)
            os.replace(beside, folder / name)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
        self._tidy(folder, name)
        return folder / name

    def _tidy(self, folder: Path, newest: str) -> None:
        """Delete the files that were not used for longest, if all of them are too large."""
        found: list[tuple[float, int, Path]] = []
        for path in folder.iterdir():
            with contextlib.suppress(OSError):  # another server has deleted it
                stat = path.stat()
                found.append((stat.st_mtime, stat.st_size, path))
        too_much = sum(size for _, size, _ in found) - self._max_bytes
        for _, size, path in sorted(found):
            if too_much <= 0:
                break
            if path.name != newest:
                with contextlib.suppress(OSError):  # Windows keeps a file that is open
                    path.unlink()
                    too_much -= size

    def close(self) -> None:
        """Delete the temporary folder. It blocks."""
        self._scratch.close()
