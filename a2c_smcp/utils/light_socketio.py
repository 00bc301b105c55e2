"""python-socketio, imported without the HTTP libraries of its clients: import this before it.

`aiohttp`, `requests` and `websocket` take two thirds of the import of socketio. A Server uses none of them, a client
those of its own form, when it connects. engineio treats them as optional; here it is imported as if they were missing,
and gets modules in their place that import the real ones as soon as something of them is used. A program that uses
engineio by itself notices nothing. Where they, or engineio, are imported already, nothing is done.
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
    """Stands for a module until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


class _Hidden(MetaPathFinder):
    """Hides modules from imports of this thread. Others find them: they may import something else meanwhile."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._thread = threading.get_ident()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """Find nothing, so that the next finder is asked; for a hidden module, none is."""
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
        if getattr(user, name, user) is None:  # as engineio marks what is missing
            setattr(user, name, _Later(name))


if "engineio" not in sys.modules:
    _import_engineio()
