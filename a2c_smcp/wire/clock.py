"""Many timers, few of which ever fire. They are kept in slots of a tenth of a second: to set and to cancel one costs
the same however many there are."""

from __future__ import annotations

from collections.abc import Callable

SLOT = 0.1
"""Seconds. A timer fires up to so much later than it was set for, and never before."""


class Timer:
    """One timer, for `Clock.cancel`."""

    __slots__ = ("callback", "slot")

    def __init__(self, slot: int, callback: Callable[[], None]) -> None:
        self.slot = slot
        self.callback = callback


class Clock:
    """The timers. It knows no time of its own: whoever keeps it calls `advance`."""

    def __init__(self, now: float) -> None:
        self._slots: dict[int, dict[Timer, None]] = {}
        self._reached = int(now / SLOT)

    def __bool__(self) -> bool:
        """Whether any timer is set."""
        return bool(self._slots)

    def at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Have something called at a time."""
        slot = max(int(when / SLOT) + 1, self._reached + 1)
        timer = Timer(slot, callback)
        self._slots.setdefault(slot, {})[timer] = None
        return timer

    def cancel(self, timer: Timer) -> None:
        """It shall not be called."""
        waiting = self._slots.get(timer.slot)
        if waiting is not None:
            waiting.pop(timer, None)
            if not waiting:
                del self._slots[timer.slot]

    def advance(self, now: float) -> list[Callable[[], None]]:
        """What is due by now, in order; the caller calls it."""
        reached, self._reached = self._reached, int(now / SLOT)
        if not self._slots:
            return []
        if self._reached - reached > len(self._slots):
            passed = sorted(slot for slot in self._slots if slot <= self._reached)
        else:
            passed = [slot for slot in range(reached + 1, self._reached + 1) if slot in self._slots]
        return [timer.callback for slot in passed for timer in self._slots.pop(slot)]
