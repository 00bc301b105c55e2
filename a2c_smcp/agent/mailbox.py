"""Changes that wait to be heard of."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import get_args

from a2c_smcp.protocol.upkeep import Change, Kind

_STATES = frozenset(get_args(Kind))


@dataclass(eq=False, slots=True)
class _Letter:
    change: Change


class Mailbox:
    """Changes in order. Who is slow to take them misses nothing: of a state that changed again, the latest is kept."""

    def __init__(self) -> None:
        self._letters: deque[_Letter] = deque()
        self._latest: dict[tuple[str, str | None], _Letter] = {}
        """The letters that a later change of the same state replaces."""

    def __len__(self) -> int:
        return len(self._letters)

    def put(self, change: Change) -> None:
        """Add a change."""
        key = change.kind, change.computer
        letter = self._latest.get(key)
        if letter is not None:
            letter.change = change
            return
        letter = _Letter(change)
        self._letters.append(letter)
        if change.kind in _STATES:
            self._latest[key] = letter
        else:  # what came before a Computer went is not what comes after it is back
            for kind in _STATES:
                self._latest.pop((kind, change.computer), None)

    def take(self) -> Change | None:
        """The oldest change; None when there is none."""
        if not self._letters:
            return None
        letter = self._letters.popleft()
        key = letter.change.kind, letter.change.computer
        if self._latest.get(key) is letter:
            del self._latest[key]
        return letter.change
