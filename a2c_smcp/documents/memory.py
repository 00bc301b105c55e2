"""What was read lately, kept at hand within a budget of bytes."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

MAX_BYTES = 32_000_000


class Memory:
    """Pages by content and number; the least recently used go first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._pages: OrderedDict[tuple[str, int], tuple[int, dict[str, Any]]] = OrderedDict()

    def get(self, key: tuple[str, int]) -> dict[str, Any] | None:
        """A page, if it is at hand."""
        kept = self._pages.get(key)
        if kept is None:
            return None
        self._pages.move_to_end(key)
        return kept[1]

    def put(self, key: tuple[str, int], page: dict[str, Any]) -> None:
        """Keep a page at hand."""
        if key in self._pages:
            return
        size = len(json.dumps(page, ensure_ascii=False))
        self._pages[key] = size, page
        self._bytes += size
        while self._bytes > self._max_bytes:
            self._bytes -= self._pages.popitem(last=False)[1][0]
