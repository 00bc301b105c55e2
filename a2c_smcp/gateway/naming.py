"""Names for tools and prompts that every host and every model accepts: short, of letters, digits and underscores.

A name is given once and kept for as long as the office is known: a model refers to the names of earlier turns. The
things that are there at the same time get the same names in every process, because the order in which they are named
does not depend on the order in which Computers arrive.
"""

from __future__ import annotations

import re
from collections.abc import Set
from hashlib import sha256

LONGEST = 40
"""Characters of a name. Hosts put the name of the server in front of it, and models accept 64 in all."""
MOST_KEPT = 20_000
"""Names that are kept for tools that are gone. A Computer that invents new tools all the time must not fill memory."""

_VALID = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_UNFIT = re.compile("[^a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_valid(name: str) -> bool:
    """Whether MCP accepts a name as it is."""
    return _VALID.fullmatch(name) is not None


def fitted(name: str, longest: int = LONGEST) -> str:
    """A name as lower-case words with underscores, which starts with a letter."""
    words = _UNFIT.sub("_", _CAMEL.sub("_", name).lower()).strip("_")
    if not words or not words[0].isalpha():
        # Nothing is left of a name in another script, such as Chinese: its hash tells it from others.
        words = f"tool_{words}" if words else f"tool_{digest(name)}"
    if len(words) > longest:
        words = f"{words[: longest - 7].rstrip('_')}_{digest(name)}"
    return words


def digest(text: str) -> str:
    """Six characters that depend on the whole text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]


class Names:
    """The names that the things of one list have been given, by their keys."""

    def __init__(self, reserved: Set[str] = frozenset(), most_kept: int = MOST_KEPT) -> None:
        self._reserved = reserved
        self._most_kept = most_kept
        self._given: dict[str, str] = {}
        self._taken: set[str] = set(reserved)

    def __len__(self) -> int:
        return len(self._given)

    def give(self, key: str, wishes: tuple[str, ...]) -> str:
        """The name of a thing: the one that it has, else the first wish that is free."""
        known = self._given.get(key)
        if known is not None:
            return known
        name = next((wish for wish in wishes if wish not in self._taken), None)
        if name is None:
            # The key makes it unique, and the same in every process.
            stem = fitted(wishes[-1], LONGEST - 7)
            name = f"{stem}_{digest(key)}"
            number = 2
            while name in self._taken:
                name, number = f"{stem}_{digest(f'{key} {number}')}", number + 1
        self._given[key] = name
        self._taken.add(name)
        return name

    def trim(self, present: Set[str]) -> None:
        """Forget the oldest names of things that are gone, if there are too many."""
        if len(self._given) <= self._most_kept:
            return
        gone = [key for key in self._given if key not in present]
        for key in gone[: max(0, len(gone) - self._most_kept)]:
            self._taken.discard(self._given.pop(key))


class NameBook:
    """The names in one view of an office. Each kind of list has names of its own."""

    def __init__(self, reserved: Set[str] = frozenset()) -> None:
        self.merged = Names(reserved)
        self.direct = Names()
        self.prompts = Names()

    def __len__(self) -> int:
        return len(self.merged) + len(self.direct) + len(self.prompts)
