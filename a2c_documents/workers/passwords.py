"""Which passwords may be tried for which files. Only those that were given for a file are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from a2c_documents.folder.ignoring import Rules

MOST = 10
"""Passwords that are tried for one file. Each attempt takes up to a second."""


class Passwords:
    """The passwords of a folder: patterns as in `.gitignore`, and the passwords of the files that match."""

    def __init__(self, root: Path | None = None, given: Iterable[tuple[str, Sequence[str]]] = ()) -> None:
        self._root = root.resolve() if root is not None else Path()
        self._given = [(Rules([os.fsencode(pattern)]), tuple(passwords)) for pattern, passwords in given]

    def candidates(self, path: Path) -> list[str]:
        """The passwords to try for a file, in the order in which they were given."""
        if not self._given or not path.is_relative_to(self._root):
            return []
        names = tuple(map(os.fsencode, path.relative_to(self._root).parts))
        found = [
            password
            for rules, passwords in self._given
            # A pattern may also name a folder above the file.
            if any(rules.verdict(names[:length], length < len(names)) for length in range(1, len(names) + 1))
            for password in passwords
        ]
        return list(dict.fromkeys(found))[:MOST]
