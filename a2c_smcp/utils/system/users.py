"""The user that this process acts for."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.platform == "win32":

    def become_owner(folder: Path) -> None:
        """Do nothing: Windows has no superuser of this kind."""

    def is_superuser() -> bool:
        """No."""
        return False

    def owns(folder: Path) -> bool:
        """Yes: Windows protects profiles by folder."""
        return True

else:
    import os

    def become_owner(folder: Path) -> None:
        """As the superuser, become the user that a folder belongs to, for good.

        What is in there may come from any program of that user. It could mislead a program with more rights.

        Raises:
            OSError: there is no such folder.
        """
        found = folder.lstat()
        if os.geteuid() == 0 and found.st_uid != 0:
            os.setgroups([])
            os.setgid(found.st_gid)
            os.setuid(found.st_uid)

    def is_superuser() -> bool:
        """Whether this process may do everything."""
        return os.geteuid() == 0

    def owns(folder: Path) -> bool:
        """Whether a folder belongs to the user of this process."""
        return folder.lstat().st_uid == os.geteuid()
