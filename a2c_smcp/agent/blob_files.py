"""The files that `save_to` writes: never over an existing one, and removed if their binary does not arrive whole."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import shutil
import threading
from functools import partial
from io import BufferedWriter
from pathlib import Path
from typing import TypeAlias

from a2c_smcp.protocol.blob_download import Facts
from a2c_smcp.protocol.client_effects import ClientBackend, Work
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.utils.file_names import media_name, new_file, resource_name

SPARE_BYTES = 50_000_000
"""Bytes that stay free on the disk."""
SaveTo: TypeAlias = str | os.PathLike[str]
"""A folder that exists, or whose path ends with `/`; or the path of a new file."""


class Destination:
    """Where the binaries of one answer are saved. It has to be made before the request is sent: a tool that ran for
    nothing cannot be undone.

    Raises:
        FileExistsError: there is a file of this name.
        OSError: the folder does not exist, or cannot be made.
    """

    def __init__(self, save_to: SaveTo) -> None:
        path = Path(save_to).absolute()
        if os.fspath(save_to).endswith(("/", os.sep)) or path.is_dir():
            path.mkdir(parents=True, exist_ok=True)
            self._folder, self._file = path, None
            return
        if path.exists():
            raise FileExistsError(f"{path} exists; choose another file, or a folder")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path.parent}: no such folder")
        self._folder, self._file = path.parent, path
        self._numbers = itertools.count()

    def __call__(self, facts: Facts, uri: str | None, kind: str, /) -> FileSink:
        """Open a new file for a binary. In a folder it is named after the binary. Of several binaries, the first gets
        the name of the given file, and the others similar ones.

        Raises:
            OSError: it cannot be made, or the disk has no room for the binary.
        """
        # The size is what a Computer says: it must not be able to fill the disk, which would hurt other programs.
        if shutil.disk_usage(self._folder).free < facts.total_size + SPARE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self._folder))
        name = resource_name(uri, facts.mime_type, ".bin") if uri is not None else media_name(kind, facts.mime_type)
        if self._file is None:
            return FileSink(new_file(self._folder, name))
        if next(self._numbers) == 0:
            return FileSink(self._file.open("xb"))
        return FileSink(new_file(self._folder, self._file.stem + (Path(name).suffix or self._file.suffix)))


def destination(save_to: SaveTo | None) -> Flow[ClientBackend, Destination | None]:
    """Where to save binaries; None if the program does not want that."""
    return None if save_to is None else (yield from Work(partial(Destination, save_to)))


class FileSink:
    """A binary that is written to a file, part by part."""

    def __init__(self, file: BufferedWriter) -> None:
        self._file = file
        self._path = Path(file.name)
        self._lock = threading.Lock()

    def put(self, offset: int, data: bytes) -> None:
        """Take a part.

        Raises:
            OSError, ValueError: it cannot be written, or the file has been closed meanwhile.
        """
        with self._lock:
            self._file.seek(offset)
            self._file.write(data)

    def digest(self) -> str:
        """The SHA-256 of the file, in hex."""
        with self._lock:
            self._file.flush()
        with self._path.open("rb") as written:
            return hashlib.file_digest(written, "sha256").hexdigest()

    def take(self) -> str:
        """The path of the file."""
        with self._lock:
            self._file.close()
        return str(self._path)

    def discard(self) -> None:
        """Remove the file. A part that a thread is writing delays this; the next one fails."""
        with self._lock, contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
