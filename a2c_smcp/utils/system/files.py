"""Files: replacing one as a whole, owning a folder, and whether others may read a secret."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _give_to_owner_of(status: os.stat_result, name: str) -> None:
        """Files get their access rights from their folder."""

    def lock_folder(folder: Path) -> int | None:
        """Own a folder until the handle is closed or our process ends; None if another process or user owns it."""
        try:
            handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)  # a folder cannot be opened, let alone locked
        except OSError:
            return None
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            os.close(handle)
            return None
        return handle

    def others_may_read(path: Path) -> bool:
        """Whether the mode of a file lets other users read it; Windows keeps profiles private by other means."""
        return False

else:
    import fcntl

    def _give_to_owner_of(status: os.stat_result, name: str) -> None:
        with contextlib.suppress(PermissionError):
            os.chown(name, status.st_uid, status.st_gid)

    def lock_folder(folder: Path) -> int | None:
        """Own a folder until the handle is closed or our process ends; None if another process or user owns it."""
        try:
            # NOFOLLOW: where everybody may write, as in /tmp, the name may be a link that somebody else has made.
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_uid == os.geteuid():
                return handle
        except OSError:
            pass
        os.close(handle)
        return None

    def others_may_read(path: Path) -> bool:
        """Whether the mode of a file lets other users read it."""
        return bool(path.stat().st_mode & 0o077)


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
        _give_to_owner_of(status, name)
        os.chmod(name, status.st_mode)  # after the owner: a change of owner may clear bits
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
