"""Strings that pdfium writes into a room of the caller's: names, titles, values."""

from __future__ import annotations

import ctypes
from typing import Any


class Strings:
    """Asks for strings, all into the same room; it is asked again only for one that does not fit."""

    def __init__(self) -> None:
        self._room = (ctypes.c_ushort * 512)()

    def ask(self, function: Any, *about: Any) -> str:
        """What this function says about something."""
        room = self._room
        size = function(*about, room, ctypes.sizeof(room))
        if size > ctypes.sizeof(room):
            room = (ctypes.c_ushort * (size // 2 + 1))()
            size = function(*about, room, size)
        # Two bytes for each letter, and two for the end.
        return ctypes.string_at(room, max(size - 2, 0)).decode("utf-16-le", "replace").replace("\r", "\n")
