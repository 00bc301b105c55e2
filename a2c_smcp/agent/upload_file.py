"""The file that an Agent uploads. It is read part by part, and never in memory as a whole."""

from __future__ import annotations

import base64
import hashlib
import os
import threading
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import Self

from a2c_smcp.protocol.upload import Declared

_PART = 1 << 20


class FileToUpload:
    """A file that is open for as long as the block runs."""

    def __init__(self, path: str | os.PathLike[str], name: str | None) -> None:
        self._path = Path(path)
        self._name = name if name is not None else self._path.name
        self._file: BufferedReader | None = None
        self._is_over = False
        self._turn = threading.Lock()
        """An Agent that is cancelled ends the block while a thread may still be reading."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._turn:
            self._is_over = True
            if self._file is not None:
                self._file.close()

    def declare(self) -> Declared:
        """Open the file, and read it once.

        Raises:
            OSError: it cannot be read, or is no file.
        """
        file = self._path.open("rb")
        with self._turn:
            if self._is_over:
                file.close()
            self._file = file
        digest, size = hashlib.sha256(), 0
        while part := self._read(size, _PART):
            digest.update(part)
            size += len(part)
        return Declared(self._name, size, digest.hexdigest())

    def read(self, offset: int, most: int) -> tuple[str, int]:
        """A part in base64, and its bytes.

        Raises:
            OSError: it cannot be read.
        """
        data = self._read(offset, most)
        return base64.b64encode(data).decode("ascii"), len(data)

    def _read(self, offset: int, most: int) -> bytes:
        with self._turn:
            if self._file is None or self._is_over:
                return b""
            self._file.seek(offset)
            return self._file.read(most)
