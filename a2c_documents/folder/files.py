"""The files of a folder: which of them are documents, and the reference of each in addresses."""

from __future__ import annotations

import logging
import os
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from a2c_documents.folder.ignoring import Ignoring, Names, Rules, rules_of

logger = logging.getLogger(__name__)

IGNORE_FILES = (".gitignore", ".a2cignore")
"""In order of precedence: the last one wins."""
# `~$…` are the lock files of Office; the suffixes belong to unfinished downloads and to editors. Such files come and go
# while a person works, and there is nothing to read in them.
ALWAYS_IGNORED = ("__pycache__/", "node_modules/", "~$*", "*.tmp", "*.part", "*.crdownload", "*.swp", "Thumbs.db")
"""Ignored unless an ignore file includes them with `!`."""
DEEPEST = 2
"""How many archives may be around a document."""
_LONGEST_SLUG = 40
# Ignore files are read in every directory on every scan, so one of them must not take long.
_LONGEST_IGNORE_FILE = 1_000_000
_MOST = (1 << 63) - 1
"""The largest integer that SQLite stores."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The size, times and inode of a file. A different stamp shows that it may have changed, without reading it."""

    size: int
    modified_ns: int
    changed_ns: int
    """When anything changed: the content, the name, the permissions. Programs cannot set this time back."""
    inode: int

    def is_edit_of(self, before: Stamp) -> bool:
        """Whether the file was certainly edited. If not, only the content shows whether it was replaced."""
        return (self.size, self.modified_ns) != (before.size, before.modified_ns)


@dataclass(frozen=True, slots=True)
class FileRules:
    """Which files are documents, as patterns of `.gitignore`. Without `include`, all files that are not excluded.

    Ignore files cannot include what `exclude` excludes.
    """

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    hidden: bool = False


