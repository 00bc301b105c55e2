"""The rules of ignore files, as git applies them: the last matching line decides, and inner files override outer ones.

Names are bytes, as in git. A pattern is matched name by name and never backtracks further than its last star, so that
no pattern in a foreign folder can make the matching slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

Names: TypeAlias = tuple[bytes, ...]
"""The names of a path."""

_DEPTHS = re.compile(rb"\*{2,}")
_NOTHING = re.compile(rb"(?!)")
_ALL_BYTES = frozenset(range(256))
_CLASSES = {
    b"alnum": rb"[0-9A-Za-z]", b"alpha": rb"[A-Za-z]", b"blank": rb"[ \t]", b"cntrl": rb"[\x00-\x1f\x7f]",
    b"digit": rb"[0-9]", b"graph": rb"[!-~]", b"lower": rb"[a-z]", b"print": rb"[ -~]", b"punct": rb"[!-/:-@[-`{-~]",
    b"space": rb"[ \t-\r]", b"upper": rb"[A-Z]", b"xdigit": rb"[0-9A-Fa-f]",
}  # fmt: skip


class _NoPattern(ValueError):
    """A line that matches nothing."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of an ignore file."""

    names: tuple[re.Pattern[bytes] | None, ...]
    """A pattern for each name of a path; None matches any number of names (`**`)."""
    is_negative: bool
    only_directories: bool

    @property
    def name(self) -> re.Pattern[bytes] | None:
        """The pattern of the last name, if the others do not matter."""
        return self.names[1] if len(self.names) == 2 and self.names[0] is None else None

    def matches(self, path: Names) -> bool:
        # Glob matching with a single point to retry. If a name does not match, only the last `**` takes one more name.
        # An earlier one never has to, because the last one can reach every position that the earlier one could.
        names = self.names
        at = place = 0
        retry: tuple[int, int] | None = None
        while place < len(path):
            wanted = names[at] if at < len(names) else _NOTHING
            if wanted is None:
                at += 1
                retry = at, place
            elif wanted.fullmatch(path[place]):
                at, place = at + 1, place + 1
            elif retry is not None:  # let the last `**` match one more name
                at, place = retry[0], retry[1] + 1
                retry = at, place
            else:
                return False
        return at == len(names)


class Rules:
    """The lines of one directory, or of a command-line option."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        rules = [rule for line in lines if (rule := _parse(line)) is not None]
        # The last line first: the first match in this order decides.
        self._rules = rules[::-1]
        self._of_paths = [rule for rule in self._rules if rule.name is None]
        names = {rule.name.pattern for rule in rules if rule.name is not None}
        # Most names match no line. One regular expression for all of them is ten times as fast as one after another.
        self._any_name = re.compile(b"|".join(sorted(names)) if names else _NOTHING.pattern, re.DOTALL)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def verdict(self, path: Names, is_directory: bool) -> bool | None:
        """True if a line matches a path from here, False if a line with `!` does, None if no line matches."""
        for rule in self._rules if self._any_name.fullmatch(path[-1]) else self._of_paths:
            if (is_directory or not rule.only_directories) and rule.matches(path):
                return not rule.is_negative
        return None


@dataclass(frozen=True, slots=True)
class Ignoring:
    """The rules that apply in a directory: its own, and those above. Extended on the way down."""

    levels: tuple[tuple[int, Rules], ...] = ()
    """The depth of a directory and its rules; the innermost last."""

    def within(self, depth: int, rules: Rules) -> Ignoring:
        """These rules, and those of a directory at a depth."""
        return Ignoring((*self.levels, (depth, rules))) if rules else self

    def __call__(self, path: Names, is_directory: bool) -> bool:
        """Whether a path inside the folder is ignored, given that its directories are not."""
        for depth, rules in reversed(self.levels):
            verdict = rules.verdict(path[depth:], is_directory)
            if verdict is not None:
                return verdict
        return False


# Each scan reads the same ignore files. Compiled rules are cached by the text, so that an unchanged file costs one
# read.
@lru_cache(maxsize=64)
def rules_of(*contents: bytes) -> Rules:
    """The rules of the ignore files of a directory, in order."""
    # As in git, neither a byte order mark nor a carriage return before a line feed is part of a pattern.
    lines = [line for content in contents for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    return Rules(line.removesuffix(b"\r") for line in lines)


# ------------------------------------------------------------------------------------------------------------- patterns


def _parse(line: bytes) -> _Rule | None:
    if line.startswith(b"#"):
        return None
    line = _without_spaces(line)
    is_negative = line.startswith(b"!")
    pattern = line[1:] if is_negative else line
    only_directories = pattern.endswith(b"/")
    pattern = pattern.removesuffix(b"/")
    if not pattern:
        return None
    try:
        # A slash ties a pattern to the directory of its ignore file, unless it is the last character.
        if b"/" not in pattern:  # at any depth
            return _Rule((None, _name(pattern)), is_negative, only_directories)
        names = [None if _DEPTHS.fullmatch(part) else _name(part) for part in _split(pattern.removeprefix(b"/"))]
    except _NoPattern:
        return None
    if names[-1] is None:  # a trailing `**` matches what is inside, not the directory itself
        names.append(_name(b"*"))
    return _Rule(tuple(names), is_negative, only_directories)


def _without_spaces(line: bytes) -> bytes:
    """Trailing spaces do not count, unless a backslash precedes them."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + 1] if backslashes % 2 and len(bare) < len(line) else bare


