"""A queue of changes for a reader that may be slow."""

from __future__ import annotations

from typing import TypeAlias, TypeVar, get_args

from a2c_smcp.protocol.upkeep import Change, Kind

Key = TypeVar("Key")

_STATES = frozenset((*get_args(Kind), "resources", "prompts", "skills"))
_State: TypeAlias = tuple[str | None, ...]
"""The kind of a state; of a resource, also the watch that it belongs to."""


class ChangeQueue:
    """The changes of an office, in order, without those that a later change makes pointless.

    A program may iterate slowly, or stop iterating without closing. The queue must then not grow with the changes of
    days: a state (tools, windows, a watched resource, …) that changes again replaces the earlier change in its place,
    and a Computer that leaves takes its own unread arrival and states with it. A connection that is lost again takes
    back the unread news that it had returned. What is left grows with the number of Computers and watched resources.
    """

    def __init__(self) -> None:
        # A dictionary is the queue, because changes in its middle are replaced and removed. Neither moves the others.
        self._changes: dict[int, Change] = {}
        self._latest: dict[str | None, dict[_State, int]] = {}
        """The unread change of each state of each Computer, which a later one replaces."""
        self._arrivals: dict[str | None, int] = {}
        """The unread arrivals of Computers that have not left."""
        self._rejoined: int | None = None
        """The unread return to the office."""
        self._next = 0

    def __len__(self) -> int:
        return len(self._changes)

    def put(self, change: Change) -> None:
        """Add a change."""
        computer = change.computer
        state = _state_of(change)
        number = self._latest.get(computer, {}).get(state) if state is not None else None
        if number is not None:
            self._changes[number] = change
            return
        # The reader has not heard of the return: for it, the connection is still lost, or will be by an earlier change.
        if change.kind == "disconnected" and self._rejoined is not None:
            del self._changes[self._rejoined]
            self._rejoined = None
            return
        # A Computer enters or leaves. States from before must stay before this change, and later ones come after it, so
        # later ones must not replace them.
        if state is None:
            states = self._latest.pop(computer, {}).values()
            arrival = self._arrivals.pop(computer, None)
            # The program has not heard that the Computer came, so it need not hear that it left. A Computer that comes
            # and goes all day leaves nothing in the queue.
            if change.kind == "leave" and arrival is not None:
                for number in (arrival, *states):
                    del self._changes[number]
                return
        number = self._next = self._next + 1
        self._changes[number] = change
        if state is not None:
            self._latest.setdefault(computer, {})[state] = number
        elif change.kind == "enter":
            self._arrivals[computer] = number
        elif change.kind == "rejoined":
            self._rejoined = number

    def take(self) -> Change | None:
        """Remove and return the oldest change, or None."""
        if not self._changes:
            return None
        number = next(iter(self._changes))
        change = self._changes.pop(number)
        if (state := _state_of(change)) is not None and (states := self._latest.get(change.computer)) is not None:
            _forget(states, state, number)
            if not states:
                del self._latest[change.computer]
        _forget(self._arrivals, change.computer, number)
        if number == self._rejoined:
            self._rejoined = None
        return change


def _state_of(change: Change) -> _State | None:
    """The state that a change is about; None for an event, such as an arrival."""
    # By the watch, not by the MCP server in the notification: the Computer could make up a new name each time.
    if change.kind == "resource":
        return change.kind, *(change.watched or ())
    return (change.kind,) if change.kind in _STATES else None


def _forget(changes: dict[Key, int], key: Key, number: int) -> None:
    if changes.get(key) == number:
        del changes[key]