class Folder:
    """A folder of documents. Files are listed, never opened, except for ignore files."""

    def __init__(self, root: Path, rules: FileRules | None = None) -> None:
        self.root = root.resolve()
        self._rules = rules or FileRules()
        self._include = Rules(map(os.fsencode, self._rules.include)) if self._rules.include else None
        self._exclude = Rules(map(os.fsencode, self._rules.exclude))
        self._ignoring = Ignoring().within(0, Rules(map(os.fsencode, ALWAYS_IGNORED)))
        self.closed: frozenset[Path] = frozenset()
        """Directories that could not be listed in the last scan."""
        self.in_archives: set[Path] = set()
        """The paths that are those of files in archives, as whoever read the archives knows them."""

    def scan(self) -> dict[Path, Stamp] | None:
        """All documents and their stamps; None if the folder itself is missing or cannot be listed."""
        closed: set[Path] = set()
        # `_walk` compares with the directories that the previous scan could not list, so `closed` is replaced only
        # after it.
        found = dict(self._walk(closed))
        self.closed = frozenset(closed)
        return found if self.root not in closed else None

    def stamp(self, path: Path) -> Stamp | None:
        """The stamp of one file; None if it is missing or not a document. A file in an archive has the archive's."""
        try:
            names = _names(path.relative_to(self.root))
        except ValueError:
            return None
        ignoring = self._with_ignore_files(self.root, 0, self._ignoring)
        # The walk of a scan never enters an ignored directory, and follows no links to directories. A single path is
        # checked in the same way, from the root down, so that both give the same answer.
        for depth in range(1, len(names)):
            parent = path.parents[len(names) - depth - 1]
            if not _is_real_directory(parent):
                # A link to a directory, or an archive: a link to one is followed, as it is without a path in it. A path
                # below any other file is that of a directory which is not there any more.
                is_taken = path in self.in_archives and parent.is_file() and self._takes(names, depth, ignoring)
                return self._look(parent, names[:depth], ignoring) if is_taken else None
            if self._is_hidden(parent.name) or self._is_ignored(names[:depth], True, ignoring):
                return None
            ignoring = self._with_ignore_files(parent, depth, ignoring)
        return self._look(path, names, ignoring)

    def _takes(self, names: Names, depth: int, ignoring: Ignoring) -> bool:
        """Whether a file in an archive is a document. The first `depth` names are the path of the archive."""
        for length in range(depth + 1, len(names) + 1):
            is_folder = length < len(names)
            if self._is_hidden(os.fsdecode(names[length - 1])) or self._is_ignored(names[:length], is_folder, ignoring):
                return False
        return self._is_included(names)

    def _walk(self, closed: set[Path]) -> Iterator[tuple[Path, Stamp]]:
        stack: list[tuple[Path, Names, Ignoring]] = [(self.root, (), self._ignoring)]
        while stack:
            directory, above, ignoring = stack.pop()
            try:
                with os.scandir(directory) as listing:
                    # File systems list in any order, and the order decides which of two colliding references gets
                    # longer.
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                closed.add(directory)
                if directory not in self.closed:  # warn once, not in every scan
                    logger.warning("%s cannot be looked into: %s", directory, error.strerror)
                continue
            ignoring = self._with_ignore_files(directory, len(above), ignoring)
            for entry in entries:
                path, names = Path(entry.path), (*above, os.fsencode(entry.name))
                if _is_directory(entry):
                    if not self._is_hidden(entry.name) and not self._is_ignored(names, True, ignoring):
                        stack.append((path, names, ignoring))
                elif (stamp := self._look(path, names, ignoring)) is not None:
                    yield path, stamp

    def _look(self, path: Path, names: Names, ignoring: Ignoring) -> Stamp | None:
        if self._is_hidden(path.name) or self._is_ignored(names, False, ignoring) or not self._is_included(names):
            return None
        try:
            if path.is_symlink() and not path.resolve().is_relative_to(self.root):
                return None  # a link must not expose files outside the folder
            stat = path.stat()
        except (OSError, ValueError, RuntimeError):  # missing, an invalid name, a link to itself
            return None
        if not S_ISREG(stat.st_mode):
            return None
        # Some file systems use all 64 bits for inode numbers, more than a signed integer of SQLite can hold.
        return Stamp(stat.st_size, _bounded(stat.st_mtime_ns), _bounded(stat.st_ctime_ns), stat.st_ino & _MOST)

    def _is_hidden(self, name: str) -> bool:
        return name.startswith(".") and not self._rules.hidden

    def _is_ignored(self, names: Names, is_directory: bool, ignoring: Ignoring) -> bool:
        # The owner's `exclude` comes first: ignore files may be part of a folder that came from elsewhere.
        verdict = self._exclude.verdict(names, is_directory)
        return verdict if verdict is not None else ignoring(names, is_directory)

    def _is_included(self, names: Names) -> bool:
        """Whether the patterns match the file, or else the innermost of its directories that they match or exclude."""
        if self._include is None:
            return True
        for length in range(len(names), 0, -1):
            verdict = self._include.verdict(names[:length], length < len(names))
            if verdict is not None:
                return verdict
        return False

    def _with_ignore_files(self, directory: Path, depth: int, ignoring: Ignoring) -> Ignoring:
        """The rules for a directory: those from above, and those of its own ignore files."""
        contents: list[bytes] = []
        for name in IGNORE_FILES:
            try:
                if (directory / name).is_file():
                    with (directory / name).open("rb") as file:
                        contents.append(file.read(_LONGEST_IGNORE_FILE))
            except OSError:
                continue
        return ignoring.within(depth, rules_of(*contents)) if contents else ignoring


def holder_of(path: Path) -> Path | None:
    """The file at a path, or the archive that it is in; None if there is neither."""
    for one in (path, *path.parents):
        try:
            return one if S_ISREG(one.stat().st_mode) else None
        except (OSError, ValueError):  # it does not exist, or its name is too long for a file
            continue
    return None


def refer_to(paths: Sequence[str], taken: Collection[str] = ()) -> dict[str, str]:
    """A `doc_ref` for each relative path: short, safe in URLs, and the same in every process and after every edit.

    It has a readable part and a hash of the path, which is lengthened until the reference is unique. Paths that are not
    UTF-8 hash by their bytes.
    """
    references: dict[str, str] = {}
    for path in paths:
        digest = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        stem = unicodedata.normalize("NFKD", Path(path).stem).encode("ascii", "ignore").decode().lower()
        slug = re.sub("[^a-z0-9]+", "-", stem).strip("-")[:_LONGEST_SLUG].strip("-") or "doc"
        # A name without ASCII letters, such as a Chinese one, has the slug `doc`. Many files share it, so a longer hash
        # tells them apart from the start, and references rarely depend on which file was found first.
        length = 6 if slug != "doc" else 12
        while (reference := f"{slug}-{digest[:length]}") in references or reference in taken:
            length += 2
        references[reference] = path
    return {path: reference for reference, path in references.items()}


def _names(relative: Path) -> Names:
    return tuple(map(os.fsencode, relative.parts))


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:  # deleted meanwhile
        return False


def _is_real_directory(path: Path) -> bool:
    try:
        return S_ISDIR(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _bounded(nanoseconds: int) -> int:
    """File times may be out of the range of a database integer."""
    return max(-_MOST, min(nanoseconds, _MOST))
