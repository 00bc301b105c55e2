"""Files: replace one as a whole, write a private one, own a folder, and check whether other users may read a secret."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _give_to_owner_of(status: os.stat_result, name: str) -> None:
        """Do nothing: on Windows, files get their access rights from their folder."""

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

    def belongs_to_another(folder: Path) -> bool:
        """Whether another user owns a folder. Windows protects profiles by folder, so this one is ours."""
        return False

    def others_may_read(path: Path) -> bool:
        """Whether the mode of a file lets other users read it. Windows has no modes; it protects profiles by folder."""
        return False

    def own_folder(folder: Path) -> None:
        """Make a folder that only our user can enter, or check that it is one. Windows protects profiles by folder.

        Raises:
            OSError: it cannot be made.
        """
        folder.mkdir(parents=True, exist_ok=True)

else:
    import fcntl

    def _give_to_owner_of(status: os.stat_result, name: str) -> None:
        with contextlib.suppress(PermissionError):
            os.chown(name, status.st_uid, status.st_gid)

    def lock_folder(folder: Path) -> int | None:
        """Own a folder until the handle is closed or our process ends; None if another process or user owns it."""
        try:
            # NOFOLLOW: in a folder where every user may write, such as /tmp, the name may be another user's link.
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another user may have created the folder. That user could read and replace everything in it.
            if os.fstat(handle).st_uid == os.geteuid():
                return handle
        except OSError:
            pass
        os.close(handle)
        return None

    def belongs_to_another(folder: Path) -> bool:
        """Whether another user owns a folder, so that `lock_folder` will never succeed."""
        return folder.lstat().st_uid != os.geteuid()

    def others_may_read(path: Path) -> bool:
        """Whether the mode of a file lets other users read it."""
        return bool(path.stat().st_mode & 0o077)

    def own_folder(folder: Path) -> None:
        """Make a folder that only our user can enter, or check that it is one.

        Raises:
            OSError: it cannot be made, or other users can enter it.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Not `stat`: where every user may write, such as in /tmp, the name may be another user's folder or link.
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PermissionError(errno.EPERM, "other users can enter this folder", str(folder))


def replace_file(path: Path, data: bytes) -> None:
    """Replace the contents of an existing file. It keeps its mode and, if possible, its owner.

    A symbolic link stays one; the file that it leads to is replaced.

    Raises:
        OSError: the file cannot be written, and is unchanged.
    """
    target = path.resolve(strict=True)
    status = target.stat()
    os.close(os.open(target, os.O_WRONLY))  # raises if the file is write-protected, which a rename would ignore

    def keep_rights(name: str) -> None:
        _give_to_owner_of(status, name)
        os.chmod(name, status.st_mode)  # after the owner: a change of owner may clear bits of the mode

    _write(target, data, keep_rights)


def write_private_file(path: Path, data: bytes) -> None:
    """Write a file, new or not, that only its owner can read; its folder, too, if it does not exist.

    Raises:
        OSError: the file cannot be written, and is unchanged.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(path, data, lambda name: None)


def _write(target: Path, data: bytes, prepare: Callable[[str], None]) -> None:
    # A new file that is renamed over the old one: a reader sees one or the other, and a full disk harms neither. It is
    # in the same folder, because a rename does not cross file systems. Only its owner can read it until the end.
    number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(number, "wb") as file:
            file.write(data)
            # Without this, some file systems perform the rename before the write: after a power failure, the file would
            # be empty.
            file.flush()
            os.fsync(file.fileno())
        prepare(name)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
