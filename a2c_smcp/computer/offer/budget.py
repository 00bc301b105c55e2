"""A limit on the memory for contents that can be read again: the least recently used are dropped."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable


class ByteBudget:
    """Counts the bytes that are kept. Over the limit, the least recently used entry is dropped first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[Hashable, tuple[int, Callable[[], None]]] = OrderedDict()
        self.used = 0

    def keep(self, key: Hashable, size: int, forget: Callable[[], None]) -> None:
        """Count an entry of this size; `forget` is called when it is dropped."""
        self.release(key)
        self._kept[key] = size, forget
        self.used += size
        # The newest entry stays even if it alone exceeds the limit: it was read for a request that needs it now.
        while self.used > self._limit and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            _, forget_oldest = self._kept[oldest]
            self.release(oldest)
            forget_oldest()

    def use(self, key: Hashable) -> None:
        """An entry was used."""
        if key in self._kept:
            self._kept.move_to_end(key)

    def release(self, key: Hashable) -> None:
        """Stop counting an entry."""
        size, _ = self._kept.pop(key, (0, None))
        self.used -= size
