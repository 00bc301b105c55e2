"""Folders for temporary files. They are deleted with the server, however it ended.

A process that is killed cannot delete its files. So the folder of a worker belongs to the pool, which deletes it
afterwards. What a killed server left behind is deleted by another one when it starts or ends: each server locks its
folder, and the lock ends with the server.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
import threading
from pathlib import Path

from a2c_smcp.utils.system.files import lock_folder

logger = logging.getLogger(__name__)

_PREFIX = "a2c-documents-"
_ATTEMPTS = 3


class Scratch:
    """A folder of one server, with folders in it. It is created when it is first needed."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._lock: int | None = None
        self._making = threading.Lock()  # workers start at the same time

    def make(self) -> Path | None:
        """A new folder; None if there is no room for one. It blocks."""
        try:
            with self._making:
                if self._folder is None or not self._folder.is_dir():
                    self._begin()
                return Path(tempfile.mkdtemp(dir=self._folder))
        except OSError as error:
            logger.warning("no folder for temporary files can be created: %s", error)
            return None

    def _begin(self) -> None:
        self._unlock()
        _delete_abandoned()
        for attempt in range(_ATTEMPTS):
            self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            self._lock = lock_folder(self._folder)
            # Another server may take it for abandoned, in the moment before the lock. Some file systems have no locks.
            if (self._lock is not None and self._folder.is_dir()) or attempt == _ATTEMPTS - 1:
                break
            self._end()

    def close(self) -> None:
        """Delete everything, and what killed servers left. It blocks."""
        self._end()
        _delete_abandoned()  # also if this server needed no folder: it may have started in place of a killed one

    def _end(self) -> None:
        folder, self._folder = self._folder, None
        self._unlock()  # on Windows, a file that is locked cannot be deleted
        if folder is not None:
            delete(folder)

    def _unlock(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            with contextlib.suppress(OSError):
                os.close(lock)


def delete(folder: Path) -> None:
    """Delete a folder and everything in it, as far as possible."""
    shutil.rmtree(folder, ignore_errors=True)


def _delete_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        lock = lock_folder(folder)
        if lock is not None:  # nobody uses it, and it is ours
            os.close(lock)
            delete(folder)
