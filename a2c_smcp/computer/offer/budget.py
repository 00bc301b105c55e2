"""Contents that can be read again, kept as long as there is room for them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable


class ByteBudget:
    """Counts what is kept, in bytes. Over the limit, what was used longest ago is forgotten first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[Hashable, tuple[int, Callable[[], None]]] = OrderedDict()
        self.used = 0

    def keep(self, key: Hashable, size: int, forget: Callable[[], None]) -> None:
        """Something of this size is kept now; `forget` is called when its room is needed."""
        self.release(key)
        self._kept[key] = size, forget
        self.used += size
        while self.used > self._limit and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            _, forget_oldest = self._kept[oldest]
            self.release(oldest)
            forget_oldest()

    def use(self, key: Hashable) -> None:
        """It was used just now."""
        if key in self._kept:
            self._kept.move_to_end(key)

    def release(self, key: Hashable) -> None:
        """It is not kept any more."""
        size, _ = self._kept.pop(key, (0, None))
        self.used -= size
