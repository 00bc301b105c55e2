"""What was read lately, kept at hand within a budget of bytes."""

from __future__ import annotations

from collections import OrderedDict

MAX_BYTES = 32_000_000
_OVERHEAD = 300
"""Bytes that an entry takes beside its content."""


class Memory:
    """Pages by content and number; the least recently used go first.

    They are kept as the bytes of their JSON: those can be counted, while the objects they are made into take many times
    as much and nobody knows how much.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._pages: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def get(self, key: tuple[str, int]) -> bytes | None:
        """A page, if it is at hand."""
        body = self._pages.get(key)
        if body is not None:
            self._pages.move_to_end(key)
        return body

    def put(self, key: tuple[str, int], body: bytes) -> None:
        """Keep a page at hand."""
        self._bytes -= self._size(self._pages.pop(key, None))
        self._pages[key] = body
        self._bytes += self._size(body)
        while self._bytes > self._max_bytes:
            self._bytes -= self._size(self._pages.popitem(last=False)[1])

    @staticmethod
    def _size(body: bytes | None) -> int:
        return len(body) + _OVERHEAD if body is not None else 0
