"""Imports python-socketio without the HTTP libraries of its clients.

The Server imports `socketio` from this module. The clients import this module first, and then what they need.

`aiohttp`, `requests` and `websocket` take two thirds of the time to import socketio. A Server uses none of them, and a
client uses those of its own form when it connects. engineio treats them as optional: this module imports engineio as if
they were missing, and puts modules in their place that import the real ones on first use. A program that uses engineio
directly notices nothing. If engineio is already imported, this module does nothing.
"""

from __future__ import annotations

import importlib
import sys
import threading
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

POSTPONED = {"aiohttp": "engineio.async_client", "requests": "engineio.client", "websocket": "engineio.client"}
"""The libraries, and the modules that use them."""


class _Later(ModuleType):
    """Takes the place of a module until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


class _Hidden(MetaPathFinder):
    """Hides modules from imports of this thread. Other threads may import them meanwhile, and find them."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._thread = threading.get_ident()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """Raise for a hidden module; return None for any other, so that Python asks the next finder."""
        if fullname in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{fullname} is imported later", name=fullname)


def _import_engineio() -> None:
    names = {name for name in POSTPONED if name not in sys.modules}
    hidden = _Hidden(names)
    sys.meta_path.insert(0, hidden)
    try:
        importlib.import_module("engineio")
    finally:
        sys.meta_path.remove(hidden)
    for name in names:
        user = sys.modules[POSTPONED[name]]
        # engineio sets the name of a missing library to None. Any other value means that it found the library.
        if getattr(user, name, user) is None:
            setattr(user, name, _Later(name))


if "engineio" not in sys.modules:
    _import_engineio()

import socketio as socketio  # noqa: E402
