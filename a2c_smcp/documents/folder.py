"""The files of a folder: which of them are documents, and what each is called in addresses."""

from __future__ import annotations

import importlib
import logging
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from stat import S_ISREG
from typing import Any, TypeAlias

logger = logging.getLogger(__name__)

IGNORE_FILES = (".gitignore", ".a2cignore")
ALWAYS_IGNORED = ("__pycache__/", "node_modules/", "~$*", "*.tmp", "*.part", "*.crdownload", "*.swp", "Thumbs.db")
_LONGEST_SLUG = 40
_LONGEST_IGNORE_FILE = 1_000_000
_MOST_NS = 1 << 62


Matches: TypeAlias = Callable[[str], bool]
"""Whether a pattern matches a path relative to the folder; that of a directory ends with a slash."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells whether a file has changed, without reading it."""

    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class FileRules:
    """Which files are documents. Patterns are those of `.gitignore`; without `include`, all that is not excluded."""

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    hidden: bool = False


class Folder:
    """A folder of documents. It only looks."""

    def __init__(self, root: Path, rules: FileRules | None = None) -> None:
        self.root = root.resolve()
        self._rules = rules or FileRules()
        self._include = _patterns(self._rules.include) if self._rules.include else None
        self._exclude = _patterns((*ALWAYS_IGNORED, *self._rules.exclude))

    def scan(self) -> dict[Path, Stamp]:
        """All documents, and when each was changed."""
        return dict(self._walk())

    def stamp(self, path: Path) -> Stamp | None:
        """The stamp of one file; None when it is no document, or not there."""
        try:
            relative = path.relative_to(self.root)
        except ValueError:
            return None
        ignored = self._exclude
        for parent in (self.root, *[self.root / above for above in reversed(relative.parents) if above.parts]):
            if parent != self.root and (
                parent.is_symlink() or self._is_hidden(parent.name) or ignored(_slashed(parent, self.root, True))
            ):
                return None
            ignored = self._with_ignore_files(parent, ignored)
        return self._look(path, relative, ignored)

    def _walk(self) -> Iterator[tuple[Path, Stamp]]:
        stack = [(self.root, self._exclude)]
        while stack:
            directory, ignored = stack.pop()
            ignored = self._with_ignore_files(directory, ignored)
            try:
                entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
            except OSError as error:
                logger.warning("%s cannot be looked into: %s", directory, error)
                continue
            for entry in entries:
                path = Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    if not self._is_hidden(entry.name) and not ignored(_slashed(path, self.root, True)):
                        stack.append((path, ignored))
                elif (stamp := self._look(path, path.relative_to(self.root), ignored)) is not None:
                    yield path, stamp

    def _look(self, path: Path, relative: Path, ignored: Matches) -> Stamp | None:
        if self._is_hidden(path.name) or ignored(relative.as_posix()):
            return None
        if self._include is not None and not self._include(relative.as_posix()):
            return None
        try:
            if path.is_symlink() and not path.resolve().is_relative_to(self.root):
                return None  # what lies outside of the folder is not ours to show
            stat = path.stat()
        except (OSError, ValueError):
            return None
        modified = max(-_MOST_NS, min(stat.st_mtime_ns, _MOST_NS))  # clocks may be anywhere
        return Stamp(stat.st_size, modified) if S_ISREG(stat.st_mode) else None

    def _is_hidden(self, name: str) -> bool:
        return name.startswith(".") and not self._rules.hidden

    def _with_ignore_files(self, directory: Path, ignored: Matches) -> Matches:
        """What is ignored here: what was ignored above, and what this directory says."""
        lines: list[str] = []
        for name in IGNORE_FILES:
            try:
                if (directory / name).is_file():
                    with (directory / name).open("rb") as file:
                        lines += file.read(_LONGEST_IGNORE_FILE).decode("utf-8", "replace").splitlines()
            except OSError:
                continue
        if not lines:
            return ignored
        own, prefix = _patterns(lines), _slashed(directory, self.root, True)

        def ignored_here(name: str) -> bool:
            return ignored(name) or own(name.removeprefix(prefix))

        return ignored_here


def refer_to(paths: Sequence[str], taken: Collection[str] = ()) -> dict[str, str]:
    """A `doc_ref` for each relative path: short, safe in URLs, the same in every process and after every edit."""
    references: dict[str, str] = {}
    for path in paths:
        digest = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        stem = unicodedata.normalize("NFKD", Path(path).stem).encode("ascii", "ignore").decode().lower()
        slug = re.sub("[^a-z0-9]+", "-", stem).strip("-")[:_LONGEST_SLUG].strip("-") or "doc"
        length = 6 if slug != "doc" else 12
        while (reference := f"{slug}-{digest[:length]}") in references or reference in taken:
            length += 2
        references[reference] = path
    return {path: reference for reference, path in references.items()}


def _slashed(path: Path, root: Path, is_directory: bool) -> str:
    relative = path.relative_to(root).as_posix()
    if relative == ".":
        return ""
    return f"{relative}/" if is_directory else relative


def _patterns(lines: Sequence[str]) -> Matches:
    """A function that says whether a relative path matches; a line that is no pattern is left out."""
    pathspec: Any = importlib.import_module("pathspec")
    good: list[str] = []
    for line in lines:
        try:
            pathspec.GitIgnoreSpec.from_lines([line])
            good.append(line)
        except ValueError as error:
            logger.warning("%r is no pattern: %s", line, error)
    return pathspec.GitIgnoreSpec.from_lines(good).match_file
