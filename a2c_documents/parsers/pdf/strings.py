"""Strings that pdfium writes into a buffer of the caller: names, titles, values."""

from __future__ import annotations

import ctypes
from typing import Any


class Strings:
    """Asks for strings with one shared buffer. Only a string that does not fit needs a second call."""

    def __init__(self) -> None:
        self._room = (ctypes.c_ushort * 512)()

    def ask(self, function: Any, *about: Any) -> str:
        """The string that a function of pdfium returns about something."""
        room = self._room
        size = function(*about, room, ctypes.sizeof(room))
        if size > ctypes.sizeof(room):
            room = (ctypes.c_ushort * (size // 2 + 1))()
            size = function(*about, room, size)
        # The size includes two bytes for the terminator.
        return ctypes.string_at(room, max(size - 2, 0)).decode("utf-16-le", "replace").replace("\r", "\n")
