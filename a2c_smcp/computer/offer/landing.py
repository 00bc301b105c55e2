"""A file in the landing folder: hidden while it arrives, then under a name that no other file has. All of it blocks."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import re
import secrets
import shutil
import threading
import time
import unicodedata
from pathlib import Path

from a2c_smcp.errors import UploadRefusedError

PREFIX, SUFFIX = ".a2c-upload-", ".part"
"""The name of a file that is arriving."""
MAX_NAME = 150
"""Bytes of a name, of at most 255 that file systems allow."""
SPARE_BYTES = 50_000_000
"""Bytes that stay free on the disk."""
MOST_ATTEMPTS = 1_000
"""Names that are tried for one file."""

_UNFIT = re.compile(r"[^\w.() +,=@-]")
_DEVICE = re.compile(r"con|prn|aux|nul|(?:com|lpt)\d", re.IGNORECASE)
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class PartialFile:
    """A file that is arriving. Its methods run in threads, one after another; `discard` at any time."""

    def __init__(self, folder: Path, total_size: int) -> None:
        self._folder = folder
        self._total_size = total_size
        self._path: Path | None = None
        self._number: int | None = None
        self._hash = hashlib.sha256()
        self._turn = threading.Lock()
        self._is_over = False

    def open(self) -> None:
        """Create the file.

        Raises:
            OSError: there is no such folder, no room on its disk, or no permission.
        """
        with self._turn:
            if self._is_over:
                return
            folder = self._folder.resolve(strict=True)
            if shutil.disk_usage(folder).free < self._total_size + SPARE_BYTES:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            path = folder / f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}"
            # Only this user can read it: nobody else must see what an Agent sends before the owner does.
            self._number = os.open(path, _FLAGS, 0o600)
            self._path = path

    def append(self, part: bytes) -> None:
        """Write the next part.

        Raises:
            OSError: it cannot be written, or the file was discarded.
        """
        with self._turn:
            number, _ = self._opened()
            rest = memoryview(part)
            while rest:
                rest = rest[os.write(number, rest) :]
            self._hash.update(part)

    def land(self, sha256: str, name_hint: str) -> Path:
        """Give the file its name; returns its path.

        Raises:
            UploadRefusedError: its hash is another one.
            OSError: it cannot be written, or it was discarded.
        """
        with self._turn:
            number, path = self._opened()
            if self._hash.hexdigest() != sha256:
                raise UploadRefusedError("the file does not have the declared hash", details={"reason": "integrity"})
            os.fsync(number)
            self._number = None
            os.close(number)  # before it is renamed: Windows does not rename a file that is open
            landed = _publish(path, safe_name(name_hint))
            self._is_over = True
            return landed

    def discard(self) -> None:
        """Remove the file, unless it has landed."""
        with self._turn:
            if self._is_over:
                return
            self._is_over = True
            if self._number is not None:
                os.close(self._number)
            if self._path is not None:
                self._path.unlink(missing_ok=True)

    def _opened(self) -> tuple[int, Path]:
        if self._is_over or self._number is None or self._path is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._number, self._path


def safe_name(hint: str) -> str:
    """The name for a file, from what an Agent wants it to be called. It has no meaning to any system but that of a
    name, is not hidden, and cannot be taken for an option of a command."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", hint))[-1]
    name = _UNFIT.sub("_", last).lstrip(".- ").rstrip(". ")
    stem, suffix = os.path.splitext(name)
    suffix = _cut(suffix, 20)
    stem = _cut(stem, MAX_NAME - len(suffix.encode())).rstrip(". ")
    # Windows takes these names for devices, with any ending.
    if _DEVICE.fullmatch(stem.partition(".")[0].strip()):
        stem = f"_{stem}"
    return f"{stem}{suffix}" if stem else f"upload{suffix}"


def remove_leftovers(folder: Path, older_than: float) -> None:
    """Remove files that an earlier process did not finish, and that nobody has written to for some seconds."""
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
            with contextlib.suppress(OSError):
                if not path.is_symlink() and time.time() - path.stat().st_mtime > older_than:
                    path.unlink()


def _publish(temporary: Path, name: str) -> Path:
    """Move a file to a new name, which is the given one or similar. Another file is never replaced."""
    stem, suffix = os.path.splitext(name)
    for number in itertools.count(1):
        path = temporary.with_name(name if number == 1 else f"{stem}-{number}{suffix}")
        try:
            _link(temporary, path)
        except FileExistsError:
            if number < MOST_ATTEMPTS:
                continue
            raise
        temporary.unlink(missing_ok=True)
        return path
    raise FileExistsError(name)


def _link(temporary: Path, path: Path) -> None:
    """Make a file known under a new name, in one step.

    Raises:
        FileExistsError: there is something of this name, also a link that leads nowhere.
    """
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links. The name is reserved with an empty file of ours, which is then replaced.
        os.close(os.open(path, _FLAGS, 0o600))
        os.replace(temporary, path)


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode("utf-8", "ignore")
