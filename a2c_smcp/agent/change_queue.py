"""Changes that wait to be heard of."""

from __future__ import annotations

from typing import TypeVar, get_args

from a2c_smcp.protocol.upkeep import Change, Kind

Key = TypeVar("Key")

_STATES = frozenset(get_args(Kind))


class ChangeQueue:
    """Changes in order. Who is slow to take them gets what matters and no more.

    Of a state that changed again, the latest is kept; a Computer that came and went again was never there.
    """

    def __init__(self) -> None:
        self._changes: dict[int, Change] = {}
        self._latest: dict[tuple[str, str | None], int] = {}
        """The changes that a later change of the same state replaces."""
        self._arrivals: dict[str | None, int] = {}
        """The changes that tell of Computers which came and have not left since."""
        self._next = 0

    def __len__(self) -> int:
        return len(self._changes)

    def put(self, change: Change) -> None:
        """Add a change."""
        computer = change.computer
        number = self._latest.get((change.kind, computer))
        if number is not None:
            self._changes[number] = change
            return
        if change.kind not in _STATES:  # what came before a Computer went is not what comes after it is back
            states = [self._latest.pop((kind, computer), None) for kind in _STATES]
            arrival = self._arrivals.pop(computer, None)
            if change.kind == "leave" and arrival is not None:
                for number in (arrival, *states):
                    if number is not None:
                        del self._changes[number]
                return
        number = self._next = self._next + 1
        self._changes[number] = change
        if change.kind in _STATES:
            self._latest[change.kind, computer] = number
        elif change.kind == "enter":
            self._arrivals[computer] = number

    def take(self) -> Change | None:
        """The oldest change; None when there is none."""
        if not self._changes:
            return None
        number = next(iter(self._changes))
        change = self._changes.pop(number)
        _forget(self._latest, (change.kind, change.computer), number)
        _forget(self._arrivals, change.computer, number)
        return change


def _forget(changes: dict[Key, int], key: Key, number: int) -> None:
    if changes.get(key) == number:
        del changes[key]
