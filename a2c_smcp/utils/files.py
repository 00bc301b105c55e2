"""Files that are replaced as a whole, so that nobody ever reads half of one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Replace the contents of a file that exists. It keeps its mode and, where possible, its owner; a symbolic link
    stays one, and the file that it leads to is replaced.

    Raises:
        OSError: the file cannot be written; it is as it was.
    """
    target = path.resolve(strict=True)
    status = target.stat()
    os.close(os.open(target, os.O_WRONLY))  # renaming would also replace a file that is write-protected
    number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if hasattr(os, "chown"):
            with contextlib.suppress(PermissionError):
                os.chown(name, status.st_uid, status.st_gid)
        os.chmod(name, status.st_mode)  # after the owner: a change of owner may clear bits
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