def _split(pattern: bytes) -> Sequence[bytes]:
    """The parts between slashes, except slashes in brackets."""
    parts, start, place = list[bytes](), 0, 0
    while place < len(pattern):
        mark = pattern[place : place + 1]
        slash = place + 1 if mark == b"\\" else place
        if pattern[slash : slash + 1] == b"/":
            parts.append(pattern[start:place])
            start = place = slash + 1
        elif mark == b"[":
            place = _bracket(pattern, place)[1]
        else:
            place = slash + 1
    return [*parts, pattern[start:]]


@lru_cache(maxsize=4_096)
def _name(pattern: bytes) -> re.Pattern[bytes]:
    """The regular expression for one name."""
    chunks = [b""]
    place = 0
    while place < len(pattern):
        mark = pattern[place : place + 1]
        place += 1
        if mark == b"*":
            chunks.append(b"")
        elif mark == b"?":
            chunks[-1] += b"."
        elif mark == b"[":
            members, place = _bracket(pattern, place - 1)
            chunks[-1] += _set(members)
        elif mark == b"\\":
            if place == len(pattern):
                raise _NoPattern
            chunks[-1] += re.escape(pattern[place : place + 1])
            place += 1
        else:
            chunks[-1] += re.escape(mark)
    first, *middle, last = chunks if len(chunks) > 1 else (chunks[0], b"")
    # What follows a star is matched where it occurs first, and an atomic group (`(?>…)`) forbids the search to continue
    # from there. The first occurrence always leaves the most room for the rest, so nothing is missed, and no pattern in
    # a foreign folder takes exponential time.
    stars = b"".join(b"(?>.*?" + chunk + b")" for chunk in middle if chunk)
    return re.compile(first + stars + (b".*" if len(chunks) > 1 else b"") + last, re.DOTALL)


def _bracket(pattern: bytes, start: int) -> tuple[frozenset[int], int]:
    """The bytes that brackets match, and where they end."""
    place = start + 1
    is_negative = pattern[place : place + 1] in (b"!", b"^")
    place += is_negative
    first, members = place, set[int]()
    # A `]` directly after the opening bracket is a member, not the end.
    while pattern[place : place + 1] != b"]" or place == first:
        if named := re.compile(rb"\[:([^]]*?):\]").match(pattern, place):
            if named[1] not in _CLASSES:
                raise _NoPattern
            members |= {byte for byte in _ALL_BYTES if re.fullmatch(_CLASSES[named[1]], bytes((byte,)))}
            place = named.end()
            continue
        low, place = _member(pattern, place)
        high = low
        if pattern[place : place + 1] == b"-" and pattern[place + 1 : place + 2] not in (b"]", b""):
            high, place = _member(pattern, place + 1)
        # git matches the first byte of a range even if the range runs backwards (`[z-a]`).
        members |= {low, *range(low, high + 1)}
    return (_ALL_BYTES - members if is_negative else frozenset(members)), place + 1


def _member(pattern: bytes, place: int) -> tuple[int, int]:
    place += pattern[place : place + 1] == b"\\"
    # A bracket that never closes: git matches nothing with such a line.
    if place >= len(pattern):
        raise _NoPattern
    return pattern[place], place + 1


def _set(members: frozenset[int]) -> bytes:
    return b"[" + b"".join(b"\\x%02x" % byte for byte in sorted(members)) + b"]" if members else b"(?!)"
