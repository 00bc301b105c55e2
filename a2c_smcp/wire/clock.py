"""Timers in slots of a tenth of a second.

A Server sets a timer for every relayed call and every client, and cancels almost all of them before they fire. A heap,
such as an event loop has, takes longer the more timers it holds, and keeps cancelled ones until their time. Here, to
set and to cancel a timer takes one dict operation, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable

SLOT = 0.1
"""Seconds. A timer fires up to this much later than it was set for, and never earlier."""


class Timer:
    """A timer, for `Clock.cancel`."""

    __slots__ = ("callback", "slot")

    def __init__(self, slot: int, callback: Callable[[], None]) -> None:
        self.slot = slot
        self.callback = callback


class Clock:
    """The timers of one Server. Its owner passes the time, with `advance`."""

    def __init__(self, now: float) -> None:
        # The inner dict is a set that keeps its order: timers of one slot fire in the order in which they were set.
        self._slots: dict[int, dict[Timer, None]] = {}
        self._reached = int(now / SLOT)

    def __bool__(self) -> bool:
        """Whether any timer is set."""
        return bool(self._slots)

    def at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Set a timer: `callback` is due at `when`."""
        # Rounded up, because a timeout must not fire early. At least the next slot, because `advance` does not return
        # to slots that it has passed: a timer in one of them would never fire.
        slot = max(int(when / SLOT) + 1, self._reached + 1)
        timer = Timer(slot, callback)
        self._slots.setdefault(slot, {})[timer] = None
        return timer

    def cancel(self, timer: Timer) -> None:
        """Cancel a timer; one that fired is ignored."""
        waiting = self._slots.get(timer.slot)
        if waiting is not None:
            waiting.pop(timer, None)
            # An empty slot would keep `__bool__` true, and an idle Server would tick for nothing.
            if not waiting:
                del self._slots[timer.slot]

    def advance(self, now: float) -> list[Callable[[], None]]:
        """The callbacks that are due, in order; the caller calls them."""
        # Returned, not called: the owner calls this under its lock, and callbacks must run outside it.
        reached, self._reached = self._reached, int(now / SLOT)
        if not self._slots:
            return []
        # Usually one or two slots have passed. After a long gap (the process was suspended, or no timer was set for
        # hours) there are fewer slots than ticks, and going through them is cheaper.
        if self._reached - reached > len(self._slots):
            passed = sorted(slot for slot in self._slots if slot <= self._reached)
        else:
            passed = [slot for slot in range(reached + 1, self._reached + 1) if slot in self._slots]
        return [timer.callback for slot in passed for timer in self._slots.pop(slot)]
